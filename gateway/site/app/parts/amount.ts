/**
 * Parses typed amounts strictly: a decimal point, and commas only between thousands. A decimal
 * comma is accepted if the user's language has one and the text is not ambiguous. Everything else
 * is refused, never guessed.
 */
import { toLots, toMicros } from '../../../client/index.js';
import { language, locale, t } from '../words/words.js';

export const WRONG_MONEY = t(
  'Enter an amount of dollars such as 1,250.50, with at most 6 decimals.',
);
export const WRONG_SHARES = t('Enter a number of shares such as 1,250.5, with at most 3 decimals.');
export const WRONG_PRICE = t(
  'Enter a price in cents from 0.1¢ to 99.9¢ such as 54.3, with at most one decimal.',
);

const BY_POINT = /^(\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d+)?$/;
const BY_COMMA = /^(\d+|[1-9]\d{0,2}([.\s]\d{3})+)(,\d+)?$/;

/** The decimal mark of the site's language or, for English, of the browser's. */
const usualMark =
  new Intl.NumberFormat(language === 'en' ? undefined : locale)
    .formatToParts(0.5)
    .find(({ type }) => type === 'decimal')?.value ?? '.';

/** What the text is with a decimal point, and with a decimal comma where those are usual. */
function readings(text: string, mark: string): (string | null)[] {
  const typed = text.trim();
  const byPoint = BY_POINT.test(typed) ? typed.replaceAll(',', '') : null;
  if (mark !== ',' || !BY_COMMA.test(typed)) return [byPoint, byPoint];
  const byComma = typed.replaceAll(/[.\s]/g, '').replace(',', '.');
  return [byPoint ?? byComma, byComma];
}

/** Digits with a decimal point; `null` if not a number, or ambiguous. */
export function readDecimal(text: string, mark: string = usualMark): string | null {
  const [byPoint = null, byComma = null] = readings(text, mark);
  return byPoint === byComma ? byPoint : null;
}

/** Asks which of two numbers an ambiguous text means, such as 12.500; empty for any other text. */
export function ambiguity(text: string, mark: string = usualMark): string {
  const [byPoint, byComma] = readings(text.replace('$', ''), mark);
  if (byPoint == null || byComma == null || byPoint === byComma) return '';
  const decimal = fieldText(`${Number(byPoint)}`, mark);
  return t('{0} can mean {1} or {2}. Write one of these.', text.trim(), decimal, byComma);
}

/** A decimal for a field: 12.500 gets a zero more where it could be read as thousands. */
export const fieldText = (decimal: string, mark?: string) =>
  readDecimal(decimal, mark) === null ? `${decimal}0` : decimal;

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

/** An exact amount above zero, or `null`. Accepts a dollar sign before the amount. */
export const readMicros = (text: string) => read(text.trim().replace(/^\$/, ''), toMicros);
export const readLots = (text: string) => read(text, toLots);

const TICK_MICROS = 100_000;

/** Cents with or without the sign, as the field asks: 0.5 is half a cent. */
export function readTicks(text: string): number | null {
  const micros = read(text.trim().replace(/\s*¢$/, ''), toMicros);
  if (micros === null || micros % TICK_MICROS !== 0) return null;
  const ticks = micros / TICK_MICROS;
  return ticks > 999 ? null : ticks;
}

/** Whether the text is an amount, or the beginning of one. */
export function canBecome(text: string, read: (text: string) => number | null): boolean {
  return text.trim() === '' || ['', '1', '11', '111'].some((more) => read(text + more) !== null);
}
