/**
 * A market as JSON of the API. The trading thread writes the markets that its engine has; the
 * follower's thread writes the long texts, with price histories.
 *
 * Invariant: amounts are exact decimals, and both threads write the same bytes for the same
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
  ticksText,
} from '../../../engine/interface/notation.js';
import type { MarketView } from '../../../engine/interface/views.js';
import { sharedBytes } from '../../storage/shared-bytes.js';
import { type AsOf, asOfJson } from '../as-of.js';
import type { EntryOf, MARKET_POINT } from '../runs/format.js';

/** Prices are in half ticks, because the middle of a book may lie between two ticks. */
export const HALVES_PER_SET = MICROS_PER_SET * 2;
/** Marks a point of a price history without a price. */
export const NO_PRICE = 0;
/** The widest book whose middle is a price. */
const MAX_SPREAD_TICKS = 100;

export const halfTicksText = (halfTicks: number) => `${halfTicks / HALVES_PER_SET}`;

/** UP's payout in half ticks; null while the market is not resolved. */
export function resolvedHalfTicks(resolution: Resolution): number | null {
  switch (resolution) {
    case Resolution.UP:
      return HALVES_PER_SET;
    case Resolution.DOWN:
      return 0;
    case Resolution.VOID:
      return HALVES_PER_SET / 2;
    case Resolution.NONE:
      return null;
  }
}

