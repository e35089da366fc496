/**
 * Ids as clients see them: users "u12", orders "o12", trades "t12", vault deposits "d12", and markets
 * "btc-15m-1763700300" (asset, kind, start of the window in seconds). One id has one spelling: what is not exactly in
 * that form is no id at all.
 */
import { assetOfMarket, marketIdOf, startOfMarketMs, WINDOW_MS } from '../../engine/domain.js';

const NUMBERED_ID = /^[a-z][1-9]\d{0,14}$/;
const MARKET_ID = /^([a-z0-9]{2,10})-15m-([1-9]\d{0,9})$/;

/** What ids of markets need to know of the engine. */
export interface Assets {
  assetSymbol(asset: number): string;
  findAsset(symbol: string): number;
}

export type IdLetter = 'u' | 'o' | 't' | 'd';

/** The number in an id such as "u12"; 0 if the text is not an id of that kind. */
export function idNumber(letter: IdLetter, text: string): number {
  return text[0] === letter && NUMBERED_ID.test(text) ? Number(text.slice(1)) : 0;
}

/** The engine's id of the market with this name; 0 if it cannot be one, or its asset is not listed. */
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
