/**
 * The bodies and query strings of all routes. Objects are strict: a field that is not known is refused by name, so that a
 * mistyped limit never becomes a market order. Amounts come out in engine units.
 */
import { z } from 'zod';
import { Side } from '../../engine/interface/domain.js';
import { MAX_TRANSFER_MICROS, MIN_STAKE_MICROS } from '../../engine/interface/limits.js';
import {
  BUY_RULES,
  buyFields,
  LIMIT_TEXTS,
  MAX_ORDER_DOLLARS,
  MAX_ORDER_SHARES,
  SELL_RULES,
  SIZE_TEXTS,
  sellFields,
} from '../resources/orders/requests.js';
import { MICRO_SCALE } from './decimal.js';
import * as field from './fields.js';

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

export const BuyBody = z.strictObject({ ...own, ...buyFields }).meta(BUY_RULES);
export const SellBody = z.strictObject({ ...own, ...sellFields }).meta(SELL_RULES);

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
const amount = field.dollars({ max: MAX_ORDER_DOLLARS }).meta(SIZE_TEXTS.amount);
const shares = field.shares({ max: MAX_ORDER_SHARES }).meta(SIZE_TEXTS.shares);

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
    const problem = (name: string, message: string) =>
      context.addIssue({ code: 'custom', path: [name], message, input: undefined });
    const [needed, refused] =
      quote.side === Side.BUY ? (['amount', 'shares'] as const) : (['shares', 'amount'] as const);
    const name = quote.side === Side.BUY ? 'BUY' : 'SELL';
    if (quote[needed] === undefined) problem(needed, `is required with side ${name}`);
    if (quote[refused] !== undefined) problem(refused, `does not go with side ${name}`);
  });

/**
 * The header Idempotency-Key: a key, or a key in quotes. uWebSockets.js drops bytes beyond ASCII at either end of a header's value, so that two keys
 * that differ in them look like one; between quotes it drops nothing, and what is no key is seen and refused.
 */
export const IDEMPOTENCY_KEY = /^(?:[A-Za-z0-9_:.-]{1,64}|"[A-Za-z0-9_:.-]{1,64}")$/;

/** The key in a header that is one. */
export function keyOf(header: string): string {
  return header.startsWith('"') ? header.slice(1, -1) : header;
}
