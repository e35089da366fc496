/**
 * What the API answers, as zod schemas in the API's own units. The gateway writes its answers as text; these describe
 * them, for the description of the API and for the tests, which hold every answer against its route's schema.
 */
import { z } from 'zod';
import { ERROR_CODES } from '../http/errors.js';

const money = z.number().meta({ description: 'US dollars, at most 6 decimal places' });
const shares = z.number().min(0).meta({ description: 'Shares, at most 3 decimal places' });
const price = z.number().min(0).max(1).meta({ description: 'US dollars per share' });
const timeMs = z.int().min(0).meta({ description: 'Milliseconds since the epoch' });
const sequence = z.int().min(0).meta({ description: 'The journal sequence that the answer is true at' });
const userId = z.string().regex(/^u[1-9]\d*$/);
const orderId = z.string().regex(/^o[1-9]\d*$/);
const tradeId = z.string().regex(/^t[1-9]\d*$/);
const depositId = z.string().regex(/^d[1-9]\d*$/);
const marketId = z.string().regex(/^[a-z0-9]{2,10}-15m-\d+$/);
const nextCursor = z
  .string()
  .nullable()
  .meta({ description: 'The `cursor` of the next page; null: this is the last' });
const outcome = z.enum(['UP', 'DOWN']);
const resolution = z.enum(['UP', 'DOWN', 'VOID']);
const available = money.meta({ description: 'US dollars that are free to use' });
const held = money.meta({ description: 'US dollars that resting orders hold' });
const balance = z.strictObject({ available, held }).meta({ description: 'After the change' });

export const ErrorBody = z.strictObject({
  error: z.strictObject({
    code: z.enum(ERROR_CODES),
    message: z.string().meta({ description: 'For a person' }),
    details: z.record(z.string(), z.unknown()).meta({
      description:
        'With invalid_request each field and what is wrong with it; with insufficient_balance and insufficient_shares required and available; with unavailable executed: false',
    }),
  }),
});

const marketFields = {
  id: marketId,
  type: z.literal('15m'),
  asset: z.string(),
  title: z.string(),
  status: z.enum(['active', 'ended', 'resolved']),
  resolution: resolution.nullable(),
  startsAtMs: timeMs,
  endsAtMs: timeMs,
  startPrice: money.meta({ description: 'US dollars: the price of the asset at the start' }),
  endPrice: money.nullable().meta({ description: 'US dollars: the price of the asset at the end' }),
  assetPrice: money.nullable().meta({ description: 'US dollars: the price of the asset now' }),
  prices: z
    .strictObject({ UP: price, DOWN: price })
    .meta({ description: 'The middle of the book, else the last trade, else 0.5' }),
  volume: money.meta({ description: 'US dollars that were traded' }),
  openInterest: shares.meta({ description: 'Shares of each outcome that somebody owns' }),
  feeRate: z.literal(0.005),
  tickSize: z.literal(0.001),
  lotSize: z.literal(0.001),
  sequence,
};
export const Market = z.strictObject(marketFields);
/** The price of each outcome and of the asset, every 5 s and at both ends of the market's window. */
export const MarketWithHistory = z.strictObject({
  ...marketFields,
  priceHistory: z.array(
    z.strictObject({ atMs: timeMs, UP: price, DOWN: price, assetPrice: money.nullable() }),
  ),
});
export const PastMarkets = z.strictObject({ markets: z.array(MarketWithHistory), nextCursor, sequence });
export const Markets = z.strictObject({ markets: z.array(Market), nextCursor, sequence });
export const ActiveMarkets = z.strictObject({ markets: z.array(Market), serverTimeMs: timeMs, sequence });

const level = z.strictObject({ price, shares });
const bookSide = z
  .strictObject({ bids: z.array(level), asks: z.array(level) })
  .meta({ description: 'Best prices first' });
export const Orderbook = z.strictObject({ marketId, sequence, UP: bookSide, DOWN: bookSide });

