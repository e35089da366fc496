/**
 * Fields of operations: for each, a zod schema that describes and checks the value, and a scanner
 * that reads it straight from bytes.
 *
 * Invariant: the schema accepts everything that `scan` accepts, with the same value. The schemas
 * have no transforms or refinements, which would cost several times as much as all other checks.
 */
import { z } from 'zod';
import { Outcome, SelfTrade, TimeInForce } from '../../../engine/interface/domain.js';
import { CLIENT_ORDER_ID_BYTES } from '../../../engine/interface/fields.js';
import {
  MAX_CLIENT_ORDER_ID_LENGTH,
  MAX_ORDER_LOTS,
  MAX_ORDER_MICROS,
  MAX_TIME_MS,
} from '../../../engine/interface/limits.js';
import {
  type Assets,
  type IdLetter,
  idNumber,
  marketIdNumber,
} from '../../../engine/interface/notation.js';
import { LOT_SCALE, MICRO_SCALE, scaledInteger, TICK_SCALE } from '../../json/decimal.js';
import * as request from '../../json/fields.js';
import { type JsonScanner, namesOf } from '../../json/scanner.js';
import { scannedMarket } from '../last-market.js';

export type Value = number | string | boolean;

export interface Field {
  schema: z.ZodType;
  /** Of an optional field. A required field's schema has its own. */
  description?: string;
  /** In engine units. The scanner fails on values that it does not handle. */
  scan(scanner: JsonScanner, assets: Assets): Value;
  /** To engine units, from a validated value; NaN for too many decimal places. */
  convert(sent: never, assets: Assets): Value;
  /** The message for NaN. */
  placesProblem?: string;
}

function decimal(scale: number, { min = 0, max }: { min?: number; max: number }): Field {
  const places = Math.round(Math.log10(scale));
  const least = Math.max(1, Math.round(min * scale));
  const most = Math.round(max * scale);
  return {
    schema: request.decimalNumber(scale, { min, max }),
    scan(scanner) {
      const value = scanner.decimal(places, true);
      if (value < least || value > most) scanner.fail();
      return value;
    },
    convert: (sent: number) => scaledInteger(sent, scale),
    placesProblem: request.placesProblem(scale),
  };
}

function choice(numbers: Readonly<Record<string, number>>): Field {
  const words = Object.keys(numbers);
  const names = namesOf(words);
  const values = Object.values(numbers);
  return {
    schema: z.enum(words),
    scan: (scanner) => values[scanner.word(names)]!,
    convert: (sent: string) => numbers[sent]!,
  };
}

/** Since the epoch. The rules across fields check that it is whole. */
function time(description: string): Field {
  return {
    description,
    schema: z
      .number()
      .min(0, 'must not be negative')
      .max(MAX_TIME_MS, `must be at most ${MAX_TIME_MS}`)
      .meta({ multipleOf: 1 }),
    scan(scanner) {
      const timeMs = scanner.decimal(0);
      if (timeMs > MAX_TIME_MS) scanner.fail();
      return timeMs;
    },
    convert: (sent: number) => sent,
  };
}

/** From an id such as "o12". An impossible id becomes 0, which never exists. */
function id(letter: IdLetter, schema: z.ZodType): Field {
  return {
    schema,
    scan: (scanner) => scanner.id(letter.charCodeAt(0)),
    convert: (sent: string) => idNumber(letter, sent),
  };
}

export const marketId: Field = {
  schema: z.string().describe('A market’s id, such as btc-15m-1763700300'),
  scan: scannedMarket,
  convert: (sent: string, assets) => marketIdNumber(assets, sent),
};

export const userId = id('u', request.own.userId);
export const orderId = id('o', z.string().describe('An order’s id, such as o12'));
export const clientOrderId = {
  schema: z
    .string()
    .regex(request.CLIENT_ID, request.NO_CLIENT_ID)
    .describe(
      'Your own name for the order. It must differ from the names of your resting orders and of your last 10,000 named orders',
    ),
  scan(scanner: JsonScanner): string {
    scanner.text();
    const length = scanner.textTo - scanner.textFrom;
    const isLong = length < 1 || length > MAX_CLIENT_ORDER_ID_LENGTH;
    const name = isLong ? null : scanner.textOf(CLIENT_ORDER_ID_BYTES);
    if (name === null) scanner.fail();
    return name ?? '';
  },
  convert: (sent: string) => sent,
} satisfies Field;

