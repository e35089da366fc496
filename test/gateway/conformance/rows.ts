/**
 * The answer to each operation, its cost and payer, and its effect on the journal: a row per
 * request and state of the exchange. Rows hold over every transport at every place, with two
 * exceptions:
 * - a stream's token is checked by its handshake, which costs the address reads;
 * - a replica itself refuses a stream's request for its token or by the schemas, and charges for
 *   it, without work for the leader.
 */
import { expect } from 'vitest';
import type { ErrorCode } from '../../../gateway/commands/errors.js';
import { MARKET } from '../../support/server.js';
import type { Json, Operation } from './transports.js';

/** The sender: a user who has traded, one of that user's tokens, or a client without a session. */
export type Who = 'ada' | 'reader' | 'elsewhere' | 'revoked' | 'forged' | 'nobody';

/** A resting order created for the request, and its name. */
export interface Made {
  orderId: string;
  clientOrderId: string;
}

export interface Row {
  name: string;
  who?: Who;
  operation: Operation | ((made: Made) => Operation);
  /** The refusal; absent if the operation is executed. */
  code?: ErrorCode;
  /** Fields that the refusal names, or its details. */
  details?: Json;
  /** Expected fields of the receipt. */
  receipt?: Json;
  /** Number of spaces added to the text. */
  padding?: number;
  /** The cost in units; 1 by default. */
  cost?: number;
  /** Number of commands in the journal. Default: 0 if admission or parsing refuses, else 1. */
  journal?: number;
  /** Whether to place a resting order that the request may name. */
  makes?: boolean;
  /** The outcome for which Bob then bids half a dollar per share. */
  meets?: 'UP' | 'DOWN';
  /** Whether a stream's handshake refuses the token. */
  atHandshake?: boolean;
  /** Whether the engine forgets the result before the request is repeated. */
  isForgotten?: boolean;
  /** Whether too much work is waiting for the disk. */
  isOverloaded?: boolean;
}

const UP = { marketId: MARKET, outcome: 'UP' };
const buy = (fields: object): Operation => ({ op: 'buy', ...UP, ...fields });
const sell = (fields: object): Operation => ({ op: 'sell', ...UP, ...fields });
const bid = { shares: 10, price: 0.2, timeInForce: 'GTC' };
const sets = (op: string, shares: unknown): Operation => ({ op, marketId: MARKET, shares });
const claim: Operation = { op: 'claim', marketId: MARKET };
const at = { marketId: MARKET };
const cancel = (fields: object): Operation => ({ op: 'cancel', ...at, ...fields });
const amend = (fields: object): Operation => ({ op: 'amend', ...at, ...fields });
const unknown = (op: Operation): Operation => ({ ...op, marketId: 'btc-15m-1763800200' });

/** Executed: every operation, and each kind of its receipt. */
const EXECUTED: Row[] = [
  {
    name: 'a bid rests',
    isForgotten: true,
    operation: buy(bid),
    receipt: { status: 'resting', restingShares: 10 },
  },
  {
    name: 'decimals as texts',
    operation: buy({ ...bid, shares: '10.5', price: '0.2' }),
    receipt: { restingShares: 10.5 },
  },
  {
    name: 'a buy trades',
    meets: 'DOWN',
    operation: buy({ shares: 1, price: 0.5 }),
    receipt: { status: 'filled', shares: 1, fills: [{ price: 0.5, shares: 1 }] },
  },
  {
    name: 'a sell trades in part, and the rest of it rests',
    meets: 'UP',
    operation: sell({ shares: 2, price: 0.5, timeInForce: 'GTC' }),
    receipt: { status: 'resting', shares: 1, restingShares: 1 },
  },
  {
    name: 'an offer rests',
    operation: sell({ ...bid, shares: 3, price: 0.9 }),
    receipt: { status: 'resting' },
  },
  { name: 'pairs are split', operation: sets('split', 2), receipt: { shares: 2 } },
  { name: 'pairs are merged', operation: sets('merge', 2), receipt: { shares: 2 } },
  {
    name: 'an order is cancelled',
    makes: true,
    operation: ({ orderId }) => cancel({ orderId }),
    receipt: { status: 'cancelled' },
  },
  {
    name: 'an order is cancelled by its name',
    makes: true,
    operation: ({ clientOrderId }) => cancel({ clientOrderId }),
    receipt: { status: 'cancelled' },
  },
  {
    name: 'an order is amended',
    makes: true,
    operation: ({ orderId }) => amend({ orderId, shares: 8 }),
    receipt: { keptPriority: true, restingShares: 8 },
  },
  {
    name: 'an order is amended by its name, and loses its place',
    makes: true,
    operation: ({ clientOrderId }) => amend({ clientOrderId, price: 0.15 }),
    receipt: { keptPriority: false, restingShares: 10 },
  },
  {
    name: 'all orders of a market are cancelled',
    makes: true,
    operation: { op: 'cancelAll', ...at },
    receipt: { cancelledOrders: 1 },
  },
  {
    name: 'all orders are cancelled',
    makes: true,
    operation: { op: 'cancelAll' },
    receipt: { cancelledOrders: 1 },
  },
  {
    name: 'a text of 3,200 bytes and more',
    operation: buy(bid),
    padding: 3_200,
    cost: 11,
    receipt: {},
  },
];

