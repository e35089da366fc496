/** The response body of a batch. */
import { z } from 'zod';
import { ErrorBody } from '../../http/errors.js';
import { responseSchema } from '../../json/components.js';
import { sequence, timeMs } from '../../json/response-fields.js';
import {
  AmendReceipt,
  BuyReceipt,
  CancelOrdersReceipt,
  CancelReceipt,
  ClaimReceipt,
  SellReceipt,
} from '../orders/schemas.js';

/** Receipts by the `op` of the operation. */
export const OPERATION_RECEIPTS = {
  buy: BuyReceipt,
  sell: SellReceipt,
  cancel: CancelReceipt,
  amend: AmendReceipt,
  cancelAll: CancelOrdersReceipt,
  claim: ClaimReceipt,
};

/** A receipt or an error in a batch, whose `type` says which it is. */
function resultOf<Type extends string, Shape extends z.ZodRawShape>(
  type: Type,
  { shape }: z.ZodObject<Shape>,
) {
  const name = `${type[0]!.toUpperCase()}${type.slice(1)}Result`;
  const named = z
    .literal(type)
    .meta({ description: 'The `op` of the operation; `error` if it was refused' });
  return responseSchema(name, z.strictObject({ type: named, ...shape }));
}

export const BatchResult = responseSchema(
  'BatchResult',
  z.discriminatedUnion('type', [
    resultOf('buy', BuyReceipt),
    resultOf('sell', SellReceipt),
    resultOf('cancel', CancelReceipt),
    resultOf('amend', AmendReceipt),
    resultOf('cancelAll', CancelOrdersReceipt),
    resultOf('claim', ClaimReceipt),
    resultOf('error', ErrorBody),
  ]),
);

export const BatchReceipt = responseSchema(
  'BatchReceipt',
  z.strictObject({
    results: z
      .array(BatchResult)
      .meta({ description: 'The receipt or the error of each operation, in order' }),
    sequence,
    atMs: timeMs,
  }),
);
