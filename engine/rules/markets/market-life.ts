/**
 * The life of a market: windows begin and end; markets open, resolve and are paid out, at a
 * deadline or when the price they wait for arrives. Steps that touch many orders or positions
 * become pending work (pending-work.ts).
 */

import { Code } from '../../interface/codes.js';
import type { CommandOf } from '../../interface/commands.js';
import { MarketStatus, marketIdOf, Resolution, WINDOW_MS } from '../../interface/domain.js';
import { EventType } from '../../interface/events.js';
import { isAssetSymbol } from '../../interface/fields.js';
import { MAX_ASSETS } from '../../interface/limits.js';
import {
  LATE_OPENING_LEFT_MIN_MS,
  PAYOUT_DELAY_MS,
  RESOLVE_DELAY_MS,
  VOID_DELAY_MS,
} from '../../interface/parameters.js';
import { type AssetSchedule, DeadlineKind, WorkKind } from '../../state/schedule.js';
import type { State } from '../../state/state.js';
import { mulDivFloor } from '../../storage/arithmetic.js';

/** Applies every deadline up to `atMs`, in order. */
export function applyDeadlines(state: State, atMs: number): void {
  const { schedule } = state;
  while (schedule.nextAtMs <= atMs) {
    const dueAtMs = schedule.nextAtMs;
    const subject = schedule.nextSubject;
    // Orders that expire before this deadline go first: the end of their market would cancel them,
    // with another reason.
    if (state.expiries.nextAtMs < dueAtMs) schedule.addExpiry(dueAtMs);
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

/** Orders that expire at `atMs` or before become pending work. */
export function applyExpiries(state: State, atMs: number): void {
  if (state.expiries.nextAtMs <= atMs) state.schedule.addExpiry(atMs + 1);
}

/** Adds an asset, unless it is listed. The current window waits for the asset's first price. */
export function listAsset(state: State, command: CommandOf<'listAsset'>): number {
  const { prices } = state;
  if (!isAssetSymbol(command.symbol)) return Code.invalid_command;
  const listed = prices.find(command.symbol);
  if (listed === -1 && prices.assetCount >= MAX_ASSETS) return Code.limit_reached;
  const asset = listed === -1 ? prices.add(command.symbol) : listed;
  if (listed === -1) {
    state.schedule.addAsset(Math.floor(state.nowMs / WINDOW_MS) * WINDOW_MS + WINDOW_MS);
    state.events.write(EventType.assetListed, asset);
  }
  state.result.push(asset);
  return Code.ok;
}

/** A new price opens the market that waits for one, and resolves the one that waits for its end. */
export function priceArrived(state: State, asset: number, priceMicros: number): void {
  const schedule = state.schedule.assets[asset]!;
  const startsAtMs = schedule.boundaryAtMs - WINDOW_MS;
  if (
    schedule.waitsForPrice === 1 &&
    schedule.boundaryAtMs - state.nowMs >= LATE_OPENING_LEFT_MIN_MS
  ) {
    openMarket(state, asset, startsAtMs, state.prices.reference(asset, startsAtMs) ?? priceMicros);
  }
  // After the reference price is fixed, only a market without an end price is left.
  if (schedule.endedSlot !== 0 && schedule.fixAtMs === Number.POSITIVE_INFINITY) {
    resolveIfPossible(state, schedule, startsAtMs, state.nowMs);
    state.schedule.findNext();
  }
}

/** One window ends and the next begins. */
function passBoundary(state: State, asset: number, boundaryAtMs: number): void {
  const schedule = state.schedule.assets[asset]!;
  if (schedule.activeSlot !== 0) endMarket(state, schedule, boundaryAtMs);
  schedule.boundaryAtMs = boundaryAtMs + WINDOW_MS;
  schedule.fixAtMs = boundaryAtMs + RESOLVE_DELAY_MS;
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
  const marketId = marketIdOf(asset, startsAtMs);
  const slot = state.markets.open(marketId, startPriceMicros);
  const schedule = state.schedule.assets[asset]!;
  schedule.activeSlot = slot;
  schedule.waitsForPrice = 0;
  state.markets.setStartPriceOpen(slot, Number(schedule.fixAtMs !== Number.POSITIVE_INFINITY));
  state.events.write(EventType.marketOpened, marketId, startPriceMicros);
  const pausedBy = state.pauses.bitsOf(asset);
  state.markets.setPausedBy(slot, pausedBy);
  if (pausedBy !== 0) state.events.write(EventType.marketPaused, marketId, 1);
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
  if (active === 0 || markets.startPriceOpen(active) !== 1) return;
  markets.setStartPriceOpen(active, 0);
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
 * Resolves a market as VOID that is active or has ended. The window of an active one stays without
 * a market. An earlier market of the asset may still wait for its price.
 */
export function voidByOperator(state: State, slot: number): void {
  const { markets, schedule } = state;
  const ofAsset = schedule.assets[markets.asset(slot)]!;
  if (ofAsset.activeSlot !== slot) {
    resolve(state, ofAsset, Resolution.VOID, 0, state.nowMs);
    schedule.findNext();
    return;
  }
  ofAsset.activeSlot = 0;
  markets.setStatus(slot, MarketStatus.ENDED);
  markets.setStartPriceOpen(slot, 0);
  schedule.addWork(WorkKind.CANCEL, slot);
  state.events.write(EventType.marketEnded, markets.id(slot));
  resolveSlot(state, slot, Resolution.VOID, 0, state.nowMs);
  schedule.findNext();
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

/** Gives the vault its part of a market's fees. What the vault cannot share stays in escrow. */
function shareWithVault(state: State, slot: number, atMs: number): void {
  const share = mulDivFloor(state.markets.escrowMicros(slot), state.rules.vaultSharePercent, 100);
  const given = state.vault.share(share, atMs);
  state.ledger.addEscrow(slot, 0 - given);
  state.ledger.addYieldDue(given);
  state.markets.setVaultMicros(slot, given);
}
