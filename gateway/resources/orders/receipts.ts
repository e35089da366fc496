/** The receipts of cancels and claims. Those of buys and sells are in order-receipt.ts. */
import { type Assets, marketIdText, resolutionName } from '../../../engine/interface/notation.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import { balanceOf, type ReceiptWriter, resultFields } from '../../http/receipt.js';
import { lots, lotsText, micros, microsText } from '../../json/decimal.js';
import { serializer } from '../../json/serializer.js';
import { CancelAllReceipt, ClaimReceipt } from './schemas.js';

const cancelAllText = serializer(CancelAllReceipt);
const claimText = serializer(ClaimReceipt.omit({ refundedFees: true }));
const voidClaimText = serializer(ClaimReceipt.required());

/** Written by hand, because batches are full of cancels. */
export function cancelReceipt(assets: Assets, result: NumberBuffer, at: number): string {
  const cancel = resultFields('cancel', result, at);
  return (
    `{"orderId":"o${cancel.orderId}","marketId":"${marketIdText(assets, cancel.marketId)}","userId":"u${cancel.userId}"` +
    `,"status":"cancelled","cancelledShares":${lotsText(cancel.cancelledLots)}` +
    `,"balance":{"available":${microsText(cancel.availableMicros)},"held":${microsText(cancel.heldMicros)}}` +
    `,"sequence":${cancel.sequence},"atMs":${cancel.atMs}}`
  );
}

export const cancelAllReceipt: ReceiptWriter = (assets, result, at) => {
  const cancels = resultFields('cancelAll', result, at);
  const { cancelledOrders, sequence, atMs } = cancels;
  return cancelAllText({
    marketId: marketIdText(assets, cancels.marketId),
    userId: `u${cancels.userId}`,
    cancelledOrders,
    balance: balanceOf(cancels),
    sequence,
    atMs,
  });
};

export const claimReceipt: ReceiptWriter = (assets, result, at) => {
  const claim = resultFields('claim', result, at);
  const resolution = resolutionName(claim.resolution)!;
  const receipt = {
    marketId: marketIdText(assets, claim.marketId),
    resolution,
    shares: lots(claim.lots),
    payout: micros(claim.payoutMicros),
    refundedFees: micros(claim.refundMicros),
    balance: balanceOf(claim),
    sequence: claim.sequence,
  };
  return resolution === 'VOID' ? voidClaimText(receipt) : claimText(receipt);
};
