/**
 * Checks records from outside the process, such as a journal's. A record that passes is, to the
 * bit, one that a RecordBuffer writes, so its readers need no further checks.
 */

import { BATCH_KINDS, CommandKind, type Place } from './commands.js';
import { Outcome } from './domain.js';
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
  MAX_RECORD_OPERATIONS,
  MAX_TEXT_LENGTH,
  NAMED,
  NO_OUTCOME,
  NO_SELF_TRADE,
  NO_TIME_IN_FORCE,
  NUMBER_COUNTS,
  OPERATION_HEAD,
  OUTCOME_SHIFT,
  PLACES,
  type RecordBuffer,
  RecordError,
  SELF_TRADE_SHIFT,
  SET,
  TIME_IN_FORCE_SHIFT,
  textEnd,
  WORD_BYTES,
  WORDS_SHIFT,
} from './records.js';

const OUTCOME_FLAGS = NO_OUTCOME << OUTCOME_SHIFT;
const TIME_IN_FORCE_FLAGS = NO_TIME_IN_FORCE << TIME_IN_FORCE_SHIFT;
const SELF_TRADE_FLAGS = NO_SELF_TRADE << SELF_TRADE_SHIFT;
const SIGN = 1 << 31;

/** The flags of a field, by its place. */
const FLAGS: { readonly [P in Place]?: number } = {
  key: KEYED,
  name: NAMED,
  expiry: EXPIRES,
  group: GROUPED,
  deadline: BOUNDED,
  set: SET,
  'text or null': SET,
  outcome: OUTCOME_FLAGS,
  timeInForce: TIME_IN_FORCE_FLAGS,
  selfTrade: SELF_TRADE_FLAGS,
};
/** The flags that a kind of command allows. */
const ALLOWED_FLAGS = new Int32Array(256);
/** The number of texts in a kind of command. */
const TEXT_COUNTS = new Uint8Array(256);
/** 1 if a kind of command has a user. */
const HAS_USER = new Uint8Array(256);
/** Whether the kind has a text that is present only if SET is. */
const HAS_LAST_TEXT = new Uint8Array(256);
const IN_BATCH = new Uint8Array(256);
for (const name of BATCH_KINDS) IN_BATCH[CommandKind[name]] = 1;
for (const [kind, places] of PLACES.entries()) {
  for (const [, place] of places ?? []) {
    if (place === 'text') TEXT_COUNTS[kind]! += 1;
    if (place === 'user') HAS_USER[kind] = 1;
    if (place === 'text or null') HAS_LAST_TEXT[kind] = 1;
    ALLOWED_FLAGS[kind]! |= FLAGS[place] ?? 0;
  }
}

/**
 * Checks the record at `at` and returns where the next one starts.
 * @throws RecordError if the record is incomplete, or no RecordBuffer writes it.
 */
export function checkRecord(records: RecordBuffer, at: number): number {
  const { length } = records;
  if (at + COMMAND_HEAD > length) throw broken(at, 'the bytes end within its head');
  checkNumber(records, at + 1);
  const kind = records.ints[2 * at]! & KIND_MASK;
  if (kind === CommandKind.batch) return checkBatch(records, at);
  return checkFields(records, at, at + COMMAND_HEAD, length);
}

function checkBatch(records: RecordBuffer, at: number): number {
  const { ints, length } = records;
  const fields = at + COMMAND_HEAD;
  checkFlags(records, at);
  if (fields >= length) throw broken(at, 'the bytes end within its fields');
  if (ints[2 * at]! >>> WORDS_SHIFT !== 0) throw broken(at, 'its length has another place');
  const count = ints[2 * fields]!;
  const end = at + ints[2 * fields + 1]!;
  if (count < 0 || count > MAX_RECORD_OPERATIONS) throw broken(at, `${count} operations`);
  if (end <= fields || end > length) throw broken(at, 'the bytes end within it');
  const isKeyed = ((ints[2 * at]! >>> FLAGS_SHIFT) & KEYED) !== 0;
  let next = isKeyed ? checkTexts(records, at, fields + 1, end, 1) : fields + 1;
  for (let i = 0; i < count; i++) next = checkOperation(records, next, end);
  if (next !== end) throw broken(at, 'its parts do not add up to its length');
  return end;
}

function checkOperation(records: RecordBuffer, at: number, end: number): number {
  if (at >= end) throw broken(at, 'the batch ends before it');
  const kind = records.ints[2 * at]! & KIND_MASK;
  if (!IN_BATCH[kind]) throw broken(at, `kind ${kind} is not allowed in a batch`);
  return checkFields(records, at, at + OPERATION_HEAD, end);
}

