/**
 * Reads a record (records.ts) in place, so that frequent commands allocate nothing; for other
 * commands {@link readCommand} makes an object.
 *
 * Both trust the bytes: a RecordBuffer has written them, or checkRecord has checked them.
 */

import type { BatchOperation, Command, Place } from './commands.js';
import { SelfTrade } from './domain.js';
import { MAX_TIME_MS } from './limits.js';
import {
  BOUNDED,
  COMMAND_HEAD,
  EXPIRES,
  FLAGS_MASK,
  FLAGS_SHIFT,
  GROUPED,
  KEYED,
  KIND_MASK,
  KIND_NAMES,
  NAMED,
  NO_OUTCOME,
  NO_SELF_TRADE,
  NO_TIME_IN_FORCE,
  NUMBER_COUNTS,
  OPERATION_HEAD,
  OUTCOME_SHIFT,
  PLACES,
  RecordBuffer,
  SELF_TRADE_SHIFT,
  SET,
  TIME_IN_FORCE_SHIFT,
  textEnd,
  WORD_BYTES,
  wordAfterText,
  wordsOf,
} from './records.js';

const EMPTY = new RecordBuffer(1);

export class CommandRecord {
  records: RecordBuffer = EMPTY;
  kind = 0;
  flags = 0;
  userId = 0;
  /** The place where the record starts, and its number fields. */
  at = 0;
  fields = 0;
  private numbers: Float64Array = EMPTY.numbers;

  open(records: RecordBuffer, at: number): void {
    this.openAt(records, at, at + COMMAND_HEAD);
  }

  openOperation(records: RecordBuffer, at: number): void {
    this.openAt(records, at, at + OPERATION_HEAD);
  }

  private openAt(records: RecordBuffer, at: number, fields: number): void {
    const head = records.ints[2 * at]!;
    this.records = records;
    this.numbers = records.numbers;
    this.kind = head & KIND_MASK;
    this.flags = (head >>> FLAGS_SHIFT) & FLAGS_MASK;
    this.userId = records.ints[2 * at + 1]!;
    this.at = at;
    this.fields = fields;
  }

  get next(): number {
    return this.at + wordsOf(this.records, this.at);
  }

  /** A number field, by its offset in records.ts. */
  number(field: number): number {
    return this.numbers[this.fields + field]!;
  }

  get isKeyed(): boolean {
    return (this.flags & KEYED) !== 0;
  }

  /** The byte at which the key's characters start. */
  get keyFrom(): number {
    return this.numbersEnd * WORD_BYTES + 2;
  }

  /** Length of the key in one-byte characters; 0 if any character needs two bytes. */
  get keyLength(): number {
    return narrowLength(this.records.bytes, this.numbersEnd * WORD_BYTES);
  }

  get isNamed(): boolean {
    return (this.flags & NAMED) !== 0;
  }

  /** The byte at which the clientOrderId's characters start. */
  get nameFrom(): number {
    return this.afterKey * WORD_BYTES + 2;
  }

  /** Like {@link keyLength}, for the clientOrderId. */
  get nameLength(): number {
    return narrowLength(this.records.bytes, this.afterKey * WORD_BYTES);
  }

  /** The clientOrderId. There must be one. */
  get name(): string {
    return textAt(this.records, this.afterKey * WORD_BYTES);
  }

  get key(): string | null {
    return this.isKeyed ? textAt(this.records, this.numbersEnd * WORD_BYTES) : null;
  }

  /** The outcome; NO_OUTCOME if the command named an unknown one. */
  get outcome(): number {
    return (this.flags >>> OUTCOME_SHIFT) & NO_OUTCOME;
  }

  /** The time in force; NO_TIME_IN_FORCE if the command named an unknown one. */
  get timeInForce(): number {
    return (this.flags >>> TIME_IN_FORCE_SHIFT) & NO_TIME_IN_FORCE;
  }

  /** An order's postOnly, or a batch's atomic. */
  get isSet(): boolean {
    return (this.flags & SET) !== 0;
  }

  get validUntilMs(): number {
    if ((this.flags & BOUNDED) === 0) return MAX_TIME_MS;
    return this.numbers[this.fields + NUMBER_COUNTS[this.kind]!]!;
  }

  get expiresAtMs(): number {
    if ((this.flags & EXPIRES) === 0) return MAX_TIME_MS;
    return this.numbers[this.numbersEnd - (this.isGrouped ? 2 : 1)]!;
  }

