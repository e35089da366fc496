/**
 * A simulated disk with a journal and snapshots. It is slow at random, and sometimes fails or stops
 * for a while. After a crash, the batch in flight may or may not exist; a batch that was reported
 * as written always does.
 */
import type { Engine } from '../../../engine/engine.js';
import { JournalError } from '../../../persistence/journal/errors.js';
import {
  type BatchContent,
  GENESIS,
  hashOf,
  type JournalPosition,
} from '../../../persistence/journal/format.js';
import type { JournalBatch } from '../../../persistence/journal/store.js';
import { snapshotBytes } from '../../../persistence/recovery/snapshot/file.js';
import {
  SNAPSHOT_HEADER_BYTES,
  SNAPSHOT_SUM_BYTES,
} from '../../../persistence/recovery/snapshot/format.js';
import type { SequencerLog } from '../../../persistence/sequencer.js';
import type { World } from './world.js';

/** Probability that an append fails, or stalls (for STILL_MS). */
const FAILURE = 0.001;
const STILL = 0.002;
const STILL_MS = 30_000;
const USUAL_MS = 8;

export class SimulatedDisk {
  readonly batches: JournalBatch[] = [];
  /** The states in the snapshots. */
  readonly snapshots: Buffer[] = [];
  /** The batch in flight; a crash decides whether it is written. */
  private inFlight: JournalBatch | null = null;
  /** Increases with each crash. Callbacks of an earlier run are dropped. */
  private runs = 0;

  constructor(private readonly world: World) {}

  get end(): JournalPosition {
    const last = this.batches.at(-1);
    if (last === undefined) return GENESIS;
    return { sequence: last.lastSequence, hash: last.hash, digest: last.digest };
  }

  /** Opens the journal for one run of the program. */
  open(): SequencerLog {
    const { world } = this;
    const run = ++this.runs;
    const disk = this;
    return {
      get end() {
        return disk.end;
      },
      append(batch, done) {
        // The sequencer of a crashed program may still call.
        if (run !== disk.runs) return;
        disk.begin(batch);
        const { random } = world;
        const isStill = random.chance(STILL);
        const fails = random.chance(FAILURE);
        const delayMs = isStill ? STILL_MS : random.whole(1, USUAL_MS);
        world.after(delayMs, () => {
          if (run !== disk.runs) return;
          disk.finish(!fails || random.chance(0.5));
          done(fails ? new JournalError('the simulated disk failed', null) : null);
        });
      },
      close: () => Promise.resolve(),
    };
  }

  /** Crashes the program immediately, whatever it was doing. */
  crash(): void {
    this.runs++;
    this.finish(this.world.random.chance(0.5));
  }

  keepSnapshot(engine: Engine): void {
    const file = Buffer.concat([...snapshotBytes(engine, this.end)]);
    this.snapshots.push(file.subarray(SNAPSHOT_HEADER_BYTES, -SNAPSHOT_SUM_BYTES));
  }

  private begin(batch: BatchContent): void {
    if (this.inFlight !== null) throw new Error('two batches are being written');
    const hash = hashOf(batch, this.end.hash);
    this.inFlight = { ...batch, records: Buffer.from(batch.records), hash };
  }

  private finish(isKept: boolean): void {
    if (this.inFlight !== null && isKept) this.batches.push(this.inFlight);
    this.inFlight = null;
  }
}
