/**
 * The naive engine's asset prices: a list by time of observation, and the reference price at a moment by its
 * definition, a sum over the list.
 */
import type { ListAsset, ObservePrice } from '../../../engine/interface/commands.js';
import { WINDOW_MS } from '../../../engine/interface/domain.js';
import { MAX_ASSETS, MAX_REMEMBERED_PRICES } from '../../../engine/interface/limits.js';
import { type Dollars, dollars, floorToMicros, ZERO } from './decimal.js';
import { priceArrived } from './market.js';
import { type Answer, emit, type NaiveAsset, type NaiveState, ok, reject } from './state.js';

const AVERAGED_MS = 60_000;
/** How old the price may be that is in force when the averaged minute begins. */
const IN_FORCE_MS = 120_000;
const KEPT_MS = 300_000;

export function listAsset(state: NaiveState, command: ListAsset): Answer {
  const known = state.assets.findIndex((asset) => asset.symbol === command.symbol);
  if (known !== -1) return ok({ asset: known });
  if (state.assets.length >= MAX_ASSETS) return reject('limit_reached');
  const windowStartMs = Math.floor(state.nowMs / WINDOW_MS) * WINDOW_MS;
  state.assets.push({
    symbol: command.symbol,
    prices: [],
    firstBoundaryMs: windowStartMs + WINDOW_MS,
    nextBoundaryMs: windowStartMs + WINDOW_MS,
    waitingSinceMs: windowStartMs,
  });
  const asset = state.assets.length - 1;
  emit(state, { type: 'assetListed', asset });
  return ok({ asset });
}

export function observePrice(state: NaiveState, command: ObservePrice): Answer {
  const asset = state.assets[command.asset];
  if (asset === undefined) return reject('asset_not_found');
  forgetOldPrices(asset, state.nowMs);
  if (asset.prices.length >= MAX_REMEMBERED_PRICES) return reject('limit_reached');
  if (command.observedAtMs < state.nowMs - KEPT_MS) return reject('price_too_old');
  const { priceMicros, observedAtMs } = command;
  let place = asset.prices.length;
  while (place > 0 && asset.prices[place - 1]!.observedAtMs > observedAtMs) place--;
  asset.prices.splice(place, 0, { observedAtMs, price: dollars(priceMicros) });
  emit(state, { type: 'priceObserved', asset: command.asset, priceMicros, observedAtMs });
  priceArrived(state, command.asset, dollars(priceMicros));
  return ok({});
}

/** What no reference price can need any more goes; the last price stays, however old it is. */
function forgetOldPrices(asset: NaiveAsset, nowMs: number): void {
  const needed = asset.prices.findIndex((_, index) => {
    const next = asset.prices[index + 1];
    return next === undefined || next.observedAtMs > nowMs - KEPT_MS;
  });
  if (needed > 0) asset.prices.splice(0, needed);
}

/** The time-weighted average over the minute before `atMs`; null when no price was known in any of it. */
export function referencePrice(asset: NaiveAsset, atMs: number): Dollars | null {
  const fromMs = atMs - AVERAGED_MS;
  let weighted = ZERO;
  let coveredMs = 0;
  asset.prices.forEach((one, index) => {
    const next = asset.prices[index + 1]?.observedAtMs ?? Number.POSITIVE_INFINITY;
    if (one.observedAtMs < fromMs - IN_FORCE_MS) return;
    const countedMs = Math.min(next, atMs) - Math.max(one.observedAtMs, fromMs);
    if (countedMs <= 0) return;
    weighted = weighted.plus(one.price.times(countedMs));
    coveredMs += countedMs;
  });
  return coveredMs === 0 ? null : floorToMicros(weighted.div(coveredMs));
}
