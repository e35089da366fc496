/**
 * Reads single batches of the journal, for clients that verify it. The reads share one reader,
 * opened for the first of them, and take turns on it. The follower has a separate reader and is not
 * delayed.
 *
 * Invariant: every read is answered once. A batch that cannot be read is `unavailable`: the
 * follower, which reads the whole journal, finds damage. If a node of PostgreSQL is lost, another
 * one is read; a node that is behind gets a moment to receive what was committed.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { JournalUnavailable } from '../journal/errors.js';
import type { JournalBatch, JournalSource } from '../journal/store.js';
import { type JournalPlace, openSource } from '../replication/source.js';
import { GIVEN_UP, type WaitingRead } from './read-queue.js';

const LAG_MS_MAX = 1_000;
const LOOK_MS = 10;

export class JournalBatches {
  private reader: JournalSource | null = null;
  /** Settles when the latest read has ended. */
  private last: Promise<void> = Promise.resolve();
  private ended: string | null = null;

  constructor(private readonly place: JournalPlace) {}

  read(sequence: number, { done, isGivenUp }: Pick<WaitingRead, 'done' | 'isGivenUp'>): void {
    this.last = this.last.then(async () => {
      try {
        if (isGivenUp()) throw new JournalUnavailable(GIVEN_UP.reason);
        const batch = await this.find(sequence);
        if (batch === null)
          throw new JournalUnavailable(`the journal has no sequence ${sequence} yet`);
        const { firstSequence, lastSequence, digest, hash } = batch;
        const answer = { firstSequence, lastSequence, digest, hash: hash.toString('hex') };
        // The answer shows no state, so no reader uses its time.
        done({ status: 'ok', sequence: lastSequence, atMs: 0, answer });
      } catch (error) {
        done({ status: 'unavailable', reason: (error as Error).message });
      }
    });
  }

  private async find(sequence: number): Promise<JournalBatch | null> {
    const isNew = this.reader === null;
    try {
      return await this.batchWith(sequence);
    } catch (error) {
      await this.release();
      if (isNew || !(error instanceof JournalUnavailable)) throw error;
      return this.batchWith(sequence);
    }
  }

  /** @param reason the answer to pending reads */
  async close(reason: string): Promise<void> {
    this.ended = reason;
    await this.last;
    await this.release();
  }

  private async batchWith(sequence: number): Promise<JournalBatch | null> {
    for (let waitedMs = 0; ; waitedMs += LOOK_MS) {
      if (this.ended !== null) throw new JournalUnavailable(this.ended);
      this.reader ??= await openSource(this.place);
      const batch = await this.reader.batchWith(sequence);
      if (batch !== null || !this.reader.mayLag || waitedMs >= LAG_MS_MAX) return batch;
      await delay(LOOK_MS);
    }
  }

  private async release(): Promise<void> {
    const { reader } = this;
    this.reader = null;
    await reader?.close();
  }
}
