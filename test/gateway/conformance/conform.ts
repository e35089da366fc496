/** Sends the rows over every transport at a place, and compares what clients receive. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../../gateway/resources/orders/operations.js';
import { eventually } from '../../support/eventually.js';
import {
  MARKET,
  only,
  rates,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';
import { streamLimits } from '../stream/support.js';
import { PLACES, type Place } from './places.js';
import { A_DAY_LATER, type Made, OVERLOADED, ROWS, type Row, type Who } from './rows.js';
import { closeStreams, type Operation, type Told, TRANSPORTS } from './transports.js';

const LIMIT = 1_000_000;
const DAY_MS = 86_400_000;
const all = { user: only(LIMIT), address: only(LIMIT) };
const ANOTHER = { op: 'cancel', marketId: MARKET, orderId: 'o999' };
const NO_OVERLOAD = { backlogBytes: 1e9, stallMs: 1e6, waitingAnswers: 1e6, backlogCommands: 1e6 };

interface Seen {
  told: Told;
  cost: number;
  journal: number;
  isUnchanged: boolean;
  operation: Operation;
}

export function conform(name: keyof typeof PLACES): void {
  const overload = { ...NO_OVERLOAD };
  let place: Place;
  let ada: Trader;
  let bob: Trader;
  let tokens: Record<Who, string | undefined>;
  let made = 0;
  let keys = 0;

  beforeAll(async () => {
    const fairUse = rates({ orders: all, cancels: all });
    place = await PLACES[name]({
      fairUse,
      overload,
      ...streamLimits({ operationsBurst: 100_000 }),
    });
    const { leader } = place;
    ada = await leader.register('ada');
    bob = await leader.register('bob');
    const resting = { outcome: 'DOWN', shares: 5, price: 0.3, timeInForce: 'GTC' };
    expect((await leader.buy(bob, resting)).status).toBe(200);
    await leader.api.post(`/markets/15m/${MARKET}/split`, { shares: 50 }, ada.token);
    const create = async (body: object) => {
      const { json } = await leader.api.post('/auth/tokens', { name: 'x', ...body }, ada.token);
      return json;
    };
    const revoked = await create({ scope: 'trade' });
    await leader.api.delete(`/auth/tokens/${revoked.tokenId}`, ada.token);
    tokens = {
      ada: ada.token,
      reader: (await create({ scope: 'read' })).token,
      elsewhere: (await create({ scope: 'trade', allowedAddresses: ['192.0.2.1'] })).token,
      revoked: revoked.token,
      forged: 'x.y.z',
      nobody: undefined,
    };
  });
  afterAll(async () => {
    await closeStreams();
    await place?.stop();
  });

  /** What remains of the user's or address's quota. Reading it costs 1 and executes nothing. */
  async function left(quota: 'orders' | 'cancels', token: string | undefined): Promise<number> {
    const { api } = place.leader;
    const { headers } =
      quota === 'cancels'
        ? await api.send('DELETE', '/markets/15m/x/orders', [], { token })
        : await api.post('/vaults/flex/stake', {}, token);
    return Number(headers['ratelimit-remaining']);
  }

  async function make(): Promise<Made> {
    const clientOrderId = `made-${++made}`;
    const order = { outcome: 'UP', shares: 10, price: 0.1, timeInForce: 'GTC', clientOrderId };
    const { json } = await place.leader.buy(ada, order);
    return { orderId: json.orderId, clientOrderId };
  }

  /** Restores the state for the next transport. */
  async function undo({ op }: Operation): Promise<void> {
    const { api } = place.leader;
    const back = op === 'split' ? 'merge' : op === 'merge' ? 'split' : null;
    await api.delete('/users/me/orders', ada.token);
    if (back !== null) await api.post(`/markets/15m/${MARKET}/${back}`, { shares: 2 }, ada.token);
  }

  async function send(row: Row, way: string, key?: string): Promise<Seen> {
    const { engine } = place.leader.exchange.sequencer;
    const { transport, isAtomic } = TRANSPORTS[way]!;
    const operation =
      typeof row.operation === 'function' ? row.operation(await make()) : row.operation;
    if (row.makes && typeof row.operation !== 'function') await make();
    if (row.meets !== undefined) {
      const bid = { outcome: row.meets, shares: 1, price: 0.5, timeInForce: 'GTC' };
      expect((await place.leader.buy(bob, bid)).status).toBe(200);
    }
    const quota = !isAtomic && operation.op.startsWith('cancel') ? 'cancels' : 'orders';
    const token = tokens[row.who ?? 'ada'];
    const paysAsUser = ['ada', 'reader', 'elsewhere'].includes(row.who ?? 'ada');
    const payer = paysAsUser ? ada.token : undefined;
    const own = () => JSON.stringify([engine.account(1), engine.orders(1)]);
    const before = own();
    const leftBefore = await left(quota, payer);
    const { sequence } = engine;
    if (row.isOverloaded) overload.backlogCommands = -1;
    const told = await transport(place, { token, operation, padding: row.padding, key });
    overload.backlogCommands = NO_OVERLOAD.backlogCommands;
    const journal = engine.sequence - sequence;
    const cost = leftBefore - (await left(quota, payer)) - 1;
    return { told, cost, journal, isUnchanged: own() === before, operation };
  }

  /** The first transport's receipts, with fields in order. */
  const receipts = new Map<Row, string>();

  function expectTold(row: Row, { told, cost, journal, isUnchanged }: Seen, way: string): void {
    const { isAtomic } = TRANSPORTS[way]!;
    const isStream = way.includes('stream');
    expect([told.code, told.message]).toEqual([row.code, row.code && expect.any(String)]);
    if (row.details !== undefined) expect(told.details).toMatchObject(row.details);
    if (row.receipt !== undefined) {
      expect(told.receipt).toMatchObject(row.receipt);
      const text = JSON.stringify(told.receipt);
      expect(text).toBe(receipts.get(row) ?? text);
      receipts.set(row, text);
    }
    if (row.isOverloaded && !isStream) expect(told.retryAfter).toBe('1');
    const isOfReplica = name === 'replica' && row.journal === 0;
    const isFree = row.isOverloaded || (isStream && (row.atHandshake === true || isOfReplica));
    const full = Math.max(row.cost ?? 1, isAtomic ? 2 : 1);
    expect({ cost, journal }).toEqual({ cost: isFree ? 0 : full, journal: row.journal ?? 1 });
    if (row.code !== undefined) expect(isUnchanged).toBe(true);
  }

  /** Repeating the key returns the same answer, from memory or history, and no other. */
  async function expectRepeated(row: Row, way: string, { told, operation }: Seen, key: string) {
    if (row.isForgotten) {
      await place.leader.followed();
      place.leader.dropResults();
    }
    const { padding } = row;
    const sent = { token: ada.token, operation, padding, key };
    const again = await TRANSPORTS[way]!.transport(place, sent);
    expect({ ...again, isReplayed: false }).toEqual(told);
    // Stream errors do not report a replay, but the receipt of a batch with errors does.
    const isError = way.includes('stream') && !way.startsWith('a batch');
    expect(again.isReplayed).toBe(row.code === undefined || !isError);
    if (!row.isForgotten) return;
    const other = { ...sent, operation: ANOTHER };
    const reused = await TRANSPORTS[way]!.transport(place, other);
    expect(reused.code).toBe('idempotency_key_reused');
  }

  const tests = (rows: readonly Row[], ways = Object.keys(TRANSPORTS)) =>
    describe.each(ways)('%s', (way) => {
      const cases = rows.map((row, i) => [`${i} ${row.name}`, row] as const);
      test.each(cases)('%s', async (_name, row) => {
        const key = row.journal === 0 ? undefined : `key-${++keys}`;
        const seen = await send(row, way, key);
        expectTold(row, seen, way);
        if (key !== undefined) await expectRepeated(row, way, seen, key);
        if (row.code === undefined) await undo(seen.operation);
      });
    });

  tests(ROWS);
  describe('while too much waits for the disk', () => tests(OVERLOADED));
  describe('a day after the end of the market', () => {
    beforeAll(async () => {
      const { leader } = place;
      const endMs = WINDOW_START_MS + WINDOW_MS;
      await leader.passTime(endMs + 5_000, 100_001);
      leader.clock.set(endMs + DAY_MS + 60_000);
      await leader.advance();
      await leader.followed();
    });
    // By then, the first operation of the atomic batches would be refused as well.
    tests(
      A_DAY_LATER,
      Object.keys(TRANSPORTS).filter((way) => !TRANSPORTS[way]!.isAtomic),
    );
  });

  test('a user’s rates are multiplied by its tier, for its sub-accounts and at each place', async () => {
    const { leader, api } = place;
    const answer = await leader.api.post('/users/me/sub-accounts', { username: 'sub' }, ada.token);
    const body = { name: 'x', scope: 'trade' };
    const of = `/users/me/sub-accounts/${answer.json.userId}/tokens`;
    const { token } = (await leader.api.post(of, body, ada.token)).json;
    const signed = { operator: 'olga', reason: 'a market maker' };
    await leader.submit({ kind: 'setRateTier', userId: 1, rateTier: 10, ...signed });
    const burst = 10 * LIMIT;
    const ofAda = { rateTier: 10, rates: { orders: { user: { burst } } } };
    for (const each of [ada.token, token]) {
      await eventually(async () =>
        expect((await api.get('/limits', each)).json).toMatchObject(ofAda),
      );
      const { headers } = await api.post('/vaults/flex/stake', {}, each);
      expect(headers['ratelimit-limit']).toBe(`${burst}`);
    }
    expect(await left('orders', ada.token)).toBe((await left('orders', token)) + 1);
    expect((await api.get('/limits', bob.token)).json.rateTier).toBe(1);
  });

  test('every operation has rows that execute it and rows that refuse it', () => {
    const opOf = ({ operation }: Row) =>
      (typeof operation === 'function' ? operation({ orderId: '', clientOrderId: '' }) : operation)
        .op;
    const names = Object.keys(OPERATIONS).sort();
    const opsOf = (rows: Row[]) => [...new Set(rows.map(opOf))].sort();
    expect(opsOf(ROWS.filter(({ code }) => code !== undefined))).toEqual(names);
    // A claim can be executed only once.
    expect(opsOf(ROWS.filter(({ code }) => code === undefined))).toEqual(
      names.filter((op) => op !== 'claim'),
    );
  });
}
