/**
 * The fields that requests are made of, as zod schemas: each checks the form and the range that the engine would, says in
 * plain words what is wrong, and turns the value into engine units. Query parameters are the same fields as text.
 */
import { z } from 'zod';
import { Outcome, Side } from '../../engine/interface/domain.js';
import { MAX_PRICE_TICKS, MIN_PRICE_TICKS } from '../../engine/interface/limits.js';
import { bodySchema } from './components.js';
import { inexactNumber, LOT_SCALE, MICRO_SCALE, scaledInteger, TICK_SCALE } from './decimal.js';

interface Range {
  /** In the field's decimal unit; 0 is never allowed. */
  min?: number;
  max: number;
}

/** A positive JSON number; how many places it has is looked at when it is scaled. */
export function decimalNumber(scale: number, { min = 0, max }: Range) {
  const number = z.number().gt(0, 'must be greater than 0').max(max, `must be at most ${max}`);
  const ranged = min === 0 ? number : number.min(min, `must be at least ${min}`);
  return ranged.meta({ multipleOf: 1 / scale });
}

/** A positive JSON number with at most as many places as `scale` has zeros → an integer of that scale. */
function decimal(scale: number, range: Range) {
  return decimalNumber(scale, range).transform((value, context) => scaled(value, scale, context));
}

function scaled(value: number, scale: number, context: z.core.$RefinementCtx): number {
  const integer = scaledInteger(value, scale);
  if (!Number.isNaN(integer)) return integer;
  context.addIssue({ code: 'custom', message: placesProblem(scale), input: value });
  return z.NEVER;
}

/** What is said of a number with more places than its scale has. */
export function placesProblem(scale: number): string {
  return `must have at most ${Math.round(Math.log10(scale))} decimal places`;
}

/** Dollars → micros. */
export const dollars = (range: Range) => decimal(MICRO_SCALE, range);
/** Shares → lots. */
export const shares = (range: Range) => decimal(LOT_SCALE, range);

/** In dollars. */
export const PRICES = { min: MIN_PRICE_TICKS / TICK_SCALE, max: MAX_PRICE_TICKS / TICK_SCALE };
/** A price in dollars → ticks. */
export const price = decimal(TICK_SCALE, PRICES);

/** What the two outcomes mean. */
export const OUTCOME_TEXT = {
  description: 'UP wins if the price of the asset at the end is at least that at the start, else DOWN',
};
export const outcome = z
  .enum(['UP', 'DOWN'])
  .transform((name) => Outcome[name])
  .meta(OUTCOME_TEXT);
export const side = z.enum(['BUY', 'SELL']).transform((name) => Side[name]);

/** A user's id, such as "u12". Whether it is the right one is asked elsewhere. */
export const userId = z.string().meta({ description: 'The id of a user, such as u12' });

export const username = z
  .string()
  .regex(/^[A-Za-z0-9_-]{3,20}$/, 'must be 3 to 20 characters of A-Z a-z 0-9 _ -')
  .meta({ description: 'In upper and lower case as it is to be shown; no two names differ in case only' });
const PASSWORD_LENGTH = { min: 8, max: 128 };
const atMostLong = (value: string) => characterCount(value) <= PASSWORD_LENGTH.max;
const TOO_LONG = `must have at most ${PASSWORD_LENGTH.max} characters`;

/** As JSON Schema counts: a character beyond the first 65,536 is one, although JavaScript has two halves of it. */
function characterCount(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

export const password = z
  .string()
  .refine(
    (value) => characterCount(value) >= PASSWORD_LENGTH.min,
    `must have at least ${PASSWORD_LENGTH.min} characters`,
  )
  .refine(atMostLong, TOO_LONG)
  .meta({ minLength: PASSWORD_LENGTH.min, maxLength: PASSWORD_LENGTH.max });
/** For the password that is checked: any text may be tried, only not an endless one. */
export const triedPassword = z.string().refine(atMostLong, TOO_LONG).meta({ maxLength: PASSWORD_LENGTH.max });
export const referralCode = z
  .string()
  .regex(/^[A-Za-z0-9_-]{3,20}$/, 'must be 3 to 20 characters of A-Z 0-9 _ -');
export const partnerReference = z
  .string()
  .regex(/^[A-Za-z0-9_:.-]{1,64}$/, 'must be 1 to 64 characters of A-Z a-z 0-9 _ - : .')
  .meta({ description: 'Names the transfer; each is made once for each partner and reference' });

/** A query parameter that is a decimal number → the field of the body that it stands for, and is described like. */
export function queryNumber<Field extends z.ZodType<number, number>>(field: Field) {
  const { $schema, ...form } = z.toJSONSchema(field, { io: 'input' });
  return z
    .string()
    .regex(/^\d{1,15}(\.\d{1,15})?$/, 'must be a decimal number')
    .refine((text) => inexactNumber(text) === null, 'has too many digits')
    .transform(Number)
    .pipe(field)
    .meta(form);
}

interface WholeNumber {
  min: number;
  max: number;
  /** Of a query that does not have it. */
  standard: number;
  description: string;
}

/** A query parameter that is a whole number. */
export function queryInteger({ min, max, standard, description }: WholeNumber) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
    .default(standard)
    .meta({ type: 'integer', minimum: min, maximum: max, default: standard, description });
}

/** Every body and every query of a user may name the user. */
export const own = {
  userId: userId.optional().meta({ description: 'Your user id; any other is refused' }),
};

/** The body of a change that needs only its path. */
export const EmptyBody = bodySchema('EmptyBody', z.strictObject(own));
export const NoQuery = z.strictObject(own);

/** The query of a partner, who names a user in the path or in the body. */
export const PartnerQuery = z.strictObject({
  userId: userId
    .optional()
    .meta({ description: 'The user that the path or the body names; any other is refused' }),
});

export const paging = {
  limit: queryInteger({ min: 1, max: 200, standard: 50, description: 'Entries in one page' }),
  cursor: z.string().optional().meta({
    description: 'The `nextCursor` of the previous page, with the same filters; without it, the first page',
  }),
};
export const PagedQuery = z.strictObject({ ...own, ...paging });
