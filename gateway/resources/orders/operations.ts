/**
 * Client operations: fields, rules across fields, and commands. A batch or the stream names the
 * operation and its market; a single order has them in the path.
 */
import { z } from 'zod';
import type { BatchOperation, UserCommand } from '../../../engine/interface/commands.js';
import { type Outcome, SelfTrade, TimeInForce } from '../../../engine/interface/domain.js';
import {
  MAX_ORDER_MICROS,
  MAX_PRICE_TICKS,
  MAX_TIME_MS,
  MICROS_PER_SET,
  MIN_PRICE_TICKS,
  UNSIZED_LOTS,
} from '../../../engine/interface/limits.js';
import { type Assets, MICRO_SCALE } from '../../../engine/interface/notation.js';
import { bodySchema } from '../../json/components.js';
import { own, RULES } from '../../json/fields.js';
import type { Field, Value } from './fields.js';
import * as field from './fields.js';

/** In engine units, `undefined` if not sent. */
export class Given {
  op: number | undefined;
  userId: number | undefined;
  marketId: number | undefined;
  orderId: number | undefined;
  outcome: Outcome | undefined;
  /** Micros. */
  amount: number | undefined;
  /** Lots. */
  shares: number | undefined;
  /** Ticks; the worst acceptable price. */
  price: number | undefined;
  timeInForce: TimeInForce = TimeInForce.IOC;
  postOnly = false;
  validUntilMs = MAX_TIME_MS;
  clientOrderId: string | null = null;
  expiresAtMs: number | undefined;
  groupId: number | undefined;
  selfTrade: SelfTrade = SelfTrade.CANCEL_RESTING;
}

export interface Place extends UserCommand {
  marketId: number;
}

export type Problem = (name: string, message: string) => void;

export interface ClientOperation {
  /** In the order of the API's description. */
  fields: Readonly<Record<string, Field>>;
  required: readonly string[];
  meta?: Record<string, unknown>;
  /** For an operation that the schema refuses without naming its missing fields. */
  missing?(sent: Readonly<Record<string, unknown>>, problem: Problem): void;
  check?(given: Given, problem: Problem): void;
  command(place: Place, given: Given): BatchOperation;
}

const present = (...names: string[]) => ({ required: names });

/** For the API's description. JSON Schema cannot limit shares times price. */
const NEEDS_GTC = { properties: { timeInForce: { const: 'GTC' } }, required: ['timeInForce'] };
const rule = (given: object, then: object) => ({ if: given, then });
const LIMIT_RULES = [
  rule(NEEDS_GTC, present('price')),
  rule({ properties: { postOnly: { const: true } }, required: ['postOnly'] }, NEEDS_GTC),
  rule(present('expiresAtMs'), NEEDS_GTC),
  rule(present('groupId'), NEEDS_GTC),
];

const buy: ClientOperation = {
  fields: {
    outcome: field.outcome,
    amount: field.amount,
    shares: field.shares,
    ...field.limits,
  },
  required: ['outcome'],
  meta: {
    description:
      'Either `amount`, the dollars to spend, or `shares` with a `price`; shares times price is at most 1,000,000 dollars',
    [RULES]: [
      {
        oneOf: [
          { ...present('amount'), not: present('shares') },
          { ...present('shares', 'price'), not: present('amount') },
        ],
      },
      ...LIMIT_RULES,
    ],
  },
  missing(sent, problem) {
    checkSize(sent, problem);
    checkPrice(sent['price'], sent['timeInForce'] === 'GTC', problem);
  },
  check(given, problem) {
    const { amount, shares, price } = given;
    checkSize(given, problem);
    if (amount !== undefined && shares !== undefined)
      problem('shares', 'cannot be combined with amount');
    if (shares !== undefined && price !== undefined && shares * price > MAX_ORDER_MICROS)
      problem('shares', `times price must be at most ${field.MAX_ORDER_DOLLARS} dollars`);
    checkLimits(given, problem);
  },
  /** A buy "for 10 dollars" is bounded by its budget, a buy "of 7 shares at 0.4" by its size. */
  command({ userId, idempotencyKey, marketId }, given) {
    const priceTicks = given.price ?? MAX_PRICE_TICKS;
    const sizeLots = given.shares ?? UNSIZED_LOTS;
    return {
      kind: 'buy',
      userId,
      idempotencyKey,
      marketId,
      outcome: given.outcome!,
      budgetMicros: given.amount ?? sizeLots * priceTicks,
      sizeLots,
      priceTicks,
      timeInForce: given.timeInForce,
      postOnly: given.postOnly,
      validUntilMs: given.validUntilMs,
      clientOrderId: given.clientOrderId,
      expiresAtMs: given.expiresAtMs ?? MAX_TIME_MS,
      groupId: given.groupId ?? 0,
      selfTrade: given.selfTrade,
    };
  },
};

