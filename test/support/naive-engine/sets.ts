/** The naive engine's complete sets: money becomes equal lots of UP and DOWN, and back. */
import type { CommandOf } from '../../../engine/interface/commands.js';
import { Outcome } from '../../../engine/interface/domain.js';
import { isPaused } from './access/operators.js';
import { isFull, mayTakeOne } from './access/room.js';
import { curvedPart, dollars, feeOn, micros, proRata, tradeValue, ZERO } from './decimal.js';
import { addSets, findOrMakePosition, holdings } from './orders.js';
import {
  type Answer,
  emit,
  heldLotsOf,
  lotsOf,
  marketOf,
  type NaiveState,
  ok,
  positionOf,
  reject,
  rejectLimit,
  takesOrders,
  userOf,
} from './state.js';

const OUTCOMES = [Outcome.UP, Outcome.DOWN] as const;

export function split(state: NaiveState, command: CommandOf<'split'>): Answer {
  const { userId, marketId, sizeLots } = command;
  const refused = refusal(state, command);
  if (refused !== null) return refused;
  const [user, market] = [userOf(state, userId)!, marketOf(state, marketId)!];
  const value = tradeValue(sizeLots, 1000);
  if (value.gt(dollars(state.rules.maxOrderMicros))) return rejectLimit('orderAmount');
  if (isFull(state, 'positions')) return rejectLimit('positions');
  if (positionOf(market, userId) === undefined && !mayTakeOne(state, 'positions', userId))
    return rejectLimit('positions');
  // The curve charges as a purchase of one half at half a dollar.
  const fee = feeOn(state.rules, value, curvedPart(tradeValue(sizeLots, 500), 500));
  const total = value.plus(fee);
  if (user.available.lt(total))
    return reject('insufficient_balance', micros(total), micros(user.available));

  const position = findOrMakePosition(state, market, userId);
  for (const outcome of OUTCOMES) {
    position.lots[outcome] += sizeLots;
    position.cost[outcome] = position.cost[outcome].plus(tradeValue(sizeLots, 500));
  }
  position.fees = position.fees.plus(fee);
  user.available = user.available.minus(total);
  user.realizedProfit = user.realizedProfit.minus(fee);
  addSets(market, sizeLots);
  market.feeEscrow = market.feeEscrow.plus(fee);
  const feeMicros = micros(fee);
  emit(state, { type: 'setsSplit', marketId, userId, sizeLots, feeMicros });
  return ok({ marketId, sizeLots, feeMicros, ...holdings(market, user) });
}

export function merge(state: NaiveState, command: CommandOf<'merge'>): Answer {
  const { userId, marketId, sizeLots } = command;
  const refused = refusal(state, command);
  if (refused !== null) return refused;
  const [user, market] = [userOf(state, userId)!, marketOf(state, marketId)!];
  const free = OUTCOMES.map(
    (outcome) => lotsOf(market, userId, outcome) - heldLotsOf(market, userId, outcome),
  );
  const pairs = Math.min(...free);
  if (pairs < sizeLots) return reject('insufficient_shares', sizeLots, pairs);

  const position = positionOf(market, userId)!;
  let costs = ZERO;
  for (const outcome of OUTCOMES) {
    const cost = proRata(position.cost[outcome], sizeLots, position.lots[outcome]);
    position.lots[outcome] -= sizeLots;
    position.cost[outcome] = position.cost[outcome].minus(cost);
    costs = costs.plus(cost);
  }
  const value = tradeValue(sizeLots, 1000);
  user.available = user.available.plus(value);
  user.realizedProfit = user.realizedProfit.plus(value).minus(costs);
  addSets(market, -sizeLots);
  const costMicros = micros(costs);
  emit(state, { type: 'setsMerged', marketId, userId, sizeLots, costMicros });
  return ok({ marketId, sizeLots, costMicros, ...holdings(market, user) });
}

/** The refusal of a split or a merge, or null. */
function refusal(state: NaiveState, command: CommandOf<'split' | 'merge'>): Answer | null {
  const user = userOf(state, command.userId);
  if (user === undefined) return reject('user_not_found');
  const market = marketOf(state, command.marketId);
  if (market === undefined) return reject('market_not_found');
  if (user.frozen) return reject('user_frozen');
  if (!takesOrders(market)) return reject('market_not_active');
  return isPaused(state, market) ? reject('market_paused') : null;
}
