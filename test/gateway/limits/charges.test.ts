/**
 * The cost of everything that makes the trading thread work (gateway/access/fair-use/charges.ts):
 * every route, stream message and refusal is charged by its work. The buckets do not refill within
 * a test.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { marketIdText } from '../../../engine/interface/notation.js';
import { UNIT_US } from '../../../gateway/access/fair-use/charges.js';
import { KnownAddresses } from '../../../gateway/access/fair-use/known-addresses.js';
import { Passwords } from '../../../gateway/access/passwords.js';
import { Forwarder } from '../../../gateway/edge/forwarder.js';
import { FrameWriter, ToEdge } from '../../../gateway/edge/link/frames.js';
import type { Reply } from '../../../gateway/http/answers/reply.js';
import { quotaOf } from '../../../gateway/http/answers/reply.js';
import { ReceivedBody } from '../../../gateway/http/body.js';
import { checkFields, checkJson } from '../../../gateway/json/checks.js';
import { BatchBody } from '../../../gateway/resources/batch/requests.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import type { CLIENT_MESSAGES } from '../../../gateway/stream/client-messages.js';
import { ownThreadCpuMs } from '../../support/processes/process-cpu.js';
import {
  type Answer,
  AT_EDGES,
  MARKET,
  only,
  PASSWORD,
  pathOf,
  TestServer,
  type Trader,
} from '../../support/server.js';
import { CapturedLink, written } from '../edge/captured.js';
import { clientsOf } from '../stream/support.js';

const LIMIT = 1_000_000;
const all = { user: only(LIMIT), address: only(LIMIT) };

let server: TestServer;
let ada: Trader;
let readOnly: string;
const { connect, connectAs } = clientsOf(() => server);

beforeAll(async () => {
  const fairUse = { orders: all, cancels: all, reads: all, signIns: all };
  server = await TestServer.withMarket({ fairUse });
  ada = await server.register('ada');
  const { json } = await server.api.post(
    '/auth/tokens',
    { name: 'reader', scope: 'read' },
    ada.token,
  );
  readOnly = json.token;
});
afterAll(() => server.stop());

const remainingIn = ({ headers }: Answer) => Number(headers['ratelimit-remaining']);
const post = (body: unknown, token: string) => server.api.post('/batch', body, token);

/** The reads or orders that `work` makes Ada pay. */
async function paidFor(
  quota: 'reads' | 'orders',
  work: () => Promise<unknown>,
  token = ada.token,
): Promise<number> {
  const look = async () =>
    remainingIn(
      quota === 'reads'
        ? await server.api.get(`/users/me/balance`, token)
        : await server.api.post('/vaults/deposits/d999/claim', {}, token),
    );
  const before = await look();
  await work();
  return before - (await look()) - 1;
}

describe('every input is charged', () => {
  const free = ROUTES.filter((route) => route.quota === null).map(({ path }) => path);

  test('routes, with and without a session, whatever they answer', async () => {
    expect(free).toEqual(['/health', '/ready', '/metrics']);
    for (const route of ROUTES) {
      const kind = typeof route.quota === 'function' ? 'orders' : (quotaOf(route) ?? 'free');
      for (const token of [undefined, readOnly, 'x.y.z']) {
        const body = route.body === undefined ? undefined : { nothing: 1 };
        const path = pathOf(route, ada);
        const answer = await server.api.send(route.method, path, body, { token });
        const { status, headers } = answer;
        const isLimited = headers['ratelimit-limit'] === `${LIMIT}`;
        expect([route.method, path, status, isLimited]).toEqual([
          route.method,
          path,
          status,
          kind !== 'free',
        ]);
      }
    }
  });

  test('what no route serves', async () => {
    const before = remainingIn(await server.api.get('/time'));
    for (const [method, path] of [
      ['GET', '/nowhere'],
      ['DELETE', '/time'],
      ['OPTIONS', '/time'],
    ] as const)
      await server.api.send(method, path);
    expect(before - remainingIn(await server.api.get('/time'))).toBe(4);
    await server.api.get('/stream');
    await server.api.send('DELETE', '/stream');
    expect(before - remainingIn(await server.api.get('/time'))).toBe(7);
  });

  test('a handshake, and every message of the stream, also one that is none', async () => {
    const before = remainingIn(await server.api.get('/time'));
    const client = await connect();
    expect(before - remainingIn(await server.api.get('/time'))).toBe(6);
    await client.close();
    const own = await connectAs(ada);
    const messages: Record<keyof typeof CLIENT_MESSAGES, object> = {
      auth: { op: 'auth', token: ada.token },
      subscribe: { op: 'subscribe', channels: ['prices:BTC'] },
      unsubscribe: { op: 'unsubscribe', channels: ['prices:BTC'] },
      resume: { op: 'resume', channel: 'prices:BTC', after: 0 },
      ping: { op: 'ping' },
      order: { op: 'order', id: 'a', operation: {} },
      batch: { op: 'batch', id: 'b', operations: [{}, {}] },
    };
    for (const [op, message] of Object.entries(messages)) {
      const quota = op === 'order' || op === 'batch' ? 'orders' : 'reads';
      const seen = own.messages.length;
      const send = async () => {
        own.send(message);
        await expect.poll(() => own.messages.length).toBeGreaterThan(seen);
      };
      expect([op, await paidFor(quota, send)]).toEqual([op, expect.toSatisfy((n) => n >= 1)]);
    }
    for (const text of ['{', Buffer.from('{}')]) {
      const seen = own.messages.length;
      const send = async () => {
        own.socket.send(text);
        await expect.poll(() => own.messages.length).toBeGreaterThan(seen);
      };
      expect(await paidFor('reads', send)).toBe(1);
    }
    await own.close();
  });
});

