/**
 * The two failures of a journal: damaged or unusable (JournalError), or unreadable now, which shows
 * nothing about its contents and is retried (JournalUnavailable). Both have problem and remedy as
 * fields.
 */
import { dirname } from 'node:path';
import { fileProblem } from '../storage/sqlite-codes.js';
import { type Told, TroubleError, troubleOf } from '../storage/trouble.js';

export const UNCHANGED = 'Nothing was changed.';

/**
 * Advice about a folder whose journal is damaged or incomplete. It names only `doctor`: which other
 * commands help depends on how far the folder can be read.
 * @param otherwise a sentence that begins with "Only if", for a folder that only looks damaged.
 */
export function adviceFor(folder: string, otherwise = ''): string {
  return (
    `${UNCHANGED} Keep ${folder} as it is, and put no single file back into it. To see what can be ` +
    `kept, and how, run: npm run doctor -- --data ${folder} (--backup names its ` +
    `backup)${otherwise === '' ? '' : `. ${otherwise}`}`
  );
}

/** Brings back missing or damaged segments of a folder. */
export function restoreCommand(folder: string): string {
  return `npm run archive -- --data ${folder} --to <the archive> --restore`;
}

export class JournalError extends TroubleError {
  override name = 'JournalError';

  /** Everything before `firstBadSequence` is proven; `null` for errors outside the contents. */
  constructor(
    told: string | Told,
    readonly firstBadSequence: number | null,
    cause?: unknown,
  ) {
    super(told, cause);
  }
}

/** Segments belong to different histories. Which one is foreign is unknown. */
export class MixedSegments extends JournalError {
  override name = 'MixedSegments';
}

/** A journal file differs from what was written, from `firstBad` on. */
export function damageOf(
  path: string,
  what: string,
  firstBad: number,
  cause?: unknown,
  otherwise?: string,
): JournalError {
  return new JournalError(damageTold(path, what, otherwise), firstBad, cause);
}

export function damageTold(path: string, what: string, otherwise?: string): Told {
  return { problem: `${path}${what}`, file: path, remedy: adviceFor(dirname(path), otherwise) };
}

export function noJournal(place: string): JournalError {
  return new JournalError(
    {
      problem: `there is no journal in ${place}, and REQUIRE_JOURNAL=on`,
      file: place,
      remedy:
        `${UNCHANGED} If there was one, bring it back: npm run doctor says how. For a new exchange, ` +
        'start once with REQUIRE_JOURNAL=off.',
    },
    null,
  );
}

/** A commit has failed. `cause` is the error of SQLite or the operating system. */
export class JournalNotWritten extends JournalError {
  override name = 'JournalNotWritten';
}

/** A file of the journal is no longer under its name: it was removed, moved or replaced. */
export class FilesGone extends JournalNotWritten {
  override name = 'FilesGone';
}

/** The journal cannot be read now. Nothing is known to be wrong with it. */
export class JournalUnavailable extends TroubleError {
  override name = 'JournalUnavailable';
}

export function removedEnd(sequence: number, durable: number): JournalError {
  return new JournalError(
    `the journal ends at sequence ${sequence}, but commands up to sequence ${durable} had been ` +
      'committed, so its end was removed. Keep the folder as it is and run npm run doctor',
    sequence + 1,
  );
}

const CHECKS =
  'Check that this user may read the file and write to its folder (SQLite needs this even to ' +
  'read), that the disk works, that the process may open more files, and that no other program ' +
  'has locked the file.';

function fileUnavailable(path: string, cause: Error): JournalUnavailable {
  const { problem, remedy } = troubleOf(cause);
  return new JournalUnavailable(
    {
      problem: `${path} cannot be read now: ${problem}. Nothing is known to be wrong with it`,
      file: path,
      remedy: `${UNCHANGED} ${remedy ?? CHECKS}`,
    },
    cause,
  );
}

/**
 * Converts an error of SQLite into an error of the journal at `path`; returns any other error
 * unchanged.
 */
export function unreadable(path: string, sequence: number, error: unknown): unknown {
  switch (fileProblem(error)) {
    case null:
      return error;
    case 'unavailable':
      return fileUnavailable(path, error as Error);
    case 'wrong':
    case 'misuse':
      return damageOf(path, ` cannot be read: ${(error as Error).message}`, sequence, error);
  }
}
