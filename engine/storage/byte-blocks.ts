/**
 * Runs of bytes of any length, each a chain of 64-byte blocks from one pool. The pool grows by
 * chunks and never moves. A run is identified by its first block; 0 if none. A run's contents are
 * part of the state, its location is not.
 */
import type { Archive } from './archive.js';
import { Chunks, RowPool } from './chunks.js';

const BLOCK_BYTES = 64;
const CHUNK_BITS = 14;
const IN_CHUNK = (1 << CHUNK_BITS) - 1;

export class ByteBlocks {
  private readonly chunks: Uint8Array[] = [];
  /** The next block of the run, or the next free block; 0 if none. */
  private readonly next = new Chunks(Int32Array);
  private readonly pool = new RowPool(this.next, (blocks) => {
    while (this.chunks.length << CHUNK_BITS < blocks)
      this.chunks.push(new Uint8Array(BLOCK_BYTES << CHUNK_BITS));
  });

  write(bytes: Uint8Array, length: number): number {
    const first = this.pool.take();
    let block = first;
    for (let from = 0; ; ) {
      const to = Math.min(length, from + BLOCK_BYTES);
      const chunk = this.chunks[block >>> CHUNK_BITS]!;
      let at = (block & IN_CHUNK) * BLOCK_BYTES;
      for (; from < to; from++) chunk[at++] = bytes[from]!;
      if (from === length) break;
      block = this.append(block);
    }
    this.next.set(block, 0);
    return first;
  }

  /** Writes `length` bytes of a run, or reads them into a new run; returns its first block. */
  archive(archive: Archive, first: number, length: number): number {
    const start = archive.reading ? this.pool.take() : first;
    let block = start;
    for (let left = length; ; block = archive.reading ? this.append(block) : this.next.get(block)) {
      const count = Math.min(left, BLOCK_BYTES);
      archive.span(this.chunks[block >>> CHUNK_BITS]!, (block & IN_CHUNK) * BLOCK_BYTES, count);
      left -= count;
      if (left === 0) break;
    }
    if (archive.reading) this.next.set(block, 0);
    return start;
  }

  /** Copies the first `length` bytes of a run, or all that its blocks hold if that is less. */
  read(first: number, bytes: Uint8Array, length: number): void {
    let from = 0;
    for (let block = first; block !== 0 && from < length; block = this.next.get(block)) {
      const to = Math.min(length, from + BLOCK_BYTES);
      const chunk = this.chunks[block >>> CHUNK_BITS]!;
      let at = (block & IN_CHUNK) * BLOCK_BYTES;
      for (; from < to; from++) bytes[from] = chunk[at++]!;
    }
  }

  free(first: number): void {
    for (let block = first; block !== 0; ) {
      const following = this.next.get(block);
      this.pool.giveBack(block);
      block = following;
    }
  }

  /** Takes a free block and links it after `block`. */
  private append(block: number): number {
    const following = this.pool.take();
    this.next.set(block, following);
    return following;
  }
}
