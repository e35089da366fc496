/**
 * The check of the journal's end while the history is far behind: it is being rebuilt, or cannot
 * be built because older segments are in an archive. A second engine starts from the newest
 * snapshot, follows the journal and takes the snapshots, until the engine of the history has caught
 * up with it.
 *
 * Invariant: after each batch the engine has the digest that the exchange had, and the chain is
 * unbroken, as in a session of the follower.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../../engine/engine.js';
import { removedEnd } from '../journal/errors.js';
import type { JournalSource } from '../journal/store.js';
import { JournalFollower } from '../recovery/recovery.js';
import { loadNewestSnapshot, type StartingPoint } from '../recovery/snapshot/load.js';
import { openSource } from '../replication/source.js';
import { GATHER_MS, type SessionOptions } from './session.js';
import { FollowerSnapshots } from './snapshots.js';

export class EndCheck {
  private readonly follower: JournalFollower;
  private readonly snapshots: FollowerSnapshots;
  private isOver = () => false;

  private constructor(
    private readonly options: SessionOptions,
    private readonly reader: JournalSource,
    { engine, position }: StartingPoint,
  ) {
    engine.keepRecentResults(0);
    this.snapshots = new FollowerSnapshots(options, engine);
    this.follower = new JournalFollower(engine, position, {
      mayApply: () => !this.isOver(),
      applied: (records, at) => this.snapshots.applied(records, at),
      proven: () => this.proven(engine),
    });
  }

  /** @throws JournalError, or an error of the file system or of SQLite. */
  static async open(options: SessionOptions): Promise<EndCheck> {
    const { folder, log, readSnapshot: read } = options;
    const reader = await openSource(options.journal);
    try {
      const start = await loadNewestSnapshot({ folder, reader, log, read });
      return new EndCheck(options, reader, start);
    } catch (error) {
      await reader.close();
      throw error;
    }
  }

  /** The sequence up to which the journal is checked. */
  get sequence(): number {
    return this.follower.position.sequence;
  }

  async run(isOver: () => boolean): Promise<void> {
    this.isOver = isOver;
    const { board } = this.options;
    while (!isOver()) {
      const before = this.sequence;
      const durable = board.get('durable');
      if (durable > before) await this.follower.follow(this.reader);
      if (this.sequence > before || isOver()) continue;
      if (durable > before && !this.reader.mayLag) throw removedEnd(before, durable);
      await delay(GATHER_MS);
    }
  }

  async close(): Promise<void> {
    await this.snapshots.close();
    await this.reader.close();
  }

  private async proven(engine: Engine): Promise<boolean> {
    this.options.board.set('applied', this.sequence);
    if (this.snapshots.isDue(engine)) await this.snapshots.take(engine, this.follower.position);
    return true;
  }
}
