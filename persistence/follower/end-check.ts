/**
 * The check of the journal's end while the history is far behind: it is being built anew, or cannot
 * be built because older segments are in an archive. A second engine starts from the newest
 * snapshot, follows the journal and takes the snapshots, until the engine of the history has caught
 * up with it.
 *
 * Always holds: after each batch the engine has the digest that the exchange had, and the chain is
 * unbroken, as in a session of the follower.
 */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Engine } from '../../engine/engine.js';
import { removedEnd } from '../journal/errors.js';
import type { JournalPosition } from '../journal/format.js';
import { openSource } from '../journal/source.js';
import type { JournalSource } from '../journal/store.js';
import { Replay } from '../recovery.js';
import { loadNewestSnapshot, type StartingPoint } from '../snapshot/load.js';
import { Room } from './room.js';
import { GATHER_MS, type SessionOptions, TURN_COMMANDS } from './session.js';
import { FollowerSnapshots } from './snapshots.js';

export class EndCheck {
  private readonly engine: Engine;
  private readonly room: Room;
  private readonly replay: Replay;
  private readonly snapshots: FollowerSnapshots;
  private position: JournalPosition;

  private constructor(
    private readonly options: SessionOptions,
    private readonly reader: JournalSource,
    start: StartingPoint,
  ) {
    this.engine = start.engine;
    this.room = new Room(this.engine);
    this.position = start.position;
    this.snapshots = new FollowerSnapshots(options, this.engine);
    this.replay = new Replay(this.engine, (records, at) => this.snapshots.applied(records, at));
  }

  /** @throws JournalError, or an error of the file system or of SQLite. */
  static async open(options: SessionOptions): Promise<EndCheck> {
    const { folder, log, readSnapshot: read } = options;
    const reader = await openSource(options.journal ?? { folder });
    try {
      const start = await loadNewestSnapshot({ folder, reader, log, read });
      return new EndCheck(options, reader, start);
    } catch (error) {
      await reader.close();
      throw error;
    }
  }

  /** Up to which the journal is checked. */
  get sequence(): number {
    return this.position.sequence;
  }

  /** Follows the journal until `isOver`. */
  async run(isOver: () => boolean): Promise<void> {
    const { board } = this.options;
    while (!isOver()) {
      if (board.get('durable') > this.sequence) await this.follow(isOver);
      else await delay(GATHER_MS);
    }
  }

  async close(): Promise<void> {
    await this.snapshots.close();
    await this.reader.close();
  }

  private async follow(isOver: () => boolean): Promise<void> {
    const before = this.sequence;
    const durable = this.options.board.get('durable');
    let turnEnds = before + TURN_COMMANDS;
    for await (const batch of this.reader.batches(this.position)) {
      if (isOver()) return;
      if (this.room.isDue) await this.room.reserve();
      this.replay.apply(batch);
      this.position = { sequence: batch.lastSequence, hash: batch.hash, digest: batch.digest };
      this.options.board.set('applied', this.sequence);
      if (this.snapshots.isDue(this.engine)) await this.snapshots.take(this.engine, this.position);
      if (this.sequence < turnEnds) continue;
      await nextTurn();
      turnEnds = this.sequence + TURN_COMMANDS;
    }
    if (this.sequence > before) return;
    if (!this.reader.mayLag) throw removedEnd(before, durable);
    await delay(GATHER_MS);
  }
}
