/**
 * When a journal's last command came, read without leaving a trace in the folder: a start holds its clock against it before it
 * opens anything. Nothing is proven here: what the journal is worth is judged when it is opened.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FrameError, FrameReader } from './frames.js';
import { JournalError } from './journal-error.js';
import { JOURNAL_FILE } from './journal-format.js';
import { UsageError } from './replay/findings.js';
import { openReadOnlyJournal } from './replay/read-only.js';

/**
 * Milliseconds since the epoch; null when there is no journal, no command in it, or none that can be read.
 * @throws JournalUnavailable
 */
export async function lastCommandAtMs(folder: string): Promise<number | null> {
  if (!existsSync(join(folder, JOURNAL_FILE))) return null;
  try {
    const { reader } = await openReadOnlyJournal(folder);
    try {
      const batch = await reader.lastBatch();
      return batch === null ? null : lastAtMs(batch.frames);
    } finally {
      await reader.close();
    }
  } catch (error) {
    if (error instanceof JournalError || error instanceof UsageError || error instanceof FrameError)
      return null;
    throw error;
  }
}

function lastAtMs(bytes: Buffer): number {
  const frames = new FrameReader();
  frames.open(bytes);
  while (frames.next() !== null);
  return frames.atMs;
}
