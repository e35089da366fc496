/**
 * What is wrong with a journal, for the operator who has to decide what to do about it.
 */

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
