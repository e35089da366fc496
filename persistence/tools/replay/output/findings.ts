/** A problem in a data folder: where, what, and what the operator should do. */
import { basename } from 'node:path';
import type { JournalError } from '../../../journal/errors.js';
import { JOURNAL_FILE } from '../../../journal/format.js';
import { UnmarkedJournal } from '../../../recovery/judgement.js';

export type Finding = {
  problem: string;
  file: string;
  /** The place in the file, such as "sequence 17" or "table pointsCredit, userId 3". */
  place: string;
  remedy: string;
};

const LEAVE_IT =
  'Keep a copy of the folder as it is, and do not start an exchange on it before the cause is known.';

export function findingOf(error: JournalError): Finding {
  const { problem, file, remedy } = error;
  const isWhole = error instanceof UnmarkedJournal || error.firstBadSequence === null;
  return {
    file: file === null ? JOURNAL_FILE : basename(file),
    place: isWhole ? 'as a whole' : `sequence ${error.firstBadSequence}`,
    problem,
    remedy: remedy ?? LEAVE_IT,
  };
}

/** The journal is sound but the accounts do not balance: the program is at fault, not the disk. */
export function bookFinding(place: string, problem: string): Finding {
  const remedy =
    'The journal is intact, so this is a fault of the program. Stop trading, keep a copy of the folder, and report ' +
    'the sequence.';
  return { problem, file: JOURNAL_FILE, place, remedy };
}

/** The finding of a file that is ahead of a complete journal. */
export function aheadFinding(file: string, place: string, sequence: number, end: number): Finding {
  const problem = `it was made from commands up to ${sequence}, but the journal ends at ${end}`;
  const remedy =
    'An exchange does not use it. Nothing is lost if it was copied here from another folder or is damaged: remove ' +
    'it. Otherwise the journal and journal.head are older ones that were put in their place, and acknowledged ' +
    'commands are missing: restore the newest backup.';
  return { problem, file, place, remedy };
}

export function findingText({ problem, file, place, remedy }: Finding): string {
  return `DAMAGE in ${file}, ${place}: ${problem}\n  What to do: ${remedy}\n`;
}
