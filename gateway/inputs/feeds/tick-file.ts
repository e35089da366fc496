/**
 * A price file: CSV with the header `observedAtMs,asset,price` and optionally `source`, oldest
 * price first, in dollars with at most 6 decimal places. The file is read twice, as a stream, so it
 * must be a regular file of any size.
 *
 * Invariant: no price with an implausible time is returned, because a journal that begins in 1970
 * or 2243 cannot be undone.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { isPriceSource } from '../../../engine/interface/fields.js';
import { MAX_ASSET_PRICE_MICROS, MICROS_PER_DOLLAR } from '../../../engine/interface/limits.js';
import { isPlausible } from '../clock-at-start.js';
import { parsePriceMicros } from './price-feed.js';

export interface Tick {
  observedAtMs: number;
  symbol: string;
  priceMicros: number;
  /** Absent if the file has only one. */
  source?: string;
}

export interface TickFileSummary {
  tickCount: number;
  firstAtMs: number;
  lastAtMs: number;
}

export class TickFileError extends Error {
  override readonly name = 'TickFileError';
}

const HEADER = ['observedAtMs', 'asset', 'price'];
/** An unclosed quote swallows following lines, up to this many bytes. */
const MAX_LINE_BYTES = 200;
const HEADER_WITH_SOURCE = [...HEADER, 'source'];

/** @throws TickFileError that names the line; the file system's error if the file cannot be read */
export async function* readTicks(path: string, symbols: ReadonlySet<string>): AsyncGenerator<Tick> {
  if (!(await stat(path)).isFile())
    throw new TickFileError(`${path} is not a regular file, which can be read twice`);
  const parser = parse({
    info: true,
    bom: true,
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n'],
    max_record_size: MAX_LINE_BYTES,
  });
  // An error in either stream ends the other, and the iteration below throws it.
  pipeline(createReadStream(path), parser, () => {});
  let header: readonly string[] | null = null;
  let lastAtMs = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRow>) {
      if (header !== null) {
        const tick = toTick(record, header.length, symbols, lastAtMs);
        if (typeof tick === 'string')
          throw new TickFileError(`${path}, line ${info.lines}: ${tick}`);
        lastAtMs = tick.observedAtMs;
        yield tick;
      } else {
        header = [HEADER, HEADER_WITH_SOURCE].find((one) => one.join() === record.join()) ?? null;
        if (header === null)
          throw new TickFileError(
            `${path}, line 1: the header must be ${HEADER.join()} or ${HEADER_WITH_SOURCE.join()}. ` +
              'gateway/CONFIGURATION.md, "Price files", says how to convert the files of exchanges',
          );
      }
    }
  } catch (error) {
    if (error instanceof CsvError) throw lineError(path, error);
    throw error;
  }
}

/** @throws like `readTicks`; TickFileError if the file has no prices */
export async function checkTickFile(
  path: string,
  symbols: ReadonlySet<string>,
): Promise<TickFileSummary> {
  let tickCount = 0;
  let firstAtMs = 0;
  let lastAtMs = 0;
  for await (const tick of readTicks(path, symbols)) {
    if (tickCount === 0) firstAtMs = tick.observedAtMs;
    lastAtMs = tick.observedAtMs;
    tickCount++;
  }
  if (tickCount === 0) throw new TickFileError(`${path}: the file contains no price`);
  return { tickCount, firstAtMs, lastAtMs };
}

function lineError(path: string, error: CsvError): TickFileError {
  const isLong = error.code === 'CSV_MAX_RECORD_SIZE' || error.code === 'CSV_QUOTE_NOT_CLOSED';
  const problem = isLong
    ? `up to line ${error['lines']}, a quote is not closed, or a line has more than ${MAX_LINE_BYTES} bytes`
    : printable(error.message);
  return new TickFileError(`${path}: ${problem}`, { cause: error });
}

interface CsvRow {
  record: string[];
  info: { lines: number };
}

/** A line's tick, or its problem. */
function toTick(
  record: readonly string[],
  columns: number,
  symbols: ReadonlySet<string>,
  lastAtMs: number,
): Tick | string {
  if (record.length !== columns) return `${record.length} columns, must be ${columns}`;
  const [timeText, symbol, priceText, source] = record as [string, string, string, string?];
  const observedAtMs = /^\d{1,20}$/.test(timeText) ? Number(timeText) : Number.NaN;
  if (!isPlausible(observedAtMs)) return timeProblem(timeText, observedAtMs);
  if (observedAtMs < lastAtMs) return `the time goes back, from ${lastAtMs} to ${observedAtMs}`;
  if (!symbols.has(symbol)) return `the exchange has no asset ${shown(symbol)}`;
  const priceMicros = parsePriceMicros(priceText);
  if (priceMicros === null)
    return (
      `price must be dollars, more than 0 and at most ${MAX_ASSET_PRICE_MICROS / MICROS_PER_DOLLAR}, ` +
      `with at most 6 decimal places, not ${shown(priceText)}`
    );
  if (source === undefined) return { observedAtMs, symbol, priceMicros };
  if (!isPriceSource(source)) return `source must be 1 to 32 of a-z 0-9 . -, not ${shown(source)}`;
  return { observedAtMs, symbol, priceMicros, source };
}

function timeProblem(text: string, value: number): string {
  const must = 'observedAtMs must be milliseconds since the epoch, in the years 2000 to 2099';
  if (isPlausible(value * 1_000)) return `${must}; ${text} looks like seconds: multiply by 1,000`;
  if (isPlausible(value / 1_000))
    return `${must}; ${text} looks like microseconds: divide by 1,000`;
  if (isPlausible(value / 1_000_000))
    return `${must}; ${text} looks like nanoseconds: divide by 1,000,000`;
  return `${must}, not ${shown(text)}`;
}

/** Short, and harmless to a terminal. */
function shown(text: string): string {
  return printable(JSON.stringify(text.slice(0, 40)));
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}
