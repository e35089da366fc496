/**
 * Writes responses as JSON text. What is written has the type of the response's schema, in which
 * numbers that are not integers are {@link Decimal}s: a double cannot hold every amount of micros.
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

/** What a response of the schema is written from. */
export type Writable<Schema extends z.ZodType> = Unwritten<z.output<Schema>>;

export function jsonText<Schema extends z.ZodType>(value: Writable<Schema>): string {
  return JSON.stringify(value);
}
