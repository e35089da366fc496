/**
 * Writes objects as JSON from the engine's integers. The object's schema says how: a number has its
 * unit, an id its letter (response-fields.ts). Each field is read from the source's field with the
 * same name and unit: `fee` from `feeMicros`, `restingShares` from `restingLots`. Only a field whose
 * source has another name, or is calculated, is named to the writer.
 *
 * Always holds: a field without a source is an error, never left out. An id or a market of 0, which
 * the engine does not have, is null. An object in an object is read from the source's field with
 * its name, or else from the same source.
 */
import { z } from 'zod';
import type { Assets } from '../../engine/interface/notation.js';
import { KINDS } from './response-fields.js';

type Text<Source, Names> = (source: Source, names: Names) => string | undefined;
type Value<Source, Names> = (source: Source, names: Names) => unknown;
/**
 * By field: the source's field, or a function, which give the engine's integer; or the writer of an
 * object in the object.
 */
export type From<Source extends object, Names extends Assets> = Readonly<
  Record<string, (keyof Source & string) | Value<Source, Names> | Writer<Source, Names>>
>;

/** Text that is JSON already. */
export class Json {
  constructor(readonly text: string) {}
}

export class Writer<Source extends object, Names extends Assets = Assets> {
  private readonly fields: [name: string, head: string, text: Text<Source, Names>][];

  /** `known`: the names of the source's fields, if the source always has the same. */
  constructor({ shape }: z.ZodObject, from: From<Source, Names> = {}, known?: readonly string[]) {
    const other = Object.keys(from).find((name) => !Object.hasOwn(shape, name));
    if (other !== undefined) throw new Error(`${other} is not a field of the object`);
    this.fields = Object.entries(shape).map(([name, schema], index) => [
      name,
      `${index === 0 ? '{' : ','}"${name}":`,
      fieldText(name, schema as z.ZodType, from[name], known),
    ]);
  }

  readonly text = (source: Source, names: Names): string => {
    let text = '';
    for (const [, head, textOf] of this.fields) {
      const value = textOf(source, names);
      if (value !== undefined) text += head + value;
    }
    return `${text}}`;
  };

  /** A list, as a field of a further writer. */
  all(sources: readonly Source[], names: Names): Json {
    return new Json(`[${sources.map((source) => this.text(source, names)).join(',')}]`);
  }

  get names(): string[] {
    return this.fields.map(([name]) => name);
  }

  /** The JSON of each field, in the order of {@link names}. */
  texts(source: Source, names: Names): string[] {
    return this.fields.map(([, , textOf]) => textOf(source, names) ?? 'null');
  }
}

function fieldText<Source extends object, Names extends Assets>(
  name: string,
  outer: z.ZodType,
  from: From<Source, Names>[string] | undefined,
  known?: readonly string[],
): Text<Source, Names> {
  const { inner: schema, isNullable, isOptional } = unwrapped(outer);
  if (schema instanceof z.ZodLiteral && from === undefined) {
    const constant = JSON.stringify(schema.value);
    return () => constant;
  }
  const { unit = '', isId, text } = KINDS.get(schema) ?? {};
  const isObject = schema instanceof z.ZodObject;
  const inner = from instanceof Writer ? from : isObject ? new Writer(schema) : null;
  const place = from instanceof Writer ? name : (from ?? sourceName(name, unit));
  if (typeof place === 'string' && !isObject && known?.includes(place) === false)
    throw new Error(`${name} has no source: ${place}`);
  const read: Value<Source, Names> =
    typeof place === 'function' ? place : (source) => source[place as keyof Source];
  return (source, names) => {
    const value = read(source, names);
    if (value === null || (isNullable && value === 0 && isId)) return 'null';
    if (value instanceof Json) return value.text;
    if (inner !== null) return inner.text((value ?? source) as Source, names);
    if (value === undefined) {
      if (isOptional) return undefined;
      throw new Error(`${name} has no source: ${place}`);
    }
    if (text !== undefined) return text(value as number, names);
    return JSON.stringify(schema instanceof z.ZodBoolean ? value === true || value === 1 : value);
  };
}

/** `restingShares` in lots is `restingLots`; `shares` is `lots`; `UP` is `upLots`. */
function sourceName(name: string, unit: string): string {
  if (unit === 'Lots' && name === 'shares') return 'lots';
  const bare = /^[A-Z]+$/.test(name) ? name.toLowerCase() : name;
  return (unit === 'Lots' ? bare.replace(/Shares$/, '') : bare) + unit;
}

function unwrapped(schema: z.ZodType) {
  let [inner, isNullable, isOptional] = [schema, false, false];
  while (inner instanceof z.ZodNullable || inner instanceof z.ZodOptional) {
    if (inner instanceof z.ZodNullable) isNullable = true;
    else isOptional = true;
    inner = inner.unwrap() as z.ZodType;
  }
  return { inner, isNullable, isOptional };
}
