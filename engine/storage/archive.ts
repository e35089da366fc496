/**
 * The archive turns state into bytes and back. Each part of the engine lists its pieces once, in an
 * `archive` method that both writes and reads, so the two cannot diverge.
 *
 * Bytes are little-endian and depend only on the logical state: the same commands give the same
 * bytes. Every number is a double. A text starts with twice its length, plus 1 if its code units
 * take two bytes each instead of one.
 *
 * Bulk data (columns, texts, remembered results) is copied as bytes, without strings or objects in
 * between, because the engine stands still while its state is written.
 *
 * Parts that grow with the number of users are generators, which yield after each piece: a thread
 * that writes the state of millions of users can do something else in between, as long as the
 * engine does not change.
 */
export interface Archive {
  /** Whether state is being replaced by what the archive holds. */
  readonly reading: boolean;
  /** A number (any double). Writes `value` and returns it, or returns what was written. */
  number(value: number): number;
  bigint(value: bigint): bigint;
  text(value: string): string;
  /** The first `length` entries; when reading, the returned array has exactly what was written. */
  floats(values: Float64Array, length: number): Float64Array;
  ints(values: Int32Array, length: number): Int32Array;
  /** `length` bytes from `from` on, without a length prefix: writes them, or overwrites them. */
  span(bytes: Uint8Array, from: number, length: number): void;
}

/** How many rows a part that goes row by row writes or reads in a piece. */
export const ROWS_IN_PIECE = 4_096;

/** Takes the bytes of an archive, piece by piece; a piece is only valid during the call. */
export type ByteSink = (bytes: Uint8Array) => void;

const PIECE_BYTES = 1 << 16;
/** Longer runs of bytes are passed on as they are; shorter ones are gathered in a piece. */
const GATHERED_BYTES_MAX = 1 << 12;
const TEXT_RUN = 1_024;
/** Up to this many bytes, a loop is faster than a call. */
const SINGLE_COPY_MAX = 64;

function copy(
  source: Uint8Array,
  from: number,
  target: Uint8Array,
  to: number,
  count: number,
): void {
  if (count > SINGLE_COPY_MAX) target.set(source.subarray(from, from + count), to);
  else for (let i = 0; i < count; i++) target[to + i] = source[from + i]!;
}

export class StateWriter implements Archive {
  readonly reading = false;
  private readonly piece = new Uint8Array(PIECE_BYTES);
  private readonly view = new DataView(this.piece.buffer);
  private used = 0;

  /**
   * @param sinkOfRuns takes longer runs of bytes, which stay valid until the state changes.
   */
  constructor(
    private readonly sink: ByteSink,
    private readonly sinkOfRuns: ByteSink = sink,
  ) {}

  number(value: number): number {
    this.room(8);
    this.view.setFloat64(this.used, value, true);
    this.used += 8;
    return value;
  }

  bigint(value: bigint): bigint {
    this.text(value.toString(36));
    return value;
  }

  text(value: string): string {
    let widest = 0;
    for (let i = 0; i < value.length; i++) widest = Math.max(widest, value.charCodeAt(i));
    const unitBytes = widest > 255 ? 2 : 1;
    this.number(value.length * 2 + unitBytes - 1);
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      this.room(2);
      this.piece[this.used++] = unit & 255;
      if (unitBytes === 2) this.piece[this.used++] = unit >>> 8;
    }
    return value;
  }

  floats(values: Float64Array, length: number): Float64Array {
    this.number(length);
    this.span(new Uint8Array(values.buffer, values.byteOffset, length * 8), 0, length * 8);
    return values;
  }

  ints(values: Int32Array, length: number): Int32Array {
    this.number(length);
    this.span(new Uint8Array(values.buffer, values.byteOffset, length * 4), 0, length * 4);
    return values;
  }

  span(bytes: Uint8Array, from: number, length: number): void {
    if (length > GATHERED_BYTES_MAX) {
      this.finish();
      this.sinkOfRuns(bytes.subarray(from, from + length));
      return;
    }
    this.room(length);
    copy(bytes, from, this.piece, this.used, length);
    this.used += length;
  }

  /** Hands the last bytes over. */
  finish(): void {
    if (this.used > 0) this.sink(this.piece.subarray(0, this.used));
    this.used = 0;
  }

  private room(count: number): void {
    if (this.used + count > PIECE_BYTES) this.finish();
  }
}

export class StateReader implements Archive {
  readonly reading = true;
  private readonly source: Uint8Array;
  private readonly view: DataView;
  private at = 0;

  constructor(source: Uint8Array) {
    // A plain view: subclasses of Uint8Array may copy nothing in `slice`.
    this.source = new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
    this.view = new DataView(source.buffer, source.byteOffset, source.byteLength);
  }

  number(): number {
    return this.view.getFloat64(this.take(8), true);
  }

  bigint(): bigint {
    const text = this.text();
    let value = 0n;
    for (const digit of text) value = value * 36n + BigInt(Number.parseInt(digit, 36));
    return value;
  }

  text(): string {
    const head = this.number();
    const unitBytes = 1 + (head % 2);
    const length = this.checked(Math.floor(head / 2), unitBytes);
    const start = this.take(length * unitBytes);
    // In runs: a text that grows by single characters would stay a chain of them in memory.
    let text = '';
    for (let from = 0; from < length; from += TEXT_RUN) {
      const units: number[] = [];
      const to = Math.min(length, from + TEXT_RUN);
      for (let i = from; i < to; i++) {
        units.push(
          unitBytes === 1 ? this.source[start + i]! : this.view.getUint16(start + i * 2, true),
        );
      }
      text += String.fromCharCode(...units);
    }
    return text;
  }

  floats(): Float64Array {
    const length = this.count(8);
    const start = this.take(length * 8);
    // Copied, because the source need not be aligned and must not be kept alive.
    return new Float64Array(this.source.slice(start, start + length * 8).buffer);
  }

  ints(): Int32Array {
    const length = this.count(4);
    const start = this.take(length * 4);
    return new Int32Array(this.source.slice(start, start + length * 4).buffer);
  }

  span(bytes: Uint8Array, from: number, length: number): void {
    copy(this.source, this.take(length), bytes, from, length);
  }

  /** Throws unless every byte was read. */
  finish(): void {
    if (this.at !== this.source.length) throw new Error('the archive holds more than the state');
  }

  private count(size: number): number {
    return this.checked(this.number(), size);
  }

  private checked(count: number, size: number): number {
    if (!Number.isSafeInteger(count) || count < 0 || this.at + count * size > this.source.length) {
      throw new Error('the archive is truncated or damaged');
    }
    return count;
  }

  private take(count: number): number {
    const start = this.at;
    if (start + count > this.source.length) throw new Error('the archive is truncated');
    this.at = start + count;
    return start;
  }
}
