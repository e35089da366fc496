/**
 * Receipts of cancels, complete sets and claims. Receipts of orders and amendments are in
 * order-receipt.ts.
 */
import { MICROS_PER_SET } from '../../../engine/interface/limits.js';
import { type Assets, marketIdText, resolutionName } from '../../../engine/interface/notation.js';
import { RESULT_FIELDS, RESULT_HEAD_LENGTH } from '../../../engine/interface/results.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import {
  orderIdsIn,
  type ReceiptWriter,
  resultFields,
  stateAfter,
} from '../../commands/receipt.js';
import { lots, lotsText, micros, microsText } from '../../json/decimal.js';
import { jsonText } from '../../json/serializer.js';
import type {
  CancelAllReceipt,
  CancelOrdersReceipt,
  ClaimReceipt,
  MergeReceipt,
  SplitReceipt,
} from './schemas.js';

/** Written by hand, because batches contain many cancels. */
export function cancelReceipt(assets: Assets, result: NumberBuffer, at: number): string {
  const cancel = resultFields('cancel', result, at);
  return (
    `{"orderId":"o${cancel.orderId}","marketId":"${marketIdText(assets, cancel.marketId)}","userId":"u${cancel.userId}"` +
    `,"status":"cancelled","isOpen":false,"reason":"requested","cancelledShares":${lotsText(cancel.cancelledLots)}` +
    `,"balance":{"available":${microsText(cancel.availableMicros)},"held":${microsText(cancel.heldMicros)}}` +
    `,"sequence":${cancel.sequence},"atMs":${cancel.atMs}}`
  );
}

export const cancelAllReceipt: ReceiptWriter = (assets, result, at) => {
  const cancels = resultFields('cancelAll', result, at);
  const marketId = marketIdText(assets, cancels.marketId);
  return jsonText<typeof CancelAllReceipt>({
    marketId,
    ...allCancelled(cancels, result, at + CANCEL_ALL_LENGTH),
  });
};

export const cancelEverywhereReceipt: ReceiptWriter = (_assets, result, at) => {
  const cancels = resultFields('cancelEverywhere', result, at);
  const all = allCancelled(cancels, result, at + CANCEL_EVERYWHERE_LENGTH);
  return jsonText<typeof CancelOrdersReceipt>({ marketId: null, ...all });
};

const CANCEL_ALL_LENGTH = RESULT_HEAD_LENGTH + RESULT_FIELDS.cancelAll.length;
const CANCEL_EVERYWHERE_LENGTH = RESULT_HEAD_LENGTH + RESULT_FIELDS.cancelEverywhere.length;

/** The receipt's fields for cancelling all orders. The result has the ids from `idsAt` on. */
function allCancelled(
  cancels: ReturnType<typeof resultFields<'cancelEverywhere'>>,
  result: NumberBuffer,
  idsAt: number,
) {
  const { userId, cancelledOrders } = cancels;
  return {
    userId: `u${userId}`,
    cancelled: orderIdsIn(result, idsAt, cancelledOrders),
    cancelledOrders,
    ...stateAfter(cancels),
  };
}

export const splitReceipt: ReceiptWriter = (assets, result, at) => {
  const split = resultFields('split', result, at);
  const spentMicros = split.sizeLots * MICROS_PER_SET;
  const total = micros(spentMicros + split.feeMicros);
  const money = { spent: micros(spentMicros), fee: micros(split.feeMicros), total };
  return jsonText<typeof SplitReceipt>(setsOf(assets, split, money));
};

export const mergeReceipt: ReceiptWriter = (assets, result, at) => {
  const merge = resultFields('merge', result, at);
  const receivedMicros = merge.sizeLots * MICROS_PER_SET;
  const profit = micros(receivedMicros - merge.costMicros);
  const money = { received: micros(receivedMicros), profit };
  return jsonText<typeof MergeReceipt>(setsOf(assets, merge, money));
};

type SetsFields = Omit<ReturnType<typeof resultFields<'split'>>, 'feeMicros'>;

function setsOf<Money>(assets: Assets, fields: SetsFields, money: Money) {
  const { balance, ...at } = stateAfter(fields);
  return {
    marketId: marketIdText(assets, fields.marketId),
    userId: `u${fields.userId}`,
    shares: lots(fields.sizeLots),
    ...money,
    balance,
    position: { UP: lots(fields.upLots), DOWN: lots(fields.downLots) },
    ...at,
  };
}

export const claimReceipt: ReceiptWriter = (assets, result, at) => {
  const claim = resultFields('claim', result, at);
  const resolution = resolutionName(claim.resolution)!;
  return jsonText<typeof ClaimReceipt>({
    marketId: marketIdText(assets, claim.marketId),
    resolution,
    shares: lots(claim.lots),
    payout: micros(claim.payoutMicros),
    ...(resolution === 'VOID' ? { refundedFees: micros(claim.refundMicros) } : {}),
    ...stateAfter(claim),
  });
};