const sell: ClientOperation = {
  fields: { outcome: field.outcome, shares: field.shares, ...field.limits },
  required: ['outcome', 'shares'],
  meta: { [RULES]: LIMIT_RULES },
  missing: (sent, problem) => checkPrice(sent['price'], sent['timeInForce'] === 'GTC', problem),
  check: checkLimits,
  command({ userId, idempotencyKey, marketId }, given) {
    return {
      kind: 'sell',
      userId,
      idempotencyKey,
      marketId,
      outcome: given.outcome!,
      sizeLots: given.shares!,
      priceTicks: given.price ?? MIN_PRICE_TICKS,
      timeInForce: given.timeInForce,
      postOnly: given.postOnly,
      validUntilMs: given.validUntilMs,
      clientOrderId: given.clientOrderId,
      expiresAtMs: given.expiresAtMs ?? MAX_TIME_MS,
      groupId: given.groupId ?? 0,
      selfTrade: given.selfTrade,
    };
  },
};

const names = { orderId: field.orderId, clientOrderId: field.clientOrderId };
const ONE_NAME = {
  oneOf: [
    { ...present('orderId'), not: present('clientOrderId') },
    { ...present('clientOrderId'), not: present('orderId') },
  ],
};

function checkName({ orderId, clientOrderId }: Given, problem: Problem): void {
  if (orderId !== undefined && clientOrderId !== null)
    problem('clientOrderId', 'cannot be combined with orderId');
  if (orderId === undefined && clientOrderId === null)
    problem('orderId', 'is required (or clientOrderId)');
}

function missingName({ orderId, clientOrderId }: Sent, problem: Problem): void {
  if (orderId === undefined && clientOrderId === undefined)
    problem('orderId', 'is required (or clientOrderId)');
}

const cancel: ClientOperation = {
  fields: names,
  required: [],
  meta: { description: 'Either `orderId` or `clientOrderId`', [RULES]: [ONE_NAME] },
  missing: missingName,
  check: checkName,
  command(place, { orderId = 0, clientOrderId }) {
    return { kind: 'cancel', ...place, orderId, clientOrderId };
  },
};

const TERMS = '`shares`, `price` or both';
const ANY_TERM = { anyOf: [present('shares'), present('price')] };

const amend: ClientOperation = {
  fields: { ...names, ...field.terms },
  required: [],
  meta: {
    description: `Either \`orderId\` or \`clientOrderId\`; ${TERMS}`,
    [RULES]: [ONE_NAME, ANY_TERM],
  },
  missing: missingName,
  check(given, problem) {
    const { shares, price } = given;
    checkName(given, problem);
    if (shares === undefined && price === undefined) problem('shares', 'is required (or price)');
  },
  /** 0 keeps the current value. */
  command(place, { orderId = 0, clientOrderId, shares = 0, price = 0 }) {
    const terms = { sizeLots: shares, priceTicks: price };
    return { kind: 'amend', ...place, orderId, ...terms, clientOrderId };
  },
};

const cancelAll: ClientOperation = {
  fields: {},
  required: [],
  meta: { description: 'Cancels all your resting orders, or only those in `marketId`' },
  command(place, { marketId }) {
    const { userId, idempotencyKey } = place;
    return marketId === undefined
      ? { kind: 'cancelEverywhere', userId, idempotencyKey }
      : { kind: 'cancelAll', ...place };
  },
};

const claim: ClientOperation = {
  fields: {},
  required: [],
  command: (place) => ({ kind: 'claim', ...place }),
};

function ofSets(kind: 'split' | 'merge'): ClientOperation {
  return {
    fields: { shares: kind === 'split' ? field.splitShares : field.shares },
    required: ['shares'],
    check({ shares }, problem) {
      // All operations share one scanner for `shares`, with merge's larger maximum.
      if (kind === 'split' && shares! * MICROS_PER_SET > MAX_ORDER_MICROS)
        problem('shares', `must be at most ${MAX_ORDER_MICROS / MICRO_SCALE}`);
    },
    command: (place, { shares }) => ({ kind, ...place, sizeLots: shares! }),
  };
}

