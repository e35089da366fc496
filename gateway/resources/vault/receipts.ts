/**
 * Vault deposits as responses show them, and the receipts of staking, unstaking and claiming yield.
 */
import type { VaultDepositView } from '../../../engine/interface/views.js';
import { type ReceiptWriter, resultFields, stateAfter } from '../../commands/receipt.js';
import { micros } from '../../json/decimal.js';
import { jsonText, type Unwritten } from '../../json/serializer.js';
import type { ClaimYieldReceipt, Deposit, StakeReceipt, UnstakeReceipt } from './schemas.js';

export function depositOf(fields: VaultDepositView): Unwritten<Deposit> {
  return {
    depositId: `d${fields.depositId}`,
    vaultId: 'flex',
    userId: `u${fields.userId}`,
    amount: micros(fields.amountMicros),
    accruedYield: micros(fields.accruedYieldMicros),
    claimedYield: micros(fields.claimedYieldMicros),
    status: fields.closed ? 'closed' : 'active',
    stakedAtMs: fields.stakedAtMs,
    earnsFromMs: fields.earnsFromMs,
  };
}

/** A new deposit has earned nothing. */
export const stakeReceipt: ReceiptWriter = (_assets, result, at) => {
  const fields = resultFields('stake', result, at);
  const state = { accruedYieldMicros: 0, claimedYieldMicros: 0, closed: false };
  const deposit = depositOf({ ...fields, ...state });
  return jsonText<typeof StakeReceipt>({
    ...deposit,
    ...stateAfter(fields),
  });
};

/** The accrued yield was paid with the principal. */
export const unstakeReceipt: ReceiptWriter = (_assets, result, at) => {
  const fields = resultFields('unstake', result, at);
  return jsonText<typeof UnstakeReceipt>({
    ...depositOf({ ...fields, accruedYieldMicros: 0, closed: true }),
    returned: micros(fields.amountMicros),
    yieldPaid: micros(fields.yieldMicros),
    ...stateAfter(fields),
  });
};

export const claimYieldReceipt: ReceiptWriter = (_assets, result, at) => {
  const fields = resultFields('claimYield', result, at);
  return jsonText<typeof ClaimYieldReceipt>({
    ...depositOf({ ...fields, accruedYieldMicros: 0, closed: false }),
    claimed: micros(fields.yieldMicros),
    ...stateAfter(fields),
  });
};
