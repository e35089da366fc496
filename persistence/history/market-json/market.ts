/**
 * A market as JSON of the API. The trading thread writes what its engine has; the follower's thread
 * writes the long ones, with price histories.
 *
 * Always holds: amounts are exact decimals, and both threads write the same bytes for the same
 * state.
 */
import { createHash } from 'node:crypto';
import { Resolution } from '../../../engine/interface/domain.js';
import { MICROS_PER_SET } from '../../../engine/interface/limits.js';
import {
  type Assets,
  lotsText,
  marketIdText,
  microsText,
  resolutionName,
  statusName,
} from '../../../engine/interface/notation.js';
import type { MarketView } from '../../../engine/interface/views.js';
import { sharedBytes } from '../../storage/shared-bytes.js';
import { stateText, type TrueAt } from '../true-at.js';

/** Prices are in half ticks, because the middle of a book may lie between two ticks. */
export const HALVES_PER_SET = MICROS_PER_SET * 2;
/** UP's price without a book and without a trade. */
export const EVEN_HALF_TICKS = HALVES_PER_SET / 2;

export const halfTicksText = (halfTicks: number) => `${halfTicks / HALVES_PER_SET}`;

/** UP's payout in half ticks; null while the market is not resolved. */
export function resolvedHalfTicks(resolution: Resolution): number | null {
  switch (resolution) {
    case Resolution.UP:
      return HALVES_PER_SET;
    case Resolution.DOWN:
      return 0;
    case Resolution.VOID:
      return EVEN_HALF_TICKS;
    case Resolution.NONE:
      return null;
  }
}

/** A basis point of a dollar is 100 micros. */
const feeRateText = (basisPoints: number | null) =>
  microsTextOrNull(basisPoints === null ? null : basisPoints * 100);
const microsTextOrNull = (micros: number | null) => (micros === null ? 'null' : microsText(micros));

/** Symbols, numbers and names of this API are ASCII. */
const ascii = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const COMMA = ascii(',');

/** UP's price in half ticks: the middle of the book, else the last trade, else 0.5. */
export function upHalfTicks(market: MarketView): number {
  const { bestBidTicks, bestAskTicks, lastTradeTicks } = market;
  if (bestBidTicks !== null && bestAskTicks !== null) return bestBidTicks + bestAskTicks;
  return lastTradeTicks === null ? EVEN_HALF_TICKS : lastTradeTicks * 2;
}

/**
 * The JSON of a market, as strings or bytes, without the values that change with every command: the
 * asset's price, and the sequence and the time.
 */
export interface MarketParts<Part> {
  asset: number;
  head: Part;
  tail: Part;
}

/**
 * @param points the price history, in triples of {@link priceHistoryText}; null: it is not known
 * now; absent: the JSON has none.
 */
export function marketParts(
  assets: Assets,
  market: MarketView,
  points?: Float64Array | null,
): MarketParts<string> {
  const symbol = assets.assetSymbol(market.asset);
  const resolution = resolutionName(market.resolution);
  const up = resolvedHalfTicks(market.resolution) ?? upHalfTicks(market);
  const head =
    `{"id":"${marketIdText(assets, market.marketId)}","type":"15m","asset":"${symbol}","title":"${title(symbol, market)}"` +
    `,"status":"${statusName(market.status)}","paused":${market.paused},"resolution":${resolution === null ? 'null' : `"${resolution}"`}` +
    `,"startsAtMs":${market.startsAtMs},"endsAtMs":${market.endsAtMs}` +
    `,"startPrice":${microsTextOrNull(market.startPriceMicros)}` +
    `,"startPriceFinal":${market.startPriceFinal}` +
    `,"endPrice":${microsTextOrNull(market.endPriceMicros)},"resolvedAtMs":${market.resolvedAtMs}` +
    `,"averageSoFar":${microsTextOrNull(market.averageSoFarMicros)},"assetPrice":`;
  const tail =
    `,"prices":{${BOTH_PRICES[up]!}}` +
    `,"volume":${microsText(market.volumeMicros)}` +
    `,"openInterest":${lotsText(market.openInterestLots)}` +
    `,"feeRate":${feeRateText(market.feeBasisPoints)},"tickSize":0.001,"lotSize":0.001` +
    `${points === undefined ? '' : `,"priceHistory":${priceHistoryText(points)}`},`;
  return { asset: market.asset, head, tail };
}

/** With the SHA-256 of both parts. */
export interface HashedParts extends MarketParts<Uint8Array> {
  hash: Uint8Array;
}

export function bytesOf({ asset, head, tail }: MarketParts<string>): HashedParts {
  const hash = createHash('sha256').update(head).update(tail).digest();
  return { asset, head: ascii(head), tail: ascii(tail), hash };
}

/** SHA-256 over markets, in base64url. `extra`: what else the text says of them. */
export function contentHashOf(markets: readonly HashedParts[], extra: string): string {
  const hash = createHash('sha256').update(extra);
  for (const market of markets) hash.update(market.hash);
  return hash.digest('base64url');
}

/** The whole JSON, of the state at which the asset's price is `assetPriceMicros`. */
export function marketText(
  { head, tail }: MarketParts<string>,
  assetPriceMicros: number | null,
  at: TrueAt,
): string {
  return `${head}${microsTextOrNull(assetPriceMicros)}${tail}${stateText(at)}`;
}

export interface ListFrame extends TrueAt {
  /** Written before the first market and after the last. */
  open: string;
  close: string;
  spareBytes: number;
}

/**
 * The JSON of markets, separated by commas, in memory that another thread can share
 * (storage/shared-bytes.ts).
 * @param assetPricesMicros by asset, as of the frame's sequence.
 */
export function marketListBytes(
  markets: readonly MarketParts<Uint8Array>[],
  assetPricesMicros: readonly (number | null)[],
  { open, close, spareBytes, ...trueAt }: ListFrame,
): Uint8Array<SharedArrayBuffer> {
  const prices = assetPricesMicros.map((micros) => ascii(microsTextOrNull(micros)));
  const end = ascii(stateText(trueAt));
  const pieces = [ascii(open)];
  markets.forEach(({ asset, head, tail }, i) => {
    if (i > 0) pieces.push(COMMA);
    pieces.push(head, prices[asset]!, tail, end);
  });
  pieces.push(ascii(close));
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const bytes = sharedBytes(length + spareBytes);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

const bothPrices = (up: number) =>
  `"UP":${halfTicksText(up)},"DOWN":${halfTicksText(HALVES_PER_SET - up)}`;
/** By UP's price in half ticks. */
const BOTH_PRICES = Array.from({ length: HALVES_PER_SET + 1 }, (_, up) => bothPrices(up));

/** In triples of (atMs, UP's price in half ticks, the asset's price in micros or 0 for none). */
function priceHistoryText(points: Float64Array | null): string {
  if (points === null) return 'null';
  let text = '';
  for (let i = 0; i < points.length; i += 3) {
    const assetPrice = points[i + 2]! === 0 ? null : points[i + 2]!;
    const separator = i === 0 ? '' : ',';
    text += `${separator}{"atMs":${points[i]},${BOTH_PRICES[points[i + 1]!]!},"assetPrice":${microsTextOrNull(assetPrice)}}`;
  }
  return `[${text}]`;
}

/** "BTC up or down, 2025-11-21 04:45 to 05:00 UTC" */
function title(symbol: string, market: MarketView): string {
  const [day, start] = new Date(market.startsAtMs).toISOString().split('T');
  const end = new Date(market.endsAtMs).toISOString().slice(11, 16);
  return `${symbol} up or down, ${day} ${start!.slice(0, 5)} to ${end} UTC`;
}
