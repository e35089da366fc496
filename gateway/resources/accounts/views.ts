/** Response bodies of accounts: profile, balance, positions, referral. */

import { z } from 'zod';
import {
  MarketStatus,
  Outcome,
  Privacy as PrivacyCode,
  Resolution,
} from '../../../engine/interface/domain.js';
import { type Assets, marketIdText, outcomeName } from '../../../engine/interface/notation.js';
import type {
  AccountView,
  MarketView,
  PositionView,
  ReferralView,
} from '../../../engine/interface/views.js';
import { mulDivFloor } from '../../../engine/storage/arithmetic.js';
import type { AsOf } from '../../../persistence/history/as-of.js';
import {
  HALVES_PER_SET,
  resolvedHalfTicks,
  shownHalfTicks,
} from '../../../persistence/history/market-json/market.js';
import { receiptOf } from '../../commands/receipt.js';
import { bodyObject, responseObject } from '../../json/components.js';
import { averagePriceMicros } from '../../json/decimal.js';
import * as request from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import { type From, Writer } from '../../json/writer.js';

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
    .describe('US dollars spent on purchases that paid a fee; null if the account is private'),
  realizedProfit: response.money.nullable().describe('US dollars; null if the account is private'),
  trades: response.count
    .nullable()
    .describe('The number of trades; null if the account is private'),
  rank: z.int().min(1).nullable().describe('The rank, from 1; null if the user is not ranked'),
  ...response.state,
});
const isPrivate = z.boolean().describe('Whether others may read only the account’s name and date');
const isListed = z
  .boolean()
  .describe(
    'Whether leaderboards list the account; a private account as at the end of the last full UTC day',
  );
export const PrivacyBody = bodyObject('PrivacyBody', 'What others may read of an account', {
  ...request.own,
  private: isPrivate,
  listed: isListed
    .default(false)
    .describe(
      'Whether leaderboards list the private account, as at the end of the last full UTC day',
    ),
});
export const Privacy = responseObject('Privacy', 'What others may read of an account', {
  private: isPrivate,
  listed: isListed,
  ...response.state,
});
const AUTO_CLAIM = 'Whether winnings and refunds are paid without a claim';
const enabled = z
  .boolean()
  .describe('Whether winnings and refunds are paid when a market is settled; false by default');
export const AutoClaimBody = bodyObject('AutoClaimBody', AUTO_CLAIM, { ...request.own, enabled });
export const AutoClaim = responseObject('AutoClaim', AUTO_CLAIM, { enabled, ...response.state });
export const StartedAgain = responseObject('StartedAgain', 'A new start with play money', {
  userId: response.userId,
  amount: response.money.describe('US dollars of play money that were given'),
  balance: response.balance,
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
    .describe('open: the market is not resolved; claimable: it is resolved and pays'),
  ...request.paging,
});
export const Position = responseObject('Position', 'Shares of one outcome of a market', {
  positionId: z
    .string()
    .describe('Id from the market and the outcome, or `fees`; unique in the account'),
  marketId: response.marketId,
  asset: response.asset,
  outcome: response.outcome
    .nullable()
    .describe('The outcome of the shares; null for the fees that a VOID market refunds'),
  shares: response.shares.describe('Shares; 0 for refunded fees'),
  averagePrice: response.averagePrice
    .nullable()
    .describe('Average cost of a share, in US dollars; null if there are no shares'),
  cost: response.money,
  price: response.price
    .nullable()
    .describe('US dollars per share, from the market’s `prices`; null if it has none'),
  value: response.money
    .nullable()
    .describe(
      'US dollars that selling the shares to other users’ bids would bring now; once the market is resolved, `payout`; null if there are no bids',
    ),
  payout: response.money.describe(
    'US dollars that the shares pay if their outcome wins; once the market is resolved, that they pay',
  ),
  unrealizedProfit: response.money
    .nullable()
    .describe('US dollars: `value` less `cost`; null if there is no value'),
  status: positionStates.describe('The state'),
  endsAtMs: response.timeMs,
  atMs: response.timeMs.describe('The time of `price` and `value`'),
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
  referredBy: response.userId
    .nullable()
    .describe('The user who referred this user; null if there is none'),
  ...response.state,
});
const { earned, pending, referredBy } = OwnReferral.shape;
export const Referral = responseObject('Referral', 'The referrals of a user', {
  ...referral,
  earned: earned.optional().describe('US dollars; only in your own data'),
  pending: pending.optional().describe('US dollars; only in your own data'),
  referredBy: referredBy
    .optional()
    .describe('The user who referred you; null if there is none; only in your own data'),
  ...response.state,
});

const TOTAL: From<AccountView, Assets> = {
  total: ({ availableMicros, heldMicros }) => availableMicros + heldMicros,
};
export const balance = new Writer<AccountView>(z.strictObject(response.balanceFields), TOTAL);
export const ownBalance = new Writer<AccountView & AsOf>(Balance, TOTAL);

