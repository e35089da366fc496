/**
 * Reads of single batches of the journal, for those who want to check it. They have a reader of
 * their own, opened when the first one comes, and take turns, so the follower's own reading goes on
 * beside them.
 *
 * Always holds: every read is answered once. What cannot be read is `unavailable`: damage is for
 * the follower to find, which reads the whole journal.
 */
import type { BatchRecord } from '../history/requests.js';
import { type JournalReader, openJournalReader } from '../journal/reader.js';
import type { Answered } from './reads.js';

export class JournalBatches {
  private reader: JournalReader | null = null;
  /** Settles when the last read that came is answered. */
  private last: Promise<void> = Promise.resolve();
  private ended: string | null = null;

  constructor(private readonly folder: string) {}

  read(sequence: number, done: Answered): void {
    this.last = this.last.then(async () => {
      try {
        const answer = await this.batchWith(sequence);
        done({ outcome: 'ok', sequence: answer.lastSequence, answer });
      } catch (error) {
        done({ outcome: 'unavailable', reason: (error as Error).message });
      }
    });
  }

  /** @param reason for the reads that still wait. */
  async close(reason: string): Promise<void> {
    this.ended = reason;
    await this.last;
    await this.reader?.close();
  }

  private async batchWith(sequence: number): Promise<BatchRecord> {
    if (this.ended !== null) throw new Error(this.ended);
    this.reader ??= await openJournalReader(this.folder);
    const batch = await this.reader.batchWith(sequence);
    if (batch === null) throw new Error(`the journal has no sequence ${sequence} yet`);
    const { firstSequence, lastSequence, digest, hash } = batch;
    return { firstSequence, lastSequence, digest, hash: hash.toString('hex') };
  }
}
