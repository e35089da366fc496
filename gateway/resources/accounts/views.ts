/** The bodies of accounts: profile, balance, positions, referral; and what makes them. */

import { z } from 'zod';
import { MarketStatus, Outcome, Privacy as PrivacyCode } from '../../../engine/interface/domain.js';
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
import { bodyObject, responseObject } from '../../json/components.js';
import { averagePriceMicros, type Decimal, lots, micros } from '../../json/decimal.js';
import * as request from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import { jsonText, type Writable } from '../../json/serializer.js';

export const ReferralCodeBody = bodyObject('ReferralCodeBody', 'A new referral code', {
  ...request.own,
  code: request.referralCode.describe('The code'),
});

export const Profile = responseObject('Profile', 'The public part of an account', {
  userId: response.userId,
  username: response.username,
  createdAtMs: response.timeMs,
  volume: response.money
    .nullable()
    .describe('US dollars spent on purchases that paid a fee; null: the account is private'),
  realizedProfit: response.money.nullable().describe('US dollars; null: the account is private'),
  trades: response.count.nullable().describe('The number of trades; null: the account is private'),
  rank: z.int().min(1).nullable().describe('The rank, from 1; null if the user is not ranked'),
  ...response.state,
});
const isPrivate = z
  .boolean()
  .describe('Whether only you may read more of the account than its name and its date');
const isListed = z
  .boolean()
  .describe('Whether leaderboards list the account; a private one with the last full UTC day');
export const PrivacyBody = bodyObject('PrivacyBody', 'What others may read of an account', {
  ...request.own,
  private: isPrivate,
  listed: isListed
    .default(false)
    .describe('Whether leaderboards list the private account, with the last full UTC day'),
});
export const Privacy = responseObject('Privacy', 'What others may read of an account', {
  private: isPrivate,
  listed: isListed,
  ...response.state,
});
export const Balance = responseObject('Balance', 'The money of a user', {
  userId: response.userId,
  ...response.balanceFields,
  ...response.state,
});

const positionStates = z.enum(['open', 'claimable']);
export const PositionsQuery = request.ownQuery({
  marketId: request.accountFilters.marketId,
  status: positionStates
    .optional()
    .describe('open: the market is not resolved; claimable: it is, and pays'),
  ...request.paging,
});
export const Position = responseObject('Position', 'Shares of one outcome of a market', {
  marketId: response.marketId,
  asset: response.asset,
  outcome: response.outcome,
  shares: response.shares,
  averagePrice: response.price,
  cost: response.money,
  price: response.price,
  value: response.money,
  unrealizedProfit: response.money,
  status: positionStates.describe('The state'),
  endsAtMs: response.timeMs,
});
export const Positions = responseObject('Positions', 'The positions of a user', {
  positions: z.array(Position).describe('The positions'),
  ...response.pageEnd,
});

const referral = {
  userId: response.userId,
  code: z.string().describe('The code'),
  referredUsers: response.count.describe('The number of users who registered with the code'),
};
export const OwnReferral = responseObject('OwnReferral', 'The referrals of the signed-in user', {
  ...referral,
  earned: response.money,
  pending: response.money,
  referredBy: response.userId.nullable().describe('The user who referred this one; null: nobody'),
  ...response.state,
});
const { earned, pending, referredBy } = OwnReferral.shape;
export const Referral = responseObject('Referral', 'The referrals of a user', {
  ...referral,
  earned: earned.optional().describe('US dollars; only of your own'),
  pending: pending.optional().describe('US dollars; only of your own'),
  referredBy: referredBy
    .optional()
    .describe('The user who referred you; null: nobody; only of your own'),
  ...response.state,
});

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

/** What a profile shows of every account. */
export function nameOf({ userId, username, createdAtMs }: AccountView) {
  return { userId: `u${userId}`, username, createdAtMs };
}

/** What a profile shows besides, apart from the rank. */
export function figuresOf(account: AccountView) {
  return {
    volume: micros(account.volumeMicros),
    realizedProfit: micros(account.realizedProfitMicros),
    trades: account.tradeCount,
  };
}

/** Of a private account. */
export const NO_FIGURES = { volume: null, realizedProfit: null, trades: null, rank: null };

export function privacyOf(privacy: number): Pick<Writable<typeof Privacy>, 'private' | 'listed'> {
  const { OPEN, PRIVATE } = PrivacyCode;
  return { private: privacy !== OPEN, listed: privacy !== PRIVATE };
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
