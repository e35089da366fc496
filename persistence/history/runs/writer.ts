/**
 * Writes runs (format.ts), in pieces that one statement inserts.
 *
 * Invariant: a value that could not be read back is refused (RangeError).
 */
import { deflateRawSync } from 'node:zlib';
import { ByteWriter, INTEGER_BYTES, MORE, NEGATIVE } from '../../storage/bytes.js';
import { type ListLayout, negativesOf, runChecksum } from './format.js';

/** A piece ends after this many bytes, which bounds the time of one statement. */
const PIECE_BYTES = 1024 * 1024;
/** Runs have some dozen bytes when transactions are small. */
const PIECE_RUNS = 8_192;
/** Fewer bytes are not deflated: it would take longer than reading them. */
const DEFLATED_BYTES_MIN = 64;
/** At this length, a higher level saves hardly any bytes. */
const QUICKLY = { level: 1 };

/**
 * Runs that one statement inserts: their columns, as JSON, with the place (from 1) and the length
 * of their bytes in `entries` at the end.
 */
export interface RunPiece {
  rows: string;
  runs: number;
  entries: Buffer;
}

/** Inserts a {@link RunPiece}: its rows and its entries. */
export const INSERT_RUNS = `INSERT INTO run SELECT ${[0, 1, 2, 3, 4, 5].map((i) => `value ->> ${i}`).join(', ')},
  substr(?2, value ->> 6, value ->> 7) FROM jsonb_each(?1)`;

export class RunWriter {
  /** A bit for each column that is not written as a difference. */
  private readonly negatives: number;
  /** The previous entry; 0 in those columns. */
  private readonly previous: Float64Array;

  constructor(layout: Pick<ListLayout, 'columns' | 'negatives'>) {
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
  private rows: string[] = [];
  private pieces: RunPiece[] = [];

  /** The run's entries have been appended to `bytes`, from `start` on. */
  add(list: number, id: number, firstOrdinal: number, count: number, start: number, deflated = 0) {
    const { bytes, rows } = this;
    const entries = bytes.buffer.subarray(start, bytes.length);
    const checksum = runChecksum(list, { id, firstOrdinal, count, deflated }, entries);
    const place = `${start + 1},${entries.length}`;
    rows.push(`[${list},${id},${firstOrdinal},${count},${deflated},${checksum},${place}]`);
    if (bytes.length >= PIECE_BYTES || rows.length === PIECE_RUNS) this.end();
  }

  /** {@link add}, with the entries deflated if that makes them shorter. */
  addDeflated(list: number, id: number, firstOrdinal: number, count: number, start: number): void {
    const { bytes } = this;
    const entries = bytes.buffer.subarray(start, bytes.length);
    const deflated =
      entries.length < DEFLATED_BYTES_MIN ? entries : deflateRawSync(entries, QUICKLY);
    const isShorter = deflated.length < entries.length;
    if (isShorter) {
      bytes.length = start;
      bytes.append(deflated, 0, deflated.length);
    }
    this.add(list, id, firstOrdinal, count, start, Number(isShorter));
  }

  drain(): RunPiece[] {
    if (this.rows.length > 0) this.end();
    const { pieces } = this;
    this.pieces = [];
    return pieces;
  }

  private end(): void {
    const { bytes, rows } = this;
    const entries = Buffer.from(bytes.buffer.subarray(0, bytes.length));
    this.pieces.push({ rows: `[${rows.join()}]`, runs: rows.length, entries });
    bytes.length = 0;
    this.rows = [];
  }
}
