/**
 * The life of a market: listing ahead of its window, opening, resolution and payout. Each step
 * happens at a deadline or when an awaited price arrives. Steps that touch many orders or positions
 * become pending work (pending-work.ts).
 */

import { Code } from '../../interface/codes.js';
import type { CommandOf } from '../../interface/commands.js';
import {
  MarketStatus,
  marketIdOf,
  Resolution,
  startOfMarketMs,
  WINDOW_MS,
} from '../../interface/domain.js';
import { EventType } from '../../interface/events.js';
import { isAssetSymbol } from '../../interface/fields.js';
import { Limit, MAX_ASSETS } from '../../interface/limits.js';
import {
  LATE_OPENING_LEFT_MIN_MS,
  PAYOUT_DELAY_MS,
  REFERRAL_DIVISOR,
  RESOLVE_DELAY_MS,
  UPCOMING_WINDOWS,
  VOID_DELAY_MS,
} from '../../interface/parameters.js';
import { Pot } from '../../state/ledger.js';
import { type AssetSchedule, DeadlineKind, WorkKind } from '../../state/schedule.js';
import type { State } from '../../state/state.js';
import { isIntegerBetween, mulDivFloor } from '../../storage/arithmetic.js';

export function applyDeadlines(state: State, atMs: number): void {
  const { schedule } = state;
  while (schedule.nextAtMs <= atMs) {
    const dueAtMs = schedule.nextAtMs;
    const subject = schedule.nextSubject;
    // Orders that expire before this deadline come first; otherwise the end of their market would
    // cancel them, for another reason.
    if (state.expiries.firstAtMs < dueAtMs) schedule.addExpiry(dueAtMs);
    switch (schedule.nextKind) {
      case DeadlineKind.BOUNDARY:
        passBoundary(state, subject, dueAtMs);
        break;
      case DeadlineKind.FIX:
        fixReference(state, subject, dueAtMs);
        break;
      case DeadlineKind.VOID:
        voidMarket(state, subject, dueAtMs);
        break;
      case DeadlineKind.PAYOUT:
        schedule.removePayout();
        schedule.addWork(WorkKind.PAY, subject);
        break;
      case DeadlineKind.TOKENS:
        schedule.addWork(WorkKind.TOKENS, 0);
        break;
      case DeadlineKind.TIMERS:
        schedule.addWork(WorkKind.TIMERS, 0);
        break;
    }
    schedule.findNext();
  }
}

/** Makes orders that expire at or before `atMs` pending work. */
export function applyExpiries(state: State, atMs: number): void {
  if (state.expiries.firstAtMs <= atMs) state.schedule.addExpiry(atMs + 1);
}

/** Adds an asset, unless it is listed. The current window waits for the asset's first price. */
export function listAsset(state: State, command: CommandOf<'listAsset'>): number {
  const { prices } = state;
  if (!isAssetSymbol(command.symbol)) return Code.invalid_command;
  const listed = prices.find(command.symbol);
  if (listed === -1 && prices.assetCount >= MAX_ASSETS) return state.refuseLimit(Limit.assets);
  const asset = listed === -1 ? prices.add(command.symbol) : listed;
  if (listed === -1) {
    state.schedule.addAsset(Math.floor(state.nowMs / WINDOW_MS) * WINDOW_MS + WINDOW_MS);
    state.events.write(EventType.assetListed, asset);
  }
  state.result.push(asset);
  return Code.ok;
}

export function listMarkets(state: State, { asset, ahead }: CommandOf<'listMarkets'>): number {
  if (!isIntegerBetween(asset, 0, state.prices.assetCount - 1)) return Code.asset_not_found;
  state.schedule.assets[asset]!.listsAhead = Number(ahead);
  state.result.push(ahead ? listAhead(state, asset) : 0);
  return Code.ok;
}

/**
 * Lists the unknown markets of the current and the next windows; returns the number of added
 * markets. After a standstill, windows that are already over get no market, so each added market is
 * later than all earlier ones of its asset.
 */
function listAhead(state: State, asset: number): number {
  let listed = 0;
  for (const marketId of nextMarkets(state, asset)) {
    const leftMs = startOfMarketMs(marketId) + WINDOW_MS - state.nowMs;
    if (leftMs < LATE_OPENING_LEFT_MIN_MS || state.markets.find(marketId) !== 0) continue;
    const slot = state.markets.add(marketId, state.pauses.bitsOf(asset));
    state.events.write(EventType.marketListed, marketId);
    writePaused(state, slot);
    listed++;
  }
  return listed;
}

