/**
 * The candles of a market's trades: one for each interval of 5 s that has a trade, oldest first.
 * And the bytes of the candles and of the price history. Both are integers, in rows of
 * {@link CANDLE} and {@link POINT}, and stored as the entries of a run are (format.ts).
 */
import { addSaturating } from '../../../engine/storage/arithmetic.js';
import { ByteReader, ByteWriter } from '../../storage/bytes.js';
import { RunWriter } from './writer.js';

const INTERVAL_MS = 5_000;
/** All but the time, the value and the number of trades are prices of UP, in ticks. */
const CANDLE = ['atMs', 'open', 'high', 'low', 'close', 'valueMicros', 'trades'] as const;
export const CANDLE_WIDTH = CANDLE.length;
/** UP's price in half ticks, the asset's in micros; 0 if there is none yet. */
const POINT = ['atMs', 'upHalfTicks', 'assetPriceMicros'] as const;
const BYTES = 256;

interface NewTrade {
  atMs: number;
  upTicks: number;
  valueMicros: number;
}

/** Adds a trade, not older than those before it, to the candles of a market. */
export function addTrade(candles: number[], { atMs, upTicks, valueMicros }: NewTrade): void {
  const fromMs = startOf(atMs, INTERVAL_MS);
  const at = candles.length - CANDLE_WIDTH;
  if (candles[at] !== fromMs) {
    candles.push(fromMs, upTicks, upTicks, upTicks, upTicks, valueMicros, 1);
    return;
  }
  candles[at + 2] = Math.max(candles[at + 2]!, upTicks);
  candles[at + 3] = Math.min(candles[at + 3]!, upTicks);
  candles[at + 4] = upTicks;
  candles[at + 5] = addSaturating(candles[at + 5]!, valueMicros);
  candles[at + 6]!++;
}

/** The number of trades in the candles. */
export function tradesIn(candles: readonly number[]): number {
  let trades = 0;
  for (let at = 0; at < candles.length; at += CANDLE_WIDTH) trades += candles[at + 6]!;
  return trades;
}

export function candleBytes(candles: readonly number[]): Buffer {
  return bytesOf(CANDLE, candles);
}

export function candlesIn(bytes: Buffer): number[] {
  return valuesIn(CANDLE, bytes);
}

export function pointBytes(points: readonly number[]): Buffer {
  return bytesOf(POINT, points);
}

export function pointsIn(bytes: Buffer): Float64Array {
  return Float64Array.from(valuesIn(POINT, bytes));
}

function bytesOf(columns: readonly string[], rows: readonly number[]): Buffer {
  const writer = new RunWriter({ columns, negatives: [] });
  const bytes = new ByteWriter(BYTES);
  const values = Float64Array.from(rows);
  writer.begin();
  for (let at = 0; at < values.length; at += columns.length) writer.append(bytes, values, at);
  return bytes.buffer.subarray(0, bytes.length);
}

function valuesIn({ length: width }: readonly string[], bytes: Buffer): number[] {
  const reader = new ByteReader(bytes);
  const values: number[] = [];
  while (!reader.atEnd) values.push((values[values.length - width] ?? 0) + reader.signed());
  return values;
}

/** When the interval with this time begins. */
export function startOf(atMs: number, intervalMs: number): number {
  return atMs - (atMs % intervalMs);
}