  get isGrouped(): boolean {
    return (this.flags & GROUPED) !== 0;
  }

  /** The order's group; 0 if it is in none. */
  get groupId(): number {
    return this.isGrouped ? this.numbers[this.numbersEnd - 1]! : 0;
  }

  /** The self-trade rule; NO_SELF_TRADE if the command named an unknown one. */
  get selfTrade(): number {
    return (this.flags >>> SELF_TRADE_SHIFT) & NO_SELF_TRADE;
  }

  get operationCount(): number {
    return this.records.ints[2 * this.fields]!;
  }

  /** The place where all numbers, including the optional ones, end and the key starts. */
  get numbersEnd(): number {
    const { kind, flags, fields } = this;
    const times = ((flags & BOUNDED) === 0 ? 0 : 1) + ((flags & EXPIRES) === 0 ? 0 : 1);
    return fields + NUMBER_COUNTS[kind]! + times + ((flags & GROUPED) === 0 ? 0 : 1);
  }

  /** The place where a batch's first operation, the clientOrderId or the other texts start. */
  get afterKey(): number {
    return this.isKeyed ? wordAfterText(this.records, this.numbersEnd) : this.numbersEnd;
  }
}

/** Characters of the text with its head at `at`; 0 if it has a character of two bytes. */
function narrowLength(bytes: Uint8Array, at: number): number {
  const head = bytes[at]! | (bytes[at + 1]! << 8);
  return (head & 1) === 0 ? head >>> 1 : 0;
}

const opened = new CommandRecord();

export function readCommand(records: RecordBuffer, at: number): Command {
  opened.open(records, at);
  return objectOf(opened);
}

export function kindAt(records: RecordBuffer, at: number): number {
  return records.ints[2 * at]! & KIND_MASK;
}

export function timeOf(records: RecordBuffer, at: number): number {
  return records.numbers[at + 1]!;
}

function objectOf(record: CommandRecord): Command {
  const values: Record<string, unknown> = { kind: KIND_NAMES[record.kind] };
  const { records, afterKey } = record;
  let number = 0;
  let textFrom = afterKey * WORD_BYTES;
  for (const [name, place] of PLACES[record.kind]!) {
    if (place === 'number') values[name] = record.number(number++);
    else if (place === 'text' || (place === 'text or null' && record.isSet)) {
      values[name] = textAt(records, textFrom);
      textFrom = textEnd(records, textFrom);
    } else {
      const value = fieldOf(record, place);
      if (value !== undefined) values[name] = value;
    }
  }
  return values as unknown as Command;
}

/** Undefined for an optional field with its default. */
function fieldOf(record: CommandRecord, place: Exclude<Place, 'number' | 'text'>) {
  switch (place) {
    case 'user':
      return record.userId;
    case 'key':
      return record.key;
    case 'deadline':
      return record.validUntilMs;
    case 'outcome':
      return record.outcome;
    case 'timeInForce':
      return record.timeInForce;
    case 'set':
      return record.isSet;
    case 'text or null':
      return null;
    case 'operations':
      return operationsOf(record);
    case 'name':
      return record.isNamed ? record.name : undefined;
    case 'expiry':
      return record.expiresAtMs === MAX_TIME_MS ? undefined : record.expiresAtMs;
    case 'group':
      return record.isGrouped ? record.groupId : undefined;
    case 'selfTrade':
      return record.selfTrade === SelfTrade.CANCEL_RESTING ? undefined : record.selfTrade;
  }
}

function operationsOf(batch: CommandRecord): BatchOperation[] {
  const { records, operationCount } = batch;
  const operations: BatchOperation[] = [];
  const operation = new CommandRecord();
  let at = batch.afterKey;
  for (let i = 0; i < operationCount; i++, at = operation.next) {
    operation.openOperation(records, at);
    operations.push(objectOf(operation) as BatchOperation);
  }
  return operations;
}

const units: number[] = [];

function textAt(records: RecordBuffer, at: number): string {
  const { bytes } = records;
  const end = textEnd(records, at);
  const isWide = (bytes[at]! & 1) !== 0;
  units.length = 0;
  if (isWide) for (let i = at + 2; i < end; i += 2) units.push(bytes[i]! | (bytes[i + 1]! << 8));
  else for (let i = at + 2; i < end; i++) units.push(bytes[i]!);
  return String.fromCharCode.apply(null, units);
}
