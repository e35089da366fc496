/** The naive engine's operators: pauses, frozen users, cancelled orders, VOID by decision. */
import { CommandKind, type CommandOf } from '../../../../engine/interface/commands.js';
import { CancelReason, MarketStatus } from '../../../../engine/interface/domain.js';
import { setCredential } from '../accounts.js';
import { voidNow } from '../market.js';
import { cancelOrder, ordersOf } from '../orders.js';
import {
  type Answer,
  emit,
  marketOf,
  type NaiveMarket,
  type NaiveState,
  ok,
  reject,
  takesOrders,
  userOf,
  withSubAccounts,
} from '../state.js';
import { isOfExchange } from './room.js';

/** Whether the market, its asset or everything is paused. */
export function isPaused(state: NaiveState, market: NaiveMarket): boolean {
  if (!takesOrders(market)) return false;
  return market.paused || state.pausedAssets.includes(market.asset) || state.everythingPaused;
}

export function setPaused(state: NaiveState, command: CommandOf<'setPaused'>): Answer {
  const { marketId, asset, paused } = command;
  const market = marketOf(state, marketId);
  if (marketId !== 0 && market === undefined) return reject('market_not_found');
  if (market !== undefined && !takesOrders(market)) return reject('market_not_active');
  if (marketId === 0 && asset !== -1 && state.assets[asset] === undefined)
    return reject('asset_not_found');
  const open = state.markets.filter(takesOrders);
  open.sort((a, b) => a.asset - b.asset || a.startsAtMs - b.startsAtMs);
  const before = open.map((one) => isPaused(state, one));
  if (market !== undefined) market.paused = paused;
  else if (asset !== -1) {
    state.pausedAssets = state.pausedAssets.filter((one) => one !== asset);
    if (paused) state.pausedAssets.push(asset);
  } else state.everythingPaused = paused;
  for (const [index, one] of open.entries()) {
    if (isPaused(state, one) !== before[index])
      emit(state, { type: 'marketPaused', marketId: one.marketId, paused: Number(paused) });
  }
  return remembered(state, command, {}, { isSet: paused, marketId, asset });
}

export function setFrozen(state: NaiveState, command: CommandOf<'setFrozen'>): Answer {
  const { userId, frozen } = command;
  const user = userOf(state, userId);
  if (user === undefined) return reject('user_not_found');
  let cancelledOrders = 0;
  for (const account of withSubAccounts(state, user)) {
    if (frozen) cancelledOrders += cancelAllOf(state, account.userId);
    if (account.frozen === frozen) continue;
    account.frozen = frozen;
    emit(state, { type: 'userFrozen', userId: account.userId, frozen: Number(frozen) });
  }
  return remembered(state, command, { cancelledOrders }, { isSet: frozen, userId });
}

export function operatorCancel(state: NaiveState, command: CommandOf<'operatorCancel'>): Answer {
  const { userId } = command;
  const user = userOf(state, userId);
  if (user === undefined) return reject('user_not_found');
  let cancelledOrders = 0;
  for (const account of withSubAccounts(state, user))
    cancelledOrders += cancelAllOf(state, account.userId);
  return remembered(state, command, { cancelledOrders }, { userId });
}

export function voidMarket(state: NaiveState, command: CommandOf<'voidMarket'>): Answer {
  const market = marketOf(state, command.marketId);
  if (market === undefined) return reject('market_not_found');
  if (market.status === MarketStatus.RESOLVED) return reject('market_not_active');
  voidNow(state, market);
  return remembered(state, command, {}, { marketId: command.marketId });
}

export function setRules(state: NaiveState, command: CommandOf<'setRules'>): Answer {
  const { kind: _kind, operator: _operator, reason: _reason, ...rules } = command;
  state.rules = rules;
  emit(state, { type: 'rulesChanged', ...rules });
  return remembered(state, command, {}, { rules });
}

export function resetCredential(state: NaiveState, command: CommandOf<'resetCredential'>): Answer {
  const { userId, credential } = command;
  const user = userOf(state, userId);
  if (user === undefined || user.parentId !== 0 || isOfExchange(user))
    return reject('user_not_found');
  setCredential(state, { kind: 'setCredential', userId, credential });
  return remembered(state, command, {}, { userId });
}

export function setRateTier(state: NaiveState, command: CommandOf<'setRateTier'>): Answer {
  const { userId, rateTier } = command;
  const user = userOf(state, userId);
  if (user === undefined || user.parentId !== 0) return reject('user_not_found');
  if (user.rateTier !== rateTier) emit(state, { type: 'rateTierChanged', userId, rateTier });
  user.rateTier = rateTier;
  return remembered(state, command, {}, { userId, rateTier });
}

function cancelAllOf(state: NaiveState, userId: number): number {
  const orders = ordersOf(state, userId).sort((a, b) => a.restNumber - b.restNumber);
  for (const { marketId, orderId } of orders) {
    const market = marketOf(state, marketId)!;
    const order = market.orders.find((one) => one.orderId === orderId)!;
    cancelOrder(state, market, order, CancelReason.OPERATOR);
  }
  return orders.length;
}

function remembered(
  state: NaiveState,
  {
    kind,
    operator,
    reason,
  }:
    | CommandOf<'setPaused'>
    | CommandOf<'setFrozen'>
    | CommandOf<'operatorCancel'>
    | CommandOf<'voidMarket'>
    | CommandOf<'setRules'>
    | CommandOf<'resetCredential'>
    | CommandOf<'setRateTier'>,
  fields: Record<string, number>,
  subject: object,
): Answer {
  const actionId = state.actions.length + 1;
  const { sequence, nowMs: atMs } = state;
  const nothing = { isSet: false, userId: 0, marketId: 0, asset: -1, rateTier: 0, rules: null };
  const action = { actionId, sequence, atMs, kind: CommandKind[kind], operator, reason };
  state.actions.push({ ...nothing, ...action, ...subject });
  return ok({ actionId, ...fields });
}
