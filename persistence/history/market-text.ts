/**
 * A market as JSON text of the API. It stands below the gateway because two threads write it: the one that trades, what its
 * engine has; and the follower's, whatever comes with a price history, which is long.
 *
 * Always holds: amounts are exact decimals, and two texts of one state are the same to the byte, whichever thread wrote them.
 */
import {
  assetOfMarket,
  type MarketStatus,
  type Resolution,
  startOfMarketMs,
  WINDOW_MS,
} from '../../engine/interface/domain.js';
import { MICROS_PER_SET } from '../../engine/interface/limits.js';
import {
  type Assets,
  lotsText,
  marketIdText,
  microsText,
  resolutionName,
  statusName,
} from '../../engine/interface/notation.js';
import type { MarketView } from '../../engine/interface/views.js';
import type { MarketRecord } from './requests.js';

/** Prices are counted in halves of a tick, because the middle of a book may lie between two. */
export const HALVES_PER_SET = MICROS_PER_SET * 2;
/** UP's price when there is neither a book nor a trade. */
export const EVEN_HALF_TICKS = HALVES_PER_SET / 2;

export const halfTicksText = (halfTicks: number) => `${halfTicks / HALVES_PER_SET}`;

const microsTextOrNull = (micros: number | null) => (micros === null ? 'null' : microsText(micros));

/** Symbols, numbers and names of this API are ASCII. */
const ascii = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const COMMA = ascii(',');

/** UP's price in half ticks: the middle of the book, else the last trade, else 0.5. DOWN's is the rest of 1. */
export function upHalfTicks(market: MarketView): number {
  const { bestBidTicks, bestAskTicks, lastTradeTicks } = market;
  if (bestBidTicks !== null && bestAskTicks !== null) return bestBidTicks + bestAskTicks;
  return lastTradeTicks === null ? EVEN_HALF_TICKS : lastTradeTicks * 2;
}

/** A market as the history has it: no book, so its price is that of the last trade. */
export function viewOfPast(market: MarketRecord): MarketView {
  const startsAtMs = startOfMarketMs(market.marketId);
  return {
    marketId: market.marketId,
    asset: assetOfMarket(market.marketId),
    status: market.status as MarketStatus,
    resolution: market.resolution as Resolution,
    startsAtMs,
    endsAtMs: startsAtMs + WINDOW_MS,
    startPriceMicros: market.startPriceMicros,
    endPriceMicros: market.endPriceMicros === 0 ? null : market.endPriceMicros,
    volumeMicros: market.volumeMicros,
    openInterestLots: market.openInterestLots,
    bestBidTicks: null,
    bestAskTicks: null,
    lastTradeTicks: market.lastTradeTicks === 0 ? null : market.lastTradeTicks,
  };
}

/** What of a market's text is the market's alone, as strings or as their bytes: see {@link marketText}. */
export interface MarketParts<Part> {
  asset: number;
  /** Up to the price of the asset. */
  head: Part;
  /** From there to the sequence. */
  tail: Part;
}

/** @param points in triples, as in history-reads.ts; null: without a price history. */
export function marketParts(
  assets: Assets,
  market: MarketView,
  points: Float64Array | null,
): MarketParts<string> {
  const symbol = assets.assetSymbol(market.asset);
  const resolution = resolutionName(market.resolution);
  const up = upHalfTicks(market);
  const head =
    `{"id":"${marketIdText(assets, market.marketId)}","type":"15m","asset":"${symbol}","title":"${title(symbol, market)}"` +
    `,"status":"${statusName(market.status)}","resolution":${resolution === null ? 'null' : `"${resolution}"`}` +
    `,"startsAtMs":${market.startsAtMs},"endsAtMs":${market.endsAtMs}` +
    `,"startPrice":${microsText(market.startPriceMicros)},"endPrice":${microsTextOrNull(market.endPriceMicros)}` +
    `,"assetPrice":`;
  const tail =
    `,"prices":{"UP":${halfTicksText(up)},"DOWN":${halfTicksText(HALVES_PER_SET - up)}}` +
    `,"volume":${microsText(market.volumeMicros)},"openInterest":${lotsText(market.openInterestLots)}` +
    `,"feeRate":0.005,"tickSize":0.001,"lotSize":0.001` +
    `${points === null ? '' : `,"priceHistory":${priceHistoryText(points)}`},"sequence":`;
  return { asset: market.asset, head, tail };
}

/** The same as bytes. */
export function bytesOf({ asset, head, tail }: MarketParts<string>): MarketParts<Uint8Array> {
  return { asset, head: ascii(head), tail: ascii(tail) };
}

/** The whole text: of the state at `sequence`, at which the asset's price is `assetPriceMicros`. */
export function marketText(
  { head, tail }: MarketParts<string>,
  assetPriceMicros: number | null,
  sequence: number,
): string {
  return `${head}${microsTextOrNull(assetPriceMicros)}${tail}${sequence}}`;
}

export interface TextsFrame {
  sequence: number;
  /** What stands before the first market and after the last. */
  open: string;
  close: string;
  /** Bytes that are left behind all that. */
  room: number;
}

/**
 * The texts of markets, separated by commas, in a buffer of their own that a message can move to another thread.
 * @param assetPricesMicros by asset, as of the frame's sequence.
 */
export function marketTextsBytes(
  markets: readonly MarketParts<Uint8Array>[],
  assetPricesMicros: readonly (number | null)[],
  { sequence, open, close, room }: TextsFrame,
): Uint8Array<ArrayBuffer> {
  const prices = assetPricesMicros.map((micros) => ascii(microsTextOrNull(micros)));
  const end = ascii(`${sequence}}`);
  const pieces = [ascii(open)];
  markets.forEach(({ asset, head, tail }, i) => {
    if (i > 0) pieces.push(COMMA);
    pieces.push(head, prices[asset]!, tail, end);
  });
  pieces.push(ascii(close));
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const bytes = new Uint8Array(length + room);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** The prices of a point, up to that of the asset, by UP's price in half ticks. */
const POINT_PRICES = Array.from(
  { length: HALVES_PER_SET + 1 },
  (_, up) => `,"UP":${halfTicksText(up)},"DOWN":${halfTicksText(HALVES_PER_SET - up)},"assetPrice":`,
);

/** Points in triples of (atMs, UP's price in half ticks, the asset's price in micros or 0 for none). */
function priceHistoryText(points: Float64Array): string {
  let text = '';
  for (let i = 0; i < points.length; i += 3) {
    const assetPrice = points[i + 2]! === 0 ? null : points[i + 2]!;
    const separator = i === 0 ? '' : ',';
    text += `${separator}{"atMs":${points[i]}${POINT_PRICES[points[i + 1]!]!}${microsTextOrNull(assetPrice)}}`;
  }
  return `[${text}]`;
}

/** "BTC up or down, 2025-11-21 04:45 to 05:00 UTC" */
function title(symbol: string, market: MarketView): string {
  const [day, start] = new Date(market.startsAtMs).toISOString().split('T');
  const end = new Date(market.endsAtMs).toISOString().slice(11, 16);
  return `${symbol} up or down, ${day} ${start!.slice(0, 5)} to ${end} UTC`;
}
