/**
 * The notation of the engine's integers for clients and operators: exact decimals, ids, and names
 * of the domain's numbers. The engine does not use it; all code that shows engine state does, so
 * each value has one spelling.
 *
 * Ids: users "u12", orders "o12", trades "t12", vault deposits "d12", tokens "k12", and markets
 * "btc-15m-1763700300" (asset, kind, start of the window in seconds). No other form is an id.
 */
import {
  assetOfMarket,
  MarketStatus,
  MatchType,
  marketIdOf,
  Outcome,
  PointsReason,
  Resolution,
  Side,
  startOfMarketMs,
  TokenScope,
  WINDOW_MS,
} from './domain.js';

export const MICRO_SCALE = 1_000_000;
export const TICK_SCALE = 1_000;
export const LOT_SCALE = 1_000;

/**
 * The largest integer of fifteen digits. A decimal of up to fifteen significant digits and its
 * nearest double determine each other, so up to here `${n / scale}` is the exact decimal.
 */
export const MAX_FIFTEEN_DIGITS = 999_999_999_999_999;

/** The exact decimal of micro-dollars: 1500000 → "1.5". */
export function microsText(micros: number): string {
  return decimalText(micros, MICRO_SCALE, 6);
}

/** The exact decimal of lots, in shares: 2500 → "2.5". */
export function lotsText(lots: number): string {
  return decimalText(lots, LOT_SCALE, 3);
}

/** The decimal of a price: 495 → "0.495". */
export function ticksText(ticks: number): string {
  return `${ticks / TICK_SCALE}`;
}

function decimalText(integer: number, scale: number, places: number): string {
  if (integer <= MAX_FIFTEEN_DIGITS && integer >= -MAX_FIFTEEN_DIGITS) return `${integer / scale}`;
  const digits = `${Math.abs(integer)}`;
  const fraction = digits.slice(-places).replace(/0+$/, '');
  const whole = `${integer < 0 ? '-' : ''}${digits.slice(0, -places)}`;
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

const NUMBERED_ID = /^[a-z][1-9]\d{0,14}$/;
const MARKET_ID = /^([a-z0-9]{2,10})-15m-([1-9]\d{0,9})$/;

export interface Assets {
  assetSymbol(asset: number): string;
  findAsset(symbol: string): number;
}

export type IdLetter = 'u' | 'o' | 't' | 'd' | 'k' | 'g';

/** The number in an id such as "u12"; 0 if the text is not an id of that kind. */
export function idNumber(letter: IdLetter, text: string): number {
  return text[0] === letter && NUMBERED_ID.test(text) ? Number(text.slice(1)) : 0;
}

/** Whether the text has the form of a market id; its asset need not be listed. */
export function isMarketName(text: string): boolean {
  const parts = MARKET_ID.exec(text);
  return parts !== null && (Number(parts[2]) * 1_000) % WINDOW_MS === 0;
}

/** The engine's id of a market; 0 if the text is not a market id or the asset is not listed. */
export function marketIdNumber(assets: Assets, text: string): number {
  const parts = MARKET_ID.exec(text);
  if (parts === null) return 0;
  const startsAtMs = Number(parts[2]) * 1_000;
  const asset = assets.findAsset(parts[1]!.toUpperCase());
  return asset < 0 || startsAtMs % WINDOW_MS !== 0 ? 0 : marketIdOf(asset, startsAtMs);
}

export function marketIdText(assets: Assets, marketId: number): string {
  const symbol = assets.assetSymbol(assetOfMarket(marketId)).toLowerCase();
  return `${symbol}-15m-${startOfMarketMs(marketId) / 1_000}`;
}

const OUTCOME_NAMES = { [Outcome.UP]: 'UP', [Outcome.DOWN]: 'DOWN' } as const;
const SIDE_NAMES = { [Side.BUY]: 'BUY', [Side.SELL]: 'SELL' } as const;
const RESOLUTION_NAMES = {
  [Resolution.NONE]: null,
  [Resolution.UP]: 'UP',
  [Resolution.DOWN]: 'DOWN',
  [Resolution.VOID]: 'VOID',
} as const;
const STATUS_NAMES = {
  [MarketStatus.ACTIVE]: 'active',
  [MarketStatus.ENDED]: 'ended',
  [MarketStatus.RESOLVED]: 'resolved',
  [MarketStatus.UPCOMING]: 'upcoming',
} as const;
const MATCH_TYPE_NAMES = {
  [MatchType.TRANSFER]: 'transfer',
  [MatchType.MINT]: 'mint',
  [MatchType.MERGE]: 'merge',
} as const;
const POINTS_REASON_NAMES = {
  [PointsReason.FEES]: 'fees',
  [PointsReason.REFERRAL]: 'referral',
} as const;
const TOKEN_SCOPE_NAMES = { [TokenScope.READ]: 'read', [TokenScope.TRADE]: 'trade' } as const;
export type MarketStatusName = (typeof STATUS_NAMES)[MarketStatus];

export const outcomeName = (outcome: number) => OUTCOME_NAMES[outcome as Outcome];
export const sideName = (side: number) => SIDE_NAMES[side as Side];
export const matchTypeName = (matchType: number) => MATCH_TYPE_NAMES[matchType as MatchType];
export const pointsReasonName = (reason: number) => POINTS_REASON_NAMES[reason as PointsReason];
export const tokenScopeName = (scope: number) => TOKEN_SCOPE_NAMES[scope as TokenScope];
/** The name of a resolution; null while the market is not resolved. */
export const resolutionName = (resolution: number) => RESOLUTION_NAMES[resolution as Resolution];

export function statusName(status: MarketStatus): MarketStatusName {
  return STATUS_NAMES[status];
}
