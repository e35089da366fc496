/**
 * Records: the one encoding of commands, from the sequencer through the engine to the journal and
 * its readers. A record is a run of 8-byte words, little-endian (number-buffer.ts checks that the
 * machine is):
 *
 *   word 0   bits 0 to 7     the kind, as {@link CommandKind} numbers it
 *            bits 8 to 19    flags, below
 *            bits 20 to 31   the record's length in words; 0 in a batch
 *            bits 32 to 63   userId, an i32; 0 if absent or not an i32 (no such user)
 *   word 1   atMs, an f64; absent in an operation of a batch
 *   ...      the number fields, an f64 each, in the order of {@link COMMANDS}. -0 becomes 0.
 *   ...      validUntilMs, an f64, if BOUNDED; else it is MAX_TIME_MS
 *   ...      expiresAtMs, an f64, if EXPIRES; else it is MAX_TIME_MS
 *   ...      groupId, an f64, if GROUPED; else it is 0
 *   ...      the idempotency key, if KEYED; else it is null
 *   ...      the clientOrderId, if NAMED; else it is null
 *   ...      the other texts, in the order of the table
 *
 * A batch has one number word. It holds two i32 values: the number of operations, and the batch's
 * length in words. The operations follow the batch's key.
 *
 * A text is a u16, then its code units. The u16 is twice the number of code units, plus 1 if each
 * unit takes two bytes. Units take two bytes only if one of them needs two. Zeros fill the last
 * word of the key, of the clientOrderId, and of the other texts.
 *
 * The flags:
 *
 *   1        KEYED
 *   2        BOUNDED
 *   4        SET    the command's boolean field (postOnly, atomic, paused, frozen, ahead or
 *            enabled) is true; in a registration, `partner` is not null
 *   8, 16    the outcome; 3: the command named an unknown one
 *   32, 64   timeInForce; 3: the command named an unknown one
 *   128      GROUPED
 *   256      NAMED
 *   512      EXPIRES
 *   1024, 2048  selfTrade; 3: the command named an unknown one
 *
 * Invariant: equal commands at equal times have equal bytes, and a written command reads back
 * equal. Exceptions are -0, user ids that are not an i32, unknown outcomes, times in force and
 * self-trade modes, and optional fields with their defaults, which are left out. If no record can
 * hold a command, the encoder throws a {@link RecordError} and writes nothing.
 */

import { offsetsOf } from '../storage/number-buffer.js';
import {
  BATCH_KINDS,
  type Batch,
  COMMAND_NAMES,
  COMMANDS,
  type Command,
  CommandKind,
  type CommandName,
  type Place,
} from './commands.js';
import { Outcome, SelfTrade, TimeInForce } from './domain.js';
import { MAX_BATCH_OPERATIONS, MAX_CREDENTIAL_LENGTH, MAX_TIME_MS } from './limits.js';

export const KEYED = 1;
export const BOUNDED = 2;
export const SET = 4;
export const OUTCOME_SHIFT = 3;
export const NO_OUTCOME = 3;
export const TIME_IN_FORCE_SHIFT = 5;
export const NO_TIME_IN_FORCE = 3;
export const GROUPED = 128;
export const NAMED = 256;
export const EXPIRES = 512;
export const SELF_TRADE_SHIFT = 10;
export const NO_SELF_TRADE = 3;
export const KIND_MASK = 0xff;
export const FLAGS_SHIFT = 8;
export const FLAGS_MASK = 0xfff;
export const WORDS_SHIFT = 20;
export const WORD_BYTES = 8;
/** Words before the fields, in a command and in an operation of a batch. */
export const COMMAND_HEAD = 2;
export const OPERATION_HEAD = 1;
const MAX_WORDS = 0xfff;
/** Longer than every text that the engine accepts, so that refused commands can be journalled. */
export const MAX_TEXT_LENGTH = 4_000;
/** More operations than the engine accepts, for the same reason. */
export const MAX_RECORD_OPERATIONS = 1_000;

type Fields<K extends CommandName> = (typeof COMMANDS)[K]['fields'];
type NumberField<K extends CommandName> = {
  [F in keyof Fields<K>]: Fields<K>[F] extends 'number' ? F : never;
}[keyof Fields<K>];