/** The markets of the current and the next windows, known or not. */
export function nextMarkets({ schedule }: State, asset: number): number[] {
  const { boundaryAtMs } = schedule.assets[asset]!;
  return Array.from({ length: UPCOMING_WINDOWS + 1 }, (_, window) =>
    marketIdOf(asset, boundaryAtMs + (window - 1) * WINDOW_MS),
  );
}

/** A new price may open a market that waits for one, and resolve one that has ended. */
export function priceArrived(state: State, asset: number, priceMicros: number): void {
  const schedule = state.schedule.assets[asset]!;
  const startsAtMs = schedule.boundaryAtMs - WINDOW_MS;
  if (
    schedule.waitsForPrice === 1 &&
    schedule.boundaryAtMs - state.nowMs >= LATE_OPENING_LEFT_MIN_MS
  ) {
    openMarket(state, asset, startsAtMs, state.prices.reference(asset, startsAtMs) ?? priceMicros);
  }
  // Once the reference price is fixed, an ended market is one without an end price.
  if (schedule.endedSlot !== 0 && schedule.fixAtMs === Number.POSITIVE_INFINITY) {
    resolveIfPossible(state, schedule, startsAtMs, state.nowMs);
    state.schedule.findNext();
  }
}

function passBoundary(state: State, asset: number, boundaryAtMs: number): void {
  endWindow(state, asset, boundaryAtMs);
  beginWindow(state, asset, boundaryAtMs);
  if (state.schedule.assets[asset]!.listsAhead === 1) listAhead(state, asset);
}

function endWindow(state: State, asset: number, boundaryAtMs: number): void {
  const schedule = state.schedule.assets[asset]!;
  if (schedule.activeSlot !== 0) endMarket(state, schedule, boundaryAtMs);
  else {
    const slot = state.markets.find(marketIdOf(asset, boundaryAtMs - WINDOW_MS));
    // The market's window has passed without a price.
    if (state.markets.status(slot) === MarketStatus.UPCOMING) voidAtOnce(state, slot, boundaryAtMs);
  }
}

function beginWindow(state: State, asset: number, boundaryAtMs: number): void {
  const schedule = state.schedule.assets[asset]!;
  schedule.boundaryAtMs = boundaryAtMs + WINDOW_MS;
  schedule.fixAtMs = boundaryAtMs + RESOLVE_DELAY_MS;
  schedule.waitsForPrice = 0;
  const next = state.markets.find(marketIdOf(asset, boundaryAtMs));
  // An operator may have declared the market VOID.
  if (next !== 0 && !state.markets.takesOrders(next)) return;
  const reference = state.prices.reference(asset, boundaryAtMs);
  if (reference === null) {
    schedule.waitsForPrice = 1;
    return;
  }
  openMarket(state, asset, boundaryAtMs, reference);
}

function openMarket(
  state: State,
  asset: number,
  startsAtMs: number,
  startPriceMicros: number,
): void {
  const { markets } = state;
  const marketId = marketIdOf(asset, startsAtMs);
  const known = markets.find(marketId);
  const slot = known || markets.add(marketId, state.pauses.bitsOf(asset));
  state.events.write(EventType.marketOpened, marketId, startPriceMicros);
  if (known === 0) writePaused(state, slot);
  const schedule = state.schedule.assets[asset]!;
  schedule.activeSlot = slot;
  schedule.waitsForPrice = 0;
  markets.setStatus(slot, MarketStatus.ACTIVE);
  markets.setStartPriceMicros(slot, startPriceMicros);
}

function writePaused({ markets, events }: State, slot: number): void {
  if (markets.pausedBy(slot) !== 0) events.write(EventType.marketPaused, markets.id(slot), 1);
}

function endMarket(state: State, schedule: AssetSchedule, endsAtMs: number): void {
  const slot = schedule.activeSlot;
  state.markets.setStatus(slot, MarketStatus.ENDED);
  schedule.activeSlot = 0;
  schedule.endedSlot = slot;
  schedule.voidAtMs = endsAtMs + VOID_DELAY_MS;
  state.schedule.addWork(WorkKind.CANCEL, slot);
  state.events.write(EventType.marketEnded, state.markets.id(slot));
}

