/**
 * A failure to build the history from a sound journal. The program is at fault: the same commands
 * fail again, and a fixed program continues where the history ends.
 */
export class HistoryFault extends Error {
  override name = 'HistoryFault';

  constructor(
    /** The command whose entries could not be built. */
    readonly sequence: number,
    cause: unknown,
  ) {
    super(
      `the history cannot be made from the command at sequence ${sequence}: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/** Until the fix, the exchange trades without a history. */
export const FAULT_REMEDY =
  'Nothing is lost, and trading continues. Report the problem, install a version of the program that can make ' +
  'the history, and start that version: it continues where the history ends.';