export type FieldPlaces = readonly (readonly [name: string, place: Place])[];
export const PLACES: readonly (FieldPlaces | undefined)[] = byKind((name) =>
  Object.entries<Place>(COMMANDS[name].fields),
);
export const KIND_NAMES: readonly (CommandName | undefined)[] = byKind((name) => name);

/** The number words of each kind of command, without the optional ones. */
export const NUMBER_COUNTS = Uint8Array.from(PLACES, (places) =>
  countOf(places, 'number', 'operations'),
);

function countOf(places: FieldPlaces = [], ...wanted: Place[]): number {
  return places.filter(([, place]) => wanted.includes(place)).length;
}

export function byKind<T>(of: (name: CommandName) => T): readonly (T | undefined)[] {
  const values = new Array<T | undefined>(256).fill(undefined);
  for (const name of COMMAND_NAMES) values[COMMANDS[name].number] = of(name);
  return values;
}

export function numbersOf<K extends CommandName>(
  kind: K,
): Readonly<Record<NumberField<K>, number>> {
  const names = Object.entries<Place>(COMMANDS[kind].fields).filter(([, at]) => at === 'number');
  return offsetsOf(names.map(([name]) => name as NumberField<K>));
}

export const OrderField = numbersOf('buy');
export const CancelField = numbersOf('cancel');
export const CancelAllField = numbersOf('cancelAll');
export const AmendField = numbersOf('amend');
export const ClaimField = numbersOf('claim');
export const SplitField = numbersOf('split');
export const PriceField = numbersOf('observePrice');

const OUTCOMES: readonly number[] = Object.values(Outcome);
const TIMES_IN_FORCE: readonly number[] = Object.values(TimeInForce);
const SELF_TRADES: readonly number[] = Object.values(SelfTrade);

const LAST_PLACES: readonly Place[] = [
  'number',
  'deadline',
  'expiry',
  'group',
  'key',
  'name',
  'text',
  'text or null',
];
/** The fields in the order of a record, with the head's fields first. */
const WRITTEN = PLACES.map((places) =>
  places?.toSorted(([, a], [, b]) => LAST_PLACES.indexOf(a) - LAST_PLACES.indexOf(b)),
);
/** The number words of each kind of command, with the optional ones. */
const MOST_NUMBERS = PLACES.map((places) =>
  countOf(places, 'number', 'deadline', 'expiry', 'group'),
);
/** Words of the longest record without texts and operations. */
const ROOM = COMMAND_HEAD + Math.max(...MOST_NUMBERS);

function assertLayout(): void {
  const textWords = Math.ceil((2 + 2 * MAX_TEXT_LENGTH) / WORD_BYTES);
  for (const name of COMMAND_NAMES) {
    const kind = CommandKind[name];
    const texts = countOf(PLACES[kind], 'key', 'name', 'text', 'text or null');
    if (COMMAND_HEAD + MOST_NUMBERS[kind]! + texts * textWords > MAX_WORDS)
      throw new Error(`the longest ${name} does not fit into a record`);
  }
  if (MAX_CREDENTIAL_LENGTH > MAX_TEXT_LENGTH || MAX_BATCH_OPERATIONS > MAX_RECORD_OPERATIONS)
    throw new Error('a command that the engine accepts does not fit into a record');
  // An order's rule reads both kinds by the places of a buy.
  const sale = numbersOf('sell');
  for (const name of Object.keys(sale) as (keyof typeof sale)[]) {
    if (sale[name] !== OrderField[name]) throw new Error(`${name} has two places`);
  }
}
assertLayout();

/** No record can hold the command, or the bytes are not a record. */
export class RecordError extends Error {
  override name = 'RecordError';
}

/** A growing buffer of records. Appending allocates nothing per command. */
export class RecordBuffer {
  bytes!: Uint8Array;
  ints!: Int32Array;
  numbers!: Float64Array;
  length = 0;
  count = 0;
  private end = 0;

  constructor(words = 8_192) {
    this.use(new ArrayBuffer(words * WORD_BYTES));
  }

  get byteLength(): number {
    return this.length * WORD_BYTES;
  }

  clear(): void {
    this.length = 0;
    this.count = 0;
  }

