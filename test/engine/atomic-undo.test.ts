/**
 * A refused atomic batch leaves no trace. At random moments in a busy exchange, one copy of the
 * engine gets such a batch and another an empty command; afterwards their bytes are equal but for
 * the running digest. The batch trades, rests, cancels, meets its own orders and claims before it
 * fails.
 */
import { expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import type { Batch, BatchOperation, Command } from '../../engine/interface/commands.js';
import { decodeEvents } from '../../engine/interface/events.js';
import { ResultHead } from '../../engine/interface/results.js';
import { archiveOf, WINDOW_START_MS } from '../support/engine-support.js';
import { NaiveEngine } from '../support/naive-engine/naive-engine.js';
import { RandomCommands, type Scenario } from '../support/random-commands.js';

const SCENARIO: Scenario = {
  name: 'undone',
  commands: 3_000,
  assets: 2,
  users: 7,
  grantMicros: 1_000_000_000,
  stepMs: 2_500,
  deadlineShare: 0.01,
  silenceShare: 0.0005,
  priceShare: 0.12,
  outageShare: 0.001,
  maxLots: 30_000,
  spreadTicks: 40,
  maxRestingOrders: 60,
  crossingShare: 0.5,
  stakeWeight: 1,
  unstakeWeight: 1,
};
/** Two 8-byte lanes at the end of the archive. */
const DIGEST_BYTES = 16;
const TRIED_EVERY = 40;
const MOST_OPERATIONS = 30;

const isOperation = (command: Command): command is BatchOperation =>
  ['buy', 'sell', 'cancel', 'claim'].includes(command.kind);

/** The operations that succeed when run in order, and a last one that is refused. */
function failingBatch(archive: Uint8Array, recent: readonly BatchOperation[], atMs: number): Batch {
  const { userId } = recent.at(-1)!;
  const trial = Engine.restore(archive);
  const operations = recent
    .filter((operation) => operation.userId === userId)
    .map((operation) => ({ ...operation, idempotencyKey: null }))
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

test('a refused atomic batch leaves no trace', () => {
  const engine = new Engine();
  const naive = new NaiveEngine();
  const random = new RandomCommands('2', SCENARIO, naive);
  const apply = (command: Command, atMs: number): void => {
    engine.apply(command, atMs);
    naive.apply(command, atMs);
  };
  for (const command of random.opening()) apply(command, WINDOW_START_MS);
  let recent: BatchOperation[] = [];
  const undone = new Map<string, number>();
  for (let i = 0; i < SCENARIO.commands; i++) {
    const { command, atMs } = random.next();
    if (isOperation(command)) recent = [...recent.slice(1 - MOST_OPERATIONS), command];
    if (i % TRIED_EVERY === 0 && recent.length > 0) {
      const before = archiveOf(engine);
      const [idle, busy, kept] = [
        Engine.restore(before),
        Engine.restore(before),
        Engine.restore(before),
      ] as const;
      idle.apply({ kind: 'advanceTime' }, atMs);
      const batch = failingBatch(before, recent, atMs);
      busy.apply(batch, atMs);
      expect(decodeEvents(busy.events)).toEqual(decodeEvents(idle.events));
      expect(Buffer.compare(stateOf(busy), stateOf(idle))).toBe(0);
      // Without `atomic`, the same batch shows what was undone.
      kept.apply({ ...batch, atomic: false }, atMs);
      for (const { type } of decodeEvents(kept.events))
        undone.set(type, (undone.get(type) ?? 0) + 1);
    }
    apply(command, atMs);
  }
  for (const type of ['trade', 'orderPlaced', 'orderCancelled', 'claimed']) {
    expect(undone.get(type) ?? 0, type).toBeGreaterThan(0);
  }
});

function stateOf(engine: Engine): Uint8Array {
  return archiveOf(engine).subarray(0, -DIGEST_BYTES);
}
