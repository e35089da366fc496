/**
 * Overload: changes are refused while too much work is waiting for the disk, and reads while too
 * many answers are. Tested alone, with a time set by the test, and over real HTTP with a disk that
 * is stuck. That a refused request is not executed and pays nothing is proven in conformance/.
 */
import { expect, test } from 'vitest';
import { Overload, type OverloadLimits } from '../../../gateway/access/fair-use/overload.js';
import { eventually } from '../../support/eventually.js';
import { lockJournal } from '../../support/journal-fixture.js';
import { type Answer, codeOf, MARKET, TestServer } from '../../support/server.js';

const LIMITS: OverloadLimits = {
  backlogCommands: 100,
  backlogBytes: 1_000,
  stallMs: 50,
  waitingAnswers: 10,
};

function overloadOf() {
  const backlog = { backlog: 0, backlogBytes: 0, durableSequence: 7, waitingTargets: 0 };
  const time = { nowMs: 0 };
  const overload = new Overload(backlog, LIMITS, () => time.nowMs);
  return { backlog, time, overload };
}

test.each([
  ['commands', { backlog: 99 }, { backlog: 100 }],
  ['bytes', { backlog: 1, backlogBytes: 999 }, { backlog: 1, backlogBytes: 1_000 }],
  ['answers', { waitingTargets: 9 }, { waitingTargets: 10 }],
])('changes are refused when too many %s wait for the disk', (_name, fine, tooMuch) => {
  const { backlog, overload } = overloadOf();
  Object.assign(backlog, fine);
  expect(overload.refuse('change')).toBe(false);
  Object.assign(backlog, tooMuch);
  expect(overload.refuse('change')).toBe(true);
  Object.assign(backlog, fine);
  expect(overload.refuse('change')).toBe(false);
  expect(overload.refusedCounts).toEqual({ change: 1, cancel: 0, read: 0 });
});

test('changes are refused when the disk makes no progress', () => {
  const { backlog, time, overload } = overloadOf();
  time.nowMs = 1_000;
  expect(overload.refuse('change')).toBe(false);
  backlog.backlog = 1;
  time.nowMs = 1_050;
  expect(overload.refuse('change')).toBe(false);
  time.nowMs = 1_051;
  expect(overload.refuse('change')).toBe(true);
  backlog.durableSequence = 8;
  expect(overload.refuse('change')).toBe(false);
  time.nowMs = 1_102;
  expect(overload.refuse('change')).toBe(true);
  backlog.backlog = 0;
  expect(overload.refuse('change')).toBe(false);
});

test('a long time without commands is not a stall', () => {
  const { backlog, time, overload } = overloadOf();
  expect(overload.refuse('change')).toBe(false);
  time.nowMs = 10_000;
  backlog.backlog = 1;
  overload.applied();
  expect(overload.refuse('change')).toBe(false);
  time.nowMs = 10_050;
  // A newer command does not reset the first one's time.
  backlog.backlog = 2;
  overload.applied();
  expect(overload.refuse('change')).toBe(false);
  time.nowMs = 10_051;
  expect(overload.refuse('change')).toBe(true);
});

test('reads are refused only when too many answers wait', () => {
  const { backlog, overload } = overloadOf();
  Object.assign(backlog, { backlog: 1_000, backlogBytes: 10_000 });
  expect(overload.refuse('read')).toBe(false);
  backlog.waitingTargets = 10;
  expect(overload.refuse('read')).toBe(true);
  expect(overload.refusedCounts).toEqual({ change: 0, cancel: 0, read: 1 });
});

test('cancels are refused only when their reserve is full too', () => {
  const { backlog, time, overload } = overloadOf();
  Object.assign(backlog, { backlog: 109, backlogBytes: 1_099, waitingTargets: 10 });
  time.nowMs = 1_000_000;
  expect([overload.refuse('change'), overload.refuse('cancel')]).toEqual([true, false]);
  for (const full of [{ backlog: 110 }, { backlogBytes: 1_100 }, { waitingTargets: 11 }]) {
    const before = { ...backlog };
    Object.assign(backlog, full);
    expect([full, overload.refuse('cancel')]).toEqual([full, true]);
    Object.assign(backlog, before);
  }
  expect(overload.refusedCounts).toEqual({ change: 1, cancel: 3, read: 0 });
});

test('over HTTP, cancels are accepted while orders are refused because the disk is stuck; what was accepted is answered afterwards', async () => {
  const server = await TestServer.withMarket({
    overload: { backlogCommands: 1e9, backlogBytes: 1e9, stallMs: 50, waitingAnswers: 1e9 },
  });
  const { api } = server;
  const { engine } = server.exchange.sequencer;
  const ada = await server.register('ada');
  const order = { outcome: 'UP', shares: 1, price: 0.1, timeInForce: 'GTC' };
  const rest = { op: 'buy', marketId: MARKET, ...order };
  const batch = (operations: object[]) => api.post('/batch', { operations }, ada.token);
  const { json } = await batch([rest, rest, rest, rest]);
  const ids: string[] = json.results.map(({ orderId }: { orderId: string }) => orderId);
  const cancel = (i: number) => ({ op: 'cancel', marketId: MARKET, orderId: ids[i] });
  await server.durable();
  const unlock = await lockJournal(server.folder);
  const orders: Promise<Answer>[] = [];
  let isRefused = false;
  await eventually(() => {
    const buy = server.buy(ada, { ...order, shares: 2 });
    orders.push(buy);
    void buy.then(({ status }) => {
      isRefused ||= status === 503;
    });
    return isRefused;
  });
  // A batch with another operation is refused like an order, whatever its first operation is.
  for (const operations of [
    [cancel(0), rest],
    [rest, cancel(0)],
  ]) {
    const { status, json: refusal } = await batch(operations);
    expect([status, refusal.error.details]).toEqual([503, { executed: false }]);
  }
  const cancels = [
    api.delete(`/markets/15m/${MARKET}/orders/${ids[0]}`, ada.token),
    batch([cancel(1), cancel(2)]),
  ];
  const small = () => engine.orders(1).filter(({ sizeLots }) => sizeLots === 1_000);
  await eventually(() => small().length === 1);
  // Cancels everything, by its own route and in a batch.
  cancels.push(api.delete(`/users/${ada.userId}/orders`, ada.token), batch([{ op: 'cancelAll' }]));
  await eventually(() => engine.orders(1).length === 0);
  // Answers about the process do not wait, and report what is waiting.
  await eventually(async () => codeOf(await api.get('/ready')) === '503 unavailable');
  const { details } = (await api.get('/ready')).json.error;
  expect(details.reason).toMatch(/^everything waits: a commit has taken [1-9]\d* s so far$/);
  for (const path of ['/health', '/time', '/metrics'])
    expect((await api.get(path)).status, path).toBe(200);
  expect(await api.metric('exchange_commit_wait_seconds')).toBeGreaterThan(2);
  await unlock();
  await eventually(async () => (await api.get('/ready')).status === 200);
  expect((await Promise.all(cancels)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const statuses = (await Promise.all(orders)).map(({ status }) => status);
  const refused = statuses.filter((status) => status === 503).length;
  expect(statuses.length - refused).toBeGreaterThan(0);
  // Two batches were refused as well.
  expect(await api.metric('exchange_overload_refused_total{kind="change"}')).toBe(refused + 2);
  // Once the disk has caught up, changes are accepted.
  expect((await api.post('/vaults/flex/stake', { amount: 1 }, ada.token)).status).toBe(201);
  await server.stop();
});