const quoteFields = {
  marketId,
  outcome,
  shares,
  averagePrice: price.nullable(),
  worstPrice: price.nullable(),
  fee: money.meta({ description: 'US dollars, as the order would be charged' }),
  unspent: money,
  sequence,
};
export const Quote = z.union([
  z.strictObject({ side: z.literal('BUY'), spent: money, ...quoteFields }),
  z.strictObject({ side: z.literal('SELL'), received: money, ...quoteFields }),
]);

const receiptFields = {
  orderId,
  marketId,
  userId,
  outcome,
  status: z.enum(['filled', 'partially_filled', 'resting', 'cancelled']).meta({
    description:
      'filled: all shares are, or what is left of the amount is less than 0.001 share costs next, or at the price of the order (0.999 without one) where nothing is offered',
  }),
  shares: shares.meta({ description: 'Shares that were traded at once' }),
  averagePrice: price.nullable().meta({ description: 'US dollars per share; null when nothing was traded' }),
  fee: money.meta({
    description:
      'US dollars: 0.5% of the amount of a buy that is filled, else of what was spent; the fees of the trades add up to it',
  }),
  total: money.meta({ description: 'US dollars: spent and fee together, or received' }),
  unspent: money.meta({ description: 'US dollars of the amount that were neither spent nor held' }),
  restingShares: shares.meta({ description: 'Shares that are left in the book' }),
  fills: z.array(z.strictObject({ tradeId, price, shares })),
  balance,
  position: z.strictObject({ UP: shares, DOWN: shares }),
  sequence,
  atMs: timeMs,
};
export const BuyReceipt = z.strictObject({ side: z.literal('BUY'), spent: money, ...receiptFields });
export const SellReceipt = z.strictObject({ side: z.literal('SELL'), received: money, ...receiptFields });
export const CancelReceipt = z.strictObject({
  orderId,
  marketId,
  userId,
  status: z.literal('cancelled'),
  cancelledShares: shares,
  balance,
  sequence,
  atMs: timeMs,
});
export const CancelAllReceipt = z.strictObject({
  marketId,
  userId,
  cancelledOrders: z.int().min(0),
  balance,
  sequence,
  atMs: timeMs,
});
export const ClaimReceipt = z.strictObject({
  marketId,
  resolution,
  shares,
  payout: money,
  refundedFees: money.optional().meta({ description: 'On a VOID market only' }),
  balance,
  sequence,
});

export const BatchReceipt = z.strictObject({
  results: z
    .array(z.union([BuyReceipt, SellReceipt, CancelReceipt, ClaimReceipt, ErrorBody]))
    .meta({ description: 'One for each operation, in order: its receipt, or its error' }),
  sequence,
});

export const Orders = z.strictObject({
  orders: z.array(
    z.strictObject({
      orderId,
      marketId,
      userId,
      side: z.enum(['BUY', 'SELL']),
      outcome,
      price,
      shares,
      placedAtMs: timeMs,
    }),
  ),
  nextCursor,
  sequence,
});
export const Positions = z.strictObject({
  positions: z.array(
    z.strictObject({
      marketId,
      asset: z.string(),
      outcome,
      shares,
      averagePrice: price,
      cost: money,
      price,
      value: money,
      unrealizedProfit: money,
      status: z.enum(['open', 'claimable']),
      endsAtMs: timeMs,
    }),
  ),
  nextCursor,
  sequence,
});

export const UserTrades = z.strictObject({
  trades: z.array(
    z.strictObject({
      tradeId,
      orderId,
      marketId,
      outcome,
      side: z.enum(['BUY', 'SELL']),
      price,
      shares,
      value: money,
      fee: money,
      role: z.enum(['taker', 'maker']),
      atMs: timeMs,
    }),
  ),
  nextCursor,
  sequence,
});
/** The public tape: outcome, side and price are the taker's. */
export const MarketTrades = z.strictObject({
  trades: z.array(
    z.strictObject({
      tradeId,
      outcome,
      side: z.enum(['BUY', 'SELL']),
      price,
      shares,
      value: money,
      match: z.enum(['transfer', 'mint', 'merge']),
      atMs: timeMs,
    }),
  ),
  nextCursor,
  sequence,
});
export const Points = z.strictObject({
  userId,
  balance: z.number().min(0).meta({ description: 'Points, at most 6 decimal places' }),
  history: z.array(
    z.strictObject({
      atMs: timeMs,
      points: z.number().min(0),
      reason: z.enum(['fees', 'referral']),
      marketId,
    }),
  ),
  nextCursor,
  sequence,
});
export const Leaderboard = z.strictObject({
  metric: z.enum(['profit', 'volume', 'points']),
  period: z.enum(['all', 'day', 'week']),
  entries: z.array(z.strictObject({ rank: z.int().min(1), userId, username: z.string(), value: z.number() })),
  nextCursor,
  atMs: timeMs,
  sequence,
});