  /**
   * Appends a command and returns where its record starts.
   * @throws RecordError if no record can hold the command; nothing is appended.
   */
  append(command: Command, atMs: number): number {
    const start = this.length;
    this.makeRoom(start + ROOM);
    this.numbers[start + 1] = numberOf(atMs);
    if (command.kind === 'batch') this.writeBatch(command, start);
    else this.writeFields(command, start, start + COMMAND_HEAD);
    this.length = this.end;
    this.count++;
    return start;
  }

  /** Appends a copy of a record with another time; returns where the copy starts. */
  appendCopy(from: RecordBuffer, at: number, atMs: number): number {
    const start = this.length;
    const words = wordsOf(from, at);
    this.makeRoom(start + words);
    // A loop is faster than `set` for a few words.
    for (let i = 0; i < 2 * words; i++) this.ints[2 * start + i] = from.ints[2 * at + i]!;
    this.numbers[start + 1] = numberOf(atMs);
    this.length = start + words;
    this.count++;
    return start;
  }

  /**
   * Replaces the contents by untrusted bytes; call checkRecord on each record.
   * @throws RecordError if the bytes are not whole words.
   */
  load(bytes: Uint8Array): void {
    if (bytes.length % WORD_BYTES !== 0)
      throw new RecordError(`${bytes.length} bytes are not a whole number of words`);
    this.clear();
    this.makeRoom(bytes.length / WORD_BYTES);
    this.bytes.set(bytes);
    this.length = bytes.length / WORD_BYTES;
  }

  private writeBatch(batch: Batch, start: number): void {
    const { operations, userId, idempotencyKey } = batch;
    const fields = start + COMMAND_HEAD;
    if (operations.length > MAX_RECORD_OPERATIONS) throw new RecordError('too many operations');
    let flags = bitOf(batch.atomic);
    this.end = fields + 1;
    if (idempotencyKey !== null) flags |= this.writeOwnText(KEYED, idempotencyKey);
    for (const operation of operations) {
      if (!BATCH_KINDS.includes(operation.kind)) throw noRecord(operation);
      const at = this.end;
      this.makeRoom(at + ROOM);
      this.writeFields(operation, at, at + OPERATION_HEAD);
    }
    this.ints[2 * fields] = operations.length;
    this.ints[2 * fields + 1] = this.end - start;
    this.writeHead(start, CommandKind.batch, flags, userOf(userId), 0);
  }

  /** Writes a command that is not a batch. */
  private writeFields(command: Command, start: number, fields: number): void {
    const kind = CommandKind[command.kind];
    const places = WRITTEN[kind];
    if (places === undefined) throw noRecord(command);
    const values = command as unknown as Record<string, unknown>;
    let flags = 0;
    let userId = 0;
    /** The byte after the texts; 0 before the first. */
    let textsEnd = 0;
    this.end = fields;
    for (const [name, place] of places) {
      const value = values[name];
      switch (place) {
        case 'user':
          userId = userOf(value);
          break;
        case 'set':
          flags |= bitOf(value);
          break;
        case 'outcome':
          flags |= oneOf(OUTCOMES, value, NO_OUTCOME) << OUTCOME_SHIFT;
          break;
        case 'timeInForce':
          flags |= oneOf(TIMES_IN_FORCE, value, NO_TIME_IN_FORCE) << TIME_IN_FORCE_SHIFT;
          break;
        case 'selfTrade':
          if (value !== undefined)
            flags |= oneOf(SELF_TRADES, value, NO_SELF_TRADE) << SELF_TRADE_SHIFT;
          break;
        case 'number':
          this.numbers[this.end++] = numberOf(value);
          break;
        case 'deadline':
          flags |= this.writeOptional(BOUNDED, MAX_TIME_MS, numberOf(value));
          break;
        case 'expiry':
          flags |= this.writeOptional(EXPIRES, MAX_TIME_MS, value);
          break;
        case 'group':
          flags |= this.writeOptional(GROUPED, 0, value);
          break;
        case 'key':
          if (value !== null) flags |= this.writeOwnText(KEYED, value);
          break;
        case 'name':
          if (value !== null && value !== undefined) flags |= this.writeOwnText(NAMED, value);
          break;
        case 'text or null':
          if (value === null) break;
          flags |= SET;
          textsEnd = this.writeText(textsEnd || this.end * WORD_BYTES, value);
          break;
        case 'text':
          textsEnd = this.writeText(textsEnd || this.end * WORD_BYTES, value);
      }
    }
    if (textsEnd !== 0) this.pad(textsEnd);
    this.writeHead(start, kind, flags, userId, this.end - start);
  }

