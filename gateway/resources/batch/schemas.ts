/** The response body of a batch. */
import { z } from 'zod';
import { ErrorBody } from '../../commands/errors.js';
import { responseObject, responseSchema } from '../../json/components.js';
import { state } from '../../json/response-fields.js';
import * as orders from '../orders/schemas.js';

export const OPERATION_RECEIPTS = {
  buy: orders.BuyReceipt,
  sell: orders.SellReceipt,
  cancel: orders.CancelReceipt,
  amend: orders.AmendReceipt,
  cancelAll: orders.CancelOrdersReceipt,
  claim: orders.ClaimReceipt,
  split: orders.SplitReceipt,
  merge: orders.MergeReceipt,
};

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
    resultOf('buy', 'The receipt of a buy', orders.BuyReceipt),
    resultOf('sell', 'The receipt of a sale', orders.SellReceipt),
    resultOf('cancel', 'A cancelled order', orders.CancelReceipt),
    resultOf('amend', 'The receipt of an amendment', orders.AmendReceipt),
    resultOf('cancelAll', 'The receipt of cancelling all orders', orders.CancelOrdersReceipt),
    resultOf('claim', 'Claimed winnings', orders.ClaimReceipt),
    resultOf('split', 'Dollars that were turned into complete sets', orders.SplitReceipt),
    resultOf('merge', 'Complete sets that were turned into dollars', orders.MergeReceipt),
    resultOf('error', 'Why an operation was refused', ErrorBody),
  ]),
);

export const BatchReceipt = responseObject('BatchReceipt', 'What a batch did', {
  results: z.array(BatchResult).describe('The receipt or error of each operation, in order'),
  ...state,
});
