/**
 * Writes responses as JSON text. A value has the type of the response's schema, but with a {@link
 * Decimal} for each number that is not an integer: a double cannot hold every amount of micros.
 * Tests compare every answer with its schema, including the order of the fields.
 */
import type { z } from 'zod';
import type { Decimal, DecimalBrand } from './decimal.js';

/** A value of a schema before it is written. */
export type Unwritten<Value> = Value extends DecimalBrand
  ? Decimal
  : Value extends object
    ? { [Key in keyof Value]: Unwritten<Value[Key]> }
    : Value;

/** The input for a response of the schema. */
export type Writable<Schema extends z.ZodType> = Unwritten<z.output<Schema>>;

export function jsonText<Schema extends z.ZodType>(value: Writable<Schema>): string {
  return JSON.stringify(value);
}
