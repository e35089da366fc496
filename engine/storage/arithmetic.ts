/** Exact arithmetic on safe integers. The name of a function that rounds or saturates shows it. */

/** floor(a × b / c) for a, b ≥ 0 and c > 0, exact even if a × b exceeds 2^53. */
export function mulDivFloor(a: number, b: number, c: number): number {
  const product = a * b;
  // A product x < 2^53 is exact, and so is floor(x / c): a quotient that is not an integer is at
  // least 1/c away from the next integer, more than half an ulp.
  if (product <= Number.MAX_SAFE_INTEGER) return Math.floor(product / c);
  return Number((BigInt(a) * BigInt(b)) / BigInt(c));
}

/**
 * The sum, limited to ±(2^53 - 1). For statistics such as volume, which may count the same money
 * many times.
 */
export function addSaturating(total: number, change: number): number {
  const sum = total + change;
  // Branches that are never taken cost less than Math.min and Math.max, which handle NaN and -0.
  if (sum > Number.MAX_SAFE_INTEGER) return Number.MAX_SAFE_INTEGER;
  return sum < -Number.MAX_SAFE_INTEGER ? -Number.MAX_SAFE_INTEGER : sum;
}

export function isIntegerBetween(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}
