/** Response fields in the API's units, each written from the engine's integer (writer.ts). */
import { z } from 'zod';
import {
  type Assets,
  type IdLetter,
  lotsText,
  marketIdText,
  matchTypeName,
  microsText,
  outcomeName,
  resolutionName,
  sideName,
  ticksText,
} from '../../engine/interface/notation.js';

/** How a field is written. Schemas derived from a field's schema are written like it. */
interface Kind {
  /** The suffix of the engine's name for the field. */
  unit: 'Micros' | 'Lots' | 'Ticks' | '';
  /** Whether 0 means "none". */
  isId?: true;
  text(value: number, assets: Assets): string;
}
export const KINDS = z.registry<Kind>();

function written<Schema extends z.ZodType>(schema: Schema, kind: Kind): Schema {
  KINDS.add(schema, kind);
  return schema;
}

export const decimal = z.number().brand<'Decimal'>();

const MICROS: Kind = { unit: 'Micros', text: microsText };
const LOTS: Kind = { unit: 'Lots', text: lotsText };
export const money = written(decimal.describe('US dollars, at most 6 decimal places'), MICROS);
export const shares = written(decimal.min(0).describe('Shares, at most 3 decimal places'), LOTS);
export const price = written(decimal.min(0).max(1).describe('US dollars per share'), {
  unit: 'Ticks',
  text: ticksText,
});
/** An average price, not rounded to a tick. */
export const averagePrice = written(price.describe('US dollars per share'), MICROS);
export const change = written(
  decimal.describe('The change of shares; negative if shares were lost'),
  LOTS,
);
/** Dollars or points, whose name in the engine has no unit. */
export const millionths = written(decimal.describe('Points, at most 6 decimal places'), {
  unit: '',
  text: microsText,
});
export const points = millionths.min(0).describe('Points, at most 6 decimal places');
export const timeMs = z.int().min(0).describe('Milliseconds since the epoch');
export const sequence = z
  .int()
  .min(0)
  .describe('The journal sequence of the state that the response shows');
export const state = {
  sequence,
  atMs: timeMs.describe('The exchange’s time at that sequence'),
};
export const username = z.string().describe('The user’s name');
export const asset = z.string().describe('The symbol of the asset, such as BTC');
export const count = z.int().min(0);

function id(letter: IdLetter, of: string) {
  const text = z
    .string()
    .regex(new RegExp(`^${letter}[1-9]\\d*$`))
    .describe(`The id of ${of}, such as ${letter}12`);
  return written(text, { unit: '', isId: true, text: (number) => `"${letter}${number}"` });
}
export const userId = id('u', 'a user');
export const orderId = id('o', 'an order');
export const clientOrderId = z
  .string()
  .nullable()
  .describe('The clientOrderId sent with the order; null if it has none');
export const tradeId = id('t', 'a trade');
export const depositId = id('d', 'a vault deposit');
export const groupId = id('g', 'an order group');
export const tokenId = id('k', 'a named token');
export const marketId = written(
  z
    .string()
    .regex(/^[a-z0-9]{2,10}-15m-\d+$/)
    .describe('A market’s id, such as btc-15m-1763700300'),
  { unit: '', isId: true, text: (number, assets) => `"${marketIdText(assets, number)}"` },
);

/** A number as one of some names, or `null` if the number stands for none. */
function named<const Names extends readonly string[]>(
  names: Names,
  nameOf: (value: number) => Names[number] | null | undefined,
  description: string,
) {
  const text = (value: number) => {
    const name = nameOf(value);
    if (name === undefined) throw new Error(`${value} has no name of ${names}`);
    return JSON.stringify(name);
  };
  return written(z.enum(names).describe(description), { unit: '', text });
}
export const outcome = named(
  ['UP', 'DOWN'],
  outcomeName,
  'UP wins if the end price is at least the start price; otherwise DOWN wins',
);
export const curveFeeRate = decimal
  .min(0)
  .describe(
    'The rate of the fee curve: a share bought at a price also pays rate × price × (1 − price); 0: no curve',
  );
export const makerFeeRate = decimal
  .min(0)
  .describe('The fee rate of a resting order’s trades: none');
export const sideOf = <Name extends 'BUY' | 'SELL'>(name: Name) =>
  z.literal(name).describe('Whether shares are bought or sold');
export const side = named(['BUY', 'SELL'], sideName, 'Whether shares are bought or sold');
export const matchType = named(
  ['transfer', 'mint', 'merge'],
  matchTypeName,
  'transfer: shares changed hands; mint: two buyers paid for a new set; merge: two sellers gave one up',
);
export const role = z
  .enum(['taker', 'maker'])
  .describe('Whether the order arrived (taker) or rested in the book (maker)');
/** A trade from the taker's view. */
export const tradeFields = { tradeId, outcome, side, price, shares, value: money, matchType };
export const resolution = named(
  ['UP', 'DOWN', 'VOID'],
  resolutionName,
  'The winning outcome; VOID if there was no price to decide by; null until resolved',
);
const nextCursor = z
  .string()
  .nullable()
  .describe('The `cursor` of the next page; null on the last page');

export const pageEnd = { nextCursor, ...state };

export const currency = z.literal('USD').describe('The currency of all amounts');
const available = money.describe('Available US dollars');
const held = money.describe('US dollars held by resting orders');
export const balanceFields = { currency, available, held, total: money };
export const balance = z.strictObject({ available, held }).describe('The balance after the change');
export const position = z
  .strictObject({ UP: shares, DOWN: shares })
  .describe('Your shares of each outcome in this market after the change');