/** Refused by the engine: sequenced, but nothing else changes. */
const REJECTED: Row[] = [
  { name: 'an unknown market', operation: unknown(buy(bid)), code: 'market_not_found' },
  {
    name: 'a market that is none',
    operation: { ...claim, marketId: 'x' },
    code: 'market_not_found',
  },
  {
    name: 'too little money',
    isForgotten: true,
    operation: buy({ amount: 99_999 }),
    code: 'insufficient_balance',
  },
  { name: 'too few shares', operation: sell({ shares: 999 }), code: 'insufficient_shares' },
  { name: 'too few pairs', operation: sets('merge', 999), code: 'insufficient_shares' },
  { name: 'too little for pairs', operation: sets('split', 99_999), code: 'insufficient_balance' },
  {
    name: 'nothing to buy at the price',
    operation: buy({ amount: 5, price: 0.001 }),
    code: 'insufficient_liquidity',
    details: { availableShares: 0 },
  },
  { name: 'less than a lot', operation: buy({ amount: 0.0001 }), code: 'amount_too_small' },
  {
    name: 'all or nothing',
    operation: buy({ amount: 100, price: 0.6, timeInForce: 'FOK' }),
    code: 'price_not_met',
  },
  {
    name: 'only to rest',
    operation: buy({ ...bid, price: 0.9, postOnly: true }),
    code: 'post_only_would_trade',
  },
  {
    name: 'too late',
    operation: buy({ amount: 1, validUntilMs: 1 }),
    code: 'deadline_passed',
    details: { deadline: 'validUntilMs' },
  },
  { name: 'no group', operation: buy({ ...bid, groupId: 'g99' }), code: 'order_group_not_found' },
  { name: 'no order to cancel', operation: cancel({ orderId: 'o999' }), code: 'order_not_found' },
  {
    name: 'a cancel of what is no id',
    operation: cancel({ orderId: 'x' }),
    code: 'order_not_found',
  },
  {
    name: 'no order of that name',
    operation: cancel({ clientOrderId: 'nobody-s' }),
    code: 'order_not_found',
  },
  {
    name: 'no order to amend',
    operation: amend({ orderId: 'o999', shares: 1 }),
    code: 'order_not_found',
  },
  {
    name: 'no order of that name to amend',
    operation: amend({ clientOrderId: 'nobody-s', shares: 1 }),
    code: 'order_not_found',
  },
  { name: 'a market without a result', operation: claim, code: 'market_not_resolved' },
];

