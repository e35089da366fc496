/**
 * The bodies and query strings of all routes. Objects are strict: a field that is not known is refused by name, so that a
 * mistyped limit never becomes a market order. Amounts come out in engine units.
 */
import { z } from 'zod';
import { Side, TimeInForce } from '../../engine/domain.js';
import {
  MAX_ORDER_LOTS,
  MAX_ORDER_MICROS,
  MAX_TRANSFER_MICROS,
  MIN_STAKE_MICROS,
} from '../../engine/limits.js';
import { LOT_SCALE, MICRO_SCALE } from './decimal.js';
import * as field from './fields.js';
import type { BuyOrder, LimitFields } from './order-commands.js';

export const MAX_ORDER_DOLLARS = MAX_ORDER_MICROS / MICRO_SCALE;
export const MAX_ORDER_SHARES = MAX_ORDER_LOTS / LOT_SCALE;
const MAX_TRANSFER_DOLLARS = MAX_TRANSFER_MICROS / MICRO_SCALE;

/** Any body and any query may carry the user's own id. */
export const own = {
  userId: field.userId.optional().meta({ description: 'The own id; another one is refused' }),
};

/** Of a change that needs nothing but its path. */
export const EmptyBody = z.strictObject(own);
export const NoQuery = z.strictObject(own);

/** Of a partner, who names a user in the path or in the body. */
export const PartnerQuery = z.strictObject({
  userId: field.userId
    .optional()
    .meta({ description: 'The user that is named elsewhere; another one is refused' }),
});

/** What the optional fields of an order mean. */
export const LIMIT_TEXTS = {
  price: { description: 'US dollars per share: the worst that is acceptable; without it, any price is' },
  timeInForce: {
    description:
      'IOC, as without it: what cannot be done at once is dropped; FOK: all at once or nothing; GTC: the rest stays in the book until the market ends',
  },
  postOnly: { description: 'If true, the order is refused instead of trading at once; needs GTC' },
  validUntilMs: {
    description: 'Milliseconds since the epoch: an order that reaches the exchange later is refused',
  },
};

const limitFields = {
  price: field.price.optional().meta(LIMIT_TEXTS.price),
  timeInForce: field.timeInForce.optional().meta(LIMIT_TEXTS.timeInForce),
  postOnly: z.boolean().optional().meta(LIMIT_TEXTS.postOnly),
  validUntilMs: field.timeMs.optional().meta(LIMIT_TEXTS.validUntilMs),
};

/** Tells of a field, and of what is wrong with it. */
export type Problem = (name: string, message: string) => void;

/** What no single field of a buy shows. */
export function checkBuy(order: BuyOrder, problem: Problem): void {
  const { amount, shares, price } = order;
  if (amount === undefined && shares === undefined)
    problem('amount', 'is required (or shares, with a price)');
  if (amount !== undefined && shares !== undefined) problem('shares', 'cannot stand beside amount');
  if (amount === undefined && shares !== undefined && price === undefined) {
    problem('price', 'is required with shares');
  }
  if (shares !== undefined && price !== undefined && shares * price > MAX_ORDER_MICROS) {
    problem('shares', `times price must be at most ${MAX_ORDER_DOLLARS} dollars`);
  }
  checkLimit(order, problem);
}

/** What no single field of an order shows. */
export function checkLimit(order: LimitFields, problem: Problem): void {
  const rests = order.timeInForce === TimeInForce.GTC;
  if (rests && order.price === undefined) problem('price', 'is required with timeInForce GTC');
  if (order.postOnly === true && !rests) problem('postOnly', 'needs timeInForce GTC');
}

/** What no single field shows, for the description of the API. The product of shares and price is left to words. */
const REST_NEEDS_PRICE = {
  if: { properties: { timeInForce: { const: 'GTC' } }, required: ['timeInForce'] },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's own word
  then: { required: ['price'] },
};
const POST_ONLY_RESTS = {
  if: { properties: { postOnly: { const: true } }, required: ['postOnly'] },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's own word
  then: { properties: { timeInForce: { const: 'GTC' } }, required: ['timeInForce'] },
};
export const BUY_RULES = {
  description:
    'Either `amount`, the dollars to spend, or `shares` with a `price`; shares times price is at most 1,000,000 dollars',
  oneOf: [
    { required: ['amount'], not: { required: ['shares'] } },
    { required: ['shares', 'price'], not: { required: ['amount'] } },
  ],
  allOf: [REST_NEEDS_PRICE, POST_ONLY_RESTS],
};
export const SELL_RULES = { allOf: [REST_NEEDS_PRICE, POST_ONLY_RESTS] };

