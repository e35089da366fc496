/**
 * What the replay tool has to say when something is wrong: damage that it found, or a request that makes no sense.
 * They are different things with different exit statuses, and both are told with what to do about them.
 */
import type { JournalError } from '../journal/errors.js';
import { PUT_BACK } from '../journal/errors.js';
import { HEAD_FILE, JOURNAL_FILE } from '../journal/format.js';
import { UnmarkedJournal } from '../judgement.js';

/** The process ends with one of these. */
export const ExitStatus = { GOOD: 0, DAMAGE: 1, USAGE: 2 } as const;
export type ExitStatus = (typeof ExitStatus)[keyof typeof ExitStatus];

/** The request cannot be carried out as it was made; the journal has nothing to do with it. */
export class UsageError extends Error {
  override name = 'UsageError';
}

export interface Finding {
  /** Name of the file in the data folder. */
  file: string;
  /** Where in it, such as "sequence 17" or "trade row 5". */
  place: string;
  what: string;
  /** What the operator can do. */
  remedy: string;
}

const LEAVE_IT =
  'Keep a copy of the folder as it is, and start no exchange on it before the reason is known.';

export function findingOf(error: JournalError): Finding {
  const adviceAt = error.message.indexOf(PUT_BACK);
  const isUnmarked = error instanceof UnmarkedJournal;
  const isWhole = isUnmarked || error.firstBadSequence === null;
  return {
    file: isUnmarked ? HEAD_FILE : JOURNAL_FILE,
    place: isWhole ? 'as a whole' : `sequence ${error.firstBadSequence}`,
    what: (adviceAt < 0 ? error.message : error.message.slice(0, adviceAt)).trim(),
    remedy: adviceAt < 0 ? LEAVE_IT : error.message.slice(adviceAt).trim(),
  };
}

/** As text for people, two lines. */
export function findingText({ file, place, what, remedy }: Finding): string {
  return `DAMAGE in ${file}, ${place}: ${what}\n  What to do: ${remedy}\n`;
}

/** The books do not add up although the journal is sound: the program is at fault, not the disk. */
export function bookFinding(place: string, what: string): Finding {
  const remedy =
    'The journal is as it was written, so this is a fault of the program. Stop trading, keep a copy of the folder, ' +
    'and report the sequence.';
  return { file: JOURNAL_FILE, place, what, remedy };
}
