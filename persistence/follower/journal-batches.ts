/**
 * Reads of single batches of the journal, for those who want to check it, and for what only the
 * commands say. They have a reader of their own, opened when the first one comes, and take turns,
 * so the follower's own reading goes on beside them.
 *
 * Always holds: every read is answered once. What cannot be read is `unavailable`: damage is for
 * the follower to find, which reads the whole journal.
 */
import { JournalUnavailable } from '../journal/errors.js';
import { type JournalPlace, openSource } from '../journal/source.js';
import type { JournalBatch, JournalSource } from '../journal/store.js';
import type { Answered } from './reads.js';

export class JournalBatches {
  private reader: JournalSource | null = null;
  /** Settles when the last read that came is over. */
  private last: Promise<unknown> = Promise.resolve();
  private ended: string | null = null;

  constructor(private readonly place: JournalPlace) {}

  read(sequence: number, done: Answered): void {
    const unavailable = ({ message: reason }: Error) => done({ outcome: 'unavailable', reason });
    this.find(sequence).then((batch) => {
      if (batch === null) {
        unavailable(new Error(`the journal has no sequence ${sequence} yet`));
        return;
      }
      const { firstSequence, lastSequence, digest, hash } = batch;
      const answer = { firstSequence, lastSequence, digest, hash: hash.toString('hex') };
      done({ outcome: 'ok', sequence: lastSequence, answer });
    }, unavailable);
  }

  /**
   * The batch that holds a sequence; null: the journal ends before it.
   * @throws JournalError or JournalUnavailable if it cannot be read.
   */
  find(sequence: number): Promise<JournalBatch | null> {
    const found = this.last.then(() => this.findNow(sequence));
    this.last = found.catch(() => {});
    return found;
  }

  /** @param reason for the reads that still wait. */
  async close(reason: string): Promise<void> {
    this.ended = reason;
    await this.last;
    await this.release();
  }

  private async findNow(sequence: number): Promise<JournalBatch | null> {
    if (this.ended !== null) throw new JournalUnavailable(this.ended);
    this.reader ??= await openSource(this.place);
    try {
      return await this.reader.batchWith(sequence);
    } catch (error) {
      // Its connection may be lost: the next read opens another.
      if (error instanceof JournalUnavailable) await this.release();
      throw error;
    }
  }

  private async release(): Promise<void> {
    const { reader } = this;
    this.reader = null;
    await reader?.close();
  }
}