const described = (field: Field, description: string): Field => ({
  ...field,
  schema: field.schema.describe(description),
});

export const outcome = described(
  choice({ UP: Outcome.UP, DOWN: Outcome.DOWN }),
  request.OUTCOME_TEXT.description,
);

export const MAX_ORDER_DOLLARS = MAX_ORDER_MICROS / MICRO_SCALE;
export const MAX_ORDER_SHARES = MAX_ORDER_LOTS / LOT_SCALE;
/** Shared by orders and other requests. */
export const FIELD_TEXTS = {
  amount:
    "US dollars to spend, at most 6 decimal places. The fee is added: the market's feeRate (0.5% at first) of the amount, and its curveFeeRate (0 at first) × (1 - price) of what was spent, rounded up to a micro-dollar. If the order runs out of offers or reaches its price limit with enough left for 0.001 share, both rates apply to what was spent. At most 10,000,000 shares are bought",
  shares: 'Shares, at most 3 decimal places',
  price:
    'US dollars per share, at most 3 decimal places: the worst acceptable price; without it, any price',
};
const lots = decimal(LOT_SCALE, { max: MAX_ORDER_SHARES });
const ticks = decimal(TICK_SCALE, request.PRICES);

export const amount = described(
  decimal(MICRO_SCALE, { max: MAX_ORDER_DOLLARS }),
  FIELD_TEXTS.amount,
);
export const shares = described(lots, FIELD_TEXTS.shares);
/** A complete set costs one dollar. */
export const splitShares = described(
  decimal(LOT_SCALE, { max: MAX_ORDER_DOLLARS }),
  FIELD_TEXTS.shares,
);
export const terms = {
  shares: {
    ...lots,
    description: 'The new total size: filled plus resting. Omit it to keep the size',
  },
  price: {
    ...ticks,
    description:
      'The new price in US dollars per share, at most 3 decimal places. Omit it to keep the price',
  },
};

/** By number. */
export const SELF_TRADE_NAMES = ['cancel_resting', 'cancel_taker', 'cancel_both'] as const;

export const limits = {
  price: { ...ticks, description: FIELD_TEXTS.price },
  timeInForce: {
    ...choice(TimeInForce),
    description:
      'IOC (default): a remainder that cannot be filled immediately is cancelled; FOK: the order fills completely and immediately, or not at all; GTC: the remainder stays in the book until the market ends',
  },
  postOnly: {
    schema: z.boolean(),
    description: 'If true, the order is refused if it would trade immediately; needs GTC',
    scan: (scanner: JsonScanner) => scanner.boolean() === 1,
    convert: (sent: boolean) => sent,
  },
  validUntilMs: time('Milliseconds since the epoch; the order is refused if it is executed later'),
  clientOrderId,
  expiresAtMs: time(
    'Milliseconds since the epoch until which the order rests; needs GTC. By default, until the market ends',
  ),
  groupId: {
    description:
      'The id of your order group, such as g12; once the group’s orders have filled its maximum, the others are cancelled; needs GTC',
    schema: z.string().regex(/^g[1-9]\d{0,14}$/, 'must be the id of an order group, such as g12'),
    scan(scanner: JsonScanner): number {
      const groupId = scanner.id('g'.charCodeAt(0));
      if (groupId === 0) scanner.fail();
      return groupId;
    },
    convert: (sent: string) => idNumber('g', sent),
  },
  selfTrade: {
    ...choice({
      cancel_resting: SelfTrade.CANCEL_RESTING,
      cancel_taker: SelfTrade.CANCEL_TAKER,
      cancel_both: SelfTrade.CANCEL_BOTH,
    }),
    description:
      'What to cancel when the order meets your own resting order, because the two never trade. cancel_resting (default): the resting order; cancel_taker: the remainder of this order; cancel_both: both',
  },
} satisfies Record<string, Field>;
