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

/**
 * The fee on an amount and on the part of it that the curve charges, rounded up to a whole micro.
 * The curved part itself is rounded up first.
 */
export function feeOn(
  rates: { takerFeeBasisPoints: number; curveFeeBasisPoints: number },
  amount: Dollars,
  curved: Dollars,
): Dollars {
  const curve = curved.round(6, Big.roundUp).times(rates.curveFeeBasisPoints);
  const both = amount.times(rates.takerFeeBasisPoints).plus(curve);
  return both.times('0.0001').round(6, Big.roundUp);
}

/** What the curve charges of an amount that is spent at a price: the amount × (1 − price). */
export function curvedPart(amount: Dollars, priceTicks: number): Dollars {
  return amount.times(1000 - priceTicks).times('0.001');
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
