/**
 * A price file: CSV with the header `observedAtMs,asset,price`, oldest price first, in dollars with
 * at most 6 decimal places. With a fourth column `source`, it has the prices of several sources. It
 * is read as a stream, so it may have any size. An invalid line ends the reading with a
 * `TickFileError` that names it.
 */
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { isPriceSource } from '../../../engine/interface/fields.js';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { parsePriceMicros } from './price-feed.js';

export interface Tick {
  observedAtMs: number;
  symbol: string;
  priceMicros: number;
  /** Left out: the file has only one source. */
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
const HEADER_WITH_SOURCE = [...HEADER, 'source'];

/**
 * The prices in the file, in order.
 * @param symbols the assets that the file may contain
 * @throws TickFileError that names the line; the error of the file system if the file cannot be
 * read
 */
export async function* readTicks(path: string, symbols: ReadonlySet<string>): AsyncGenerator<Tick> {
  const parser = parse({ info: true, bom: true, relax_column_count: true });
  // An error of either stream ends the other and is thrown by the iteration below.
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
            `${path}, line 1: the header must be ${HEADER.join()} or ${HEADER_WITH_SOURCE.join()}`,
          );
      }
    }
  } catch (error) {
    if (error instanceof CsvError)
      throw new TickFileError(`${path}: ${error.message}`, { cause: error });
    throw error;
  }
}

/**
 * Validates the whole file, so that an error in its last line prevents the start.
 * @throws like `readTicks`, and TickFileError if the file has no prices
 */
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
  if (tickCount === 0) throw new TickFileError(`${path}: there is no price in the file`);
  return { tickCount, firstAtMs, lastAtMs };
}

interface CsvRow {
  record: string[];
  info: { lines: number };
}

/** The tick of a line, or its problem. */
function toTick(
  record: readonly string[],
  columns: number,
  symbols: ReadonlySet<string>,
  lastAtMs: number,
): Tick | string {
  if (record.length !== columns) return `${record.length} columns, must be ${columns}`;
  const [timeText, symbol, priceText, source] = record as [string, string, string, string?];
  const observedAtMs = /^\d{1,13}$/.test(timeText) ? Number(timeText) : -1;
  if (observedAtMs < 0 || observedAtMs > MAX_TIME_MS)
    return `observedAtMs must be milliseconds since the epoch, not "${timeText}"`;
  if (observedAtMs < lastAtMs) return `the time goes back, from ${lastAtMs} to ${observedAtMs}`;
  if (!symbols.has(symbol)) return `the exchange has no asset "${symbol}"`;
  const priceMicros = parsePriceMicros(priceText);
  if (priceMicros === null)
    return `price must be dollars with at most 6 decimal places, not "${priceText}"`;
  if (source === undefined) return { observedAtMs, symbol, priceMicros };
  if (!isPriceSource(source)) return `source must be 1 to 32 of a-z 0-9 . -, not "${source}"`;
  return { observedAtMs, symbol, priceMicros, source };
}