/** Checks a record that is not a batch. It must end at or before `end`. */
function checkFields(records: RecordBuffer, at: number, fields: number, end: number): number {
  const head = records.ints[2 * at]!;
  const kind = head & KIND_MASK;
  const flags = (head >>> FLAGS_SHIFT) & FLAGS_MASK;
  const next = at + (head >>> WORDS_SHIFT);
  checkFlags(records, at);
  if (next > end) throw broken(at, 'the bytes end within it');
  let numbersEnd = fields + NUMBER_COUNTS[kind]!;
  if ((flags & BOUNDED) !== 0) numbersEnd++;
  if ((flags & EXPIRES) !== 0) numbersEnd++;
  const timesEnd = numbersEnd;
  if ((flags & GROUPED) !== 0) numbersEnd++;
  if (numbersEnd > next) throw broken(at, 'it is too short for its kind');
  for (let i = fields; i < numbersEnd; i++) checkNumber(records, i);
  for (let i = fields + NUMBER_COUNTS[kind]!; i < timesEnd; i++) {
    if (records.numbers[i] === MAX_TIME_MS) throw broken(at, 'it has a time that is left out');
  }
  if (timesEnd < numbersEnd && records.numbers[timesEnd] === 0)
    throw broken(at, 'it has a group that is left out');
  let textsEnd = numbersEnd;
  if ((flags & KEYED) !== 0) textsEnd = checkTexts(records, at, textsEnd, next, 1);
  if ((flags & NAMED) !== 0) textsEnd = checkTexts(records, at, textsEnd, next, 1);
  const texts = TEXT_COUNTS[kind]! + (HAS_LAST_TEXT[kind]! & Number((flags & SET) !== 0));
  if (texts > 0) textsEnd = checkTexts(records, at, textsEnd, next, texts);
  if (textsEnd !== next) throw broken(at, 'its parts do not add up to its length');
  return next;
}

function checkFlags({ ints }: RecordBuffer, at: number): void {
  const head = ints[2 * at]!;
  const kind = head & KIND_MASK;
  const flags = (head >>> FLAGS_SHIFT) & FLAGS_MASK;
  if (PLACES[kind] === undefined) throw broken(at, `no command has the kind ${kind}`);
  const outcome = (flags & OUTCOME_FLAGS) >>> OUTCOME_SHIFT;
  const isKnown = outcome <= Outcome.DOWN || outcome === NO_OUTCOME;
  if ((flags & ~ALLOWED_FLAGS[kind]!) !== 0 || !isKnown)
    throw broken(at, `flags ${flags} do not fit the kind ${kind}`);
  if (HAS_USER[kind] === 0 && ints[2 * at + 1] !== 0) throw broken(at, 'its kind has no user');
}

/** Results must not contain -0. */
function checkNumber({ ints }: RecordBuffer, at: number): void {
  if (ints[2 * at + 1] === SIGN && ints[2 * at] === 0) throw broken(at, 'a number is -0');
}

/** Checks texts and the zeros after them; returns the next word. */
function checkTexts(
  records: RecordBuffer,
  at: number,
  from: number,
  end: number,
  count: number,
): number {
  const { bytes } = records;
  const endByte = end * WORD_BYTES;
  let text = from * WORD_BYTES;
  for (let i = 0; i < count; i++) {
    if (text + 2 > endByte) throw broken(at, 'it ends within a text');
    const after = textEnd(records, text);
    if (after > endByte) throw broken(at, 'it ends within a text');
    const head = bytes[text]! | (bytes[text + 1]! << 8);
    if (head >>> 1 > MAX_TEXT_LENGTH) throw broken(at, 'a text is too long');
    if ((head & 1) !== 0 && !needsTwoBytes(bytes, text + 2, after))
      throw broken(at, 'a text is longer than it needs to be');
    text = after;
  }
  const next = Math.ceil(text / WORD_BYTES);
  for (; text < next * WORD_BYTES; text++) {
    if (bytes[text] !== 0) throw broken(at, 'its texts are not followed by zeros');
  }
  return next;
}

/** Whether a code unit is above 255. */
function needsTwoBytes(bytes: Uint8Array, from: number, end: number): boolean {
  for (let high = from + 1; high < end; high += 2) {
    if (bytes[high] !== 0) return true;
  }
  return false;
}

function broken(at: number, what: string): RecordError {
  return new RecordError(`no record at byte ${at * WORD_BYTES}: ${what}`);
}
