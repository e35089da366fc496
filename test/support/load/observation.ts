/** Observed state: a user's balance, or a market's book, at a sequence. */

export interface Seen {
  /** The id of the observed user or market. */
  what: string;
  sequence: number;
  /** Equal texts mean equal states. */
  value: string;
}

export interface Observation extends Seen {
  /**
   * The times of the request and of the answer. -Infinity if the exchange sent the state without a
   * request.
   */
  calledMs: number;
  receivedMs: number;
}

interface Levels {
  price: number;
  shares: number;
}
type Side = { bids: Levels[]; asks: Levels[] };
export type Book = { UP: Side; DOWN: Side };

export function bookText({ UP, DOWN }: Book): string {
  return JSON.stringify([UP, DOWN]);
}

export function balanceText({ available, held }: { available: number; held: number }): string {
  return JSON.stringify([available, held]);
}
