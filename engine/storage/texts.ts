/**
 * Texts outside of the heap, so that a million users do not slow garbage collection: short texts in
 * rows of one size, long texts in runs of blocks. Both grow by chunks and never move.
 */

import { type Archive, ROWS_IN_PIECE } from './archive.js';
import { ByteBlocks } from './byte-blocks.js';
import { Chunks } from './chunks.js';
import type { IncrementalTask } from './incremental-task.js';
import type { TextHash } from './text-hash.js';

const CHUNK_BITS = 14;
const CHUNK = 1 << CHUNK_BITS;
const IN_CHUNK = CHUNK - 1;
const ROW_BYTES = 24;
const WIDEST_NARROW_UNIT = 255;

/** By row, an ASCII text of up to 23 characters: its length, its characters, padded with zeros. */
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
    chunk.fill(0, at + 1 + text.length, at + ROW_BYTES);
  }

  hashOf(row: number, hash: TextHash): number {
    const chunk = this.chunks[row >>> CHUNK_BITS]!;
    const at = (row & IN_CHUNK) * ROW_BYTES;
    return hash.ofBytes(chunk, at + 1, chunk[at]!);
  }

  lowerHashOf(row: number, hash: TextHash): number {
    const chunk = this.chunks[row >>> CHUNK_BITS]!;
    const at = (row & IN_CHUNK) * ROW_BYTES;
    return hash.ofLowerAscii(chunk, at + 1, chunk[at]!);
  }

  /** Makes rows 0 to `rows` - 1 exist; new ones are empty. */
  ensure(rows: number): void {
    while (this.chunks.length * CHUNK < rows) this.chunks.push(new Uint8Array(CHUNK * ROW_BYTES));
  }

  /** Rows 0 to `rows` - 1. */
  archive(archive: Archive, rows: number): void {
    for (let from = 0; from < rows; from += CHUNK) {
      const to = Math.min(rows, from + CHUNK);
      this.ensure(to);
      archive.span(this.chunks[from >>> CHUNK_BITS]!, 0, (to - from) * ROW_BYTES);
    }
  }
}

/**
 * A text per row, of up to some thousand UTF-16 code units, stored as a run of bytes: 0 and one
 * byte per unit if all units are below 256, otherwise 1 and two bytes per unit, the lower first.
 */
export class LongTexts {
  private readonly blocks = new ByteBlocks();
  /** By row: the first block and the number of bytes; both are 0 if the text is empty. */
  private readonly firstBlock = new Chunks(Int32Array);
  private readonly byteLengths = new Chunks(Int32Array);
  /** Scratch for one run. */
  private bytes = new Uint8Array(1_024);

  get(row: number): string {
    const byteLength = this.load(row);
    const { bytes } = this;
    if (byteLength === 0) return '';
    if (bytes[0] === 0) return String.fromCharCode(...bytes.subarray(1, byteLength));
    let text = '';
    for (let at = 1; at < byteLength; at += 2)
      text += String.fromCharCode(bytes[at]! | (bytes[at + 1]! << 8));
    return text;
  }

  isEmpty(row: number): boolean {
    return this.byteLengths.get(row) === 0;
  }

  set(row: number, text: string): void {
    if (this.firstBlock.get(row) !== 0) this.blocks.free(this.firstBlock.get(row));
    const byteLength = text === '' ? 0 : this.encode(text);
    this.byteLengths.set(row, byteLength);
    this.firstBlock.set(row, text === '' ? 0 : this.blocks.write(this.bytes, byteLength));
  }

  hashOf(row: number, hash: TextHash): number {
    const byteLength = this.load(row);
    const isNarrow = byteLength > 0 && this.bytes[0] === 0;
    return isNarrow ? hash.ofBytes(this.bytes, 1, byteLength - 1) : hash.of(this.get(row));
  }

  /** Makes rows 0 to `rows` - 1 exist; new ones are empty. */
  ensure(rows: number): void {
    this.firstBlock.ensure(rows);
    this.byteLengths.ensure(rows);
  }

  /** Rows 0 to `rows` - 1: their lengths in bytes, then the bytes. */
  *archive(archive: Archive, rows: number): IncrementalTask<void> {
    this.byteLengths.archive(archive, rows);
    this.firstBlock.ensure(rows);
    for (let row = 0; row < rows; row++) {
      if (row % ROWS_IN_PIECE === 0) yield;
      const byteLength = this.byteLengths.get(row);
      if (byteLength === 0) continue;
      this.firstBlock.set(row, this.blocks.archive(archive, this.firstBlock.get(row), byteLength));
    }
  }

  /** Puts a row's run into `bytes`; returns its length. */
  private load(row: number): number {
    const byteLength = this.byteLengths.get(row);
    this.reserve(byteLength);
    this.blocks.read(this.firstBlock.get(row), this.bytes, byteLength);
    return byteLength;
  }

  /** Writes the width, then the units, lowest byte first; returns the number of bytes. */
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
