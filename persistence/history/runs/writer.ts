/**
 * Writes runs (format.ts) and rows, as the bytes that one statement inserts.
 *
 * Always holds: a value that could not be read back is refused (RangeError).
 *
 * An inserted row is a record: its columns, each as decimal text of 17 characters, right-aligned.
 * SQLite cuts them out of the buffer with substr() and casts them to integers. For fifteen columns
 * this takes a third of the time of a JSON array, and a fraction of the time of binding each value.
 * The parameters are blobs, because substr() counts the characters of a text from its start.
 */
import { deflateRawSync } from 'node:zlib';
import { ByteWriter, INTEGER_BYTES, MORE, NEGATIVE } from '../../storage/bytes.js';
import {
  columnNames,
  DEFLATED,
  type ListLayout,
  negativesOf,
  runChecksum,
  type TableLayout,
} from './format.js';

/** A piece ends after this many bytes, which bounds the time of one statement. */
const PIECE_BYTES = 1024 * 1024;
/** Fewer bytes are not deflated: it would take longer than reading them. */
const DEFLATED_BYTES_MIN = 64;
/** More effort makes such short bytes hardly shorter. */
const QUICKLY = { level: 1 };
const WIDTH = 17;
/** A run's record: the columns of insertRuns. */
const RUN_COLUMNS = 6;
export const RUN_RECORD_BYTES = RUN_COLUMNS * WIDTH;
const INITIAL_BYTES = 64 * 1024;
const SPACE = 0x20;
const ZERO = 0x30;
const LOW_DIGITS = 100_000_000;

/** Runs that one statement inserts: their numbers, as records, and the bytes of their entries. */
export interface RunPiece {
  records: Buffer;
  entries: Buffer;
}

export class RunWriter {
  /** A bit for each column that is not written as a difference. */
  private readonly negatives: number;
  /** The previous entry; 0 in those columns. */
  private readonly previous: Float64Array;

  constructor(layout: ListLayout) {
    this.negatives = negativesOf(layout).reduce((bits, is, i) => bits | (Number(is) << i), 0);
    this.previous = new Float64Array(layout.columns.length);
  }

  begin(): void {
    this.previous.fill(0);
  }

  /** Writes the entry whose columns are in `values` from `at` on. */
  append(bytes: ByteWriter, values: Float64Array, at: number): void {
    const { previous, negatives } = this;
    const width = previous.length;
    bytes.reserve((width + 1) * INTEGER_BYTES);
    const { buffer } = bytes;
    let to = bytes.length;
    for (let column = 0; column < width; column++) {
      const value = values[at + column]!;
      const difference = value - previous[column]!;
      if (((negatives >>> column) & 1) === 0) previous[column] = value;
      const whole = difference | 0;
      // Most differences fit into 32 bits.
      if (whole !== difference || Object.is(difference, -0)) {
        bytes.length = to;
        bytes.signed(difference);
        to = bytes.length;
        continue;
      }
      const sign = whole < 0 ? NEGATIVE : 0;
      const magnitude = (whole < 0 ? -whole : whole) >>> 0;
      if (magnitude < 64) {
        buffer[to++] = sign | magnitude;
        continue;
      }
      buffer[to++] = MORE | sign | (magnitude & 63);
      let rest = magnitude >>> 6;
      while (rest > 0x7f) {
        buffer[to++] = (rest & 0x7f) | MORE;
        rest >>>= 7;
      }
      buffer[to++] = rest;
    }
    bytes.length = to;
  }
}

export class Pieces {
  /** The bytes of the entries of the runs in the piece that is being filled. */
  readonly bytes = new ByteWriter(PIECE_BYTES);
  private readonly records = new RecordBuffer();
  private pieces: RunPiece[] = [];

  constructor(private readonly tag: number) {}

