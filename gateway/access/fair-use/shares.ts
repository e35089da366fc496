/**
 * Decides whether a client may take one more of a shared resource, such as connections. The rule is
 * that of the engine's pools (engine/RULES.md, Room). A client with little may take more while
 * there is any room. Others may only while they have less than a third of the room beyond a quarter
 * of the pool, so shares shrink as the pool fills. The last sixteenth is for trusted clients with
 * little.
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
