/** The fields that response bodies have in common, in the API's units. */
import { z } from 'zod';

/** A number that is written from its exact text. */
export const decimal = z.number().brand<'Decimal'>();

export const money = decimal.meta({ description: 'US dollars, at most 6 decimal places' });
export const shares = decimal.min(0).meta({ description: 'Shares, at most 3 decimal places' });
export const price = decimal.min(0).max(1).meta({ description: 'US dollars per share' });
export const timeMs = z.int().min(0).meta({ description: 'Milliseconds since the epoch' });
export const sequence = z
  .int()
  .min(0)
  .meta({ description: 'The journal sequence at which the response is true' });
export const count = z.int().min(0);

export const userId = z.string().regex(/^u[1-9]\d*$/);
export const orderId = z.string().regex(/^o[1-9]\d*$/);
export const clientOrderId = z
  .string()
  .nullable()
  .meta({ description: 'The clientOrderId that the order was sent with; null: none' });
export const tradeId = z.string().regex(/^t[1-9]\d*$/);
export const depositId = z.string().regex(/^d[1-9]\d*$/);
export const tokenId = z.string().regex(/^k[1-9]\d*$/);
export const marketId = z.string().regex(/^[a-z0-9]{2,10}-15m-\d+$/);

export const outcome = z.enum(['UP', 'DOWN']);
export const side = z.enum(['BUY', 'SELL']);
export const matchType = z.enum(['transfer', 'mint', 'merge']);
export const resolution = z.enum(['UP', 'DOWN', 'VOID']);
export const nextCursor = z
  .string()
  .nullable()
  .meta({ description: 'The `cursor` of the next page; null on the last page' });

export const currency = z.literal('USD');
const available = money.meta({ description: 'US dollars that are free to use' });
const held = money.meta({ description: 'US dollars that resting orders hold' });
/** The balance of an account, as fields. */
export const balanceFields = { currency, available, held, total: money };
/** The balance in a receipt. */
export const balance = z
  .strictObject({ available, held })
  .meta({ description: 'The balance after the change' });
