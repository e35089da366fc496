/** The response body of a batch. */
import { z } from 'zod';
import { ErrorBody } from '../../http/errors.js';
import { responseObject, responseSchema } from '../../json/components.js';
import { state } from '../../json/response-fields.js';
import {
  AmendReceipt,
  BuyReceipt,
  CancelOrdersReceipt,
  CancelReceipt,
  ClaimReceipt,
  MergeReceipt,
  SellReceipt,
  SplitReceipt,
} from '../orders/schemas.js';

export const OPERATION_RECEIPTS = {
  buy: BuyReceipt,
  sell: SellReceipt,
  cancel: CancelReceipt,
  amend: AmendReceipt,
  cancelAll: CancelOrdersReceipt,
  claim: ClaimReceipt,
  split: SplitReceipt,
  merge: MergeReceipt,
};

/** A receipt or an error in a batch, whose `type` says which it is. */
function resultOf<Type extends string, Shape extends z.ZodRawShape>(
  type: Type,
  text: string,
  { shape }: z.ZodObject<Shape>,
) {
  const name = `${type[0]!.toUpperCase()}${type.slice(1)}Result`;
  const named = z.literal(type).describe('The `op` of the operation; `error` if it was refused');
  return responseObject(name, text, { type: named, ...shape });
}

const BatchResult = responseSchema(
  'BatchResult',
  'The receipt or the error of an operation of a batch',
  z.discriminatedUnion('type', [
    resultOf('buy', 'What a buy did', BuyReceipt),
    resultOf('sell', 'What a sale did', SellReceipt),
    resultOf('cancel', 'A cancelled order', CancelReceipt),
    resultOf('amend', 'What an amendment did', AmendReceipt),
    resultOf('cancelAll', 'What cancelling all orders did', CancelOrdersReceipt),
    resultOf('claim', 'Claimed winnings', ClaimReceipt),
    resultOf('split', 'Dollars that were turned into pairs', SplitReceipt),
    resultOf('merge', 'Pairs that were turned into dollars', MergeReceipt),
    resultOf('error', 'Why an operation was refused', ErrorBody),
  ]),
);

export const BatchReceipt = responseObject('BatchReceipt', 'What a batch did', {
  results: z.array(BatchResult).describe('The receipt or the error of each operation, in order'),
  ...state,
});
