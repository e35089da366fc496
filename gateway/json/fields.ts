/** Request fields as zod schemas, which check what the engine requires and convert to its units. */
import { z } from 'zod';
import { Outcome, Side } from '../../engine/interface/domain.js';
import { MAX_PRICE_TICKS, MAX_TIME_MS, MIN_PRICE_TICKS } from '../../engine/interface/limits.js';
import { bodyObject } from './components.js';
import { inexactNumber, LOT_SCALE, MICRO_SCALE, scaledInteger, TICK_SCALE } from './decimal.js';

interface Range {
  /** The minimum in the field's decimal unit; 0 is never allowed. */
  min?: number;
  max: number;
}

/** JSON Schema keyword: with `multipleOf`, validators divide doubles and refuse 0.009. */
export const DECIMAL_PLACES = 'x-decimal-places';

/** JSON Schema keyword for rules across fields: generators lose fields that are beside rules. */
export const RULES = 'x-rules';

/** A decimal as text, for clients whose language has exact decimals. */
const DECIMAL_TEXT = /^(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/;

/** Converts text that is exactly a number. Returns anything else unchanged. */
function numberOf(sent: unknown): unknown {
  if (typeof sent !== 'string' || !DECIMAL_TEXT.test(sent)) return sent;
  return inexactNumber(sent) === null ? Number(sent) : sent;
}

/** `undefined` for the default message. */
const notDecimal = ({ input }: { input?: unknown }) =>
  typeof input === 'string' ? 'must be a decimal, such as 10.05 or "10.05"' : undefined;

/** A positive number or its text. The JSON Schema omits the text: generators would add a class. */
export function decimalNumber(scale: number, { min = 0, max }: Range): z.ZodType<number, number> {
  const number = z
    .number({ error: notDecimal })
    .gt(0, 'must be greater than 0')
    .max(max, `must be at most ${max}`);
  const ranged = min === 0 ? number : number.min(min, `must be at least ${min}`);
  const described = ranged.meta({ [DECIMAL_PLACES]: Math.round(Math.log10(scale)) });
  // zod describes a preprocessed and transformed field as optional, so the form is copied.
  const read = z.unknown().transform(numberOf).pipe(described).meta(formOf(described));
  return read as unknown as z.ZodType<number, number>;
}

function decimal(scale: number, range: Range) {
  return decimalNumber(scale, range).transform((value, context) => scaled(value, scale, context));
}

function scaled(value: number, scale: number, context: z.core.$RefinementCtx): number {
  const integer = scaledInteger(value, scale);
  if (!Number.isNaN(integer)) return integer;
  context.addIssue({ code: 'custom', message: placesProblem(scale), input: value });
  return z.NEVER;
}

export function placesProblem(scale: number): string {
  return `must have at most ${Math.round(Math.log10(scale))} decimal places`;
}

export const dollars = (range: Range) => decimal(MICRO_SCALE, range);
export const shares = (range: Range) => decimal(LOT_SCALE, range);

/** Bounds in dollars. */
export const PRICES = { min: MIN_PRICE_TICKS / TICK_SCALE, max: MAX_PRICE_TICKS / TICK_SCALE };
export const price = decimal(TICK_SCALE, PRICES);

export const OUTCOME_TEXT = {
  description:
    'UP wins if the asset’s price at the end is at least its price at the start; otherwise DOWN wins',
};
export const outcome = z
  .enum(['UP', 'DOWN'])
  .transform((name) => Outcome[name])
  .meta(OUTCOME_TEXT);
export const side = z.enum(['BUY', 'SELL']).transform((name) => Side[name]);

/** A user id such as "u12". Admission checks that it is the sender's. */
export const userId = z.string().describe('A user’s id, such as u12');

export const username = z
  .string()
  .regex(/^[A-Za-z0-9_-]{3,20}$/, 'must be 3 to 20 characters of A-Z a-z 0-9 _ -')
  .describe('Displayed in the given case; names must differ in more than case');
const PASSWORD_LENGTH = { min: 8, max: 128 };
const atMostLong = (value: string) => characterCount(value) <= PASSWORD_LENGTH.max;
const TOO_LONG = `must have at most ${PASSWORD_LENGTH.max} characters`;

/** Counts code points, as JSON Schema does: a surrogate pair is one character. */
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
/** A password to verify: any text of limited length may be tried. */
export const triedPassword = z
  .string()
  .refine(atMostLong, TOO_LONG)
  .meta({ maxLength: PASSWORD_LENGTH.max });
export const referralCode = z
  .string()
  .regex(/^[A-Za-z0-9_-]{3,20}$/, 'must be 3 to 20 characters of A-Z a-z 0-9 _ -');
/** Names that clients choose: for orders, requests, transfers. */
export const CLIENT_ID = /^[A-Za-z0-9_:.-]{1,64}$/;
export const NO_CLIENT_ID = 'must be 1 to 64 of the characters _ - : . A-Z a-z 0-9';
export const partnerReference = z
  .string()
  .regex(CLIENT_ID, NO_CLIENT_ID)
  .describe('Identifies the transfer; a partner’s transfer is executed once per reference');

export function queryNumber<Field extends z.ZodType<number, number>>(field: Field) {
  return z
    .string()
    .regex(/^\d{1,15}(\.\d{1,15})?$/, 'must be a decimal number')
    .refine((text) => inexactNumber(text) === null, 'has too many digits')
    .transform(Number)
    .pipe(field)
    .meta(formOf(field));
}

function formOf(field: z.ZodType) {
  const { $schema, ...form } = z.toJSONSchema(field, { io: 'input' });
  return form;
}

/** The year 1973. A smaller number is probably in seconds. */
const FIRST_TIME_MS = 100_000_000_000;

function queryTime(description: string) {
  const message = 'must be milliseconds (not seconds) since the epoch, a whole number';
  return z
    .string()
    .regex(/^\d+$/, message)
    .transform(Number)
    .refine((value) => value >= FIRST_TIME_MS, message)
    .refine((value) => value <= MAX_TIME_MS, `must be at most ${MAX_TIME_MS}`)
    .optional()
    .meta({ type: 'integer', minimum: FIRST_TIME_MS, maximum: MAX_TIME_MS, description });
}

export const accountFilters = {
  marketId: z.string().optional().describe('Only entries of this market'),
  fromMs: queryTime(
    'Only from this time on, in milliseconds since the epoch; not after toMs. Seconds are refused',
  ),
  toMs: queryTime('Only up to this time, included; in milliseconds'),
};
export const timeFilters = { fromMs: accountFilters.fromMs, toMs: accountFilters.toMs };

interface WholeNumber {
  min: number;
  max: number;
  standard: number;
  description: string;
}

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

/** Every body and query of a user may name that user. */
export const own = {
  userId: userId.optional().describe('Your user id; any other id is refused'),
};

export const EmptyBody = bodyObject('EmptyBody', 'A body that needs no fields', own);
export const ownQuery = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject({ ...own, ...shape });
export const NoQuery = ownQuery({});

export const PartnerQuery = z.strictObject({
  userId: userId
    .optional()
    .describe('The user named in the path or body; any other user is refused'),
});

export const PAGE_ENTRIES_MAX = 200;
const PAGE_ENTRIES = 50;
export const paging = {
  limit: queryInteger({
    min: 1,
    max: PAGE_ENTRIES_MAX,
    standard: PAGE_ENTRIES,
    description: 'Entries in one page',
  }),
  cursor: z
    .string()
    .optional()
    .describe(
      'The `nextCursor` of the previous page, with the same filters; omit it for the first page',
    ),
};
export const PagedQuery = ownQuery(paging);

export function entriesAskedFor(query: string): number {
  const limit = Number(/(?:^|&)limit=(\d{1,4})(?:&|$)/.exec(query)?.[1] ?? PAGE_ENTRIES);
  return Math.min(limit, PAGE_ENTRIES_MAX);
}
