/**
 * Numbers, times and names as the page shows them. Amounts are integers (micro-dollars, ticks,
 * lots) and are never rounded unless the function's name says so.
 */
import { fromLots, fromMicros } from '../../../client/amounts.js';

const MINUS = '\u2212';

const CENT_MICROS = 10_000;

/** Dollars to the nearest cent: $1,234.50. What is less than half a cent is not $0.00. */
export function dollars(micros: number): string {
  const cents = Math.round(Math.abs(micros) / CENT_MICROS);
  const text = cents === 0 && micros !== 0 ? '<$0.01' : exactDollars(cents * CENT_MICROS);
  return `${micros < 0 ? MINUS : ''}${text}`;
}

/** To the micro-dollar, with at least 2 places: $1,234.567891. */
export function exactDollars(micros: number): string {
  return `${micros < 0 ? MINUS : ''}$${grouped(fromMicros(Math.abs(micros)), 2)}`;
}

/** With a plus sign for a gain. */
export function gain(micros: number): string {
  return micros > 0 ? `+${dollars(micros)}` : dollars(micros);
}

/** The price of an asset, rounded to a cent: $95,005.53. */
export function assetPrice(price: number): string {
  return `$${grouped(price.toFixed(2), 2)}`;
}

/** A difference between two prices of an asset, with its sign. */
export function priceDifference(difference: number): string {
  const sign = difference < 0 ? MINUS : '+';
  return `${sign}${assetPrice(Math.abs(difference))}`;
}

/** The price of a share: 53¢, or 53.4¢. */
export function cents(ticks: number): string {
  return `${ticks / 10}¢`;
}

/** In a column, with a decimal in every row. */
export function columnCents(ticks: number): string {
  return `${(ticks / 10).toFixed(1)}¢`;
}

/** A price per share that is not on a tick, such as an average: 53.41¢. */
export function averageCents(micros: number): string {
  return `${Number((micros / CENT_MICROS).toFixed(2))}¢`;
}

/** A price as a person types it: 53.4. */
export function typedCents(ticks: number): string {
  return `${ticks / 10}`;
}

export function shares(lots: number): string {
  return grouped(fromLots(lots), 0);
}

/** Whole shares, where sizes are compared and not counted. */
export function wholeShares(lots: number): string {
  return lots > 0 && lots < 500 ? '<1' : whole(lots / 1_000);
}

export function whole(value: number): string {
  return grouped(`${Math.round(value)}`, 0);
}

/** Commas between thousands, and zeros up to the least number of places. */
function grouped(decimal: string, placesMin: number): string {
  const [integer = '', fraction = ''] = decimal.split('.');
  const thousands = integer.replace(/\B(?=(\d{3})+$)/g, ',');
  const places = fraction.padEnd(placesMin, '0');
  return places === '' ? thousands : `${thousands}.${places}`;
}

export function perCent(part: number): string {
  return `${(part * 100).toFixed(1)}%`;
}

const two = (value: number) => `${value}`.padStart(2, '0');

/** 04:32, or 1:04:32. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const hours = Math.floor(seconds / 3_600);
  const rest = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return hours === 0 ? rest : `${hours}:${rest}`;
}

const MINUTE_MS = 60_000;
/** Longer than clocks are ever set back, and shorter than the time to the next change. */
const AROUND_MS = 6 * 60 * MINUTE_MS;

/** Minutes by which the reader's clocks are ahead of UTC. */
const localOffset = (atMs: number): number => -new Date(atMs).getTimezoneOffset();

/**
 * The offset from UTC, where the reader's clocks show the same time twice because they are set
 * back: " UTC−5"; elsewhere nothing.
 */
export function offsetText(atMs: number, offsetAt = localOffset): string {
  const offset = offsetAt(atMs);
  const isTwice = [atMs - AROUND_MS, atMs + AROUND_MS].some((aroundMs) => {
    const other = offsetAt(aroundMs);
    return other !== offset && offsetAt(atMs + (offset - other) * MINUTE_MS) === other;
  });
  if (!isTwice) return '';
  const minutes = Math.abs(offset);
  const rest = minutes % 60 === 0 ? '' : `:${two(minutes % 60)}`;
  return ` UTC${offset < 0 ? MINUS : '+'}${Math.floor(minutes / 60)}${rest}`;
}

/** Hours and minutes in the time zone of the reader, with the offset where they occur twice. */
export function clockTime(atMs: number): string {
  return `${hoursAndMinutes(atMs)}${offsetText(atMs)}`;
}

function hoursAndMinutes(atMs: number): string {
  const date = new Date(atMs);
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function clockSeconds(atMs: number): string {
  return `${hoursAndMinutes(atMs)}:${two(new Date(atMs).getSeconds())}${offsetText(atMs)}`;
}

function day(atMs: number): string {
  return new Date(atMs).toLocaleDateString('en', { day: 'numeric', month: 'short' });
}

export function dayAndTime(atMs: number): string {
  return `${day(atMs)}, ${clockTime(atMs)}`;
}

export function dayAndSeconds(atMs: number): string {
  return `${day(atMs)}, ${clockSeconds(atMs)}`;
}

/** The first millisecond of a day such as 2026-11-22 for the reader; undefined: no day. */
export function startOfDay(day: string): number | undefined {
  return day === '' ? undefined : new Date(`${day}T00:00`).getTime();
}

/** The last millisecond of it. */
export function endOfDay(day: string): number | undefined {
  return day === '' ? undefined : new Date(`${day}T23:59:59.999`).getTime();
}

/** When the reader's day began in which that time is; 0 stays 0. */
export function startOfToday(atMs: number): number {
  return atMs === 0 ? 0 : new Date(atMs).setHours(0, 0, 0, 0);
}

/** The start of the day so many days before the day that starts then. */
export function daysBefore(startsAtMs: number, days: number): number {
  const date = new Date(startsAtMs);
  return date.setDate(date.getDate() - days);
}

export function startOfTomorrow(atMs: number): number {
  return new Date(atMs).setHours(24, 0, 0, 0);
}

/** 14:15 to 14:30. */
export function window(startsAtMs: number, endsAtMs: number): string {
  return `${clockTime(startsAtMs)} to ${clockTime(endsAtMs)}`;
}
