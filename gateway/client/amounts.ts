/**
 * Exact amounts. The API's numbers are decimals (money: at most 6 places; shares and prices: 3),
 * which JSON.parse turns into doubles. These functions turn the doubles into integers, and integers
 * into exact text. Add and compare integers, never doubles.
 *
 * Invariant: no amount is rounded. Below 2^33 dollars, a double identifies one decimal of 6 places.
 * Larger amounts, and numbers that are not such decimals, throw a RangeError.
 */

/** 0.495 or "0.495". */
export type Amount = number | string;

const PLACES = { money: 6, shares: 3 };
const AMBIGUOUS_FROM = 2 ** 33;
const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/;

/** Dollars → micro-dollars: 1.5 → 1500000. */
export function toMicros(dollars: Amount): number {
  return toInteger(dollars, PLACES.money);
}

/** Micro-dollars → dollars as exact text: 1500000 → "1.5". */
export function fromMicros(micros: number): string {
  return toDecimal(micros, PLACES.money);
}

/** Shares → lots of 0.001 share: 2.5 → 2500. */
export function toLots(shares: Amount): number {
  return toInteger(shares, PLACES.shares);
}

/** Lots → shares as exact text: 2500 → "2.5". */
export function fromLots(lots: number): string {
  return toDecimal(lots, PLACES.shares);
}

/** A price → ticks of 0.001 dollar: 0.495 → 495. One lot at one tick is one micro-dollar. */
export function toTicks(price: Amount): number {
  return toInteger(price, PLACES.shares);
}

/** Ticks → a price as exact text: 495 → "0.495". */
export function fromTicks(ticks: number): string {
  return toDecimal(ticks, PLACES.shares);
}

/** The double that JSON.stringify writes as the amount. */
export function toNumber(amount: Amount): number {
  const number = Number(amount);
  return toMicros(amount) === toMicros(number) ? number : fail(amount);
}

function toInteger(amount: Amount, places: number): number {
  const text = typeof amount === 'number' ? textOf(amount) : amount;
  const [, sign, whole, fraction = ''] = DECIMAL.exec(text) ?? fail(amount);
  if (/[1-9]/.test(fraction.slice(places))) fail(amount);
  const integer = Number(whole + fraction.slice(0, places).padEnd(places, '0'));
  if (!Number.isSafeInteger(integer)) fail(amount);
  return sign === '-' && integer !== 0 ? -integer : integer;
}

/** The decimal with at most 6 places whose double this is. */
function textOf(amount: number): string {
  const text = amount.toFixed(PLACES.money);
  return Math.abs(amount) < AMBIGUOUS_FROM && Number(text) === amount ? text : fail(amount);
}

function toDecimal(integer: number, places: number): string {
  if (!Number.isSafeInteger(integer)) fail(integer);
  const digits = `${Math.abs(integer)}`.padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  const sign = integer < 0 ? '-' : '';
  return `${sign}${digits.slice(0, -places)}${fraction === '' ? '' : `.${fraction}`}`;
}

function fail(amount: Amount): never {
  throw new RangeError(`${amount} is not an exact amount`);
}
