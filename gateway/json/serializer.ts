/**
 * Writes responses as JSON text. A value has the type of the response's schema, except for a
 * {@link Decimal} in place of each number that is not an integer, because a double cannot hold
 * every amount of micros. Tests compare every answer with its schema, field order included.
 */
import type { z } from 'zod';
import type { Decimal, DecimalBrand } from './decimal.js';

export type Unwritten<Value> = Value extends DecimalBrand
  ? Decimal
  : Value extends object
    ? { [Key in keyof Value]: Unwritten<Value[Key]> }
    : Value;

export type Writable<Schema extends z.ZodType> = Unwritten<z.output<Schema>>;

export function jsonText<Schema extends z.ZodType>(value: Writable<Schema>): string {
  return JSON.stringify(value);
}