describe('what is asked for costs the same, executed or not', () => {
  const operations = Array.from({ length: 100 }, () => ({
    op: 'buy',
    marketId: MARKET,
    outcome: 'UP',
    amount: 1,
  }));

  test('a batch of 100 with a token that only reads, over HTTP and on the stream', async () => {
    expect(await paidFor('orders', () => post({ operations }, readOnly))).toBe(100);
    const client = await connect({ 'x-user-token': readOnly });
    const send = () => client.refusal({ op: 'batch', id: 'a', operations });
    expect(await paidFor('orders', send)).toBe(100);
    // The client receives only refusals, but continues to send.
    for (let i = 0; i < 40; i++) client.send({ op: 'batch', id: `${i}`, operations });
    expect((await client.closed).code).toBe(4029);
  });

  test('an invalid body of 64 KB costs its fields, also where nobody is signed in', async () => {
    const body = Object.fromEntries(Array.from({ length: 6_000 }, (_, i) => [`k${i}`, 0]));
    const units = Math.ceil((6_000 + 1) / 20);
    expect(await paidFor('orders', () => post(body, ada.token))).toBe(units);
    const before = remainingIn(await server.api.get('/time'));
    const logout = await server.api.post('/auth/logout', body);
    expect(before - remainingIn(logout)).toBe(units);
    expect(Object.keys(logout.json.error.details)).toEqual(['k0', 'k1', 'k2']);
  });
});

const BYTES = 65_536;
const filled = (first: string, piece: (i: number) => string, last: string) => {
  let text = first;
  for (let i = 0; text.length + piece(i).length + last.length <= BYTES; i++) text += piece(i);
  return Buffer.from(text + last);
};
const inList = (piece: (i: number) => string) => filled('{"userId":[', piece, '1]}');

test.each([
  ['brackets', Buffer.from('['.repeat(BYTES))],
  ['lists in lists', Buffer.from('['.repeat(BYTES / 2) + ']'.repeat(BYTES / 2))],
  ['objects with a field that no other has', inList((i) => `{"${i.toString(36)}":0},`)],
  ['unknown fields', filled('{', (i) => `"${i.toString(36)}":0,`, '"-":0}')],
  ['repeated fields', inList(() => '{"a":0,"a":0},')],
  ['short lists', inList(() => '[[[]]],')],
  ['fractions', inList(() => '0.1,')],
  ['a number of 65,000 digits', filled('{"userId":0.', () => '1', '}')],
  ['strings of a colon', inList(() => '":",')],
  ['escapes', filled('{"userId":"', () => '\\u0041', '"}')],
])('a unit of a refused body of 64 KB pays for 20 µs: %s', (_, bytes) => {
  let units = 0;
  const refuse = () => {
    const body = new ReceivedBody(bytes);
    units = body.cost.units;
    const { json, text = '', colons } = body;
    if (json === undefined) return;
    expect(checkJson(BatchBody, { json, text, colons }, 'body').problems).not.toBeNull();
  };
  const least = Array.from({ length: 6 }, () => {
    const startMs = ownThreadCpuMs();
    for (let i = 0; i < 20; i++) refuse();
    return ((ownThreadCpuMs() - startMs) * 1_000) / 20 / units;
  });
  // Another program may share the CPU core's caches.
  expect(Math.min(...least)).toBeLessThan(2 * UNIT_US);
});