/** What the size of an order means. */
export const SIZE_TEXTS = {
  amount: { description: 'US dollars to spend, at most 6 decimal places; the fee of 0.5% comes on top' },
  shares: { description: 'Shares, at most 3 decimal places' },
};

const amount = field.dollars({ max: MAX_ORDER_DOLLARS }).meta(SIZE_TEXTS.amount);
const shares = field.shares({ max: MAX_ORDER_SHARES }).meta(SIZE_TEXTS.shares);

export const BuyBody = z
  .strictObject({
    ...own,
    outcome: field.outcome,
    amount: amount.optional(),
    shares: shares.optional(),
    ...limitFields,
  })
  .superRefine((order, context) => checkBuy(order, problemOf(context)))
  .meta(BUY_RULES);

export const SellBody = z
  .strictObject({ ...own, outcome: field.outcome, shares, ...limitFields })
  .superRefine((order, context) => checkLimit(order, problemOf(context)))
  .meta(SELL_RULES);

function problemOf(context: z.core.$RefinementCtx): Problem {
  return (name, message) => context.addIssue({ code: 'custom', path: [name], message, input: undefined });
}

export const StakeBody = z.strictObject({
  ...own,
  amount: field
    .dollars({ min: MIN_STAKE_MICROS / MICRO_SCALE, max: MAX_TRANSFER_DOLLARS })
    .meta({ description: 'US dollars, at most 6 decimal places' }),
});
export const ReferralCodeBody = z.strictObject({ ...own, code: field.referralCode });

export const RegisterBody = z.strictObject({
  username: field.username,
  password: field.password,
  referralCode: field.referralCode.optional(),
});
export const LoginBody = z.strictObject({ username: z.string(), password: field.triedPassword });
export const PasswordBody = z.strictObject({
  ...own,
  currentPassword: field.triedPassword,
  newPassword: field.password,
});

export const TransferBody = z.strictObject({
  userId: field.userId,
  amount: field
    .dollars({ max: MAX_TRANSFER_DOLLARS })
    .meta({ description: 'US dollars, at most 6 decimal places' }),
  reference: field.partnerReference,
});

/** Assets are named in any case. */
const asset = z
  .string()
  .regex(/^[A-Za-z0-9]{2,10}$/, 'must be the symbol of an asset, such as BTC')
  .transform((symbol) => symbol.toUpperCase())
  .optional()
  .meta({ description: 'The symbol of a listed asset, in any case, such as BTC; without it, all assets' });

const paging = {
  limit: field.queryInteger({ min: 1, max: 200, standard: 50, description: 'Entries in one page' }),
  cursor: z.string().optional().meta({
    description: 'The `nextCursor` of the page before, with the same filters; without it, the first page',
  }),
};

export const PagedQuery = z.strictObject({ ...own, ...paging });
export const MarketsQuery = z.strictObject({
  ...own,
  status: z
    .enum(['active', 'ended', 'resolved'])
    .optional()
    .meta({ description: 'Only markets of this status' }),
  asset,
  ...paging,
});
export const ActiveMarketsQuery = z.strictObject({ ...own, asset });
export const PastMarketsQuery = z.strictObject({ ...own, asset, ...paging });
export const LeaderboardQuery = z.strictObject({
  ...own,
  metric: z
    .enum(['profit', 'volume', 'points'])
    .default('profit')
    .meta({ description: 'Realised profit net of fees, value traded, or points', default: 'profit' }),
  period: z
    .enum(['all', 'day', 'week'])
    .default('all')
    .meta({ description: 'All time, the current UTC day, or the current UTC week', default: 'all' }),
  ...paging,
});
export const DepthQuery = z.strictObject({
  ...own,
  depth: field.queryInteger({ min: 1, max: 999, standard: 20, description: 'Price levels on each side' }),
});
export const QuoteQuery = z
  .strictObject({
    ...own,
    side: field.side
      .default(Side.BUY)
      .meta({ description: 'BUY needs `amount`, SELL needs `shares`', default: 'BUY' }),
    outcome: field.outcome,
    amount: field.queryNumber(amount).optional(),
    shares: field.queryNumber(shares).optional(),
    price: field.queryNumber(field.price).optional().meta(LIMIT_TEXTS.price),
  })
  .superRefine((quote, context) => {
    const problem = problemOf(context);
    const [needed, refused] =
      quote.side === Side.BUY ? (['amount', 'shares'] as const) : (['shares', 'amount'] as const);
    const name = quote.side === Side.BUY ? 'BUY' : 'SELL';
    if (quote[needed] === undefined) problem(needed, `is required with side ${name}`);
    if (quote[refused] !== undefined) problem(refused, `does not go with side ${name}`);
  });

export const IDEMPOTENCY_KEY = /^[A-Za-z0-9_:.-]{1,64}$/;
