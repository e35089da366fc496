/**
 * Orders as clients write them, single ones and those in a batch: the fields, as zod schemas, and how they become orders in engine units.
 *
 * The schemas only check: they have no transforms and no refinements of their own, which would cost several times as much as all the rest,
 * and which quick-check.ts could not compile. The numbers are scaled, and what they or several fields show then is looked at, in one plain
 * pass after them.
 */
import { z } from 'zod';
import { Outcome, TimeInForce } from '../../../engine/interface/domain.js';
import { MAX_ORDER_LOTS, MAX_ORDER_MICROS, MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { bodySchema } from '../../json/components.js';
import { LOT_SCALE, MICRO_SCALE, scaledInteger, TICK_SCALE } from '../../json/decimal.js';
import * as field from '../../json/fields.js';
import type { BuyOrder, LimitFields, SellOrder } from './commands.js';

export const MAX_ORDER_DOLLARS = MAX_ORDER_MICROS / MICRO_SCALE;
export const MAX_ORDER_SHARES = MAX_ORDER_LOTS / LOT_SCALE;

/** What the size of an order means. */
export const SIZE_TEXTS = {
  amount: {
    description:
      'US dollars to spend, at most 6 decimal places. The fee comes on top: 0.5% of the amount, rounded up to a micro-dollar; of what was spent, if the order runs out of offers or meets its price with enough left for 0.001 share. 10,000,000 shares are bought at most',
  },
  shares: { description: 'Shares, at most 3 decimal places' },
};

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

const outcome = z.enum(['UP', 'DOWN']).meta(field.OUTCOME_TEXT);
const amount = field.decimalNumber(MICRO_SCALE, { max: MAX_ORDER_DOLLARS }).meta(SIZE_TEXTS.amount);
const shares = field.decimalNumber(LOT_SCALE, { max: MAX_ORDER_SHARES }).meta(SIZE_TEXTS.shares);
/** A moment in integer milliseconds since the epoch. */
const timeMs = z
  .number()
  .min(0, 'must not be negative')
  .max(MAX_TIME_MS, `must be at most ${MAX_TIME_MS}`)
  .meta({ multipleOf: 1 });
const limitFields = {
  price: field.decimalNumber(TICK_SCALE, field.PRICES).optional().meta(LIMIT_TEXTS.price),
  timeInForce: z.enum(['IOC', 'FOK', 'GTC']).optional().meta(LIMIT_TEXTS.timeInForce),
  postOnly: z.boolean().optional().meta(LIMIT_TEXTS.postOnly),
  validUntilMs: timeMs.optional().meta(LIMIT_TEXTS.validUntilMs),
};

export const buyFields = { outcome, amount: amount.optional(), shares: shares.optional(), ...limitFields };
export const sellFields = { outcome, shares, ...limitFields };

export const BuyBody = bodySchema('BuyBody', z.strictObject({ ...field.own, ...buyFields }).meta(BUY_RULES));
export const SellBody = bodySchema(
  'SellBody',
  z.strictObject({ ...field.own, ...sellFields }).meta(SELL_RULES),
);

type Fields<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;

/** Tells of a field, and of what is wrong with it. */
export type Problem = (name: string, message: string) => void;

/** What no single field of a buy shows. */
function checkBuy(order: BuyOrder, problem: Problem): void {
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
function checkLimit(order: LimitFields, problem: Problem): void {
  const rests = order.timeInForce === TimeInForce.GTC;
  if (rests && order.price === undefined) problem('price', 'is required with timeInForce GTC');
  if (order.postOnly === true && !rests) problem('postOnly', 'needs timeInForce GTC');
  if (order.validUntilMs !== undefined) checkTime(order.validUntilMs, problem);
}

function checkTime(timeMs: number, problem: Problem): void {
  if (!Number.isInteger(timeMs)) problem('validUntilMs', 'must be a whole number of milliseconds');
  // JSON has a -0, and it is no time.
  if (Object.is(timeMs, -0)) problem('validUntilMs', 'must not be negative');
}

/** Tells of every problem; an order that has one is not to be used. */
export function readBuy(fields: Fields<typeof buyFields>, problem: Problem): BuyOrder {
  const { amount, shares, price, timeInForce, postOnly, validUntilMs } = fields;
  const order: BuyOrder = {
    outcome: Outcome[fields.outcome],
    amount: amount === undefined ? undefined : scaledInteger(amount, MICRO_SCALE),
    shares: shares === undefined ? undefined : scaledInteger(shares, LOT_SCALE),
    price: price === undefined ? undefined : scaledInteger(price, TICK_SCALE),
    timeInForce: timeInForce === undefined ? undefined : TimeInForce[timeInForce],
    postOnly,
    validUntilMs,
  };
  checkPlaces(order, problem);
  checkBuy(order, problem);
  return order;
}

/** The same. */
export function readSell(fields: Fields<typeof sellFields>, problem: Problem): SellOrder {
  const { shares, price, timeInForce, postOnly, validUntilMs } = fields;
  const order: SellOrder = {
    outcome: Outcome[fields.outcome],
    shares: scaledInteger(shares, LOT_SCALE),
    price: price === undefined ? undefined : scaledInteger(price, TICK_SCALE),
    timeInForce: timeInForce === undefined ? undefined : TimeInForce[timeInForce],
    postOnly,
    validUntilMs,
  };
  checkPlaces(order, problem);
  checkLimit(order, problem);
  return order;
}

interface Decimals {
  amount?: number | undefined;
  shares?: number | undefined;
  price?: number | undefined;
}

/** What has too many places was scaled to NaN. */
function checkPlaces({ amount, shares, price }: Decimals, problem: Problem): void {
  if (Number.isNaN(amount)) problem('amount', field.placesProblem(MICRO_SCALE));
  if (Number.isNaN(shares)) problem('shares', field.placesProblem(LOT_SCALE));
  if (Number.isNaN(price)) problem('price', field.placesProblem(TICK_SCALE));
}
