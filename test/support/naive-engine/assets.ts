/**
 * The naive engine's assets: their listing, and the effects of an observed price. Also the
 * exchange's own statement about a snapshot.
 */
import type { CommandOf } from '../../../engine/interface/commands.js';
import { WINDOW_MS } from '../../../engine/interface/domain.js';
import {
  MAX_ASSETS,
  MAX_PRICE_SOURCES,
  MAX_REMEMBERED_PRICES,
} from '../../../engine/interface/limits.js';
import { type Dollars, dollars, floorToMicros, micros } from './decimal.js';
import { priceArrived } from './market.js';
import { forgetOldPrices, KEPT_MS } from './prices.js';
import {
  type Answer,
  emit,
  type NaiveAsset,
  type NaiveState,
  ok,
  reject,
  rejectLimit,
} from './state.js';

/** The maximum age of a source's last price. */
const FRESH_MS = 15_000;
/** A price that is held back must be confirmed for this long, by this many prices. */
const CONFIRMED_MS = 30_000;
const CONFIRMED_TIMES = 3;

export function listAsset(state: NaiveState, command: CommandOf<'listAsset'>): Answer {
  const known = state.assets.findIndex((asset) => asset.symbol === command.symbol);
  if (known !== -1) return ok({ asset: known });
  if (state.assets.length >= MAX_ASSETS) return rejectLimit('assets');
  const windowStartMs = Math.floor(state.nowMs / WINDOW_MS) * WINDOW_MS;
  state.assets.push({
    symbol: command.symbol,
    listsAhead: false,
    prices: [],
    sources: [],
    held: [],
    firstBoundaryMs: windowStartMs + WINDOW_MS,
    nextBoundaryMs: windowStartMs + WINDOW_MS,
    waitingSinceMs: windowStartMs,
  });
  const asset = state.assets.length - 1;
  emit(state, { type: 'assetListed', asset });
  return ok({ asset });
}

export function observePrice(state: NaiveState, command: CommandOf<'observePrice'>): Answer {
  const asset = state.assets[command.asset];
  if (asset === undefined) return reject('asset_not_found');
  forgetOldPrices(asset, state.nowMs);
  if (asset.prices.length >= MAX_REMEMBERED_PRICES) return rejectLimit('prices');
  if (command.observedAtMs < state.nowMs - KEPT_MS) return reject('price_too_old');
  take(state, command.asset, dollars(command.priceMicros), command.observedAtMs);
  return ok({});
}

export function observeSourcePrice(
  state: NaiveState,
  command: CommandOf<'observeSourcePrice'>,
): Answer {
  const asset = state.assets[command.asset];
  if (asset === undefined) return reject('asset_not_found');
  const { source, priceMicros, observedAtMs } = command;
  forgetOldPrices(asset, state.nowMs);
  if (asset.prices.length >= MAX_REMEMBERED_PRICES) return rejectLimit('prices');
  const fresh = asset.sources.filter((one) => state.nowMs - one.observedAtMs <= FRESH_MS);
  const others = fresh.filter((one) => one.source !== source);
  if (others.length >= MAX_PRICE_SOURCES) return rejectLimit('priceSources');
  const own = fresh.find((one) => one.source === source);
  if (state.nowMs - observedAtMs > FRESH_MS) return reject('price_too_old');
  if (own !== undefined && own.observedAtMs > observedAtMs) return reject('price_too_old');
  const all = [...others, { source, price: dollars(priceMicros), observedAtMs }];
  asset.sources = all;
  const newestMs = Math.max(...all.map((one) => one.observedAtMs));
  const median = medianOf(
    all.map((one) => one.price),
    asset,
  );
  take(state, command.asset, median, newestMs);
  return ok({});
}

function medianOf(prices: Dollars[], asset: NaiveAsset): Dollars {
  const sorted = [...prices].sort((a, b) => a.cmp(b));
  const half = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[half]!;
  const [low, high] = [sorted[half - 1]!, sorted[half]!];
  const near = [low, high].filter((one) => !isFarFromLast(one, asset));
  if (near.length === 1) return near[0]!;
  return floorToMicros(low.plus(high).div(2));
}

function isFarFromLast(price: Dollars, asset: NaiveAsset): boolean {
  const last = asset.prices.at(-1);
  return last !== undefined && areFarApart(price, last.price);
}

function areFarApart(a: Dollars, b: Dollars): boolean {
  return a.gt(b.times(5).div(4)) || b.gt(a.times(5).div(4));
}

/** Passes the price through the guard and adds it to the list of prices. */
function take(state: NaiveState, assetNumber: number, price: Dollars, observedAtMs: number): void {
  const asset = state.assets[assetNumber]!;
  const fields = { asset: assetNumber, priceMicros: micros(price), observedAtMs };
  if (isFarFromLast(price, asset)) {
    const before = asset.held.at(-1);
    if (before !== undefined && areFarApart(before.price, price)) asset.held = [];
    asset.held.push({ price, atMs: state.nowMs });
    const confirmedMs = state.nowMs - asset.held[0]!.atMs;
    if (asset.held.length < CONFIRMED_TIMES || confirmedMs < CONFIRMED_MS) {
      emit(state, { type: 'priceHeld', ...fields });
      return;
    }
  }
  asset.held = [];
  let place = asset.prices.length;
  while (place > 0 && asset.prices[place - 1]!.observedAtMs > observedAtMs) place--;
  asset.prices.splice(place, 0, { observedAtMs, price });
  emit(state, { type: 'priceObserved', ...fields });
  priceArrived(state, assetNumber, price);
}

export function vouchForSnapshot(
  state: NaiveState,
  command: CommandOf<'vouchForSnapshot'>,
): Answer {
  const { snapshotSequence } = command;
  return snapshotSequence < state.sequence ? ok({ snapshotSequence }) : reject('invalid_command');
}
