/**
 * A refused atomic batch leaves the exchange's memory unchanged: every typed array of the state is
 * compared, bit by bit. Exceptions are listed. The layout of an index may differ, so its content is
 * checked by the invariants.
 */
import { expect, test } from 'vitest';
import type { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import type { BatchOperation } from '../../engine/interface/commands.js';
import { Outcome, TimeInForce } from '../../engine/interface/domain.js';
import { FIRST_OPERATION, ResultHead } from '../../engine/interface/results.js';
import { HashIndex } from '../../engine/storage/indexes/hash-index.js';
import { IdIndex } from '../../engine/storage/indexes/id-index.js';
import { TextHash } from '../../engine/storage/text-hash.js';
import { UndoLog } from '../../engine/storage/undo.js';
import { batch, buy, openMarket, sell } from '../support/engine-support.js';
import { Random } from '../support/workload/random.js';

type Memory = Map<string, ArrayBufferView>;
/** The buffers of one command, which even a refused batch writes. */
const WRITTEN = ['result', 'events', 'idempotency', 'recentResults', 'view'];

function memoryOf(value: object, path: string, found: Memory, seen: Set<object>): Memory {
  if (
    seen.has(value) ||
    value instanceof UndoLog ||
    value instanceof HashIndex ||
    value instanceof IdIndex ||
    value instanceof TextHash
  )
    return found;
  seen.add(value);
  if (ArrayBuffer.isView(value)) {
    found.set(path, (value as Int32Array).slice());
    return found;
  }
  for (const [name, part] of Object.entries(value)) {
    if (WRITTEN.includes(name) || typeof part !== 'object' || part === null) continue;
    memoryOf(part, `${path}.${name}`, found, seen);
  }
  return found;
}

const memory = (engine: Engine) =>
  memoryOf((engine as unknown as { state: object }).state, 'state', new Map(), new Set());

const bytesOf = (view: ArrayBufferView) =>
  Buffer.from(view.buffer, view.byteOffset, view.byteLength);

/** A table may have grown; what it added is 0. */
function expectSame(before: Memory, after: Memory): void {
  expect([...after.keys()]).toEqual([...before.keys()]);
  for (const [path, was] of before) {
    const is = bytesOf(after.get(path)!);
    const isSame = is.subarray(0, was.byteLength).equals(bytesOf(was));
    if (!isSame) expect(after.get(path), path).toEqual(was);
    expect(is.subarray(was.byteLength).every((byte) => byte === 0)).toBe(true);
  }
}

test.each([1, 2])('a refused atomic batch leaves all memory as it was, seed %i', (seed) => {
  const USERS = 6;
  const random = new Random(`rollback ${seed}`);
  const { engine, marketId } = openMarket(USERS);
  let names = 0;
  const order = (userId: number): BatchOperation => {
    const common = {
      userId,
      marketId,
      outcome: random.pick([Outcome.UP, Outcome.DOWN]),
      priceTicks: random.whole(300, 700),
      sizeLots: random.whole(1, 4_000),
      timeInForce: random.pick([TimeInForce.IOC, TimeInForce.GTC]),
    };
    names++;
    const optional = {
      ...(random.chance(0.5) ? { clientOrderId: `c${names}` } : {}),
      ...(common.timeInForce === TimeInForce.GTC && random.chance(0.5)
        ? { expiresAtMs: engine.nowMs + random.whole(1, 60_000) }
        : {}),
    };
    if (random.chance(0.3)) return { ...sell(common), ...optional };
    const budgetMicros = common.sizeLots * common.priceTicks;
    return { ...buy({ ...common, budgetMicros }), ...optional };
  };
  const operation = (userId: number): BatchOperation => {
    const resting = engine.orders(userId);
    if (resting.length === 0 || random.chance(0.7)) return order(userId);
    const { orderId } = random.pick(resting);
    const head = { userId, idempotencyKey: null, marketId, orderId };
    if (random.chance(0.4)) {
      const [sizeLots, priceTicks] = [random.whole(0, 4_000), random.whole(300, 700)];
      return { kind: 'amend', ...head, sizeLots, priceTicks };
    }
    return { kind: 'cancel', ...head };
  };
  const impossible = (userId: number) =>
    sell({ userId, marketId, outcome: Outcome.UP, sizeLots: 9_000_000_000, priceTicks: 1 });

  let changed = 0;
  for (let i = 0; i < 150; i++) {
    engine.apply(order(random.whole(1, USERS)), engine.nowMs);
    const userId = random.whole(1, USERS);
    const operations = Array.from({ length: random.whole(1, 12) }, () => operation(userId));
    // A command forgets what the command before it has ended.
    engine.apply({ kind: 'advanceTime' }, engine.nowMs);
    const before = memory(engine);
    engine.apply(batch(userId, [...operations, impossible(userId)], true), engine.nowMs);
    expectSame(before, memory(engine));
    const last = engine.result.values[FIRST_OPERATION + ResultHead.code];
    if (last === Code.batch_aborted) changed++;
  }
  engine.checkInvariants();
  // Most batches reached the impossible order, after they had changed something.
  expect(changed).toBeGreaterThan(40);
});
