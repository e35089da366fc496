/**
 * Decides whether a client may take one more of a shared resource, such as connections, by the rule
 * of the engine's pools (engine/RULES.md, Room). The last sixteenth of the pool is for trusted
 * clients with little. Other clients with little may take more while any other room is left. The
 * rest may only while they have less than a third of what is left beyond that sixteenth and a
 * quarter of the pool, so shares shrink as the pool fills.
 */

const SHARES = 3;
const ASSURED_PART = 4;
const RESERVE_PART = 16;

export interface Claimed {
  size: number;
  used: number;
  mine: number;
  /** A client below this has little. */
  assured: number;
  isTrusted: boolean;
}

export function mayTake({ size, used, mine, assured, isTrusted }: Claimed): boolean {
  const left = size - used;
  if (mine < assured) return left > (isTrusted ? 0 : Math.floor(size / RESERVE_PART));
  return mine * SHARES < left - Math.floor(size / RESERVE_PART) - Math.floor(size / ASSURED_PART);
}