  /** Writes a number unless it equals its default. Returns `flag` if written, otherwise 0. */
  private writeOptional(flag: number, byDefault: number, value: unknown = byDefault): number {
    if (value === byDefault) return 0;
    this.numbers[this.end++] = numberOf(value);
    return flag;
  }

  /** Writes a text that fills its last word; returns its flag. */
  private writeOwnText(flag: number, text: unknown): number {
    this.pad(this.writeText(this.end * WORD_BYTES, text));
    return flag;
  }

  private writeHead(
    start: number,
    kind: number,
    flags: number,
    userId: number,
    words: number,
  ): void {
    this.ints[2 * start] = kind | (flags << FLAGS_SHIFT) | (words << WORDS_SHIFT);
    this.ints[2 * start + 1] = userId;
  }

  /** Writes a text at a byte and returns the byte after it. */
  private writeText(at: number, text: unknown): number {
    if (typeof text !== 'string') throw new RecordError(`not a text: ${String(text)}`);
    const { length } = text;
    if (length > MAX_TEXT_LENGTH) throw new RecordError(`a text of ${length} characters`);
    this.makeRoom(Math.ceil((at + 2 + 2 * length) / WORD_BYTES));
    const { bytes } = this;
    const from = at + 2;
    let units = 0;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      bytes[from + i] = unit;
      units |= unit;
    }
    const isWide = units > 0xff;
    const head = 2 * length + Number(isWide);
    bytes[at] = head;
    bytes[at + 1] = head >>> 8;
    if (!isWide) return from + length;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      bytes[from + 2 * i] = unit;
      bytes[from + 2 * i + 1] = unit >>> 8;
    }
    return from + 2 * length;
  }

  /** Fills with zeros from a byte to the next word boundary, where the record ends. */
  private pad(from: number): void {
    this.end = Math.ceil(from / WORD_BYTES);
    for (let at = from; at < this.end * WORD_BYTES; at++) this.bytes[at] = 0;
  }

  private makeRoom(words: number): void {
    if (words <= this.numbers.length) return;
    let capacity = this.numbers.length;
    while (capacity < words) capacity *= 2;
    const { bytes } = this;
    this.use(new ArrayBuffer(capacity * WORD_BYTES));
    this.bytes.set(bytes);
  }

  private use(buffer: ArrayBuffer): void {
    this.bytes = new Uint8Array(buffer);
    this.ints = new Int32Array(buffer);
    this.numbers = new Float64Array(buffer);
  }
}

export function wordsOf(records: RecordBuffer, at: number): number {
  const words = records.ints[2 * at]! >>> WORDS_SHIFT;
  return words === 0 ? records.ints[2 * (at + COMMAND_HEAD) + 1]! : words;
}

/** The byte after the text at a byte. */
export function textEnd(records: RecordBuffer, at: number): number {
  const head = records.bytes[at]! | (records.bytes[at + 1]! << 8);
  return at + 2 + ((head & 1) === 0 ? head >>> 1 : head - 1);
}

/** The first word boundary after the text at a word. */
export function wordAfterText(records: RecordBuffer, at: number): number {
  return Math.ceil(textEnd(records, at * WORD_BYTES) / WORD_BYTES);
}

function numberOf(value: unknown): number {
  if (typeof value !== 'number') throw new RecordError(`not a number: ${String(value)}`);
  return value + 0;
}

function userOf(userId: unknown): number {
  if (typeof userId !== 'number') throw new RecordError(`not a number: ${String(userId)}`);
  return (userId | 0) === userId ? userId : 0;
}

function bitOf(value: unknown): number {
  if (value === true) return SET;
  if (value === false) return 0;
  throw new RecordError(`neither true nor false: ${String(value)}`);
}

function oneOf(known: readonly number[], value: unknown, otherwise: number): number {
  const number = numberOf(value);
  return known.includes(number) ? number : otherwise;
}

function noRecord(command: { kind: unknown }): RecordError {
  return new RecordError(`no record has the kind ${String(command.kind)}`);
}
