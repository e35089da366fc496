/**
 * The answer to one command: a run of integers that starts with the command's kind, the result code, the
 * sequence and the time, then the fields of the layout that fits. Remembered answers (idempotency) are these very
 * integers, so an answer that is replayed is the same to the byte.
 */
import type { CommandName } from './commands.js';

/** Stands before the fields of every result. */
export const ResultHead = { kind: 0, code: 1, sequence: 2, atMs: 3 } as const;
export const RESULT_HEAD_LENGTH = 4;

/**
 * Fields after the head, by command, when the code is `ok`. After an order's fields come `fillCount` triples of
 * (tradeId, priceTicks, sizeLots), prices being those of the order's own outcome. After a batch's field come its
 * operations' results, each preceded by its length; their heads carry the batch's sequence and time.
 *
 * `availableMicros`, `heldMicros`, `upLots`, `downLots` are the user's after the command; the lots are all that
 * the user owns in the market, those that resting sells hold included.
 */
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
  /** Of a buy's budget: neither spent nor held by the resting part. 0 for a sell. */
  'unspentMicros',
  'restingLots',
  'availableMicros',
  'heldMicros',
  'upLots',
  'downLots',
  'fillCount',
] as const;

export const RESULT_FIELDS = {
  advanceTime: [],
  listAsset: ['asset'],
  observePrice: [],
  register: ['userId'],
  setCredential: ['userId', 'version'],
  deposit: ['userId', 'amountMicros', 'availableMicros', 'heldMicros'],
  withdraw: ['userId', 'amountMicros', 'availableMicros', 'heldMicros'],
  buy: ORDER_FIELDS,
  sell: ORDER_FIELDS,
  cancel: ['orderId', 'marketId', 'userId', 'cancelledLots', 'availableMicros', 'heldMicros'],
  cancelAll: ['marketId', 'userId', 'cancelledOrders', 'availableMicros', 'heldMicros'],
  claim: [
    'marketId',
    'userId',
    'resolution',
    'lots',
    'payoutMicros',
    'refundMicros',
    'availableMicros',
    'heldMicros',
  ],
  stake: [
    'depositId',
    'userId',
    'amountMicros',
    'earnsFromMs',
    'stakedAtMs',
    'availableMicros',
    'heldMicros',
  ],
  unstake: [
    'depositId',
    'userId',
    'amountMicros',
    'earnsFromMs',
    'stakedAtMs',
    'claimedYieldMicros',
    'yieldMicros',
    'availableMicros',
    'heldMicros',
  ],
  claimYield: [
    'depositId',
    'userId',
    'amountMicros',
    'earnsFromMs',
    'stakedAtMs',
    'claimedYieldMicros',
    'yieldMicros',
    'availableMicros',
    'heldMicros',
  ],
  setReferralCode: ['userId', 'referredUsers', 'earnedMicros', 'pendingMicros', 'referrerId'],
  batch: ['operationCount'],
} as const satisfies Record<CommandName, readonly string[]>;

/** Where the result of a batch's first operation begins: behind the head, the number of operations, and the length of that result. */
export const FIRST_OPERATION = RESULT_HEAD_LENGTH + RESULT_FIELDS.batch.length + 1;

/** Where the result of the operation after that one begins, whose own begins at `at`. */
export function nextOperation(values: Float64Array, at: number): number {
  return at + values[at - 1]! + 1;
}

/** Fields after the head when the code is not `ok`: what was needed and what there is; 0 and 0 where it says nothing. */
export const REJECT_FIELDS = ['required', 'available'] as const;

/** OrderResult.orderId, …: where each field of a buy's or sell's result stands, counted from the result's start. */
export const OrderResult = Object.freeze(
  Object.fromEntries(ORDER_FIELDS.map((name, index) => [name, RESULT_HEAD_LENGTH + index])) as {
    readonly [K in (typeof ORDER_FIELDS)[number]]: number;
  },
);
export const ORDER_RESULT_LENGTH = RESULT_HEAD_LENGTH + ORDER_FIELDS.length;
export const REJECT_RESULT_LENGTH = RESULT_HEAD_LENGTH + REJECT_FIELDS.length;
