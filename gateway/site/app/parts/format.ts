/**
 * Formats numbers, times and names, such as BTC 04:45 for the market btc-15m-1763700300. Amounts
 * are integers (micro-dollars, ticks, lots) and are rounded only if a function's comment says so.
 */
import { fromLots, fromMicros } from '../../../client/index.js';
import { locale, t } from '../words/words.js';

const MINUS = '\u2212';

const CENT_MICROS = 10_000;

/** Dollars to the nearest cent: $1,234.50. Less than half a cent is <$0.01, not $0.00. */
export function dollars(micros: number): string {
  const cents = Math.round(Math.abs(micros) / CENT_MICROS);
  const text =
    cents === 0 && micros !== 0
      ? `<${exactDollars(CENT_MICROS)}`
      : exactDollars(cents * CENT_MICROS);
  return `${micros < 0 ? MINUS : ''}${text}`;
}

const withoutZeroCents = new Intl.NumberFormat(locale, {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  trailingZeroDisplay: 'stripIfInteger',
});

/** Dollars to the nearest cent, without cents if they are zero: $10,000. */
export function shortDollars(micros: number): string {
  return `$${withoutZeroCents.format(micros / 1_000_000)}`;
}

/** Exact dollars with at least 2 places: $1,234.567891. */
export function exactDollars(micros: number): string {
  return `${micros < 0 ? MINUS : ''}$${grouped(fromMicros(Math.abs(micros)), 2)}`;
}

export function gain(micros: number): string {
  return micros > 0 ? `+${dollars(micros)}` : dollars(micros);
}

/** An asset's price, rounded to a cent: $95,005.53. */
export function assetPrice(price: number): string {
  return `$${grouped(price.toFixed(2), 2)}`;
}

export function priceDifference(difference: number): string {
  const sign = difference < 0 ? MINUS : '+';
  return `${sign}${assetPrice(Math.abs(difference))}`;
}

/** A share's price: 53¢ or 53.4¢. */
export function cents(ticks: number): string {
  return `${grouped(ticks / 10, 0)}¢`;
}

/** A price for columns, always with one decimal. */
export function columnCents(ticks: number): string {
  return `${grouped(ticks / 10, 1)}¢`;
}

export function averageCents(micros: number): string {
  return `${grouped(Number((micros / CENT_MICROS).toFixed(2)), 0)}¢`;
}

export function typedCents(ticks: number): string {
  return `${ticks / 10}`;
}

export function shares(lots: number): string {
  return grouped(fromLots(lots), 0);
}

/** Rounded to whole shares, for comparing sizes. */
export function wholeShares(lots: number): string {
  return lots > 0 && lots < 500 ? '<1' : whole(lots / 1_000);
}

export function whole(value: number): string {
  return grouped(Math.round(value), 0);
}

/** By the minimum number of places. An exact decimal may have as many as money, which is six. */
const numbers = [0, 1, 2].map(
  (minimumFractionDigits) =>
    new Intl.NumberFormat(locale, { minimumFractionDigits, maximumFractionDigits: 6 }),
);

/** Exact: a decimal as text is not rounded to a number first. */
function grouped(decimal: number | string, placesMin: 0 | 1 | 2): string {
  return numbers[placesMin]!.format(decimal as number);
}

export function perCent(part: number): string {
  return `${grouped((part * 100).toFixed(1), 1)}%`;
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
/** Longer than any change of local clocks, shorter than the time between two changes. */
const AROUND_MS = 6 * 60 * MINUTE_MS;

/** Minutes by which local time is ahead of UTC. */
const localOffset = (atMs: number): number => -new Date(atMs).getTimezoneOffset();

/** The offset from UTC (" UTC−5") if local clocks show this time twice; otherwise empty. */
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

/** Local hours and minutes, with the offset if that local time occurs twice. */
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
  return new Date(atMs).toLocaleDateString(locale, { day: 'numeric', month: 'short' });
}

export function dayAndTime(atMs: number): string {
  return `${day(atMs)}, ${clockTime(atMs)}`;
}

export function dayAndSeconds(atMs: number): string {
  return `${day(atMs)}, ${clockSeconds(atMs)}`;
}

/** The first local millisecond of a day such as 2026-11-22; `undefined` for an empty text. */
export function startOfDay(day: string): number | undefined {
  return day === '' ? undefined : new Date(`${day}T00:00`).getTime();
}

export function endOfDay(day: string): number | undefined {
  return day === '' ? undefined : new Date(`${day}T23:59:59.999`).getTime();
}

/** The start of the local day that contains the time; 0 stays 0. */
export function startOfToday(atMs: number): number {
  return atMs === 0 ? 0 : new Date(atMs).setHours(0, 0, 0, 0);
}

export function daysBefore(startsAtMs: number, days: number): number {
  const date = new Date(startsAtMs);
  return date.setDate(date.getDate() - days);
}

export function startOfTomorrow(atMs: number): number {
  return new Date(atMs).setHours(24, 0, 0, 0);
}

/** "14:15 to 14:30" */
export function window(startsAtMs: number, endsAtMs: number): string {
  return t('{0} to {1}', clockTime(startsAtMs), clockTime(endsAtMs));
}

interface Parsed {
  asset: string;
  startsAtMs: number;
}

function parsed(marketId: string): Parsed {
  const [asset = '', , seconds = '0'] = marketId.split('-');
  return { asset: asset.toUpperCase(), startsAtMs: Number(seconds) * 1_000 };
}

export function startOf(marketId: string): number {
  return parsed(marketId).startsAtMs;
}

export function slotName(marketId: string): string {
  const { asset, startsAtMs } = parsed(marketId);
  return `${asset} ${clockTime(startsAtMs)}`;
}

export function slotNameWithDay(marketId: string): string {
  const { asset, startsAtMs } = parsed(marketId);
  return `${asset}, ${dayAndTime(startsAtMs)}`;
}
