/**
 * A refused atomic batch leaves no trace. At random moments in a busy exchange a copy of the engine
 * gets such a batch, which trades, rests, amends, cancels, meets its own orders and claims before
 * it fails: every typed array of the state is as before, bit by bit. What the batch may change is
 * listed; the layout of an index may differ, so its content is checked by the invariants.
 */
import { expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import type { Batch, BatchOperation, Command } from '../../engine/interface/commands.js';
import { decodeEvents } from '../../engine/interface/events.js';
import { FIRST_OPERATION, ResultHead } from '../../engine/interface/results.js';
import { IdIndex } from '../../engine/storage/indexes/id-index.js';
import { RowIndex } from '../../engine/storage/indexes/row-index.js';
import { SlotIndex } from '../../engine/storage/indexes/slot-index.js';
import { TextHash } from '../../engine/storage/text-hash.js';
import { UndoLog } from '../../engine/storage/undo.js';
import { archiveOf, WINDOW_START_MS } from '../support/engine-support.js';
import { NaiveEngine } from '../support/naive-engine/naive-engine.js';
import { RandomCommands, USUAL } from '../support/random-commands.js';

const COMMANDS = 3_000;
const TRIED_EVERY = 40;
const TRIED_OPERATIONS = 60;

type Memory = Map<string, ArrayBufferView>;
/** The buffers of one command, which a refused batch writes, too. */
const WRITTEN = ['result', 'events', 'idempotency', 'view'];

function memoryOf(value: object, path: string, found: Memory, seen: Set<object>): Memory {
  if (
    seen.has(value) ||
    value instanceof UndoLog ||
    value instanceof RowIndex ||
    value instanceof SlotIndex ||
    value instanceof TextHash ||
    value instanceof IdIndex
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

/** What a growing table adds is 0. */
function expectSame(before: Memory, after: Memory): void {
  expect([...after.keys()]).toEqual([...before.keys()]);
  for (const [path, was] of before) {
    const is = bytesOf(after.get(path)!);
    const isSame = is.subarray(0, was.byteLength).equals(bytesOf(was));
    if (!isSame) expect(after.get(path), path).toEqual(was);
    expect(is.subarray(was.byteLength).every((byte) => byte === 0)).toBe(true);
  }
}

const isOperation = (command: Command): command is BatchOperation =>
  ['buy', 'sell', 'cancel', 'amend', 'claim'].includes(command.kind);

/** Random operations that succeed when run in order, and a last one that is refused. */
function failingBatch(archive: Uint8Array, random: RandomCommands, atMs: number): Batch {
  const trial = Engine.restore(archive);
  const candidates = Array.from({ length: TRIED_OPERATIONS }, () => random.next().command);
  const found = candidates.filter(isOperation);
  // An order is amended by its owner.
  const { userId } = found.find(({ kind }) => kind === 'amend') ?? found[0]!;
  const operations = found
    .map((operation) => ({ ...operation, userId, idempotencyKey: null }))
    .filter((operation) => {
      trial.apply(operation, atMs);
      return trial.result.values[ResultHead.code] === Code.ok;
    });
  const refused: BatchOperation = {
    kind: 'cancel',
    userId,
    marketId: 1,
    orderId: 1,
    idempotencyKey: null,
  };
  return {
    kind: 'batch',
    userId,
    idempotencyKey: null,
    atomic: true,
    operations: [...operations, refused],
  };
}

test('a refused atomic batch leaves all memory as it was', () => {
  const engine = new Engine();
  const naive = new NaiveEngine();
  const random = new RandomCommands('2', USUAL, naive);
  const apply = (command: Command, atMs: number): void => {
    engine.apply(command, atMs);
    naive.apply(command, atMs);
  };
  for (const command of random.opening()) apply(command, WINDOW_START_MS);
  const undone = new Map<string, number>();
  for (let i = 0; i < COMMANDS; i++) {
    const { command, atMs } = random.next();
    if (i % TRIED_EVERY === 0) {
      const archive = archiveOf(engine);
      const batch = failingBatch(archive, random, atMs);
      const [tried, kept] = [Engine.restore(archive), Engine.restore(archive)] as const;
      // What is due then, and what the last command has ended, is not the batch's.
      while (tried.nextDueMs() <= atMs) tried.apply({ kind: 'advanceTime' }, atMs);
      tried.apply({ kind: 'advanceTime' }, atMs);
      const before = memory(tried);
      tried.apply(batch, atMs);
      const last = tried.result.values[FIRST_OPERATION + ResultHead.code];
      if (batch.operations.length > 1) expect(last).toBe(Code.batch_aborted);
      expect(decodeEvents(tried.events)).toEqual([]);
      expectSame(before, memory(tried));
      tried.checkInvariants();
      // Without `atomic`, the same batch shows what was undone.
      kept.apply({ ...batch, atomic: false }, atMs);
      for (const { type } of decodeEvents(kept.events))
        undone.set(type, (undone.get(type) ?? 0) + 1);
    }
    apply(command, atMs);
  }
  for (const type of ['trade', 'orderPlaced', 'orderAmended', 'orderCancelled', 'claimed'])
    expect(undone.get(type) ?? 0, type).toBeGreaterThan(0);
});
