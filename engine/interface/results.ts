/**
 * The result of one command: integers that start with the command's kind, the result code, the
 * sequence and the time, followed by the fields below. A repeated idempotency key gets the same
 * integers, so its answer is the same to the byte.
 */

import { type NumberBuffer, offsetsOf } from '../storage/number-buffer.js';
import type { CommandName } from './commands.js';
import { OrderStatus } from './domain.js';
import {
  MAX_BATCH_OPERATIONS,
  MAX_CLIENT_ORDER_ID_LENGTH,
  MAX_FILLS_PER_ORDER,
  MAX_OPEN_ORDERS_PER_USER,
  MAX_ORDER_LOTS,
  UNSIZED_LOTS,
} from './limits.js';

export const ResultHead = { kind: 0, code: 1, sequence: 2, atMs: 3 } as const;
export const RESULT_HEAD_LENGTH = 4;

/**
 * The fields after the head, by command, if the code is `ok`.
 *
 * After an order's fields come `fillCount` triples of (tradeId, priceTicks, sizeLots), with prices
 * of the order's own outcome. An amendment has the same fields for an order that is placed again
 * (`keptPriority` 0). After them comes the order's clientOrderId, four characters in an
 * integer, the first in the lowest byte, padded with zeros; nothing if the order has none or the
 * command did not ask for it. After `cancelledOrders` come that many order ids. After a batch's
 * field come the results of its operations, each preceded by its length; their heads have the
 * batch's sequence and time.
 *
 * `availableMicros`, `heldMicros`, `upLots` and `downLots` are the user's after the command. The
 * lots include those that resting sells hold.
 */
const BALANCE = ['availableMicros', 'heldMicros'] as const;
const HOLDINGS = [...BALANCE, 'upLots', 'downLots'] as const;
const ORDER_FIELDS = [
  'orderId',
  'marketId',
  'userId',
  'outcome',
  'status',
  'filledLots',
  /** Spent (buy) or received (sell), without the fee. */
  'valueMicros',
  'feeMicros',
  /** The part of a buy's budget that is neither spent nor held. 0 for a sell. */
  'unspentMicros',
  'restingLots',
  /** Lots ahead of it at its price when it began to rest; 0 if it did not. */
  'aheadLots',
  ...HOLDINGS,
  'fillCount',
] as const;

const GROUP_FIELDS = ['groupId', 'userId', 'maxFilledLots', 'windowMs'] as const;
const DEPOSIT_FIELDS = [
  'depositId',
  'userId',
  'amountMicros',
  'earnsFromMs',
  'stakedAtMs',
] as const;
const YIELD_FIELDS = [...DEPOSIT_FIELDS, 'claimedYieldMicros', 'yieldMicros', ...BALANCE] as const;
const SETS_FIELDS = ['marketId', 'userId', 'sizeLots'] as const;

export const RESULT_FIELDS = {
  advanceTime: [],
  listAsset: ['asset'],
  listMarkets: ['listedMarkets'],
  observePrice: [],
  observeSourcePrice: [],
  register: ['userId'],
  setCredential: ['userId', 'version'],
  deposit: ['userId', 'amountMicros', ...BALANCE],
  withdraw: ['userId', 'amountMicros', ...BALANCE],
  buy: ORDER_FIELDS,
  sell: ORDER_FIELDS,
  cancel: ['orderId', 'marketId', 'userId', 'cancelledLots', ...BALANCE],
  cancelAll: ['marketId', 'userId', ...BALANCE, 'cancelledOrders'],
  cancelEverywhere: ['userId', ...BALANCE, 'cancelledOrders'],
  cancelDisconnected: ['userId', ...BALANCE, 'cancelledOrders'],
  amend: ['side', 'keptPriority', ...ORDER_FIELDS],
  claim: ['marketId', 'userId', 'resolution', 'lots', 'payoutMicros', 'refundMicros', ...BALANCE],
  split: [...SETS_FIELDS, 'feeMicros', ...HOLDINGS],
  /** `costMicros`: the cost of the merged shares. */
  merge: [...SETS_FIELDS, 'costMicros', ...HOLDINGS],
  stake: [...DEPOSIT_FIELDS, ...BALANCE],
  unstake: YIELD_FIELDS,
  claimYield: YIELD_FIELDS,
  setReferralCode: ['userId', 'referredUsers', 'earnedMicros', 'pendingMicros', 'referrerId'],
  batch: ['operationCount'],
  vouchForSnapshot: ['snapshotSequence'],
  createToken: ['tokenId', 'userId', 'expiresAtMs'],
  revokeToken: ['tokenId', 'userId'],
  /** cancelAtMs 0: never. */
  setCancelAfter: ['userId', 'cancelAtMs'],
  setPrivacy: ['userId', 'privacy'],
  setAutoClaim: ['userId', 'enabled'],
  startAgain: ['userId', 'amountMicros', ...BALANCE],
  createOrderGroup: GROUP_FIELDS,
  resetOrderGroup: GROUP_FIELDS,
  removeOrderGroup: ['groupId', 'userId', ...BALANCE, 'cancelledOrders'],
  createSubAccount: ['userId'],
  transferMoney: [
    'fromUserId',
    'toUserId',
    'amountMicros',
    'fromAvailableMicros',
    'toAvailableMicros',
  ],
  setPaused: ['actionId'],
  setFrozen: ['actionId', 'cancelledOrders'],
  operatorCancel: ['actionId', 'cancelledOrders'],
  voidMarket: ['actionId'],
  setRules: ['actionId'],
  resetCredential: ['actionId'],
  setRateTier: ['actionId'],
  recordUpgrade: ['toVersion'],
} as const satisfies Record<CommandName, readonly string[]>;