/** Refused by the schemas, by name. */
const INVALID: Row[] = (
  [
    ['an unknown outcome', buy({ amount: 1, outcome: 'SIDEWAYS' }), 'outcome'],
    ['no outcome', { op: 'buy', ...at, amount: 1 }, 'outcome'],
    ['an unknown field', buy({ ...bid, prize: 1 }), 'prize'],
    ['no size', { op: 'buy', ...UP }, 'amount'],
    ['shares without a price', buy({ shares: 1 }), 'price'],
    ['no price to rest at', buy({ amount: 1, timeInForce: 'GTC' }), 'price'],
    ['a price between ticks', buy({ ...bid, price: 0.4001 }), 'price'],
    ['a price of one', buy({ ...bid, price: 1 }), 'price'],
    ['both sizes', buy({ ...bid, amount: 1 }), 'shares'],
    ['a negative amount', buy({ amount: -1 }), 'amount'],
    ['too many places', buy({ amount: 0.0000001 }), 'amount'],
    ['too many shares', sell({ shares: 10_000_001 }), 'shares'],
    ['postOnly at once', buy({ amount: 1, price: 0.4, postOnly: true }), 'postOnly'],
    ['a time that is none', buy({ amount: 1, validUntilMs: 1.5 }), 'validUntilMs'],
    ['a name that is none', buy({ ...bid, clientOrderId: 'a b' }), 'clientOrderId'],
    ['pairs of nothing', sets('split', 0), 'shares'],
    ['pairs of a text', sets('merge', 'ten'), 'shares'],
    ['an amendment of nothing', amend({ orderId: 'o1' }), 'shares'],
    ['a claim with more', { ...claim, amount: 1 }, 'amount'],
    ['a cancel with more', cancel({ orderId: 'o1', shares: 1 }), 'shares'],
    ['a cancel of all with more', { op: 'cancelAll', ...at, shares: 1 }, 'shares'],
  ] as const
).map(([name, operation, field]) => ({
  name,
  operation,
  code: 'invalid_request',
  details: { [field]: expect.any(String) },
  journal: 0,
}));

/** Refused by admission. */
const NOT_ADMITTED: Row[] = [
  {
    name: 'nobody is signed in',
    who: 'nobody',
    operation: buy(bid),
    code: 'missing_token',
  },
  {
    name: 'nobody is signed in',
    who: 'nobody',
    operation: cancel({ orderId: 'o1' }),
    code: 'missing_token',
  },
  {
    name: 'a token that is none',
    who: 'forged',
    operation: buy(bid),
    code: 'invalid_token',
    atHandshake: true,
  },
  {
    name: 'a token that has ended',
    who: 'revoked',
    operation: buy(bid),
    code: 'token_revoked',
    atHandshake: true,
  },
  {
    name: 'a token of another address',
    who: 'elsewhere',
    operation: buy(bid),
    code: 'address_not_allowed',
    atHandshake: true,
  },
  ...[buy(bid), cancel({ orderId: 'o1' }), claim, sets('split', 1)].map(
    (operation): Row => ({
      name: 'a token that only reads',
      who: 'reader',
      operation,
      code: 'scope_insufficient',
      details: { scope: 'read', required: 'trade' },
    }),
  ),
  {
    name: 'a token that only reads, and a text of 3,200 bytes and more',
    who: 'reader',
    operation: buy(bid),
    code: 'scope_insufficient',
    padding: 3_200,
    cost: 11,
  },
  { name: 'for another user', operation: buy({ ...bid, userId: 'u2' }), code: 'user_mismatch' },
].map((row) => ({ ...row, journal: 0 }) as Row);

export const ROWS: Row[] = [...EXECUTED, ...REJECTED, ...INVALID, ...NOT_ADMITTED];

export const OVERLOADED: Row[] = [
  { operation: buy(bid) },
  { operation: cancel({ orderId: 'o1' }) },
  { operation: claim },
  { operation: buy(bid), padding: 5_000 },
].map((row) => ({
  name: 'the request is refused, and nothing is paid',
  ...row,
  code: 'unavailable',
  details: { executed: false },
  isOverloaded: true,
  journal: 0,
}));

const over = { status: 'resolved', resolution: 'UP' };
/** The engine has forgotten the market and refuses these. The history explains the result. */
export const A_DAY_LATER: Row[] = [
  {
    name: 'a claim is told that it was paid',
    isForgotten: true,
    operation: claim,
    code: 'already_paid',
    details: { by: 'automatic' },
  },
  {
    name: 'a buy is told that the market has ended',
    operation: buy(bid),
    code: 'market_not_active',
    details: over,
  },
  {
    name: 'a cancel',
    operation: cancel({ orderId: 'o1' }),
    code: 'market_not_active',
    details: over,
  },
  { name: 'a split', operation: sets('split', 1), code: 'market_not_active', details: over },
  {
    name: 'a market that never was',
    operation: { ...claim, marketId: 'btc-15m-900' },
    code: 'market_not_found',
  },
];
