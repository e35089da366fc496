/** The sequence of the journal at which an answer is true, and the exchange's time then. */

export interface AsOf {
  sequence: number;
  /** The time of the command with this sequence. */
  atMs: number;
}

/** The end of an answer in JSON. */
export function asOfJson({ sequence, atMs }: AsOf): string {
  return `"sequence":${sequence},"atMs":${atMs}}`;
}
