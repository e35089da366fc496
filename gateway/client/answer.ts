/** Types of answers for clients, derived from the exchange's schemas. */
import type { z } from 'zod';
import type { DecimalBrand } from '../json/decimal.js';

export type Plain<Value> = Value extends DecimalBrand
  ? number
  : Value extends object
    ? { [Key in keyof Value]: Plain<Value[Key]> }
    : Value;
export type Answer<Schema extends z.ZodType> = Plain<z.output<Schema>>;
