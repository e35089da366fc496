/**
 * Commands of operators. Each is remembered with the operator's name and a reason.
 *
 * No command moves money by itself: a frozen user's orders leave the book, and a market that is
 * declared VOID is settled by the usual rules.
 */

import { Code } from '../../interface/codes.js';
import { type Command, CommandKind, type CommandOf } from '../../interface/commands.js';
import { CancelReason, MarketStatus } from '../../interface/domain.js';
import { EventType } from '../../interface/events.js';
import { isText } from '../../interface/fields.js';
import {
  MAX_CREDENTIAL_LENGTH,
  MAX_REASON_LENGTH,
  MAX_REFERENCE_LENGTH,
} from '../../interface/limits.js';
import { RATE_TIERS } from '../../interface/parameters.js';
import { areRules, RULE_NAMES } from '../../interface/rule-sets.js';
import type { OperatorActionView } from '../../interface/views.js';
import { PausedBy } from '../../state/access/pauses.js';
import type { State } from '../../state/state.js';
import { isIntegerBetween } from '../../storage/arithmetic.js';
import { nextMarkets, voidByOperator } from '../markets/market-life.js';
import { isOverdue } from '../orders/find-order.js';
import { cancelOrders } from '../orders/rest-order.js';
import { changeCredential } from '../users.js';

/** Pauses a market, an asset or, without either, everything. */
export function setPaused(state: State, command: CommandOf<'setPaused'>): number {
  const { marketId, asset, paused } = command;
  if (!isSigned(command) || (marketId !== 0 && asset !== -1)) return Code.invalid_command;
  if (marketId !== 0) {
    const slot = state.markets.find(marketId);
    if (slot === 0) return Code.market_not_found;
    if (!state.markets.takesOrders(slot)) return Code.market_not_active;
    setBit(state, slot, PausedBy.MARKET, paused);
  } else if (asset !== -1) {
    if (!isIntegerBetween(asset, 0, state.prices.assetCount - 1)) return Code.asset_not_found;
    state.pauses.setAsset(asset, paused);
    setBits(state, asset, PausedBy.ASSET, paused);
  } else {
    state.pauses.setEverything(paused);
    for (const of of state.schedule.assets.keys()) setBits(state, of, PausedBy.EVERYTHING, paused);
  }
  state.result.write(remember(state, command, { isSet: paused, marketId, asset }));
  return Code.ok;
}

/** Sets a bit of all markets of an asset that take orders, by window. */
function setBits(state: State, asset: number, bit: number, paused: boolean): void {
  for (const marketId of nextMarkets(state, asset)) {
    const slot = state.markets.find(marketId);
    if (slot !== 0 && state.markets.takesOrders(slot)) setBit(state, slot, bit, paused);
  }
}

function setBit({ markets, events }: State, slot: number, bit: number, paused: boolean): void {
  const before = markets.pausedBy(slot);
  const after = paused ? before | bit : before & ~bit;
  markets.setPausedBy(slot, after);
  if ((before === 0) !== (after === 0))
    events.write(EventType.marketPaused, markets.id(slot), Number(paused));
}

/**
 * Freezing cancels the user's orders, because a resting order would trade. It also applies to the
 * user's sub-accounts.
 */
export function setFrozen(state: State, command: CommandOf<'setFrozen'>): number {
  const { userId, frozen } = command;
  if (!isSigned(command)) return Code.invalid_command;
  if (!state.users.exists(userId)) return Code.user_not_found;
  let cancelled = 0;
  for (const each of state.users.withSubAccounts(userId)) {
    if (frozen) cancelled += cancelOrdersOf(state, each);
    if (state.accounts.isFrozen(each) === frozen) continue;
    state.accounts.setFrozen(each, frozen);
    state.events.write(EventType.userFrozen, each, Number(frozen));
  }
  state.result.write(remember(state, command, { isSet: frozen, userId }), cancelled);
  return Code.ok;
}

export function operatorCancel(state: State, command: CommandOf<'operatorCancel'>): number {
  const { userId } = command;
  if (!isSigned(command)) return Code.invalid_command;
  if (!state.users.exists(userId)) return Code.user_not_found;
  let cancelled = 0;
  for (const each of state.users.withSubAccounts(userId)) cancelled += cancelOrdersOf(state, each);
  state.result.write(remember(state, command, { userId }), cancelled);
  return Code.ok;
}

export function voidMarket(state: State, command: CommandOf<'voidMarket'>): number {
  const { marketId } = command;
  if (!isSigned(command)) return Code.invalid_command;
  const slot = state.markets.find(marketId);
  if (slot === 0) return Code.market_not_found;
  if (state.markets.status(slot) === MarketStatus.RESOLVED) return Code.market_not_active;
  voidByOperator(state, slot);
  state.result.write(remember(state, command, { marketId }));
  return Code.ok;
}

/** Sets the rules for later commands; resting orders and pending work keep the old ones. */
export function setRules(state: State, command: CommandOf<'setRules'>): number {
  if (!isSigned(command) || !areRules(command)) return Code.invalid_command;
  state.rules.set(command);
  state.events.write(EventType.rulesChanged, ...RULE_NAMES.map((name) => command[name]));
  state.result.write(remember(state, command, { rules: state.rules.view() }));
  return Code.ok;
}

/** Replaces the credential with the hash of a one-time code (gateway/access/sign-in-codes.ts). */
export function resetCredential(state: State, command: CommandOf<'resetCredential'>): number {
  const { userId, credential } = command;
  if (!isSigned(command) || !isText(credential, 1, MAX_CREDENTIAL_LENGTH))
    return Code.invalid_command;
  if (!isOwner(state, userId) || state.users.isOfExchange(userId)) return Code.user_not_found;
  changeCredential(state, userId, credential);
  state.result.write(remember(state, command, { userId }));
  return Code.ok;
}

/** Sub-accounts share their parent's tier, so they have no tier of their own. */
export function setRateTier(state: State, command: CommandOf<'setRateTier'>): number {
  const { userId, rateTier } = command;
  if (!isSigned(command) || !RATE_TIERS.includes(rateTier)) return Code.invalid_command;
  if (!isOwner(state, userId)) return Code.user_not_found;
  if (state.rateTiers.of(userId) !== rateTier) {
    state.rateTiers.set(userId, rateTier);
    state.events.write(EventType.rateTierChanged, userId, rateTier);
  }
  state.result.write(remember(state, command, { userId, rateTier }));
  return Code.ok;
}

/** Whether the user exists and is not a sub-account. */
function isOwner({ users }: State, userId: number): boolean {
  return users.exists(userId) && users.parent(userId) === 0;
}

function cancelOrdersOf(state: State, userId: number): number {
  return cancelOrders(state, userId, CancelReason.OPERATOR, (row) => !isOverdue(state, row));
}

type OperatorCommand = Extract<Command, { operator: string }>;

function isSigned({ operator, reason }: OperatorCommand): boolean {
  return isText(operator, 1, MAX_REFERENCE_LENGTH) && isText(reason, 1, MAX_REASON_LENGTH);
}

function remember(
  state: State,
  { kind, operator, reason }: OperatorCommand,
  subject: Partial<OperatorActionView>,
): number {
  return state.actions.add({
    sequence: state.sequence,
    atMs: state.nowMs,
    kind: CommandKind[kind],
    isSet: false,
    operator,
    reason,
    userId: 0,
    marketId: 0,
    asset: -1,
    rateTier: 0,
    rules: null,
    ...subject,
  });
}
