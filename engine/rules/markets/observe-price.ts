/**
 * Prices from one feed, or from several, whose median counts. The guard may hold a price back;
 * otherwise the price is stored, and markets that wait for a price open or resolve.
 */

import { Code } from '../../interface/codes.js';
import type { CommandRecord } from '../../interface/command-record.js';
import type { CommandOf } from '../../interface/commands.js';
import { EventType } from '../../interface/events.js';
import { isPriceSource } from '../../interface/fields.js';
import { Limit, MAX_ASSET_PRICE_MICROS } from '../../interface/limits.js';
import { PRICE_REMEMBERED_MS } from '../../interface/parameters.js';
import { PriceField } from '../../interface/records.js';
import { isFresh } from '../../state/prices/price-sources.js';
import type { State } from '../../state/state.js';
import { isIntegerBetween } from '../../storage/arithmetic.js';
import { priceArrived } from './market-life.js';

export function observePrice(state: State, command: CommandRecord): number {
  const asset = command.number(PriceField.asset);
  const priceMicros = command.number(PriceField.priceMicros);
  const observedAtMs = command.number(PriceField.observedAtMs);
  const code = check(state, asset, priceMicros, observedAtMs);
  if (code !== Code.ok) return code;
  if (observedAtMs < state.nowMs - PRICE_REMEMBERED_MS) return Code.price_too_old;

  take(state, asset, priceMicros, observedAtMs);
  return Code.ok;
}

export function observeSourcePrice(state: State, command: CommandOf<'observeSourcePrice'>): number {
  const { asset, source, priceMicros, observedAtMs } = command;
  const { prices, priceSources, nowMs } = state;
  if (!isPriceSource(source)) return Code.invalid_command;
  const code = check(state, asset, priceMicros, observedAtMs);
  if (code !== Code.ok) return code;
  priceSources.forgetOld(asset, nowMs);
  if (priceSources.isFull(asset, source)) return state.refuseLimit(Limit.priceSources);
  if (!isFresh(observedAtMs, nowMs)) return Code.price_too_old;
  if (priceSources.hasLater(asset, source, observedAtMs)) return Code.price_too_old;

  priceSources.set(asset, source, priceMicros, observedAtMs);
  const medianMicros = priceSources.median(asset, prices.last(asset));
  take(state, asset, medianMicros, priceSources.newestAtMs(asset));
  return Code.ok;
}

function check(state: State, asset: number, priceMicros: number, observedAtMs: number): number {
  if (!isIntegerBetween(priceMicros, 1, MAX_ASSET_PRICE_MICROS)) return Code.invalid_command;
  if (!isIntegerBetween(observedAtMs, 0, state.nowMs)) return Code.invalid_command;
  if (!isIntegerBetween(asset, 0, state.prices.assetCount - 1)) return Code.asset_not_found;
  // A refused command may forget old prices: no reference price looks back that far.
  state.prices.forgetOld(asset, state.nowMs);
  return state.prices.isFull(asset) ? state.refuseLimit(Limit.prices) : Code.ok;
}

/** Stores the price, unless the guard holds it back. */
function take(state: State, asset: number, priceMicros: number, observedAtMs: number): void {
  const { prices, events, nowMs } = state;
  if (prices.guard(asset).holds(prices.last(asset), priceMicros, nowMs)) {
    events.write(EventType.priceHeld, asset, priceMicros, observedAtMs);
    return;
  }
  prices.insert(asset, observedAtMs, priceMicros);
  events.write(EventType.priceObserved, asset, priceMicros, observedAtMs);
  priceArrived(state, asset, priceMicros);
}
