/** Receipts by command. For orders and amendments, see order-receipt.ts. */
import { Resolution } from '../../../engine/interface/domain.js';
import { MICROS_PER_SET } from '../../../engine/interface/limits.js';
import { receiptOf } from '../../commands/receipt.js';
import { amendReceipt, orderReceipt } from './order-receipt.js';
import * as schemas from './schemas.js';

export const RECEIPTS = {
  buy: orderReceipt,
  sell: orderReceipt,
  amend: amendReceipt,
  cancel: receiptOf('cancel', schemas.CancelReceipt, { isOpen: () => false }),
  cancelAll: receiptOf('cancelAll', schemas.CancelAllReceipt),
  cancelEverywhere: receiptOf('cancelEverywhere', schemas.CancelOrdersReceipt, {
    marketId: () => null,
  }),
  split: receiptOf('split', schemas.SplitReceipt, {
    shares: 'sizeLots',
    spent: ({ sizeLots }) => sizeLots * MICROS_PER_SET,
    total: ({ sizeLots, feeMicros }) => sizeLots * MICROS_PER_SET + feeMicros,
  }),
  merge: receiptOf('merge', schemas.MergeReceipt, {
    shares: 'sizeLots',
    received: ({ sizeLots }) => sizeLots * MICROS_PER_SET,
    profit: ({ sizeLots, costMicros }) => sizeLots * MICROS_PER_SET - costMicros,
  }),
  claim: receiptOf('claim', schemas.ClaimReceipt, {
    refundedFees: ({ resolution, refundMicros }) =>
      resolution === Resolution.VOID ? refundMicros : undefined,
  }),
};
