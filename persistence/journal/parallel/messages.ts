/** What a thread that checks segments is told, and what it answers. */
import { JournalError, JournalUnavailable } from '../errors.js';
import type { JournalPosition } from '../format.js';
import type { Mark } from '../head-mark.js';
import type { Segment } from '../segments.js';

/** One segment, which needs no other to be checked: its head says how the one before it ends. */
export interface SegmentTask {
  segment: Segment;
  previous: JournalPosition;
  mark: Mark | null;
  /** Whether the next segment states the SHA-256 of the file. */
  isSealed: boolean;
}

export interface ThreadTasks {
  tasks: readonly SegmentTask[];
  /** One number, which all threads share: the index of the next task. */
  next: SharedArrayBuffer;
}

/** A check is not made, and null, if the one before it has failed. */
export interface SegmentAnswer {
  number: number;
  end: Checked<JournalPosition>;
  structure: Checked<null> | null;
  /** SHA-256 of a sealed segment's file. */
  fileHash: Checked<Buffer> | null;
}

export type Checked<Value> = { value: Value } | { failure: Failure };

/** An error as a message: a class does not survive it. */
interface Failure {
  kind: 'damage' | 'unavailable' | 'other';
  message: string;
  firstBadSequence: number | null;
  file: string | null;
  /** Of the operating system's errors. */
  syscall: string | null;
}

export function failureOf(error: unknown): Failure {
  const { message, syscall = null } = error as NodeJS.ErrnoException & { syscall?: string | null };
  const { firstBadSequence, file } =
    error instanceof JournalError ? error : { firstBadSequence: null, file: null };
  return { kind: kindOf(error), message, firstBadSequence, file, syscall };
}

function kindOf(error: unknown): Failure['kind'] {
  if (error instanceof JournalError) return 'damage';
  return error instanceof JournalUnavailable ? 'unavailable' : 'other';
}

export function errorOf({ kind, message, firstBadSequence, file, syscall }: Failure): Error {
  switch (kind) {
    case 'damage':
      return new JournalError(message, firstBadSequence, undefined, file);
    case 'unavailable':
      return new JournalUnavailable(message);
    case 'other':
      return Object.assign(new Error(message), syscall === null ? {} : { syscall });
  }
}
