/**
 * The built program as a leader, a standby and two replicas, on a real PostgreSQL cluster: clients
 * trade through the replicas, read their own writes there, and notice only a delay when the leader
 * is killed.
 */
import { createHash, randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { Api, buy } from '../../../gateway/client/index.js';
import { listSnapshots, type SnapshotName } from '../../../persistence/recovery/snapshot/folder.js';
import { PostgresCluster } from '../../support/cluster/postgres.js';
import { eventually, NO_MARKET_MS } from '../../support/eventually.js';
import { moveMoney } from '../../support/folders/moved-money.js';
import { FIRST, SECOND, writeCertificate } from '../../support/http/certificates.js';
import { type ChildServer, Exchanges } from '../../support/programs.js';
import { ApiClient, codeOf, PASSWORD, type Trader } from '../../support/server.js';
import { activeMarket } from '../../trials/disk/scenario.js';
import { sendRaw } from '../http/smuggling-cases.js';
import { StreamClient } from '../stream/support.js';

const exchanges = new Exchanges();
const listening = (server: ChildServer) => exchanges.listening(server);
const { work } = exchanges;
const KEY = randomBytes(32).toString('hex');
const OPERATOR_KEYS = `olga:${createHash('sha256').update(KEY).digest('hex')}`;
const keyFile = join(work, 'key');
const secretFile = join(work, 'secret');
const streams: StreamClient[] = [];
let names = 0;

let cluster: PostgresCluster;
let leader: ChildServer;
let direct: ApiClient;
let replicas: ChildServer[];
let secondFolder: string;
let first: ApiClient;
let second: ApiClient;
beforeAll(async () => {
  writeFileSync(secretFile, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  cluster = await PostgresCluster.start();
});
afterEach(() => {
  for (const stream of streams.splice(0)) stream.socket.terminate();
});
afterAll(async () => {
  await exchanges.end();
  await cluster?.stop();
});

/** Starts a leader and two replicas with a new journal. */
async function startAll(): Promise<void> {
  await exchanges.kill();
  await cluster.dropJournal();
  writeFileSync(keyFile, `${KEY}\n`, { mode: 0o600 });
  leader = spawn({ REPLICAS_PORT: '0' });
  direct = await listening(leader);
  secondFolder = join(work, `${++names}`);
  const operators = { OPERATIONS_PORT: '0', OPERATOR_KEYS };
  replicas = [
    spawn({ ROLE: 'replica' }),
    spawn({ ROLE: 'replica', DATA_FOLDER: secondFolder, ...operators }),
  ];
  [first, second] = (await Promise.all(replicas.map(listening))) as [ApiClient, ApiClient];
}

function spawn(variables: Record<string, string>): ChildServer {
  return exchanges.spawn({
    DATA_FOLDER: join(work, `${++names}`),
    JOURNAL: cluster.url,
    REPLICAS_KEY_FILE: keyFile,
    SESSION_SECRET_FILE: secretFile,
    ASSETS: 'BTC',
    HOUSE: 'off',
    FEED_SPEED: '2',
    SNAPSHOT_EVERY_SECONDS: '10',
    ...variables,
  });
}

async function register(api: ApiClient): Promise<Trader> {
  const username = `trader-${++names}`;
  const { status, json, text } = await api.post('/auth/register', { username, password: PASSWORD });
  expect(status, text).toBe(201);
  return { userId: json.userId, token: json.token, username };
}

async function connect(api: ApiClient, token: string): Promise<StreamClient> {
  const stream = await StreamClient.connect(Number(new URL(api.url).port), {
    'x-user-token': token,
  });
  streams.push(stream);
  return stream;
}

const bid = { outcome: 'UP', amount: 5, price: 0.1, timeInForce: 'GTC' };

/** The port of the leader's address for replicas. */
function replicasPort(): number {
  return Number(/"port":(\d+),"msg":"open to replicas"/.exec(leader.stderr)![1]);
}

interface StandbyStatus {
  sequence: number;
  digest: string;
  leader: string | null;
}

/** A process's status, requested without a client. */
async function statusAt(port: number): Promise<StandbyStatus> {
  return (await (await fetch(`http://127.0.0.1:${port}/api/status`)).json()) as StandbyStatus;
}

function waitingPorts({ stderr }: ChildServer): { port: number; operationsPort: number } {
  const line = stderr.split('\n').find((each) => each.includes('a standby: it follows'));
  return JSON.parse(line!);
}

async function standBy(folder: string, variables = {}): Promise<ChildServer> {
  const ports = { REPLICAS_PORT: '0', OPERATIONS_PORT: '0' };
  const server = spawn({ ROLE: 'standby', DATA_FOLDER: folder, ...ports, ...variables });
  await eventually(() => {
    expect(server.child.exitCode, server.stderr).toBeNull();
    return server.stderr.includes('the engine is warm');
  });
  return server;
}

/** Waits until the process has the leader's sequence, and compares the digests. */
async function expectDigestOfLeader(status: () => Promise<StandbyStatus>): Promise<void> {
  await eventually(async () => {
    const [{ json: there }, here] = [await direct.get('/status'), await status()];
    if (here.sequence !== there.sequence) return false;
    expect(here.digest).toBe(there.digest);
    return true;
  });
}

/** Sequences of the snapshots that the journal has vouched for since startup. */
function vouchedIn({ stderr }: ChildServer): number[] {
  const all = stderr.matchAll(/"sequence":(\d+),"msg":"the journal vouches for a snapshot"/g);
  return Array.from(all, ([, sequence]) => Number(sequence));
}

/** The snapshot from which the process recovered, or 0. */
function recoveryOf({ stderr }: ChildServer): { snapshotSequence: number } {
  const line = stderr.split('\n').find((each) => each.includes('"recovered from'));
  return JSON.parse(line!);
}

/** Exchange time. Longer than a test trades in a market, even on a busy machine. */
const LEFT_MS = 60_000;

/** The id of an active market that does not end soon. */
async function lastingMarket(api: ApiClient): Promise<string> {
  let id: string | undefined;
  await eventually(async () => {
    const { markets, serverTimeMs } = (await api.get('/markets/15m?asset=BTC')).json;
    id = markets.find(
      ({ endsAtMs }: { endsAtMs: number }) => endsAtMs > serverTimeMs + LEFT_MS,
    )?.id;
    return id !== undefined;
  }, NO_MARKET_MS);
  return id!;
}

/** Reads repeatedly, and collects the statuses. */
function readUntilOver(api: ApiClient, paths: string[], token: string) {
  const statuses = new Set<number>();
  let isOver = false;
  const readings = { behindMs: 0, statuses, end: async () => statuses };
  const reading = async () => {
    while (!isOver)
      for (const path of paths) {
        const { status, headers } = await api.get(path, token);
        statuses.add(status);
        readings.behindMs = Math.max(readings.behindMs, Number(headers['behind-ms'] ?? 0));
      }
  };
  const running = reading();
  readings.end = async () => {
    isOver = true;
    await running;
    return statuses;
  };
  return readings;
}

/** Time for three snapshots, one every ten seconds of exchange time. */
const SNAPSHOTS_MS = 180_000;

describe('while the leader leads', () => {
  beforeAll(startAll);

  test('orders go through both replicas, whose reads include the last answer', async () => {
    const ada = await register(first);
    const marketId = await activeMarket(first);
    for (const [i, api] of [first, second, first, second].entries()) {
      const headers = { 'idempotency-key': `order-${i}` };
      const path = `/markets/15m/${marketId}/buy`;
      const sent = await api.send('POST', path, bid, { token: ada.token, headers });
      expect(sent.status, sent.text).toBe(200);
      const { sequence, orderId } = sent.json;
      // A read from the same replica needs no sequence. A read from the other names the receipt's.
      const own = await api.get(`/users/${ada.userId}/orders`, ada.token);
      expect(own.json.sequence).toBeGreaterThanOrEqual(sequence);
      expect(own.json.orders.map((order: { orderId: string }) => order.orderId)).toContain(orderId);
      const other = api === first ? second : first;
      const theirs = await other.get(
        `/users/${ada.userId}/balance?minSequence=${sequence}`,
        ada.token,
      );
      expect(theirs.json.sequence).toBeGreaterThanOrEqual(sequence);
      expect(theirs.json.held).toBeCloseTo(0.1 * 50 * (i + 1), 6);
      // The same key at another replica and at the leader returns the same answer.
      for (const again of [other, direct]) {
        const repeated = await again.send('POST', path, bid, { token: ada.token, headers });
        expect(repeated.text).toBe(sent.text);
        expect(repeated.headers['idempotency-replayed']).toBe('true');
      }
    }
    const history = await second.read(`/users/${ada.userId}/orders/history`, ada.token);
    expect(history.status).not.toBe(500);
    expect((await second.read('/leaderboard')).status).toBe(200);
    const { text } = await direct.get('/metrics');
    expect(Number(/^exchange_commit_seconds_count (\d+)$/m.exec(text)![1])).toBeGreaterThan(0);
  });

  test('a sequence that is not reached is 503 with Retry-After, and one that is none is 400', async () => {
    const { json } = await first.get('/status');
    for (const api of [first, direct]) {
      const late = await api.send('GET', '/markets/15m', undefined, {
        headers: { 'min-sequence': `${json.sequence + 1_000_000}` },
      });
      expect(codeOf(late)).toBe('503 unavailable');
      expect(late.headers['retry-after']).toBe('1');
      expect(codeOf(await api.get('/markets/15m?minSequence=soon'))).toBe('400 invalid_request');
      const reached = await api.get(`/markets/15m?minSequence=${json.sequence + 1}`);
      expect(reached.status, reached.text).toBe(200);
    }
  });

  test('a token reads what it may, from where it may, until it is revoked', async () => {
    const bob = await register(second);
    const create = async (body: object) => {
      const { status, json, text } = await first.post('/auth/tokens', body, bob.token);
      expect(status, text).toBe(201);
      return json as { token: string; tokenId: string };
    };
    const balance = `/users/${bob.userId}/balance`;
    const marketId = await activeMarket(first);
    const order = (api: ApiClient, token: string, headers = {}) =>
      api.send('POST', `/markets/15m/${marketId}/buy`, bid, { token, headers });

    // Forwarding headers from a client do not change its address, at the leader or at a replica.
    const elsewhere = await create({ name: 'far', scope: 'trade', allowedAddresses: ['10.9.9.9'] });
    const spoofed = { 'x-forwarded-for': '10.9.9.9', 'x-real-ip': '10.9.9.9' };
    for (const api of [direct, first])
      expect(codeOf(await order(api, elsewhere.token, spoofed))).toBe('403 address_not_allowed');
    expect(codeOf(await first.get(balance, elsewhere.token))).toBe('403 address_not_allowed');
    const here = await create({ name: 'here', scope: 'trade', allowedAddresses: ['127.0.0.1'] });
    expect((await order(first, here.token)).status).toBe(200);
    expect((await second.get(balance, here.token)).status).toBe(200);

    const revoked = await first.delete(`/auth/tokens/${here.tokenId}`, bob.token);
    expect(revoked.status, revoked.text).toBeLessThan(300);
    expect(codeOf(await order(second, here.token))).toBe('401 token_revoked');
    await eventually(
      async () => codeOf(await second.get(balance, here.token)) === '401 token_revoked',
      1_500,
    );
  });

  test.each([
    [
      'a chunked request',
      'GET /replicas/3 HTTP/1.1',
      'Transfer-Encoding: chunked',
      '',
      '0',
      '',
      '',
    ],
    [
      'a handshake with a body',
      'GET /replicas/3 HTTP/1.1',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      'Sec-WebSocket-Version: 13',
      'Content-Length: 1',
      '',
      'x',
    ],
  ])('the address of replicas refuses %s', async (_name, start, ...rest) => {
    const request = [start, 'Host: leader', ...rest].join('\r\n');
    const { statuses } = await sendRaw(replicasPort(), [request], false);
    expect(statuses).toEqual([400]);
    expect((await direct.get('/health')).status).toBe(200);
  });

  test('a stream moves to the other replica, and takes orders at both', async () => {
    const cyd = await register(first);
    const marketId = await activeMarket(first);
    const book = `book:${marketId}`;
    const operation = { op: 'buy', marketId, ...bid };
    const here = await connect(first, cyd.token);
    await here.subscribe('user', book);
    for (const id of ['1', '2', '3'])
      here.send({ op: 'order', id, idempotencyKey: `stream-${id}`, operation });
    const receipt = await here.next(({ type, id }) => type === 'receipt' && id === '3');
    // The events of a request come before its receipt.
    expect(here.numbers.get('user')).toBeGreaterThanOrEqual(receipt.sequence);
    here.send({ op: 'order', id: 'x', operation: { ...operation, price: 7 } });
    expect(await here.next('error')).toMatchObject({ id: 'x', code: 'invalid_request' });
    await here.caughtUp();
    const places = new Map(here.numbers);
    await here.hangUp();

    // Meanwhile, another user and the same user trade at the other replica.
    const marketWas = marketId;
    const there = await connect(second, cyd.token);
    const [user] = await there.subscribe('user', book);
    expect(user.data.orders).toHaveLength(3);
    there.send({ op: 'order', id: '1', idempotencyKey: 'stream-1', operation });
    expect(await there.next('receipt')).toMatchObject({ replayed: true });
    there.send({ op: 'order', id: '4', operation });
    const fourth = await there.next(({ type, id }) => type === 'receipt' && id === '4');
    await there.caughtUp();

    const moved = await connect(second, cyd.token);
    for (const channel of ['user', book])
      moved.send({ op: 'resume', channel, after: places.get(channel) });
    const events = await moved.next(({ type, channel }) => type === 'delta' && channel === 'user');
    expect(events.data.events).toMatchObject([{ type: 'order_rested', orderId: fourth.orderId }]);
    await eventually(() =>
      moved.of(book).some(({ type }) => type === 'delta' || type === 'snapshot'),
    );
    moved.check();
    expect(await activeMarket(second)).toBe(marketWas);
  });

  test('orders with cancelOnDisconnect are cancelled by the leader when the replica loses the client', async () => {
    const eve = await register(first);
    const operation = { op: 'buy', marketId: await activeMarket(first), ...bid };
    const stream = await connect(first, eve.token);
    stream.send({ op: 'auth', token: eve.token, cancelOnDisconnect: true });
    await stream.next('authenticated');
    stream.send({ op: 'order', id: '1', operation });
    await stream.next('receipt');
    await stream.hangUp();
    await eventually(async () => {
      const { json } = await direct.get(`/users/${eve.userId}/orders`, eve.token);
      return json.orders.length === 0;
    });
  });

  test('who does not lead says where the leader is, and not where it takes replicas', async () => {
    const standby = await standBy(join(work, `${++names}`));
    const leads = direct.url;
    const { port, operationsPort } = waitingPorts(standby);
    await eventually(async () => expect((await statusAt(port)).leader).toBe(leads));
    const line = replicas[1]!.stderr.split('\n').find((each) => each.includes('open to operators'));
    const refused = async (at: number, path: string) => {
      const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
      const body = JSON.stringify({ reason: 'the feed is wrong' });
      const options = { method: 'POST', headers, body };
      const answer = await fetch(`http://127.0.0.1:${at}/api${path}`, options);
      const text = await answer.text();
      expect(text).not.toContain(`:${replicasPort()}`);
      const { message, details } = JSON.parse(text).error;
      expect(message).toContain(`The leader is ${leads}.`);
      return [answer.status, details];
    };
    const details = { executed: false, leader: leads };
    const waits = [503, { ...details, reason: 'standby' }];
    expect(await refused(port, '/auth/register')).toEqual(waits);
    expect(await refused(operationsPort, '/operator/pause')).toEqual(waits);
    const replica = await refused(JSON.parse(line!).port, '/operator/pause');
    expect(replica).toEqual([503, { ...details, reason: 'replica' }]);
    expect(await standby.stop()).toBe(0);
  });

  test('a replica and a standby have TLS, and take another certificate', async () => {
    const { certFile, keyFile: tlsKeyFile } = writeCertificate(work, FIRST);
    const tls = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: tlsKeyFile };
    const replica = spawn({ ROLE: 'replica', ...tls });
    const waiting = await standBy(join(work, `${++names}`), tls);
    const api = await replica.listening({ ca: [FIRST.cert] });
    const { token } = await register(api);
    expect((await api.get('/auth/session', token)).status).toBe(200);
    const ofStandby = new ApiClient(`https://127.0.0.1:${waitingPorts(waiting).port}`, {
      ca: [FIRST.cert],
    });
    expect((await ofStandby.get('/health')).status).toBe(200);
    writeCertificate(work, SECOND);
    replica.child.kill('SIGHUP');
    await eventually(() => replica.stderr.includes('the certificate that was read again'));
    const renewed = new ApiClient(api.url, { ca: [SECOND.cert] });
    expect((await renewed.get('/time')).status).toBe(200);
    expect((await api.get('/time')).status).toBe(200);
    for (const client of [api, ofStandby, renewed]) await client.close();
    for (const server of [replica, waiting]) expect(await server.stop()).toBe(0);
  }, 60_000);
});

describe('while processes end', () => {
  beforeEach(startAll);

  test('the key of replicas is replaced while they run, and the old one is refused', async () => {
    const next = randomBytes(32).toString('hex');
    writeFileSync(keyFile, `${KEY}\n${next}\n`);
    await leader.hangUp();
    writeFileSync(keyFile, `${next}\n${KEY}\n`);
    for (const replica of replicas) await replica.hangUp();
    const hasLeft = () => leader.stderr.split('a replica has left').length;
    const before = hasLeft();
    writeFileSync(keyFile, `${next}\n`);
    await leader.hangUp();
    // The replicas reconnect with the new key.
    await eventually(() => hasLeft() >= before + replicas.length);
    for (const api of [first, second])
      await eventually(async () => (await register(api)).token !== '');
    const old = new WebSocket(`ws://127.0.0.1:${replicasPort()}/replicas/3`, {
      headers: { authorization: `Bearer ${KEY}` },
    });
    const status = await new Promise((resolve) =>
      old.on('unexpected-response', (_, { statusCode }) => resolve(statusCode)),
    );
    old.on('error', () => {});
    expect(status).toBe(403);
    // The address for replicas does not serve the API.
    const plain = await fetch(`http://127.0.0.1:${replicasPort()}/api/markets/15m`);
    expect(plain.status).toBe(404);
  });

  test('a standby and a replica start again from the newest snapshot that the leader vouched for and nobody changed', async () => {
    const folders = [join(work, `${++names}`), secondFolder] as const;
    let standby = await standBy(folders[0]);
    let replica = replicas[1]!;
    const both = () => [standby, replica];
    // Unique balances, for the snapshots to be changed below.
    const traders = [await register(first), await register(second)] as const;
    for (const [i, amount] of [1.37, 2.59].entries()) {
      const staked = await first.post('/vaults/flex/stake', { amount }, traders[i]!.token);
      expect(staked.status, staked.text).toBe(201);
    }
    const { sequence } = (await direct.get('/status')).json;
    const areThere = (server: ChildServer) =>
      vouchedIn(server).length > 2 && vouchedIn(server).at(-1)! > sequence;
    await eventually(() => both().every(areThere), SNAPSHOTS_MS);
    for (const server of both()) await server.stop('SIGTERM');
    const vouched = both().map(vouchedIn);
    // Moves money in the newest snapshot, and corrects the file's checksum.
    const [from, to] = traders.map(({ userId }) => Number(userId.slice(1)));
    for (const [i, folder] of folders.entries()) {
      const changed = vouched[i]!.at(-1)!;
      const isNewer = ({ sequence: at }: SnapshotName) => at > changed;
      for (const { path } of listSnapshots(folder).filter(isNewer)) rmSync(path);
      const [newest] = listSnapshots(folder);
      expect(newest!.sequence).toBe(changed);
      moveMoney(newest!.path, from!, to!);
    }
    replica = spawn({ ROLE: 'replica', DATA_FOLDER: folders[1] });
    [standby, second] = await Promise.all([standBy(folders[0]), listening(replica)]);
    for (const [i, server] of both().entries()) {
      expect(recoveryOf(server).snapshotSequence).toBe(vouched[i]!.at(-2));
      expect(server.stderr).toMatch(/it was changed after it was written.*cannot be used/);
    }
    const { port } = waitingPorts(standby);
    await expectDigestOfLeader(() => statusAt(port));
    await expectDigestOfLeader(async () => (await second.get('/status')).json);
    const { userId, token } = traders[0];
    const { json } = await second.get(`/users/${userId}/balance`, token);
    expect(json.available).toBe(9_998.63);
  }, 240_000);

  test('when the leader is killed, clients with keys see a delay, and one without learns the truth', async () => {
    const fay = await register(first);
    const bounded = await listening(spawn({ ROLE: 'replica', REPLICA_AGE_SECONDS: '2' }));
    const marketId = await lastingMarket(first);
    const path = `/markets/15m/${marketId}/buy`;
    // The leader accepts requests but does not answer.
    leader.child.kill('SIGSTOP');
    const keyless = first.post(path, bid, fay.token);
    const apis = [first, second].map(
      ({ url }) => new Api({ url: `${url}/api`, token: fay.token, retries: { attempts: 20 } }),
    );
    const keyed = apis.flatMap((api, i) =>
      [1, 2, 3].map((n) =>
        buy(
          api,
          marketId,
          { outcome: 'UP', amount: '5', price: '0.1', timeInForce: 'GTC' } as never,
          { idempotencyKey: `kill-${i}-${n}` },
        ),
      ),
    );
    // State known here is still readable, with its age.
    const readings = readUntilOver(
      second,
      ['/markets/15m', `/users/${fay.userId}/orders`],
      fay.token,
    );
    await eventually(() => readings.behindMs > 2_000);
    const { json: ready } = await second.get('/ready');
    expect(ready.behindMs).toBeGreaterThan(2_000);
    expect(ready.warning).toMatch(
      /^no leader writes now: reads are answered from the state of \d+ s ago/,
    );
    // Beyond the age that the operator allows, reads are refused.
    const tooOld = () => bounded.get('/ready').then(({ json }) => json.error?.details.reason);
    await eventually(async () => /^no leader answers, and the state/.test(await tooOld()));
    expect(codeOf(await bounded.get('/markets/15m'))).toBe('503 unavailable');
    leader.child.kill('SIGKILL');
    expect(readings.statuses).toEqual(new Set([200]));
    const waiting = spawn({ REPLICAS_PORT: '0' });
    expect(codeOf(await keyless)).toBe('504 outcome_unknown');
    const next = await listening(waiting);
    expect(await readings.end()).toEqual(new Set([200]));
    const receipts = await Promise.all(keyed);
    const orderIds = receipts.map(({ orderId }) => orderId);
    expect(new Set(orderIds).size).toBe(6);
    const { json } = await next.get(`/users/${fay.userId}/orders`, fay.token);
    const ids = json.orders.map((order: { orderId: string }) => order.orderId);
    expect(ids.sort()).toEqual([...orderIds].sort());
    for (const api of [first, second]) {
      const own = await api.get(`/users/${fay.userId}/orders`, fay.token);
      await eventually(async () => (await api.get('/ready')).status === 200);
      expect([200, 503]).toContain(own.status);
    }
  }, 300_000);

  test('a leader that stops hands over without a refused request, with or without a key', async () => {
    const gus = await register(first);
    const third = spawn({ REPLICAS_PORT: '0' });
    await eventually(() => third.stderr.includes('another exchange leads'));
    const marketId = await lastingMarket(first);
    let isOver = false;
    let sent = 0;
    let lastSequence = 0;
    const received = (sequence: number) => {
      sent++;
      lastSequence = Math.max(lastSequence, sequence);
    };
    const trade = async (api: ApiClient) => {
      while (!isOver) {
        const answer = await api.post(
          `/markets/15m/${marketId}/buy`,
          { ...bid, amount: 1 },
          gus.token,
        );
        expect(answer.status, answer.text).toBe(200);
        received(answer.json.sequence);
      }
    };
    const operation = { op: 'buy', marketId, ...bid, amount: 1 };
    const stream = await connect(first, gus.token);
    const traders = [first, second].map(trade);
    const order = async () => {
      for (let id = 1; !isOver; id++) {
        stream.send({ op: 'order', id: `${id}`, operation });
        const answer = await stream.next((message) => message.id === `${id}`);
        expect(answer.type, JSON.stringify(answer)).toBe('receipt');
        received(answer.sequence);
      }
    };
    const orders = order();
    // A user whose password is being hashed during the handover is also registered.
    const registering = async () => {
      while (!isOver) await register(first);
    };
    const registrations = registering();
    await eventually(() => sent > 30);
    expect(await leader.stop('SIGTERM')).toBe(0);
    const after = sent;
    await listening(third);
    await eventually(() => sent > after + 30);
    isOver = true;
    await Promise.all([...traders, orders, registrations]);
    const path = `/users/${gus.userId}/balance?minSequence=${lastSequence}`;
    const { json } = await first.get(path, gus.token);
    expect(json.held).toBeCloseTo(sent, 6);
  }, 300_000);
});