/** The reference price of the last boundary is final: it ends one market and starts the next. */
function fixReference(state: State, asset: number, dueAtMs: number): void {
  const schedule = state.schedule.assets[asset]!;
  schedule.fixAtMs = Number.POSITIVE_INFINITY;
  const boundaryAtMs = dueAtMs - RESOLVE_DELAY_MS;
  if (schedule.endedSlot !== 0) resolveIfPossible(state, schedule, boundaryAtMs, dueAtMs);
  const { markets } = state;
  const active = schedule.activeSlot;
  if (active === 0) return;
  const reference = state.prices.reference(asset, boundaryAtMs);
  if (reference === null || reference === markets.startPriceMicros(active)) return;
  markets.setStartPriceMicros(active, reference);
  state.events.write(EventType.startPriceFixed, markets.id(active), reference);
}

function resolveIfPossible(
  state: State,
  schedule: AssetSchedule,
  endedAtMs: number,
  atMs: number,
): void {
  const slot = schedule.endedSlot;
  const endPriceMicros = state.prices.reference(state.markets.asset(slot), endedAtMs);
  if (endPriceMicros === null) return;
  const isUp = endPriceMicros >= state.markets.startPriceMicros(slot);
  resolve(state, schedule, isUp ? Resolution.UP : Resolution.DOWN, endPriceMicros, atMs);
}

function voidMarket(state: State, asset: number, dueAtMs: number): void {
  resolve(state, state.schedule.assets[asset]!, Resolution.VOID, 0, dueAtMs);
}

/**
 * Resolves an unresolved market as VOID. The window of an active or upcoming market then has no
 * market. An earlier market of the asset may still wait for its price.
 */
export function voidByOperator(state: State, slot: number): void {
  const { markets, schedule } = state;
  const ofAsset = schedule.assets[markets.asset(slot)]!;
  if (markets.takesOrders(slot)) {
    if (startOfMarketMs(markets.id(slot)) < ofAsset.boundaryAtMs) {
      ofAsset.activeSlot = 0;
      ofAsset.waitsForPrice = 0;
    }
    voidAtOnce(state, slot, state.nowMs);
  } else resolve(state, ofAsset, Resolution.VOID, 0, state.nowMs);
  schedule.findNext();
}

/** Ends a market that takes orders, and resolves it as VOID. */
function voidAtOnce(state: State, slot: number, atMs: number): void {
  const { markets } = state;
  markets.setStatus(slot, MarketStatus.ENDED);
  state.schedule.addWork(WorkKind.CANCEL, slot);
  state.events.write(EventType.marketEnded, markets.id(slot));
  resolveSlot(state, slot, Resolution.VOID, 0, atMs);
}

function resolve(
  state: State,
  schedule: AssetSchedule,
  resolution: Resolution,
  endPriceMicros: number,
  atMs: number,
): void {
  const slot = schedule.endedSlot;
  schedule.endedSlot = 0;
  schedule.voidAtMs = Number.POSITIVE_INFINITY;
  resolveSlot(state, slot, resolution, endPriceMicros, atMs);
}

function resolveSlot(
  state: State,
  slot: number,
  resolution: Resolution,
  endPriceMicros: number,
  atMs: number,
): void {
  const { markets } = state;
  markets.setStatus(slot, MarketStatus.RESOLVED);
  markets.setResolution(slot, resolution);
  markets.setEndPriceMicros(slot, endPriceMicros);
  markets.setResolvedAtMs(slot, state.nowMs);
  markets.setSettleCursor(slot, markets.firstPosition(slot));
  state.events.write(EventType.marketResolved, markets.id(slot), resolution, endPriceMicros);
  if (resolution !== Resolution.VOID) shareWithVault(state, slot, atMs);
  state.schedule.addWork(WorkKind.SETTLE, slot);
  state.schedule.addPayout(atMs + PAYOUT_DELAY_MS, slot);
}

/**
 * Gives the vault its part of a market's fees, at most what the makers and the referrers leave.
 * What the vault cannot share stays in escrow.
 */
function shareWithVault(state: State, slot: number, atMs: number): void {
  const fees = state.markets.escrowMicros(slot);
  const share = mulDivFloor(fees, state.rules.vaultSharePercent, 100);
  const left = fees - state.markets.makersDueMicros(slot) - Math.floor(fees / REFERRAL_DIVISOR);
  const given = state.vault.share(Math.min(share, left), atMs);
  state.ledger.addEscrow(slot, 0 - given);
  state.ledger.add(Pot.yieldDue, given);
  state.markets.setVaultMicros(slot, given);
}
