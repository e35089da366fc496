/**
 * One run of the program, from its recovery to its crash: the real engine and sequencer, and a
 * second engine that follows the journal, on the simulated disk.
 *
 * Invariant, which the simulation checks: a reply leaves only when its sequence is on the disk;
 * both engines agree with every digest of the journal; recovery from a snapshot and recovery from
 * the first command lead to the same state, which is the previous run's state at that sequence.
 */
import { Engine } from '../../../engine/engine.js';
import type { Command } from '../../../engine/interface/commands.js';
import { GENESIS } from '../../../persistence/journal/format.js';
import { JournalFollower } from '../../../persistence/recovery/recovery.js';
import { Sequencer, SubmitRefused } from '../../../persistence/sequencer.js';
import type { SimulatedDisk } from './disk.js';
import type { World } from './world.js';

export interface Reply {
  sequence: number;
  /** The whole result, in the layout of results.ts. */
  values: readonly number[];
  isReplayed: boolean;
}

/** A broken promise. */
export class Broken extends Error {
  override name = 'Broken';
}

export class SimulatedExchange {
  readonly sequencer: Sequencer;
  private readonly follower: Engine;
  private readonly followed: JournalFollower;
  private followedBatches: number;
  private readonly disk: SimulatedDisk;

  constructor(
    world: World,
    disk: SimulatedDisk,
    options: { now: () => number; digests: Map<number, string>; onFatal: (error: Error) => void },
  ) {
    this.disk = disk;
    const engine = recovered(disk, world.random.chance(0.7));
    const { digests } = options;
    const { sequence } = engine;
    const known = digests.get(sequence);
    if (known !== undefined && known !== engine.digest())
      throw new Broken(`after the recovery to ${sequence} the digest is another`);
    // Later digests were never reported.
    for (const later of digests.keys()) if (later > sequence) digests.delete(later);
    this.follower = recovered(disk, false);
    if (this.follower.digest() !== engine.digest())
      throw new Broken(`a snapshot and the whole journal lead to different states at ${sequence}`);
    engine.checkInvariants();
    this.followedBatches = disk.batches.length;
    this.followed = followerOf(this.follower);
    this.digests = digests;
    const { now, onFatal } = options;
    this.sequencer = new Sequencer({ engine, journal: disk.open(), now, onFatal });
  }

  private readonly digests: Map<number, string>;

  /**
   * Returns whether the command was accepted. `reply` is called when the command is durable, if
   * ever.
   */
  submit(command: Command, reply: (reply: Reply) => void): boolean {
    const { sequencer, disk } = this;
    try {
      sequencer.submit(command);
    } catch (error) {
      if (error instanceof SubmitRefused) return false;
      throw error;
    }
    const { engine } = sequencer;
    const { sequence, result, replayed: isReplayed } = engine;
    this.digests.set(sequence, engine.digest());
    const values = Array.from(result.values.subarray(0, result.length));
    const release = () => {
      if (sequence > disk.end.sequence)
        throw new Broken(`the reply to ${sequence} left before it was durable`);
      reply({ sequence, values, isReplayed });
    };
    sequencer.releaseAt(sequence, { release });
    return true;
  }

  /** Lets the follower read the disk, and write a snapshot if one is due. */
  follow(isSnapshotDue: boolean): void {
    const { batches } = this.disk;
    while (this.followedBatches < batches.length)
      this.followed.apply(batches[this.followedBatches++]!);
    if (isSnapshotDue && this.follower.sequence > 0) this.disk.keepSnapshot(this.follower);
  }
}

/** The engine at the end of the journal. */
function recovered(disk: SimulatedDisk, isFromSnapshot: boolean): Engine {
  const snapshot = isFromSnapshot ? disk.snapshots.at(-1) : undefined;
  const engine = snapshot === undefined ? new Engine() : Engine.restore(snapshot);
  const follower = followerOf(engine);
  for (const batch of disk.batches)
    if (batch.firstSequence > engine.sequence) follower.apply(batch);
  return engine;
}

function followerOf(engine: Engine): JournalFollower {
  return new JournalFollower(engine, { ...GENESIS, sequence: engine.sequence });
}
