/** The response body of a batch. */
import { z } from 'zod';
import { ErrorBody } from '../../http/errors.js';
import { responseSchema } from '../../json/components.js';
import { sequence } from '../../json/response-fields.js';
import {
  AmendReceipt,
  BuyReceipt,
  CancelOrdersReceipt,
  CancelReceipt,
  ClaimReceipt,
  SellReceipt,
} from '../orders/schemas.js';

export const BatchReceipt = responseSchema(
  'BatchReceipt',
  z.strictObject({
    results: z
      .array(
        z.union([
          BuyReceipt,
          SellReceipt,
          CancelReceipt,
          AmendReceipt,
          CancelOrdersReceipt,
          ClaimReceipt,
          ErrorBody,
        ]),
      )
      .meta({ description: 'The receipt or the error of each operation, in order' }),
    sequence,
  }),
);
