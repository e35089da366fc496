/**
 * Texts outside of the heap, so that a million users are no work for the garbage collector: short ones in rows of one
 * size, longer ones in runs of blocks. Both grow by chunks and move nothing.
 */
import { ByteBlocks } from './byte-blocks.js';
import { IntChunks } from './chunks.js';

const CHUNK_BITS = 14;
const IN_CHUNK = (1 << CHUNK_BITS) - 1;
const ROW_BYTES = 24;
const WIDEST_NARROW_UNIT = 255;

/** By row, an ASCII text of up to 23 characters: names and codes. */
export class ShortTexts {
  private readonly chunks: Uint8Array[] = [];

  get(row: number): string {
    const chunk = this.chunks[row >>> CHUNK_BITS]!;
    const at = (row & IN_CHUNK) * ROW_BYTES;
    return String.fromCharCode(...chunk.subarray(at + 1, at + 1 + chunk[at]!));
  }

  /** Throws when the text does not fit. */
  set(row: number, text: string): void {
    if (text.length >= ROW_BYTES) throw new Error(`a short text of ${text.length} characters`);
    const chunk = this.chunks[row >>> CHUNK_BITS]!;
    const at = (row & IN_CHUNK) * ROW_BYTES;
    chunk[at] = text.length;
    for (let i = 0; i < text.length; i++) chunk[at + 1 + i] = text.charCodeAt(i);
  }

  /** Makes rows 0 to `rows` - 1 exist; new ones are empty. */
  ensure(rows: number): void {
    while (this.chunks.length << CHUNK_BITS < rows) this.chunks.push(new Uint8Array(ROW_BYTES << CHUNK_BITS));
  }
}

/** By row, a text of up to some thousand UTF-16 code units: one byte each if all are below 256, else two. */
export class LongTexts {
  private readonly blocks = new ByteBlocks();
  /** By row: the first block (0: the text is empty), and how many code units. */
  private readonly firstBlock = new IntChunks();
  private readonly lengths = new IntChunks();
  private bytes = new Uint8Array(1_024);

  get(row: number): string {
    const first = this.firstBlock.get(row);
    if (first === 0) return '';
    const length = this.lengths.get(row);
    const byteLength = 1 + length * 2;
    this.reserve(byteLength);
    const { bytes } = this;
    this.blocks.read(first, bytes, byteLength);
    if (bytes[0] === 0) return String.fromCharCode(...bytes.subarray(1, 1 + length));
    let text = '';
    for (let i = 0; i < length; i++)
      text += String.fromCharCode(bytes[1 + i * 2]! | (bytes[2 + i * 2]! << 8));
    return text;
  }

  set(row: number, text: string): void {
    if (this.firstBlock.get(row) !== 0) this.blocks.free(this.firstBlock.get(row));
    this.lengths.set(row, text.length);
    this.firstBlock.set(row, text === '' ? 0 : this.blocks.write(this.bytes, this.encode(text)));
  }

  /** Makes rows 0 to `rows` - 1 exist; new ones are empty. */
  ensure(rows: number): void {
    this.firstBlock.ensure(rows);
    this.lengths.ensure(rows);
  }

  /** Width, then the units, lowest byte first; returns how many bytes. */
  private encode(text: string): number {
    this.reserve(1 + text.length * 2);
    const { bytes } = this;
    let widest = 0;
    for (let i = 0; i < text.length; i++) widest = Math.max(widest, text.charCodeAt(i));
    const isWide = widest > WIDEST_NARROW_UNIT;
    let at = 0;
    bytes[at++] = Number(isWide);
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      bytes[at++] = unit & 255;
      if (isWide) bytes[at++] = unit >>> 8;
    }
    return at;
  }

  private reserve(byteLength: number): void {
    if (byteLength > this.bytes.length) this.bytes = new Uint8Array(byteLength * 2);
  }
}