/** Start of a batch's first operation result: after head, operation count and result length. */
export const FIRST_OPERATION = RESULT_HEAD_LENGTH + RESULT_FIELDS.batch.length + 1;

/** Start of the operation result after the one at `at`. */
export function nextOperation(values: Float64Array, at: number): number {
  return at + values[at - 1]! + 1;
}

/** The fields after the head if the code is not `ok`; zeros for codes without details. */
export const REJECT_FIELDS = ['required', 'available'] as const;

/** The offset of each field from the start of a buy's or sell's result: OrderResult.orderId, … */
export const OrderResult = offsetsOf(ORDER_FIELDS, RESULT_HEAD_LENGTH);
export const ORDER_RESULT_LENGTH = RESULT_HEAD_LENGTH + ORDER_FIELDS.length;
const FILL_LENGTH = 3;
export const REJECT_RESULT_LENGTH = RESULT_HEAD_LENGTH + REJECT_FIELDS.length;

/**
 * The total lots of an order after `filledLots` traded and `restingLots` began to rest: its size,
 * unless its budget allowed less.
 */
export function placedLots(
  sizeLots: number,
  filledLots: number,
  restingLots: number,
  status: number,
): number {
  const isEnded = isForAmount(sizeLots) || restingLots > 0 || status === OrderStatus.FILLED;
  return isEnded ? filledLots + restingLots : sizeLots;
}

/** Whether an order of this size is a buy for an amount. */
export function isForAmount(sizeLots: number): boolean {
  return sizeLots === UNSIZED_LOTS;
}

/** The amount of a buy for an amount: its budget, or less if MAX_ORDER_LOTS cost less. */
export function amountFor(budgetMicros: number, unspentMicros: number, lots: number): number {
  return lots < MAX_ORDER_LOTS ? budgetMicros : budgetMicros - unspentMicros;
}

export const AmendResult = {
  side: RESULT_HEAD_LENGTH,
  keptPriority: RESULT_HEAD_LENGTH + 1,
} as const;
/** An order's fields follow, as in an order's result that starts this much later. */
export const AMEND_ORDER_AT = 2;
export const CHARACTERS_IN_INTEGER = 4;

/** The clientOrderId in an amendment's `ok` result at `at`; null if none. */
export function clientOrderIdInAmendment({ values, length }: NumberBuffer, at: number) {
  const order = at + AMEND_ORDER_AT;
  const end = at < FIRST_OPERATION ? length : at + values[at - 1]!;
  let text = '';
  let from = order + ORDER_RESULT_LENGTH + FILL_LENGTH * values[order + OrderResult.fillCount]!;
  for (; from < end; from++)
    for (let four = values[from]!; four !== 0; four >>>= 8)
      text += String.fromCharCode(four & 0xff);
  return text === '' ? null : text;
}

/** Integers for the clientOrderIds in a batch of amendments. */
const ALL_NAMES_LENGTH =
  (MAX_BATCH_OPERATIONS * MAX_CLIENT_ORDER_ID_LENGTH) / CHARACTERS_IN_INTEGER;

/**
 * The longest result: a batch of amendments with the maximum of fills, which also cancels all
 * orders that rest or that it placed.
 */
export const MAX_RESULT_LENGTH =
  RESULT_HEAD_LENGTH +
  RESULT_FIELDS.batch.length +
  MAX_BATCH_OPERATIONS * (1 + AMEND_ORDER_AT + ORDER_RESULT_LENGTH) +
  MAX_FILLS_PER_ORDER * FILL_LENGTH +
  MAX_OPEN_ORDERS_PER_USER +
  MAX_BATCH_OPERATIONS +
  ALL_NAMES_LENGTH;
