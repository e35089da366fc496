/** Common fields of response bodies, in the API's units. */
import { z } from 'zod';

/** A number that is written from exact text. */
export const decimal = z.number().brand<'Decimal'>();

export const money = decimal.describe('US dollars, at most 6 decimal places');
export const shares = decimal.min(0).describe('Shares, at most 3 decimal places');
export const price = decimal.min(0).max(1).describe('US dollars per share');
export const timeMs = z.int().min(0).describe('Milliseconds since the epoch');
export const sequence = z
  .int()
  .min(0)
  .describe('The journal sequence at which the response is true');
/** The last fields of every response with state. */
export const state = {
  sequence,
  atMs: timeMs.describe('The time of the exchange at that sequence'),
};
export const username = z.string().describe('The name of the user');
export const asset = z.string().describe('The symbol of the asset, such as BTC');
export const count = z.int().min(0);

export const userId = z
  .string()
  .regex(/^u[1-9]\d*$/)
  .describe('The id of a user, such as u12');
export const orderId = z
  .string()
  .regex(/^o[1-9]\d*$/)
  .describe('The id of an order, such as o12');
export const clientOrderId = z
  .string()
  .nullable()
  .describe('The clientOrderId that the order was sent with; null: none');
export const tradeId = z
  .string()
  .regex(/^t[1-9]\d*$/)
  .describe('The id of a trade, such as t12');
export const depositId = z
  .string()
  .regex(/^d[1-9]\d*$/)
  .describe('The id of a vault deposit, such as d12');
export const groupId = z
  .string()
  .regex(/^g[1-9]\d*$/)
  .describe('The id of an order group, such as g12');
export const tokenId = z
  .string()
  .regex(/^k[1-9]\d*$/)
  .describe('The id of a named token, such as k12');
export const marketId = z
  .string()
  .regex(/^[a-z0-9]{2,10}-15m-\d+$/)
  .describe('The id of a market, such as btc-15m-1763700300');

export const outcome = z
  .enum(['UP', 'DOWN'])
  .describe('UP wins if the end price is at least the start price; otherwise DOWN wins');
export const makerFeeRate = decimal
  .min(0)
  .describe('The fee of an order that rested, on what it trades from then on: none');
/** For an entry that always has the same side. */
export const sideOf = <Name extends 'BUY' | 'SELL'>(name: Name) =>
  z.literal(name).describe('Whether shares are bought or sold');
export const side = z.enum(['BUY', 'SELL']).describe('Whether shares are bought or sold');
export const matchType = z
  .enum(['transfer', 'mint', 'merge'])
  .describe(
    'transfer: shares changed hands; mint: two buyers paid for a new set; merge: two sellers gave one up',
  );
export const role = z
  .enum(['taker', 'maker'])
  .describe('Whether the order arrived (taker) or rested in the book (maker)');
/** A trade, from the taker's view. */
export const tradeFields = { tradeId, outcome, side, price, shares, value: money, matchType };
export const resolution = z
  .enum(['UP', 'DOWN', 'VOID'])
  .describe('The winning outcome; VOID if there was no price to decide by; null until resolved');
const nextCursor = z
  .string()
  .nullable()
  .describe('The `cursor` of the next page; null on the last page');

/** The last fields of every page of a list. */
export const pageEnd = { nextCursor, ...state };

export const currency = z.literal('USD').describe('The currency of all amounts');
const available = money.describe('US dollars that are free to use');
const held = money.describe('US dollars that resting orders hold');
export const balanceFields = { currency, available, held, total: money };
export const balance = z.strictObject({ available, held }).describe('The balance after the change');
