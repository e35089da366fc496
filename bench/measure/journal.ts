/** Reads the journal of a stopped exchange. */
import { type JournalReader, openJournalReader } from '../../persistence/journal/reader.js';

/** @throws JournalError */
export async function readJournal<T>(
  folder: string,
  read: (reader: JournalReader) => Promise<T>,
): Promise<T> {
  const reader = await openJournalReader(folder);
  try {
    return await read(reader);
  } finally {
    await reader.close();
  }
}
