/**
 * The two failures of a journal: it is damaged or unusable, or it cannot be read now, which says
 * nothing about its contents and is retried.
 */
import { fileProblem } from '../storage/sqlite-codes.js';

/** What the operator should do about damage; part of most messages. */
export const PUT_BACK =
  'Nothing was changed. Restore journal.db, journal.db-wal and journal.head together, as they ' +
  'were at one time, from the disk or from a copy.';

/** The message is for the operator, and says what is wrong and what to do. */
export class JournalError extends Error {
  override name = 'JournalError';

  /**
   * @param firstBadSequence the first sequence that cannot be trusted: everything before it is
   *   proven. null when the error is not about the journal's contents (the folder is in use, say).
   */
  constructor(
    message: string,
    readonly firstBadSequence: number | null,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** A commit has failed. `cause` is the error of SQLite or the operating system. */
export class JournalNotWritten extends JournalError {
  override name = 'JournalNotWritten';
}

/** The journal cannot be read now. Nothing is known to be wrong with it. */
export class JournalUnavailable extends Error {
  override name = 'JournalUnavailable';

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
  }
}

/** What had been committed is no longer in the journal. */
export function removedEnd(sequence: number, durable: number): JournalError {
  return new JournalError(
    `the journal ends at sequence ${sequence}, but ${durable} had been committed: its end ` +
      'has been removed',
    sequence + 1,
  );
}

function fileUnavailable(path: string, cause: Error): JournalUnavailable {
  return new JournalUnavailable(
    `${path} cannot be read now: ${cause.message}. Nothing is known to be wrong with it, ` +
      'and nothing was changed. Check that this user may read the file and write to its ' +
      'folder (SQLite needs this even to read), that the disk works, that the process may ' +
      'open more files, and that no other program has locked the file.',
    cause,
  );
}

/** An error of SQLite as an error of the journal at `path`; any other error unchanged. */
export function unreadable(path: string, sequence: number, error: unknown): unknown {
  switch (fileProblem(error)) {
    case null:
      return error;
    case 'unavailable':
      return fileUnavailable(path, error as Error);
    case 'wrong':
    case 'misuse': {
      const what = `cannot be read at sequence ${sequence}: ${(error as Error).message}`;
      return new JournalError(`${path} ${what}. ${PUT_BACK}`, sequence, error);
    }
  }
}