test('large bodies are served one in a turn, with requests of others between them', async () => {
  const body = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, 0]));
  const served: string[] = [];
  const large = Array.from({ length: 20 }, async () => {
    expect((await post(body, ada.token)).status).toBe(400);
    served.push('large');
  });
  const small = server.api.get('/time').then(() => served.push('small'));
  await Promise.all([...large, small]);
  expect(served.indexOf('small')).toBeLessThan(15);
});

describe('reading ends', () => {
  const check = (input: object) => checkFields(BatchBody, input, 'body').problems;
  /** Counts reads of the object's members. */
  function counted(members: object): { input: object; reads: () => number } {
    let reads = 0;
    const get = (target: object, name: string | symbol) => {
      if (typeof name === 'string' && /^[a-z]?\d+$/.test(name)) reads++;
      return Reflect.get(target, name);
    };
    return { input: new Proxy(members, { get }), reads: () => reads };
  }

  test('at the third field that is unknown, before any value is read', () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, {}]));
    const { input, reads } = counted(many);
    expect(Object.keys(check(input)!)).toEqual(['k0', 'k1', 'k2']);
    expect(reads()).toBe(0);
  });

  test('at a list that is too long, before any element is read', () => {
    const { input, reads } = counted(new Array(20_000).fill({ op: 'buy' }));
    expect(check({ operations: input })).toEqual({
      operations: 'must hold 1 to 100 operations',
    });
    expect(reads()).toBe(0);
  });

  test('at an unknown field in a list, before what follows', () => {
    const { input, reads } = counted(new Array(100).fill({ op: 'claim', marketId: 'x', more: 1 }));
    expect(check({ operations: input })).toEqual({ 'operations.0.more': 'is not a known field' });
    expect(reads()).toBe(1);
  });

  test('with three problems, however many there are', () => {
    const operation = { op: 'buy', marketId: 1, outcome: 2, amount: [], price: [], shares: {} };
    const problems = check({ operations: new Array(100).fill(operation), atomic: 3 });
    expect(Object.keys(problems!).length).toBeLessThanOrEqual(3);
  });

  test('before a query with very many parameters', async () => {
    const query = Array.from({ length: 100 }, (_, i) => `a${i}`).join('&');
    const { json } = await server.api.get(`/markets?${query}`);
    expect(json.error.details).toEqual({ query: 'has more than 32 parameters' });
  });
});

