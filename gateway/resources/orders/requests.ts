/**
 * Orders in requests, single or in a batch: the fields as zod schemas, and their conversion to
 * engine units.
 *
 * The schemas have no transforms and no refinements: those would cost several times as much as all
 * other checks. One pass after the schemas scales the numbers and checks the rest.
 */
import { z } from 'zod';
import { Outcome, type SelfTrade, TimeInForce } from '../../../engine/interface/domain.js';
import { MAX_ORDER_LOTS, MAX_ORDER_MICROS, MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { bodySchema } from '../../json/components.js';
import { LOT_SCALE, MICRO_SCALE, scaledInteger, TICK_SCALE } from '../../json/decimal.js';
import * as field from '../../json/fields.js';
import type { BuyOrder, LimitFields, SellOrder } from './commands.js';

export const MAX_ORDER_DOLLARS = MAX_ORDER_MICROS / MICRO_SCALE;
export const MAX_ORDER_SHARES = MAX_ORDER_LOTS / LOT_SCALE;

/** Descriptions of the size of an order. */
export const SIZE_TEXTS = {
  amount: {
    description:
      "US dollars to spend, at most 6 decimal places. The fee is added: the market's feeRate (0.5% at first) of the amount, rounded up to a micro-dollar; or of what was spent, if the order runs out of offers or reaches its price limit with enough left for 0.001 share. At most 10,000,000 shares are bought",
  },
  shares: { description: 'Shares, at most 3 decimal places' },
};

/** Descriptions of the optional fields of an order. */
export const LIMIT_TEXTS = {
  price: {
    description:
      'US dollars per share, at most 3 decimal places: the worst acceptable price; without it, any price',
  },
  timeInForce: {
    description:
      'IOC (default): what cannot be filled at once is cancelled; FOK: all at once or nothing; GTC: the rest stays in the book until the market ends',
  },
  postOnly: { description: 'If true, the order is refused instead of trading at once; needs GTC' },
  validUntilMs: {
    description:
      'Milliseconds since the epoch: an order that reaches the exchange later is refused',
  },
  expiresAtMs: {
    description:
      'Milliseconds since the epoch: the order rests no longer than this; needs GTC. Without it, the order rests until the market ends',
  },
  selfTrade: {
    description:
      'When the order meets a resting order of yours, they never trade. cancel_resting (default): the resting order is cancelled; cancel_taker: the rest of this order is; cancel_both: both are',
  },
};

/** In the order of their numbers. */
export const SELF_TRADE_NAMES = ['cancel_resting', 'cancel_taker', 'cancel_both'] as const;

/**
 * Rules across fields, for the description of the API. JSON Schema cannot state the limit of shares
 * times price.
 */
const REST_NEEDS_PRICE = {
  if: { properties: { timeInForce: { const: 'GTC' } }, required: ['timeInForce'] },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's own word
  then: present('price'),
};
const POST_ONLY_RESTS = {
  if: { properties: { postOnly: { const: true } }, required: ['postOnly'] },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's own word
  then: { properties: { timeInForce: { const: 'GTC' } }, required: ['timeInForce'] },
};
const EXPIRING_RESTS = {
  if: { properties: { expiresAtMs: true }, required: ['expiresAtMs'] },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's own word
  then: { properties: { timeInForce: { const: 'GTC' } }, required: ['timeInForce'] },
};
export const BUY_RULES = {
  description:
    'Either `amount`, the dollars to spend, or `shares` with a `price`; shares times price is at most 1,000,000 dollars',
  oneOf: [
    { ...present('amount'), not: present('shares') },
    { ...present('shares', 'price'), not: present('amount') },
  ],
  allOf: [REST_NEEDS_PRICE, POST_ONLY_RESTS, EXPIRING_RESTS],
};
/** Linters want to see a required property where it is required; generators refuse `true`. */
export function present(...names: string[]) {
  return { properties: Object.fromEntries(names.map((name) => [name, {}])), required: names };
}

export const SELL_RULES = { allOf: [REST_NEEDS_PRICE, POST_ONLY_RESTS, EXPIRING_RESTS] };

const outcome = z.enum(['UP', 'DOWN']).meta(field.OUTCOME_TEXT);
const amount = field.decimalNumber(MICRO_SCALE, { max: MAX_ORDER_DOLLARS }).meta(SIZE_TEXTS.amount);
const shares = field.decimalNumber(LOT_SCALE, { max: MAX_ORDER_SHARES }).meta(SIZE_TEXTS.shares);
/** Integer milliseconds since the epoch. */
const timeMs = z
  .number()
  .min(0, 'must not be negative')
  .max(MAX_TIME_MS, `must be at most ${MAX_TIME_MS}`)
  .meta({ multipleOf: 1 });
export const clientOrderId = z.string().regex(field.CLIENT_ID, field.NO_CLIENT_ID).meta({
  description:
    'Your own name for the order. It must differ from those of your resting orders and of your last 10,000 orders that had one',
});
const limitFields = {
  price: field.decimalNumber(TICK_SCALE, field.PRICES).optional().meta(LIMIT_TEXTS.price),
  timeInForce: z.enum(['IOC', 'FOK', 'GTC']).optional().meta(LIMIT_TEXTS.timeInForce),
  postOnly: z.boolean().optional().meta(LIMIT_TEXTS.postOnly),
  validUntilMs: timeMs.optional().meta(LIMIT_TEXTS.validUntilMs),
  clientOrderId: clientOrderId.optional(),
  expiresAtMs: timeMs.optional().meta(LIMIT_TEXTS.expiresAtMs),
  selfTrade: z.enum(SELF_TRADE_NAMES).optional().meta(LIMIT_TEXTS.selfTrade),
};

export const buyFields = {
  outcome,
  amount: amount.optional(),
  shares: shares.optional(),
  ...limitFields,
};
export const sellFields = { outcome, shares, ...limitFields };

export const BuyBody = bodySchema(
  'BuyBody',
  z.strictObject({ ...field.own, ...buyFields }).meta(BUY_RULES),
);
export const SellBody = bodySchema(
  'SellBody',
  z.strictObject({ ...field.own, ...sellFields }).meta(SELL_RULES),
);

type Fields<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;

/** Reports what is wrong with a field. */
export type Problem = (name: string, message: string) => void;

/** The fields of an order that depend on each other; they may be invalid. */
interface Given {
  amount?: unknown;
  shares?: unknown;
  price?: unknown;
  timeInForce?: unknown;
}

/** Reports what is missing in a buy that its schema refuses: the schema names no such field. */
export function missingOfBuy(order: Given, problem: Problem): void {
  checkSize(order, problem);
  missingOfSell(order, problem);
}

/** Reports what is missing in a sell that is otherwise well formed. */
export function missingOfSell({ price, timeInForce }: Given, problem: Problem): void {
  if (price === undefined && timeInForce === 'GTC') problem('price', REST_WITHOUT_PRICE);
}

const REST_WITHOUT_PRICE = 'is required with timeInForce GTC';

function checkSize({ amount, shares, price }: Given, problem: Problem): void {
  if (amount !== undefined) return;
  if (shares === undefined) problem('amount', 'is required (or shares, with a price)');
  else if (price === undefined) problem('price', 'is required with shares');
}

/** Checks the rules across the fields of a buy. */
function checkBuy(order: BuyOrder, problem: Problem): void {
  const { amount, shares, price } = order;
  checkSize(order, problem);
  if (amount !== undefined && shares !== undefined)
    problem('shares', 'cannot be combined with amount');
  if (shares !== undefined && price !== undefined && shares * price > MAX_ORDER_MICROS) {
    problem('shares', `times price must be at most ${MAX_ORDER_DOLLARS} dollars`);
  }
  checkLimit(order, problem);
}

/** Checks the rules across the fields that every order has. */
function checkLimit(order: LimitFields, problem: Problem): void {
  const rests = order.timeInForce === TimeInForce.GTC;
  if (rests && order.price === undefined) problem('price', REST_WITHOUT_PRICE);
  if (order.postOnly === true && !rests) problem('postOnly', 'needs timeInForce GTC');
  if (order.expiresAtMs !== undefined && !rests) problem('expiresAtMs', 'needs timeInForce GTC');
  if (order.validUntilMs !== undefined) checkTime('validUntilMs', order.validUntilMs, problem);
  if (order.expiresAtMs !== undefined) checkTime('expiresAtMs', order.expiresAtMs, problem);
}

function checkTime(name: string, timeMs: number, problem: Problem): void {
  if (!Number.isInteger(timeMs)) problem(name, 'must be a whole number of milliseconds');
  // JSON has -0, which is not a time.
  if (Object.is(timeMs, -0)) problem(name, 'must not be negative');
}

/** Reports every problem; an order with a problem must not be used. */
export function readBuy(fields: Fields<typeof buyFields>, problem: Problem): BuyOrder {
  const { amount, shares, price, timeInForce, postOnly, validUntilMs, clientOrderId } = fields;
  const order: BuyOrder = {
    outcome: Outcome[fields.outcome],
    amount: amount === undefined ? undefined : scaledInteger(amount, MICRO_SCALE),
    shares: shares === undefined ? undefined : scaledInteger(shares, LOT_SCALE),
    price: price === undefined ? undefined : scaledInteger(price, TICK_SCALE),
    timeInForce: timeInForce === undefined ? undefined : TimeInForce[timeInForce],
    postOnly,
    validUntilMs,
    clientOrderId,
    ...restingFields(fields),
  };
  checkPlaces(order, problem);
  checkBuy(order, problem);
  return order;
}

/** The same of a sell. */
export function readSell(fields: Fields<typeof sellFields>, problem: Problem): SellOrder {
  const { shares, price, timeInForce, postOnly, validUntilMs, clientOrderId } = fields;
  const order: SellOrder = {
    outcome: Outcome[fields.outcome],
    shares: scaledInteger(shares, LOT_SCALE),
    price: price === undefined ? undefined : scaledInteger(price, TICK_SCALE),
    timeInForce: timeInForce === undefined ? undefined : TimeInForce[timeInForce],
    postOnly,
    validUntilMs,
    clientOrderId,
    ...restingFields(fields),
  };
  checkPlaces(order, problem);
  checkLimit(order, problem);
  return order;
}

function restingFields({ expiresAtMs, selfTrade }: Fields<typeof limitFields>) {
  const mode = selfTrade === undefined ? undefined : SELF_TRADE_NAMES.indexOf(selfTrade);
  return { expiresAtMs, selfTrade: mode as SelfTrade | undefined };
}

/** The new terms of an order. */
export const amendFields = {
  shares: shares.optional().meta({
    description:
      'All shares that the order shall have, those that are filled included; without it, as before',
  }),
  price: field.decimalNumber(TICK_SCALE, field.PRICES).optional().meta({
    description: 'US dollars per share, at most 3 decimal places; without it, as before',
  }),
};
export const AMEND_RULES = {
  description: '`shares`, `price` or both',
  anyOf: [present('shares'), present('price')],
};
export const AmendBody = bodySchema(
  'AmendBody',
  z.strictObject({ ...field.own, ...amendFields }).meta(AMEND_RULES),
);

/** In engine units; 0: as before. Reports every problem, as above. */
export function readAmendment(
  { shares, price }: Fields<typeof amendFields>,
  problem: Problem,
): { sizeLots: number; priceTicks: number } {
  if (shares === undefined && price === undefined) problem('shares', 'is required (or price)');
  const terms = {
    shares: shares === undefined ? undefined : scaledInteger(shares, LOT_SCALE),
    price: price === undefined ? undefined : scaledInteger(price, TICK_SCALE),
  };
  checkPlaces(terms, problem);
  return { sizeLots: terms.shares ?? 0, priceTicks: terms.price ?? 0 };
}

interface Decimals {
  amount?: number | undefined;
  shares?: number | undefined;
  price?: number | undefined;
}

/** A number with too many places was scaled to NaN. */
function checkPlaces({ amount, shares, price }: Decimals, problem: Problem): void {
  if (Number.isNaN(amount)) problem('amount', field.placesProblem(MICRO_SCALE));
  if (Number.isNaN(shares)) problem('shares', field.placesProblem(LOT_SCALE));
  if (Number.isNaN(price)) problem('price', field.placesProblem(TICK_SCALE));
}
