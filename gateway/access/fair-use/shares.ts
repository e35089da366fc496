/**
 * Who may take one more of what all share, such as connections: the rule of the engine's pools
 * (engine/RULES.md, Room). Whoever has little gets more while there is any room, and others only
 * while they have less than a third of what is left beside a quarter, so shares shrink as the pool
 * fills. The last sixteenth is for those who have little and are trusted.
 */

const SHARES = 3;
const ASSURED_PART = 4;
const RESERVE_PART = 16;

export interface Request {
  size: number;
  /** What all have, and the one who asks. */
  used: number;
  mine: number;
  /** Less than this is little. */
  assured: number;
  isTrusted: boolean;
}

export function mayTake({ size, used, mine, assured, isTrusted }: Request): boolean {
  const left = size - used;
  if (mine < assured) return left > (isTrusted ? 0 : Math.floor(size / RESERVE_PART));
  return mine * SHARES < left - Math.floor(size / RESERVE_PART) - Math.floor(size / ASSURED_PART);
}