/** JSON in ASCII: `ascii` writes no other characters. */
const asciiJson = (text: string) =>
  JSON.stringify(text).replace(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** A basis point of a dollar is 100 micros. */
const feeRateText = (basisPoints: number | null) =>
  microsTextOrNull(basisPoints === null ? null : basisPoints * 100);
const microsTextOrNull = (micros: number | null) => (micros === null ? 'null' : microsText(micros));

/** Symbols, numbers and names of this API are ASCII. */
const ascii = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const COMMA = ascii(',');

/** UP's price before the resolution, in half ticks, and its source; `null` if it has no price. */
interface UpPrice {
  halfTicks: number;
  from: 'book' | 'trade';
}

/** The middle of a narrow book, otherwise the last trade. A wide or one-sided book has no price. */
export function upPrice({
  bestBidTicks,
  bestAskTicks,
  lastTradeTicks,
}: MarketView): UpPrice | null {
  if (bestBidTicks !== null && bestAskTicks !== null)
    if (bestAskTicks - bestBidTicks <= MAX_SPREAD_TICKS)
      return { halfTicks: bestBidTicks + bestAskTicks, from: 'book' };
  return lastTradeTicks === null ? null : { halfTicks: lastTradeTicks * 2, from: 'trade' };
}

/** {@link upPrice} or what UP pays, in half ticks; null if there is no price. */
export function shownHalfTicks(market: MarketView): number | null {
  return resolvedHalfTicks(market.resolution) ?? upPrice(market)?.halfTicks ?? null;
}

export interface MarketAssets extends Assets {
  voidReason(marketId: number): string | null;
}

/** The chance of UP in an active market, in ticks (chance.ts), or null. */
type Indicative = number | null;

/**
 * The JSON of a market, as strings or bytes, without the values that change with every command: the
 * asset's price, the chance by that price, and the sequence and the time.
 */
export interface MarketParts<Part> {
  asset: number;
  head: Part;
  indicative: Indicative;
  tail: Part;
}

export type PricePoint = EntryOf<typeof MARKET_POINT>;

/** @param points the price history; null if it is not known now; absent: the JSON has none. */
export function marketParts(
  assets: MarketAssets,
  market: MarketView,
  indicative: Indicative,
  points?: readonly PricePoint[] | null,
): MarketParts<string> {
  const { bestBidTicks: bid, bestAskTicks: ask } = market;
  const symbol = assets.assetSymbol(market.asset);
  const resolution = resolutionName(market.resolution);
  const reason = market.resolution === Resolution.VOID ? assets.voidReason(market.marketId) : null;
  const pays = resolvedHalfTicks(market.resolution);
  const price = pays === null ? upPrice(market) : { halfTicks: pays, from: null };
  const head =
    `{"id":"${marketIdText(assets, market.marketId)}","type":"15m","asset":"${symbol}","title":"${title(symbol, market)}"` +
    `,"status":"${statusName(market.status)}","paused":${market.paused},"resolution":${resolution === null ? 'null' : `"${resolution}"`}` +
    `,"voidReason":${reason === null ? 'null' : asciiJson(reason)}` +
    `,"startsAtMs":${market.startsAtMs},"endsAtMs":${market.endsAtMs}` +
    `,"startPrice":${microsTextOrNull(market.startPriceMicros)}` +
    `,"startPriceFinal":${market.startPriceFinal}` +
    `,"endPrice":${microsTextOrNull(market.endPriceMicros)},"resolvedAtMs":${market.resolvedAtMs}` +
    `,"averageSoFar":${microsTextOrNull(market.averageSoFarMicros)},"assetPrice":`;
  const tail =
    `,"prices":${pricesText(price?.halfTicks ?? null)},"pricesFrom":${price?.from ? `"${price.from}"` : 'null'}` +
    `,"bestBid":${bothTicksText(bid, invert(ask))},"bestAsk":${bothTicksText(ask, invert(bid))}` +
    `,"volume":${microsText(market.volumeMicros)}` +
    `,"openInterest":${lotsText(market.openInterestLots)}` +
    `,"feeRate":${feeRateText(market.feeBasisPoints)}` +
    `,"curveFeeRate":${feeRateText(market.curveFeeBasisPoints)}` +
    `,"makerFeeRate":${market.feeBasisPoints === null ? null : 0},"tickSize":0.001,"lotSize":0.001` +
    `${points === undefined ? '' : `,"priceHistory":${priceHistoryText(points)}`},`;
  return { asset: market.asset, head, indicative, tail };
}

/** The parts, with the SHA-256 of both. */
export interface HashedParts extends MarketParts<Uint8Array> {
  hash: Uint8Array;
}

export function bytesOf({ head, tail, ...parts }: MarketParts<string>): HashedParts {
  const hash = createHash('sha256').update(head).update(tail).digest();
  return { ...parts, head: ascii(head), tail: ascii(tail), hash };
}

/** SHA-256 over markets, in base64url. `extra`: other contents of the text. */
export function contentHashOf(markets: readonly HashedParts[], extra: string): string {
  const hash = createHash('sha256').update(extra);
  for (const market of markets) hash.update(market.hash);
  return hash.digest('base64url');
}

/** The whole JSON, with the asset's price at the time of the answer. */
export function marketText(
  { head, indicative, tail }: MarketParts<string>,
  assetPriceMicros: number | null,
  at: AsOf,
): string {
  return `${head}${microsTextOrNull(assetPriceMicros)}${indicativeText(indicative)}${tail}${asOfJson(at)}`;
}

export interface ListFrame extends AsOf {
  /** The text before the first market, and after the last. */
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
  { open, close, spareBytes, ...asOf }: ListFrame,
): Uint8Array<SharedArrayBuffer> {
  const prices = assetPricesMicros.map((micros) => ascii(microsTextOrNull(micros)));
  const end = ascii(asOfJson(asOf));
  const pieces = [ascii(open)];
  markets.forEach(({ asset, head, indicative, tail }, i) => {
    if (i > 0) pieces.push(COMMA);
    pieces.push(head, prices[asset]!, ascii(indicativeText(indicative)), tail, end);
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
const NO_PRICES = '"UP":null,"DOWN":null';
/** The text of both prices, by UP's price in half ticks. */
const BOTH_PRICES = Array.from({ length: HALVES_PER_SET + 1 }, (_, up) => bothPrices(up));

const pricesText = (up: number | null) => (up === null ? 'null' : `{${BOTH_PRICES[up]!}}`);
/** The field, with a comma before it. */
export const indicativeText = (upTicks: Indicative) =>
  `,"indicative":${pricesText(upTicks === null ? null : upTicks * 2)}`;

const invert = (ticks: number | null) => (ticks === null ? null : MICROS_PER_SET - ticks);
const ticksTextOrNull = (ticks: number | null) => (ticks === null ? 'null' : ticksText(ticks));
const bothTicksText = (up: number | null, down: number | null) =>
  `{"UP":${ticksTextOrNull(up)},"DOWN":${ticksTextOrNull(down)}}`;

function priceHistoryText(points: readonly PricePoint[] | null): string {
  if (points === null) return 'null';
  const texts = points.map(({ atMs, upHalfTicks, assetPriceMicros }) => {
    const prices = upHalfTicks === NO_PRICE ? NO_PRICES : BOTH_PRICES[upHalfTicks]!;
    const assetPrice = microsTextOrNull(assetPriceMicros === 0 ? null : assetPriceMicros);
    return `{"atMs":${atMs},${prices},"assetPrice":${assetPrice}}`;
  });
  return `[${texts.join()}]`;
}

/** "BTC up or down, 2025-11-21 04:45 to 05:00 UTC" */
function title(symbol: string, market: MarketView): string {
  const [day, start] = new Date(market.startsAtMs).toISOString().split('T');
  const end = new Date(market.endsAtMs).toISOString().slice(11, 16);
  return `${symbol} up or down, ${day} ${start!.slice(0, 5)} to ${end} UTC`;
}
