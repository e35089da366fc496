/**
 * Reads the journal of a folder without changing any file (storage/read-only.ts): for the judgement
 * before startup, and for the tools.
 */
import { openReadOnly, type ReadOnlyDatabase } from '../storage/read-only.js';
import { JournalError } from './errors.js';
import { FORMAT_VERSION } from './format.js';
import { type JournalReader, openReader } from './reader.js';

/** An exchange started on a folder that was being read without locks. */
export class FolderDisturbed extends Error {
  override name = 'FolderDisturbed';

  constructor(folder: string, what = 'an exchange was started') {
    super(`${what} on ${folder} while this command ran: run the command again`);
  }
}

/**
 * Reads the journal in a folder that must not be changed.
 * @param version the only accepted version.
 * @throws JournalError for an invalid journal, JournalUnavailable if it cannot be read now,
 *   FolderDisturbed if an exchange started on the folder, so what was read is not valid.
 */
export async function readJournal<Result>(
  folder: string,
  work: (reader: JournalReader) => Promise<Result>,
  version = FORMAT_VERSION,
): Promise<Result> {
  const opened: ReadOnlyDatabase[] = [];
  const reader = await openReader(
    folder,
    async ({ path }) => {
      const one = await openReadOnly(path);
      opened.push(one);
      return one.database;
    },
    version,
  );
  try {
    return await work(reader);
  } catch (error) {
    const isDisturbed = error instanceof JournalError && opened.some((one) => one.wasDisturbed());
    throw isDisturbed ? new FolderDisturbed(folder) : error;
  } finally {
    await reader.close();
  }
}
