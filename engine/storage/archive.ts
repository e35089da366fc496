/**
 * The archive turns state into bytes and back. Each part of the engine lists its pieces once, in an
 * `archive` method that both writes and reads, so the two cannot diverge.
 *
 * Bytes are little-endian and depend only on the logical state: the same commands give the same
 * bytes. Every number is a double. A text starts with twice its length, plus 1 if its code units
 * take two bytes each instead of one.
 *
 * Bulk data (columns, texts, remembered results) is copied as bytes, without strings or objects in
 * between, because the engine must not change while its state is written.
 *
 * Parts that grow with the number of users are generators, which yield after each piece: the thread
 * can do other work in between, as long as it does not change the engine.
 */
export interface Archive {
  /** Whether the archive is read into the state, rather than written. */
  readonly reading: boolean;
  /** Any double. Writes and returns `value`, or returns the number read. */
  number(value: number): number;
  bigint(value: bigint): bigint;
  text(value: string): string;
  /** Writes or overwrites `length` bytes from `from` on, without a length prefix. */
  span(bytes: Uint8Array, from: number, length: number): void;
}

/**
 * Writes a list, or reads one. `one` archives an item; it gets the item to write, or undefined when
 * it reads.
 */
export function archivedList<T>(
  archive: Archive,
  items: readonly T[],
  one: (item: T | undefined) => T,
): T[] {
  const length = archive.number(items.length);
  return Array.from({ length }, (_, i) => one(archive.reading ? undefined : items[i]));
}

/** Rows per piece of a part that is archived row by row. */
export const ROWS_IN_PIECE = 4_096;

/** Takes the bytes of an archive, piece by piece; a piece is valid only during the call. */
export type ByteSink = (bytes: Uint8Array) => void;

const PIECE_BYTES = 1 << 16;
/** Shorter runs of bytes are gathered in a piece; longer ones are passed on directly. */
const GATHERED_BYTES_MAX = 1 << 12;
const TEXT_RUN = 1_024;
/** Up to this many bytes, a loop is faster than `set`. */
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

  /** Writes each character as one byte, or as two if any needs two (the length's lowest bit). */
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

  finish(): void {
    if (this.used > 0) this.sink(this.piece.subarray(0, this.used));
    this.used = 0;
  }

  private room(count: number): void {
    if (this.used + count > PIECE_BYTES) this.finish();
  }
}

export interface ByteSource {
  readonly length: number;
  /** Fills `target` with the next bytes; the source must have as many. */
  read(target: Uint8Array): void;
}

function sourceOf(bytes: Uint8Array): ByteSource {
  let at = 0;
  const read = (target: Uint8Array) => {
    copy(bytes, at, target, 0, target.length);
    at += target.length;
  };
  return { length: bytes.length, read };
}

/** Reads a piece at a time, so that the whole archive is never in memory beside the state. */
export class StateReader implements Archive {
  readonly reading = true;
  private readonly source: ByteSource;
  private readonly piece = new Uint8Array(PIECE_BYTES);
  private readonly view = new DataView(this.piece.buffer);
  /** The read part of the piece, and its length. */
  private at = 0;
  private end = 0;
  /** Bytes of the source that are not in the piece yet. */
  private behind: number;

  constructor(source: Uint8Array | ByteSource) {
    this.source = source instanceof Uint8Array ? sourceOf(source) : source;
    this.behind = this.source.length;
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
    // In runs, because V8 keeps a text that grows by single characters as a chain of them.
    let text = '';
    for (let from = 0; from < length; from += TEXT_RUN) {
      const units: number[] = [];
      const count = Math.min(TEXT_RUN, length - from);
      const start = this.take(count * unitBytes);
      for (let i = 0; i < count; i++) {
        units.push(
          unitBytes === 1 ? this.piece[start + i]! : this.view.getUint16(start + i * 2, true),
        );
      }
      text += String.fromCharCode(...units);
    }
    return text;
  }

  span(bytes: Uint8Array, from: number, length: number): void {
    this.checked(length, 1);
    const here = Math.min(length, this.end - this.at);
    copy(this.piece, this.at, bytes, from, here);
    this.at += here;
    const rest = length - here;
    if (rest > GATHERED_BYTES_MAX) {
      this.source.read(bytes.subarray(from + here, from + length));
      this.behind -= rest;
    } else if (rest > 0) copy(this.piece, this.take(rest), bytes, from + here, rest);
  }

  finish(): void {
    if (this.left !== 0) throw new Error('the archive holds more than the state');
  }

  private get left(): number {
    return this.end - this.at + this.behind;
  }

  private checked(count: number, size: number): number {
    if (!Number.isSafeInteger(count) || count < 0 || count * size > this.left)
      throw new Error('the archive is truncated or damaged');
    return count;
  }

  /** Returns the place of the next `count` bytes (at most PIECE_BYTES) in the piece. */
  private take(count: number): number {
    if (this.end - this.at < count) this.fill(count);
    const start = this.at;
    this.at += count;
    return start;
  }

  private fill(count: number): void {
    if (count > this.left) throw new Error('the archive is truncated');
    const { piece } = this;
    piece.copyWithin(0, this.at, this.end);
    this.end -= this.at;
    this.at = 0;
    const more = Math.min(piece.length - this.end, this.behind);
    this.source.read(piece.subarray(this.end, this.end + more));
    this.end += more;
    this.behind -= more;
  }
}
