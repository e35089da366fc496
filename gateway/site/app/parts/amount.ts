/**
 * What a person types as an amount, read strictly: a point before the decimals, and commas only
 * between thousands. Where the person's language writes a comma before the decimals, that form is
 * read, too, unless it could be meant either way. Everything else is refused, never guessed.
 */
import { toLots, toMicros, toTicks } from '../../../client/amounts.js';

export const WRONG_MONEY =
  'Enter an amount of dollars such as 1,250.50: a point, then at most 6 decimals.';
export const WRONG_SHARES =
  'Enter a number of shares such as 1,250.5: a point, then at most 3 decimals.';
export const WRONG_PRICE = 'Enter a price from 0.001 to 0.999.';

const BY_POINT = /^(\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d+)?$/;
/** One point alone is before decimals, also here. */
const BY_COMMA = /^(\d+|[1-9]\d{0,2}(\.\d{3}(?=[.,])|\s\d{3})(\.\d{3}|\s\d{3})*)(,\d+)?$/;

/** What the browser's language writes before decimals. */
const usualMark =
  new Intl.NumberFormat().formatToParts(0.5).find(({ type }) => type === 'decimal')?.value ?? '.';

/** As digits with a point; null: it is no number, or could be two. */
export function readDecimal(text: string, mark: string = usualMark): string | null {
  const typed = text.trim();
  const byPoint = BY_POINT.test(typed) ? typed.replaceAll(',', '') : null;
  if (mark !== ',' || !BY_COMMA.test(typed)) return byPoint;
  const byComma = typed.replaceAll(/[.\s]/g, '').replace(',', '.');
  return byPoint === null || byPoint === byComma ? byComma : null;
}

function read(text: string, parse: (decimal: string) => number): number | null {
  const decimal = readDecimal(text);
  if (decimal === null) return null;
  try {
    const value = parse(decimal);
    return value > 0 ? value : null;
  } catch {
    return null;
  }
}

/** Each is null unless it is an exact amount above zero. */
export const readMicros = (text: string) => read(text, toMicros);
export const readLots = (text: string) => read(text, toLots);

export function readTicks(text: string): number | null {
  const ticks = read(text, toTicks);
  return ticks !== null && ticks < 1_000 ? ticks : null;
}
