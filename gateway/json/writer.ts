/**
 * Writes objects as JSON from the engine's integers. The schema determines how: a number has its
 * unit, an id its letter (response-fields.ts). Each field is read from the source's field with the
 * same name and unit: `fee` from `feeMicros`, `restingShares` from `restingLots`. Other sources are
 * given to the writer.
 *
 * Invariant: a field without a source is an error, never omitted. An id or a market of 0, which the
 * engine does not have, is null. A nested object is read from the source's field with its name, or
 * else from the same source.
 */
import { z } from 'zod';
import type { Assets } from '../../engine/interface/notation.js';
import { KINDS } from './response-fields.js';

type Value<Source, Names> = (source: Source, names: Names) => unknown;
/** The source of a field: a source field's name, a function, or a nested object's writer. */
export type From<Source extends object, Names extends Assets> = Readonly<
  Record<string, (keyof Source & string) | Value<Source, Names> | Writer<Source, Names>>
>;

/** Text that is already JSON. */
export class Json {
  constructor(readonly text: string) {}
}

export class Writer<Source extends object, Names extends Assets = Assets> {
  readonly names: string[];
  readonly text: (source: Source, names: Names) => string;
  private readonly fields: FieldWriter<Source, Names>[];

  /** `known` lists the source's fields, if they never vary. */
  constructor({ shape }: z.ZodObject, from: From<Source, Names> = {}, known?: readonly string[]) {
    const other = Object.keys(from).find((name) => !Object.hasOwn(shape, name));
    if (other !== undefined) throw new Error(`${other} is not a field of the object`);
    this.names = Object.keys(shape);
    this.fields = this.names.map((name) =>
      fieldWriter(name, shape[name] as z.ZodType, from[name], known),
    );
    this.text = compiled(this.fields);
  }

  all(sources: readonly Source[], names: Names): Json {
    return new Json(`[${sources.map((source) => this.text(source, names)).join(',')}]`);
  }

  texts(source: Source, names: Names): string[] {
    return this.fields.map(({ place, text }) => {
      const value = typeof place === 'function' ? place(source, names) : source[place];
      return text(value, names, source) ?? 'null';
    });
  }
}

interface FieldWriter<Source, Names> {
  name: string;
  place: (keyof Source & string) | Value<Source, Names>;
  isOptional: boolean;
  /** `undefined` omits the field. */
  text(value: unknown, names: Names, source: Source): string | undefined;
}

/** Names are compiled in: a loop over them takes three times as long. Contains no client text. */
function compiled<Source, Names>(
  fields: readonly FieldWriter<Source, Names>[],
): (source: Source, names: Names) => string {
  const parts = fields.map(({ name, place, isOptional }, i) => {
    const head = JSON.stringify(`${i === 0 ? '{' : ','}"${name}":`);
    const value = typeof place === 'function' ? `value${i}(s, n)` : `s.${place}`;
    const text = `text${i}(${value}, n, s)`;
    return isOptional ? `optional(${head}, ${text})` : `${head} + ${text}`;
  });
  const given: Record<string, unknown> = { optional };
  for (const [i, { place, text }] of fields.entries())
    Object.assign(given, { [`text${i}`]: text, [`value${i}`]: place });
  const write = new Function(...Object.keys(given), `return (s, n) => ${parts.join(' + ')} + '}'`);
  return write(...Object.values(given));
}

const optional = (head: string, text: string | undefined) =>
  text === undefined ? '' : head + text;

function fieldWriter<Source extends object, Names extends Assets>(
  name: string,
  outer: z.ZodType,
  from: From<Source, Names>[string] | undefined,
  known?: readonly string[],
): FieldWriter<Source, Names> {
  const { inner: schema, isNullable, isOptional } = unwrapped(outer);
  if (schema instanceof z.ZodLiteral && from === undefined) {
    const constant = JSON.stringify(schema.value);
    return { name, place: () => 0, isOptional: false, text: () => constant };
  }
  const { unit = '', isId, text = String } = KINDS.get(schema) ?? {};
  const isObject = schema instanceof z.ZodObject;
  const isFlag = schema instanceof z.ZodBoolean;
  const inner = from instanceof Writer ? from : isObject ? new Writer(schema) : null;
  const place = from instanceof Writer ? name : (from ?? sourceName(name, unit));
  if (typeof place === 'string' && !isObject && known?.includes(place) === false)
    throw new Error(`${name} has no source: ${place}`);
  const zero = isId && isNullable ? 'null' : null;
  return {
    name,
    place: place as FieldWriter<Source, Names>['place'],
    isOptional,
    text(value, names, source) {
      if (typeof value === 'number') {
        if (value === 0 && zero !== null) return zero;
        return isFlag ? `${value === 1}` : text(value, names);
      }
      if (value === null) return 'null';
      if (value instanceof Json) return value.text;
      if (inner !== null) return inner.text((value ?? source) as Source, names);
      if (value !== undefined) return JSON.stringify(value);
      if (isOptional) return undefined;
      throw new Error(`${name} has no source: ${place}`);
    },
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
