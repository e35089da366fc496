/**
 * The naive engine's money: exact decimals of dollars, by big.js. Lots, ticks and milliseconds are
 * integers. No stored amount has more than six decimals.
 */
import Big from 'big.js';

/**
 * A separate constructor, so that its precision (sixty places, for divisions) affects no other
 * code.
 */
const Decimal = Big();
Decimal.DP = 60;

export type Dollars = Big;

export const ZERO: Dollars = new Decimal(0);
const MILLIONTH = new Decimal('0.000001');

export function dollars(micros: number): Dollars {
  return new Decimal(micros).times(MILLIONTH);
}

/** The same amount in micros, for results and events. */
export function micros(amount: Dollars): number {
  const whole = Number(amount.times(1_000_000).toFixed());
  if (!Number.isSafeInteger(whole))
    throw new Error(`${amount.toFixed()} dollars are not a safe integer of micros`);
  return whole + 0;
}

export function floorToMicros(amount: Dollars): Dollars {
  return amount.round(6, Big.roundDown);
}

/** Shares times price: a lot is 0.001 share, a tick 0.001 dollar. */
export function tradeValue(sizeLots: number, priceTicks: number): Dollars {
  return new Decimal(sizeLots).times(priceTicks).times(MILLIONTH);
}

/** The number of lots that an amount buys at a price. */
export function lotsFor(amount: Dollars, priceTicks: number): number {
  return Number(amount.div(tradeValue(1, priceTicks)).round(0, Big.roundDown).toFixed());
}

/** A part of an amount in basis points, rounded up to a whole micro. */
export function feeOn(amount: Dollars, basisPoints: number): Dollars {
  return amount.times(basisPoints).times('0.0001').round(6, Big.roundUp);
}

/** The amount × `part` / `whole`, rounded down to a whole micro. */
export function proRata(amount: Dollars, part: number, whole: number): Dollars {
  return floorToMicros(amount.times(part).div(whole));
}

/** Each earning dollar's part of a share, to the 18 places that the rules state. */
export function perDollar(share: Dollars, earning: Dollars): Dollars {
  return share.div(earning).round(18, Big.roundDown);
}

export function sum(amounts: Dollars[]): Dollars {
  return amounts.reduce((total, amount) => total.plus(amount), ZERO);
}