  /** The run's entries have been appended to `bytes`, from `start` on. */
  add(id: number, firstOrdinal: number, count: number, start: number, flag = 0): void {
    const { bytes, records } = this;
    const entries = bytes.buffer.subarray(start, bytes.length);
    const numbers = [id, firstOrdinal, count];
    // In the order of insertRuns; SQLite counts bytes from 1.
    for (const number of numbers) records.put(number);
    records.put(flag + runChecksum(this.tag, numbers, entries));
    records.put(start + 1);
    records.put(entries.length);
    if (bytes.length + records.length >= PIECE_BYTES) this.end();
  }

  /** {@link add}, with the entries deflated if that makes them shorter. */
  addDeflated(id: number, firstOrdinal: number, count: number, start: number): void {
    const { bytes } = this;
    const entries = bytes.buffer.subarray(start, bytes.length);
    const deflated =
      entries.length < DEFLATED_BYTES_MIN ? entries : deflateRawSync(entries, QUICKLY);
    const isShorter = deflated.length < entries.length;
    if (isShorter) {
      bytes.length = start;
      bytes.append(deflated, 0, deflated.length);
    }
    this.add(id, firstOrdinal, count, start, isShorter ? DEFLATED : 0);
  }

  drain(): RunPiece[] {
    if (this.bytes.length > 0) this.end();
    const { pieces } = this;
    this.pieces = [];
    return pieces;
  }

  private end(): void {
    const entries = Buffer.from(this.bytes.buffer.subarray(0, this.bytes.length));
    this.bytes.length = 0;
    this.pieces.push({ records: this.records.drain(), entries });
  }
}

export class RecordBuffer {
  length = 0;
  private buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);

  drain(): Buffer {
    const records = Buffer.from(this.buffer.subarray(0, this.length));
    this.length = 0;
    return records;
  }

  /**
   * Appends a column, which is not negative. The digits are written from the last, in two halves,
   * which are small integers.
   */
  put(value: number): void {
    const start = this.length;
    this.length = start + WIDTH;
    if (this.length > this.buffer.length) this.grow();
    const { buffer } = this;
    let to = this.length;
    let rest = value;
    if (rest >= LOW_DIGITS) {
      const high = Math.floor(rest / LOW_DIGITS);
      let low = rest - high * LOW_DIGITS;
      for (let i = 0; i < 8; i++) {
        const next = (low / 10) | 0;
        buffer[--to] = ZERO + low - next * 10;
        low = next;
      }
      rest = high;
    }
    do {
      const next = (rest / 10) | 0;
      buffer[--to] = ZERO + rest - next * 10;
      rest = next;
    } while (rest > 0);
    while (to > start) buffer[--to] = SPACE;
  }

  private grow(): void {
    const buffer = Buffer.allocUnsafeSlow(this.buffer.length * 2);
    this.buffer.copy(buffer);
    this.buffer = buffer;
  }
}

/** Replaces rows with the records of a buffer, its parameter: the table's columns, in order. */
export function replaceRows(layout: TableLayout): string {
  const columns = columnNames(layout).map((_, i) => column(i));
  return `REPLACE INTO ${layout.name} ${fromRecords(columns, columns.length)}`;
}

/**
 * Inserts runs. A record of the first parameter has the id, the first ordinal, the count, the
 * checksum, and the offset (from 1) and length of the run's entries in the second parameter.
 */
export function insertRuns({ name }: ListLayout): string {
  const columns = [0, 1, 2, 3].map(column);
  return `INSERT INTO ${name} ${fromRecords([...columns, `substr(?2, ${column(4)}, ${column(5)})`], RUN_COLUMNS)}`;
}

function column(index: number): string {
  return `CAST(substr(?1, at + ${index * WIDTH}, ${WIDTH}) AS INTEGER)`;
}

function fromRecords(columns: readonly string[], width: number): string {
  const recordBytes = width * WIDTH;
  return `WITH RECURSIVE record (at) AS (
      SELECT 1 UNION ALL SELECT at + ${recordBytes} FROM record WHERE at + ${recordBytes} < length(?1)
    )
    SELECT ${columns.join(', ')} FROM record`;
}
