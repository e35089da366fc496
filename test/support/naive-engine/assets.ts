/**
 * The naive engine's assets: listing them, and what an observed price triggers. And the exchange's
 * other statement of its own, about a snapshot.
 */
import type {
  ListAsset,
  ObservePrice,
  VouchForSnapshot,
} from '../../../engine/interface/commands.js';
import { WINDOW_MS } from '../../../engine/interface/domain.js';
import { MAX_ASSETS, MAX_REMEMBERED_PRICES } from '../../../engine/interface/limits.js';
import { dollars } from './decimal.js';
import { priceArrived } from './market.js';
import { forgetOldPrices, KEPT_MS } from './prices.js';
import { type Answer, emit, type NaiveState, ok, reject } from './state.js';

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

export function vouchForSnapshot(state: NaiveState, command: VouchForSnapshot): Answer {
  const { snapshotSequence } = command;
  return snapshotSequence < state.sequence ? ok({ snapshotSequence }) : reject('invalid_command');
}
