/**
 * The average that settles a market, by the exchange's rule: each price counts for the part of the
 * minute in which it was the last known one, and the result is rounded down to a micro-dollar.
 * Computed in integers, to equal the exchange's number exactly.
 */
import { toMicros } from '../../../client/index.js';

export const MINUTE_MS = 60_000;

export interface Tick {
  observedAtMs: number;
  price: number;
}

interface WeighedTick extends Tick {
  fromMs: number;
  forMs: number;
}

export interface Average {
  ticks: WeighedTick[];
  micros: number | null;
}

export function averageOf(prices: readonly Tick[], endsAtMs: number): Average {
  const ticks = prices.map((tick, index) => {
    const fromMs = Math.max(tick.observedAtMs, endsAtMs - MINUTE_MS);
    const untilMs = prices[index + 1]?.observedAtMs ?? endsAtMs;
    return { ...tick, fromMs, forMs: Math.max(0, untilMs - fromMs) };
  });
  let sum = 0n;
  let time = 0n;
  for (const { price, forMs } of ticks) {
    sum += BigInt(toMicros(price)) * BigInt(forMs);
    time += BigInt(forMs);
  }
  const [first] = prices;
  if (first === undefined) return { ticks, micros: null };
  // A market that opened without a price in that minute uses the first price that arrived.
  return { ticks, micros: time === 0n ? toMicros(first.price) : Number(sum / time) };
}
