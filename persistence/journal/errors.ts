/**
 * The two kinds of trouble with a journal: something is wrong with it, and it cannot be read now. Only the first says
 * anything of what is in it. The second is tried again.
 */
import { fileProblem } from '../storage/sqlite-codes.js';

/** What to do about damage, as messages say it. */
export const PUT_BACK =
  'Nothing was changed. Put back journal.db, journal.db-wal and journal.head as they were together, from the disk ' +
  'or from a copy.';

/** What is wrong with a journal, for the operator who has to decide what to do about it. */
export class JournalError extends Error {
  override name = 'JournalError';
  /**
   * The first sequence that cannot be trusted: everything before it is proven good. null when the error is not about
   * the journal's contents (the folder is in use, the format is another one, a commit failed).
   */
  readonly firstBadSequence: number | null;

  constructor(message: string, firstBadSequence: number | null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.firstBadSequence = firstBadSequence;
  }
}

/** The journal cannot be read now. Nothing is known to be wrong with it. */
export class JournalUnavailable extends Error {
  override name = 'JournalUnavailable';

  constructor(path: string, cause: Error) {
    super(
      `${path} cannot be read now: ${cause.message}. Nothing is known to be wrong with it, and nothing was changed. It must be ` +
        'a file that this user may read, in a folder that this user may write to (SQLite needs that also to read), on a ' +
        'disk that works; the process must be allowed to open more files; and no other program may have it locked.',
      { cause },
    );
  }
}

/** What an error met on the way is to be told as; what comes neither from SQLite nor from here, as it is. */
export function unreadable(path: string, sequence: number, error: unknown): unknown {
  switch (fileProblem(error)) {
    case null:
      return error;
    case 'unavailable':
      return new JournalUnavailable(path, error as Error);
    case 'wrong':
    case 'misuse': {
      const { message } = error as Error;
      return new JournalError(
        `${path} cannot be read at sequence ${sequence}: ${message}. ${PUT_BACK}`,
        sequence,
        error,
      );
    }
  }
}