/** Shares of one outcome, or, if outcome is null, the fees that a VOID market refunds. */
export interface OpenPosition {
  marketId: number;
  outcome: Outcome | null;
  lots: number;
  costMicros: number;
  refundMicros: number;
  market: MarketView;
}

/** Includes the fees that a VOID market refunds. Omits a resolved market's losing outcome. */
export function openPositions(position: PositionView, market: MarketView): OpenPosition[] {
  const { marketId, upLots, downLots, upCostMicros, downCostMicros, feesMicros } = position;
  const up = { outcome: Outcome.UP, lots: upLots, costMicros: upCostMicros, refundMicros: 0 };
  const down = { ...up, outcome: Outcome.DOWN, lots: downLots, costMicros: downCostMicros };
  const isVoid = market.resolution === Resolution.VOID;
  const fees = { outcome: null, lots: 0, costMicros: 0, refundMicros: isVoid ? feesMicros : 0 };
  return [up, down, fees]
    .map((each) => ({ ...each, marketId, market }))
    .filter(
      ({ outcome, lots, refundMicros }) =>
        refundMicros > 0 ||
        (lots > 0 && inOutcome(outcome, resolvedHalfTicks(market.resolution)) !== 0),
    );
}

function inOutcome(outcome: Outcome | null, up: number | null): number | null {
  if (up === null || outcome === null) return null;
  return outcome === Outcome.UP ? up : HALVES_PER_SET - up;
}

interface PositionReads extends Assets {
  readonly nowMs: number;
  proceedsMicros(marketId: number, outcome: Outcome, lots: number, ownId: number): number | null;
}

interface ValuedPosition extends OpenPosition {
  payoutMicros: number;
  /** At the book's bids; `null` if there are none. */
  valueMicros: number | null;
}

const POSITION = new Writer<ValuedPosition, PositionReads>(Position, {
  positionId: ({ marketId, outcome }, reads) =>
    `${marketIdText(reads, marketId)}-${outcome === null ? 'fees' : outcomeName(outcome)}`,
  asset: ({ market }, reads) => reads.assetSymbol(market.asset),
  averagePrice: ({ costMicros, lots }) => averagePriceMicros(costMicros, lots),
  price: ({ outcome, market }) => {
    const halfTicks = inOutcome(outcome, shownHalfTicks(market));
    return halfTicks && halfTicks / 2;
  },
  unrealizedProfit: ({ valueMicros, costMicros }) =>
    valueMicros === null ? null : valueMicros - costMicros,
  status: ({ market }) => positionStatus(market),
  endsAtMs: ({ market }) => market.endsAtMs,
  atMs: (_, reads) => reads.nowMs,
});

/** Bids of the family of `readerId` do not count for the value; 0: all bids count. */
export function positionText(
  reads: PositionReads,
  position: OpenPosition,
  readerId: number,
): string {
  const { marketId, outcome, lots, refundMicros, market } = position;
  const pays = inOutcome(outcome, resolvedHalfTicks(market.resolution));
  const payoutMicros = refundMicros + mulDivFloor(lots, pays ?? HALVES_PER_SET, 2);
  const valueMicros =
    outcome === null || pays !== null
      ? payoutMicros
      : reads.proceedsMicros(marketId, outcome, lots, readerId);
  return POSITION.text({ ...position, payoutMicros, valueMicros }, reads);
}

export function positionStatus({ status }: MarketView): 'open' | 'claimable' {
  return status === MarketStatus.RESOLVED ? 'claimable' : 'open';
}

/** `rank` is undefined for a private account, which shows only its name. */
type Shown = AccountView & AsOf & { rank?: number | null };
const unless = (of: (account: Shown) => number) => (account: Shown) =>
  account.rank === undefined ? null : of(account);
export const profile = new Writer<Shown>(Profile, {
  volume: unless(({ volumeMicros }) => volumeMicros),
  realizedProfit: unless(({ realizedProfitMicros }) => realizedProfitMicros),
  trades: unless(({ tradeCount }) => tradeCount),
  rank: ({ rank = null }) => rank,
});

const PRIVACY: From<{ privacy: number }, Assets> = {
  private: ({ privacy }) => privacy !== PrivacyCode.OPEN,
  listed: ({ privacy }) => privacy !== PrivacyCode.PRIVATE,
};
export const privacy = new Writer<{ privacy: number }>(Privacy, PRIVACY);
export const privacyReceipt = receiptOf('setPrivacy', Privacy, PRIVACY);

export const autoClaim = new Writer<{ enabled: boolean }>(AutoClaim);
export const autoClaimReceipt = receiptOf('setAutoClaim', AutoClaim, {
  enabled: ({ enabled }) => enabled === 1,
});

export const startedAgain = receiptOf('startAgain', StartedAgain);

export const ownReferral = new Writer<ReferralView>(OwnReferral, { referredBy: 'referrerId' });
export const othersReferral = new Writer<ReferralView>(
  Referral.omit({ earned: true, pending: true, referredBy: true }),
);
export const referralReceipt = receiptOf('setReferralCode', OwnReferral, {
  code: ({ command }) => command.code,
  referredBy: 'referrerId',
});