/** By their names in batches and the stream. */
export const OPERATIONS = {
  buy,
  sell,
  cancel,
  amend,
  cancelAll,
  claim,
  split: ofSets('split'),
  merge: ofSets('merge'),
};
export type OperationName = keyof typeof OPERATIONS;

function checkSize(
  { amount, shares, price }: { amount?: unknown; shares?: unknown; price?: unknown },
  problem: Problem,
): void {
  if (amount !== undefined) return;
  if (shares === undefined) problem('amount', 'is required, unless you give shares and a price');
  else if (price === undefined) problem('price', 'is required with shares');
}

function checkPrice(price: unknown, rests: boolean, problem: Problem): void {
  if (rests && price === undefined) problem('price', 'is required with timeInForce GTC');
}

function checkLimits(given: Given, problem: Problem): void {
  const { postOnly, validUntilMs, expiresAtMs, groupId } = given;
  const rests = given.timeInForce === TimeInForce.GTC;
  checkPrice(given.price, rests, problem);
  if (postOnly && !rests) problem('postOnly', 'needs timeInForce GTC');
  if (expiresAtMs !== undefined && !rests) problem('expiresAtMs', 'needs timeInForce GTC');
  if (groupId !== undefined && !rests) problem('groupId', 'needs timeInForce GTC');
  checkTime('validUntilMs', validUntilMs, problem);
  if (expiresAtMs !== undefined) checkTime('expiresAtMs', expiresAtMs, problem);
}

function checkTime(name: string, timeMs: number, problem: Problem): void {
  if (!Number.isInteger(timeMs)) problem(name, 'must be a whole number of milliseconds');
  // JSON allows -0.
  if (Object.is(timeMs, -0)) problem(name, 'must not be negative');
}

/** A single request names the order in its path. */
export function hasOrder({ fields }: ClientOperation): boolean {
  return 'orderId' in fields;
}

function shapeOf({ fields, required }: ClientOperation, inPath: readonly string[] = []) {
  const entries = Object.entries(fields).filter(([name]) => !inPath.includes(name));
  const schemaOf = (name: string, { schema, description }: Field) => {
    if (required.includes(name)) return schema;
    return description === undefined ? schema.optional() : schema.optional().describe(description);
  };
  return Object.fromEntries(entries.map(([name, field]) => [name, schemaOf(name, field)]));
}

/** Without the market and the order's name. */
function bodyOf(
  name: string,
  text: string,
  operation: ClientOperation,
  meta = operation.meta ?? {},
) {
  const shape = { ...own, ...shapeOf(operation, hasOrder(operation) ? Object.keys(names) : []) };
  return bodySchema(name, text, z.strictObject(shape).meta(meta));
}
export const BuyBody = bodyOf('BuyBody', 'A purchase of shares', buy);
export const SellBody = bodyOf('SellBody', 'A sale of shares', sell);
export const AmendBody = bodyOf('AmendBody', 'The new terms of an order', amend, {
  description: TERMS,
  [RULES]: [ANY_TERM],
});
export const SplitBody = bodyOf('SplitBody', 'How many complete sets to make', OPERATIONS.split);
export const MergeBody = bodyOf('MergeBody', 'How many complete sets to give up', OPERATIONS.merge);

export const op = <Name extends string>(name: Name) =>
  z.literal(name).describe('What the operation does');

export function operationSchema(name: OperationName, text: string) {
  const { schema } = field.marketId;
  const place =
    name === 'cancelAll' ? { ...own, marketId: schema.optional() } : { marketId: schema, ...own };
  const operation = OPERATIONS[name];
  const shape = { op: op(name), ...place, ...shapeOf(operation) };
  const title = `${name[0]!.toUpperCase()}${name.slice(1)}Operation`;
  return bodySchema(title, text, z.strictObject(shape).meta(operation.meta ?? {}));
}

export type Sent = Readonly<Record<string, unknown>>;

/** Do not execute an operation with problems. `given` has the path's values. */
export function givenIn(
  operation: ClientOperation,
  sent: Sent,
  assets: Assets,
  problem: Problem,
  given = new Given(),
): Given {
  const values = given as unknown as Record<string, Value>;
  const fields = { marketId: field.marketId, ...operation.fields };
  for (const [name, field] of Object.entries<Field>(fields)) {
    if (sent[name] === undefined) continue;
    const value = field.convert(sent[name] as never, assets);
    if (Number.isNaN(value)) problem(name, field.placesProblem!);
    values[name] = value;
  }
  operation.check?.(given, problem);
  return given;
}