export const Profile = z.strictObject({
  userId,
  username: z.string(),
  createdAtMs: timeMs,
  volume: money,
  realizedProfit: money,
  trades: z.int().min(0),
  rank: z.int().min(1).nullable(),
  sequence,
});
const moneyFields = { currency: z.literal('USD'), available, held, total: money };
export const Balance = z.strictObject({ userId, ...moneyFields, sequence });

const referralFields = { userId, code: z.string(), referredUsers: z.int().min(0), sequence };
export const OwnReferral = z.strictObject({
  ...referralFields,
  earned: money,
  pending: money,
  referredBy: userId.nullable(),
});
export const Referral = z.union([z.strictObject(referralFields), OwnReferral]);

export const Vaults = z.strictObject({
  vaults: z.array(
    z.strictObject({
      id: z.literal('flex'),
      name: z.string(),
      currency: z.literal('USD'),
      staked: money,
      deposits: z.int().min(0),
      feeShare: z.number(),
      yieldPaid: money,
      apr: z.number().min(0).nullable().meta({
        description:
          'Yield of the last 24 hours, times 365, per dollar that is staked now: 0.05 is 5% a year; null when nothing is staked',
      }),
      minimumStake: money,
    }),
  ),
  sequence,
});
const deposit = {
  depositId,
  vaultId: z.literal('flex'),
  userId,
  amount: money,
  accruedYield: money,
  claimedYield: money,
  status: z.enum(['active', 'closed']),
  stakedAtMs: timeMs,
  earnsFromMs: timeMs,
};
export const Deposits = z.strictObject({ deposits: z.array(z.strictObject(deposit)), nextCursor, sequence });
export const StakeReceipt = z.strictObject({ ...deposit, balance, sequence });
export const UnstakeReceipt = z.strictObject({
  ...deposit,
  returned: money,
  yieldPaid: money,
  balance,
  sequence,
});
export const ClaimYieldReceipt = z.strictObject({ ...deposit, claimed: money, balance, sequence });

export const SignedIn = z.strictObject({
  userId,
  username: z.string(),
  token: z.string(),
  referralCode: z.string(),
  sequence,
});
export const NewToken = z.strictObject({ token: z.string(), sequence });
export const SessionOwner = z.strictObject({ userId, username: z.string(), sequence });

export const TransferReceipt = z.strictObject({
  partner: z.string(),
  reference: z.string(),
  userId,
  amount: money,
  balance: balance
    .nullable()
    .meta({ description: 'After the transfer; null for a user who was not registered with this key' }),
  sequence,
  atMs: timeMs,
});
const ownUsersMoney = money
  .nullable()
  .meta({ description: 'US dollars; null for a user who was not registered with this key' });
export const PartnerUser = z.strictObject({
  userId,
  username: z.string(),
  createdAtMs: timeMs,
  currency: moneyFields.currency,
  available: ownUsersMoney,
  held: ownUsersMoney,
  total: ownUsersMoney,
  sequence,
});

export const MetricsText = z.string().meta({ description: 'The text form of Prometheus, version 0.0.4' });

export const Health = z.strictObject({ status: z.literal('ok') });
export const Ready = z.strictObject({
  status: z.literal('ready'),
  warning: z
    .string()
    .optional()
    .describe(
      'Trading goes on, but something does not work now, and is tried again. The log has the details.',
    ),
});
export const Status = z.strictObject({
  version: z.string(),
  sequence,
  durableSequence: sequence,
  digest: z.string().regex(/^[0-9a-f]{16}$/),
  startedAtMs: timeMs,
});