describe('work that grows with the state', () => {
  let maker: Trader;

  beforeAll(async () => {
    maker = await server.register('maker');
    const rest = { op: 'buy', marketId: MARKET, outcome: 'UP', price: 0.1, shares: 0.1 };
    const operations = Array.from({ length: 100 }, () => ({ ...rest, timeInForce: 'GTC' }));
    for (let i = 0; i < 10; i++) expect((await post({ operations }, maker.token)).status).toBe(200);
  });

  test('a page of one of 1,000 orders is the page, and the orders that it was cut from', async () => {
    const { engine } = server.exchange.sequencer;
    let views = 0;
    const order = engine.order.bind(engine);
    engine.order = (id) => {
      views++;
      return order(id);
    };
    const page = () => server.api.get('/users/me/orders?limit=1', maker.token);
    expect(await paidFor('reads', page, maker.token)).toBe(6);
    expect(views).toBe(1);
    engine.order = order;
  });

  test('a page of one position looks at two of the markets, and is followed by the next', async () => {
    const { engine } = server.exchange.sequencer;
    const { token } = await server.register('holder');
    for (const id of engine.marketIds()) {
      const path = `/markets/15m/${marketIdText(engine, id)}/split`;
      expect((await server.api.post(path, { shares: 10 }, token)).status).toBe(200);
    }
    const { json: all } = await server.api.get('/users/me/positions?limit=200', token);
    expect(all.positions.length).toBeGreaterThan(6);
    const looked: number[] = [];
    const market = engine.market.bind(engine);
    engine.market = (id) => {
      looked.push(id);
      return market(id);
    };
    const found: object[] = [];
    for (let cursor = ''; cursor !== null; ) {
      looked.length = 0;
      const { json } = await server.api.get(`/users/me/positions?limit=1${cursor}`, token);
      expect(new Set(looked).size).toBeLessThanOrEqual(2);
      found.push(...json.positions);
      cursor = json.nextCursor && `&cursor=${json.nextCursor}`;
    }
    engine.market = market;
    expect(found).toEqual(all.positions);
  });

  test('a snapshot of the account, by its bytes', async () => {
    const client = await connectAs(maker);
    const subscribe = () => client.subscribe('user');
    expect(await paidFor('reads', subscribe, maker.token)).toBeGreaterThan(100);
    await client.close();
  });

  test('a refused FOK and a quote, by the orders that they look at', async () => {
    // 1,000 orders bid for 100 shares in total.
    const sale = { outcome: 'DOWN', shares: 1_000, price: 0.9 };
    const fok = () => server.buy(ada, { ...sale, timeInForce: 'FOK' });
    expect((await fok()).json.error.code).toBe('price_not_met');
    expect(await paidFor('orders', fok)).toBe(1 + 5);
    const query = new URLSearchParams({ side: 'BUY', outcome: 'DOWN', amount: '900' });
    const quote = () => server.api.get(`/markets/15m/${MARKET}/quote?${query}`, ada.token);
    expect(await paidFor('reads', quote)).toBe(1 + 5);
  });

  test('the end of a stream that cancels its orders: they are not looked at one by one', async () => {
    const { engine } = server.exchange.sequencer;
    const client = await connectAs(maker);
    client.send({ op: 'auth', id: 'a', token: maker.token, cancelOnDisconnect: true });
    await expect.poll(() => client.messages.length).toBeGreaterThan(0);
    let walks = 0;
    const orderIds = engine.orderIds.bind(engine);
    engine.orderIds = (id) => {
      walks++;
      return orderIds(id);
    };
    await client.close();
    const held = async () => (await server.api.get('/users/me/balance', maker.token)).json.held;
    await expect.poll(held).toBe(0);
    engine.orderIds = orderIds;
    expect(walks).toBe(0);
  });
});

describe('a known address', () => {
  const writer = new FrameWriter();
  const request = (userToken: string): Reply =>
    ({
      request: {
        userToken,
        rawQuery: '',
        rawParameters: [],
        method: 'get',
        headersToForward: () => [],
      },
      address: 7,
      outlet: { addressBytes: new Uint8Array(0) },
      isOver: false,
      relay: () => {},
    }) as unknown as Reply;

  test('is one from which a correct password came; the cookie renews it, a token does not', () => {
    const link = new CapturedLink();
    const known = new KnownAddresses();
    const assets = {} as never;
    const forwarder = new Forwarder({ link, assets, elapsedMs: () => 0, mayMove: false, known });
    const answered = (userToken: string) => {
      forwarder.forward(request(userToken), ROUTES[0]!, new ReceivedBody(new Uint8Array(0)));
      writer.begin(ToEdge.answer, link.sent.at(-1)!.id, { own: 200 });
      const number = userToken === '' ? 0 : 1;
      writer.number(1).integer(12).integer(number).number(0).text('').texts([]);
      forwarder.receive(written(writer));
    };
    answered('a token of a free account');
    answered('');
    expect(known.has(7)).toBe(false);
    forwarder.receive(written(writer.begin(ToEdge.known, 0).text('7')));
    expect(known.has(7)).toBe(true);
    for (let i = 0; i < 9_999; i++) known.add(100 + i);
    answered('');
    known.add(1);
    expect(known.has(7)).toBe(true);
    for (let i = 0; i < 10_000; i++) {
      if (i % 5_000 === 0) answered('a token');
      known.add(100_000 + i);
    }
    expect(known.has(7)).toBe(false);
  });

  test('without edges, too', async () => {
    const passwords = new Passwords(10, () => 0);
    const { known } = passwords.queue;
    const client = { address: 7, isOver: false };
    const credential = await passwords.hash(PASSWORD, client);
    await passwords.verify(`${PASSWORD}?`, credential!, client);
    expect(known.has(7)).toBe(false);
    await passwords.verify(PASSWORD, credential!, client);
    expect(known.has(7)).toBe(true);
  });
});

test.skipIf(AT_EDGES)(
  'metrics beyond the burst of an address are 429, and say when to ask again',
  async () => {
    const asked = Array.from({ length: 40 }, () => server.api.get('/metrics'));
    const refused = (await Promise.all(asked)).filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]!.headers['retry-after']).toBe('1');
  },
);
