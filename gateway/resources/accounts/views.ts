import { MarketStatus, Outcome } from '../../../engine/interface/domain.js';
import { type Assets, marketIdText, outcomeName } from '../../../engine/interface/notation.js';
import type {
  AccountView,
  MarketView,
  PositionView,
  ReferralView,
} from '../../../engine/interface/views.js';
import { mulDivFloor } from '../../../engine/storage/arithmetic.js';
import {
  HALVES_PER_SET,
  halfTicksText,
  resolvedHalfTicks,
  upHalfTicks,
} from '../../../persistence/history/market-json/market.js';
import type { TrueAt } from '../../../persistence/history/true-at.js';
import { averagePriceMicros, type Decimal, lots, micros } from '../../json/decimal.js';
import { jsonText, type Writable } from '../../json/serializer.js';
import type { OwnReferral, Position, Profile } from './schemas.js';

type BalanceFields = { currency: 'USD' } & Record<'available' | 'held' | 'total', Decimal>;

export function balanceFieldsOf({ availableMicros, heldMicros }: AccountView): BalanceFields {
  return {
    currency: 'USD',
    available: micros(availableMicros),
    held: micros(heldMicros),
    total: micros(availableMicros + heldMicros),
  };
}

/** The balance in a stream message. */
export function balanceText(account: AccountView): string {
  return JSON.stringify(balanceFieldsOf(account));
}

/** The shares of one outcome of a position. */
export interface OpenPosition {
  marketId: number;
  outcome: Outcome;
  lots: number;
  costMicros: number;
  market: MarketView;
}

/**
 * The outcomes that the user holds shares of in one market, without the losing outcome of a
 * resolved market: it is worth nothing and there is nothing to claim.
 */
export function openPositions(position: PositionView, market: MarketView): OpenPosition[] {
  const { marketId, upLots, downLots, upCostMicros, downCostMicros } = position;
  const up = { outcome: Outcome.UP, lots: upLots, costMicros: upCostMicros };
  const down = { outcome: Outcome.DOWN, lots: downLots, costMicros: downCostMicros };
  return [up, down]
    .map((side) => ({ ...side, marketId, market }))
    .filter(({ outcome, lots }) => lots > 0 && priceHalfTicks(market, outcome) > 0);
}

/** What a share is worth now, in half ticks: its price, or after the resolution its payout. */
function priceHalfTicks(market: MarketView, outcome: Outcome): number {
  const up = resolvedHalfTicks(market.resolution) ?? upHalfTicks(market);
  return outcome === Outcome.UP ? up : HALVES_PER_SET - up;
}

export function positionOf(assets: Assets, position: OpenPosition): Writable<typeof Position> {
  const { marketId, outcome, costMicros, market } = position;
  const price = priceHalfTicks(market, outcome);
  const valueMicros = mulDivFloor(position.lots, price, 2);
  return {
    marketId: marketIdText(assets, marketId),
    asset: assets.assetSymbol(market.asset),
    outcome: outcomeName(outcome),
    shares: lots(position.lots),
    averagePrice: micros(averagePriceMicros(costMicros, position.lots)!),
    cost: micros(costMicros),
    price: JSON.rawJSON(halfTicksText(price)),
    value: micros(valueMicros),
    unrealizedProfit: micros(valueMicros - costMicros),
    status: positionStatus(market),
    endsAtMs: market.endsAtMs,
  };
}

export function positionStatus({ status }: MarketView): 'open' | 'claimable' {
  return status === MarketStatus.RESOLVED ? 'claimable' : 'open';
}

export function positionText(assets: Assets, position: OpenPosition): string {
  return jsonText<typeof Position>(positionOf(assets, position));
}

/** All of a profile that does not come from the history. */
export function profileOf(
  account: AccountView,
): Omit<Writable<typeof Profile>, 'rank' | keyof TrueAt> {
  const { userId, username, createdAtMs, tradeCount } = account;
  const volume = micros(account.volumeMicros);
  const realizedProfit = micros(account.realizedProfitMicros);
  return {
    userId: `u${userId}`,
    username,
    createdAtMs,
    volume,
    realizedProfit,
    trades: tradeCount,
  };
}

/** What the user sees of their referral data. Others see less. */
export function ownReferralOf(
  referral: ReferralView,
): Omit<Writable<typeof OwnReferral>, keyof TrueAt> {
  const { userId, code, referredUsers, earnedMicros, pendingMicros, referrerId } = referral;
  return {
    userId: `u${userId}`,
    code,
    referredUsers,
    earned: micros(earnedMicros),
    pending: micros(pendingMicros),
    referredBy: referrerId === 0 ? null : `u${referrerId}`,
  };
}
