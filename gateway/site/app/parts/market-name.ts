/** A market's display name, from its id: btc-15m-1763700300 is BTC 04:45. */
import { clockTime, dayAndTime } from './format.js';

interface Parsed {
  asset: string;
  startsAtMs: number;
}

function parsed(marketId: string): Parsed {
  const [asset = '', , seconds = '0'] = marketId.split('-');
  return { asset: asset.toUpperCase(), startsAtMs: Number(seconds) * 1_000 };
}

export function startOf(marketId: string): number {
  return parsed(marketId).startsAtMs;
}

export function slotName(marketId: string): string {
  const { asset, startsAtMs } = parsed(marketId);
  return `${asset} ${clockTime(startsAtMs)}`;
}

export function slotNameWithDay(marketId: string): string {
  const { asset, startsAtMs } = parsed(marketId);
  return `${asset}, ${dayAndTime(startsAtMs)}`;
}
