/**
 * Answers to commands, as JSON text, written straight from the engine's result. They are functions of the result (and
 * of what never changes: names of assets, the command itself), so that an answer replayed for an idempotency key is the
 * same to the byte.
 */
import type { CommandName } from '../../engine/interface/commands.js';
import { type Assets, marketIdText, resolutionName } from '../../engine/interface/notation.js';
import { RESULT_FIELDS, RESULT_HEAD_LENGTH, ResultHead } from '../../engine/interface/results.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { lotsText, microsText } from './decimal.js';

export { orderReceipt } from '../resources/orders/receipt.js';

/** Makes the answer from a result that is `ok` and begins at `at` on the tape. */
export type ReceiptWriter = (assets: Assets, result: NumberBuffer, at: number) => string;

/** `{"available":…,"held":…}` */
export function balanceText(availableMicros: number, heldMicros: number): string {
  return `{"available":${microsText(availableMicros)},"held":${microsText(heldMicros)}}`;
}

type Fields<K extends CommandName> = Record<(typeof RESULT_FIELDS)[K][number] | 'sequence' | 'atMs', number>;

/** The fields of a result that is `ok`, by name; for answers that are not in the hot path. */
export function resultFields<K extends CommandName>(command: K, result: NumberBuffer, at = 0): Fields<K> {
  const fields: Record<string, number> = {
    sequence: result.values[at + ResultHead.sequence]!,
    atMs: result.values[at + ResultHead.atMs]!,
  };
  const names: readonly string[] = RESULT_FIELDS[command];
  for (let i = 0; i < names.length; i++) {
    fields[names[i]!] = result.values[at + RESULT_HEAD_LENGTH + i]!;
  }
  return fields as Fields<K>;
}

export const cancelReceipt: ReceiptWriter = (assets, result, at) => {
  const order = resultFields('cancel', result, at);
  return (
    `{"orderId":"o${order.orderId}","marketId":"${marketIdText(assets, order.marketId)}","userId":"u${order.userId}"` +
    `,"status":"cancelled","cancelledShares":${lotsText(order.cancelledLots)}` +
    `,"balance":${balanceText(order.availableMicros, order.heldMicros)}` +
    `,"sequence":${order.sequence},"atMs":${order.atMs}}`
  );
};

export const cancelAllReceipt: ReceiptWriter = (assets, result, at) => {
  const orders = resultFields('cancelAll', result, at);
  return (
    `{"marketId":"${marketIdText(assets, orders.marketId)}","userId":"u${orders.userId}"` +
    `,"cancelledOrders":${orders.cancelledOrders}` +
    `,"balance":${balanceText(orders.availableMicros, orders.heldMicros)}` +
    `,"sequence":${orders.sequence},"atMs":${orders.atMs}}`
  );
};

export const claimReceipt: ReceiptWriter = (assets, result, at) => {
  const claim = resultFields('claim', result, at);
  const resolution = resolutionName(claim.resolution);
  const refund = resolution === 'VOID' ? `,"refundedFees":${microsText(claim.refundMicros)}` : '';
  return (
    `{"marketId":"${marketIdText(assets, claim.marketId)}","resolution":"${resolution}"` +
    `,"shares":${lotsText(claim.lots)},"payout":${microsText(claim.payoutMicros)}${refund}` +
    `,"balance":${balanceText(claim.availableMicros, claim.heldMicros)},"sequence":${claim.sequence}}`
  );
};

export interface DepositFields {
  depositId: number;
  userId: number;
  amountMicros: number;
  accruedYieldMicros: number;
  claimedYieldMicros: number;
  closed: boolean;
  stakedAtMs: number;
  earnsFromMs: number;
}

/** The fields of a vault deposit, without the braces, for answers that add to them. */
export function depositText(deposit: DepositFields): string {
  return (
    `"depositId":"d${deposit.depositId}","vaultId":"flex","userId":"u${deposit.userId}"` +
    `,"amount":${microsText(deposit.amountMicros)},"accruedYield":${microsText(deposit.accruedYieldMicros)}` +
    `,"claimedYield":${microsText(deposit.claimedYieldMicros)}` +
    `,"status":"${deposit.closed ? 'closed' : 'active'}"` +
    `,"stakedAtMs":${deposit.stakedAtMs},"earnsFromMs":${deposit.earnsFromMs}`
  );
}

/** A deposit that was just made has earned nothing. */
export const stakeReceipt: ReceiptWriter = (_assets, result, at) => {
  const stake = resultFields('stake', result, at);
  const deposit = depositText({ ...stake, accruedYieldMicros: 0, claimedYieldMicros: 0, closed: false });
  return `{${deposit},${changedBalance(stake)}}`;
};

/** All that had accrued was paid with the principal. */
export const unstakeReceipt: ReceiptWriter = (_assets, result, at) => {
  const unstake = resultFields('unstake', result, at);
  const deposit = depositText({ ...unstake, accruedYieldMicros: 0, closed: true });
  const paid = `"returned":${microsText(unstake.amountMicros)},"yieldPaid":${microsText(unstake.yieldMicros)}`;
  return `{${deposit},${paid},${changedBalance(unstake)}}`;
};

export const claimYieldReceipt: ReceiptWriter = (_assets, result, at) => {
  const claim = resultFields('claimYield', result, at);
  const deposit = depositText({ ...claim, accruedYieldMicros: 0, closed: false });
  return `{${deposit},"claimed":${microsText(claim.yieldMicros)},${changedBalance(claim)}}`;
};

function changedBalance(fields: { availableMicros: number; heldMicros: number; sequence: number }): string {
  return `"balance":${balanceText(fields.availableMicros, fields.heldMicros)},"sequence":${fields.sequence}`;
}

export interface ReferralFields {
  userId: number;
  code: string;
  referredUsers: number;
  earnedMicros: number;
  pendingMicros: number;
  referrerId: number;
}

/** The user's own view of their referral data; others see only {@link publicReferralText}. */
export function ownReferralText(referral: ReferralFields, sequence: number): string {
  const { earnedMicros, pendingMicros, referrerId } = referral;
  return (
    `{${referralText(referral)},"earned":${microsText(earnedMicros)},"pending":${microsText(pendingMicros)}` +
    `,"referredBy":${referrerId === 0 ? 'null' : `"u${referrerId}"`},"sequence":${sequence}}`
  );
}

export function publicReferralText(referral: ReferralFields, sequence: number): string {
  return `{${referralText(referral)},"sequence":${sequence}}`;
}

function referralText({ userId, code, referredUsers }: ReferralFields): string {
  return `"userId":"u${userId}","code":${JSON.stringify(code)},"referredUsers":${referredUsers}`;
}
