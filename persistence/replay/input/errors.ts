/** How the replay tool ends, and the error of a request that it cannot carry out. */

/** The exit status of the process. */
export const ExitStatus = { GOOD: 0, DAMAGE: 1, USAGE: 2 } as const;
export type ExitStatus = (typeof ExitStatus)[keyof typeof ExitStatus];

/** The request is invalid, or cannot be carried out now. The journal is not at fault. */
export class UsageError extends Error {
  override name = 'UsageError';
}
