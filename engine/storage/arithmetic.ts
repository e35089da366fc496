/**
 * Exact integer arithmetic on safe integers. Nothing here rounds or stops short but where its name says so.
 */
/** floor(a × b / c) of a, b ≥ 0 and c > 0, exact also where a × b passes 2^53. The quotient must be a safe integer. */
export function mulDivFloor(a: number, b: number, c: number): number {
  const product = a * b;
  // A product within 2^53 is exact, and so is the floor of its quotient: the distance of a non-integer
  // quotient x/c from the next integer is at least 1/c, more than half an ulp of any quotient of an x < 2^53.
  if (product <= Number.MAX_SAFE_INTEGER) return Math.floor(product / c);
  return Number((BigInt(a) * BigInt(b)) / BigInt(c));
}

/**
 * The sum of a total and an amount, kept from -(2^53 - 1) to 2^53 - 1. For statistics such as volume, which may count
 * the same money often.
 */
export function addSaturating(total: number, change: number): number {
  const sum = total + change;
  // Branches that are never taken cost less here than Math.min and Math.max, which care about NaN and -0.
  if (sum > Number.MAX_SAFE_INTEGER) return Number.MAX_SAFE_INTEGER;
  return sum < -Number.MAX_SAFE_INTEGER ? -Number.MAX_SAFE_INTEGER : sum;
}

export function isIntegerBetween(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}
