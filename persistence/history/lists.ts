/**
 * The lists of the history: how many entries each has, and the entries that wait for the next
 * transaction, which writes them as runs.
 *
 * Waiting entries are kept in order of arrival in one array of numbers, each linked to the next of
 * its list. The entries of a list are a chain; chains are found by a hash of the list's id. Nothing
 * is allocated per entry or chain: under load a transaction has a hundred thousand.
 */
import { ByteWriter } from '../storage/bytes.js';
import { type ListLayout, RUN_ENTRIES, runChecksum } from './format.js';
import { RecordBuffer } from './records.js';
import { RunWriter } from './rows.js';

/** Capacity, in entries, that is kept between transactions. */
const KEPT_ENTRIES = 262_144;
/** A piece ends after this many bytes, which bounds the time of one statement. */
const PIECE_BYTES = 1024 * 1024;

/** Runs that one statement inserts: their numbers (records.ts), and the bytes of their entries. */
export interface RunPiece {
  records: Buffer;
  entries: Buffer;
}

export interface ListAdditions {
  count: number;
  pieces: RunPiece[];
  /** By list, in ascending order: its user or market, and the number of its new entries. */
  ids: Float64Array;
  counts: Uint32Array;
}

/** The number of entries in each user's list; 0 until it is set. */
export class ListCounts {
  private counts = new Uint32Array(1_024);

  of(userId: number): number {
    return this.counts[userId] ?? 0;
  }

  /** Counts one more and returns its ordinal. */
  next(userId: number): number {
    if (userId >= this.counts.length) this.grow(userId);
    return ++this.counts[userId]!;
  }

  addAll({ ids, counts }: { ids: Float64Array; counts: Uint32Array }): void {
    for (let i = 0; i < ids.length; i++) this.set(ids[i]!, this.of(ids[i]!) + counts[i]!);
  }

  set(userId: number, count: number): void {
    if (userId >= this.counts.length) this.grow(userId);
    this.counts[userId] = count;
  }

  copy(): ListCounts {
    const copy = new ListCounts();
    copy.counts = this.counts.slice();
    return copy;
  }

  private grow(userId: number): void {
    const counts = new Uint32Array(Math.max(userId + 1, this.counts.length * 2));
    counts.set(this.counts);
    this.counts = counts;
  }
}

const CHAINS = 4_096;

/** The chains of waiting entries, one per list: by number from 0, and found by the list's id. */
class Chains {
  count = 0;
  ids = new Float64Array(CHAINS);
  firstOrdinals = new Uint32Array(CHAINS);
  firsts = new Uint32Array(CHAINS);
  lasts = new Uint32Array(CHAINS);
  counts = new Uint32Array(CHAINS);
  /** Open addressing, at most half full: 0, or the number of a chain plus 1. */
  private table = new Uint32Array(CHAINS * 2);

  /** The chain of a list; `count`, the number of the next chain, if it has none. */
  find(id: number): number {
    const { table, ids } = this;
    const mask = table.length - 1;
    for (let at = placeOf(id) & mask; ; at = (at + 1) & mask) {
      const chain = table[at]! - 1;
      if (chain === -1) return this.count;
      if (ids[chain] === id) return chain;
    }
  }

  /** Adds the chain of a list that has none, with its first entry. */
  add(id: number, ordinal: number, entry: number): void {
    if (this.count === this.ids.length) this.grow();
    const chain = this.count++;
    this.ids[chain] = id;
    this.firstOrdinals[chain] = ordinal;
    this.firsts[chain] = entry;
    this.lasts[chain] = entry;
    this.counts[chain] = 1;
    this.put(chain);
  }

  clear(): void {
    this.count = 0;
    this.table.fill(0);
  }

  private put(chain: number): void {
    const { table } = this;
    const mask = table.length - 1;
    let at = placeOf(this.ids[chain]!) & mask;
    while (table[at] !== 0) at = (at + 1) & mask;
    table[at] = chain + 1;
  }

  private grow(): void {
    const ids = new Float64Array(this.ids.length * 2);
    ids.set(this.ids);
    this.ids = ids;
    this.firstOrdinals = doubled(this.firstOrdinals);
    this.firsts = doubled(this.firsts);
    this.lasts = doubled(this.lasts);
    this.counts = doubled(this.counts);
    this.table = new Uint32Array(this.table.length * 2);
    for (let chain = 0; chain < this.count; chain++) this.put(chain);
  }
}

/** Spreads ids, of which most are sequential, over the table. */
function placeOf(id: number): number {
  return Math.imul(id, 0x9e3779b1) >>> 8;
}

function doubled(values: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(values.length * 2);
  larger.set(values);
  return larger;
}

export class PendingLists {
  count = 0;
  /** The columns of all entries; `add` returns where those of an entry begin. */
  values: Float64Array;
  private next: Uint32Array;
  private readonly width: number;
  private readonly chains = new Chains();
  private readonly writer: RunWriter;
  private readonly bytes = new ByteWriter(PIECE_BYTES);
  private readonly records = new RecordBuffer();

  constructor(private readonly layout: ListLayout) {
    this.width = layout.columns.length;
    this.writer = new RunWriter(layout);
    this.values = new Float64Array(KEPT_ENTRIES * this.width);
    this.next = new Uint32Array(KEPT_ENTRIES);
  }

  /**
   * Adds an entry to a list; its ordinal follows the list's last. Returns the index in `values` at
   * which the caller writes its columns, in the order of the layout.
   */
  add(id: number, ordinal: number): number {
    if (this.count === this.next.length) this.grow();
    const entry = this.count++;
    const { chains } = this;
    const chain = chains.find(id);
    if (chain === chains.count) chains.add(id, ordinal, entry);
    else {
      this.next[chains.lasts[chain]!] = entry;
      chains.lasts[chain] = entry;
      chains.counts[chain]!++;
    }
    return entry * this.width;
  }

  /** Makes runs of all waiting entries; afterwards none waits. */
  drain(): ListAdditions {
    const ids = this.idsInOrder();
    const counts = new Uint32Array(ids.length);
    const pieces: RunPiece[] = [];
    for (let i = 0; i < ids.length; i++) {
      const chain = this.chains.find(ids[i]!);
      counts[i] = this.chains.counts[chain]!;
      this.writeRuns(ids[i]!, chain, pieces);
    }
    if (this.bytes.length > 0) pieces.push(this.endPiece());
    const { count } = this;
    this.clear();
    return { count, pieces, ids, counts };
  }

  private idsInOrder(): Float64Array {
    return this.chains.ids.slice(0, this.chains.count).sort();
  }

  private writeRuns(id: number, chain: number, pieces: RunPiece[]): void {
    const { chains } = this;
    const firstOrdinal = chains.firstOrdinals[chain]!;
    const count = chains.counts[chain]!;
    let entry = chains.firsts[chain]!;
    for (let done = 0; done < count; done += RUN_ENTRIES) {
      const runCount = Math.min(RUN_ENTRIES, count - done);
      const start = this.bytes.length;
      entry = this.writeEntries(entry, runCount);
      this.writeRecord([id, firstOrdinal + done, runCount], start);
      if (this.bytes.length + this.records.length >= PIECE_BYTES) pieces.push(this.endPiece());
    }
  }

  /** Returns the entry that follows the last one written. */
  private writeEntries(first: number, count: number): number {
    const { writer, bytes, values, next, width } = this;
    let entry = first;
    writer.begin();
    for (let i = 0; i < count; i++) {
      writer.append(bytes, values, entry * width);
      entry = next[entry]!;
    }
    return entry;
  }

  /** In the order of {@link insertRuns}; SQLite counts bytes from 1. */
  private writeRecord(numbers: readonly number[], start: number): void {
    const { bytes, records } = this;
    const entries = bytes.buffer.subarray(start, bytes.length);
    for (const number of numbers) records.put(number);
    records.put(runChecksum(this.layout.tag, numbers, entries));
    records.put(start + 1);
    records.put(entries.length);
  }

  private endPiece(): RunPiece {
    const entries = Buffer.from(this.bytes.buffer.subarray(0, this.bytes.length));
    this.bytes.length = 0;
    return { records: this.records.drain(), entries };
  }

  private clear(): void {
    this.count = 0;
    this.chains.clear();
    if (this.next.length === KEPT_ENTRIES) return;
    this.values = new Float64Array(KEPT_ENTRIES * this.width);
    this.next = new Uint32Array(KEPT_ENTRIES);
  }

  private grow(): void {
    const { values, next } = this;
    this.values = new Float64Array(values.length * 2);
    this.values.set(values);
    this.next = new Uint32Array(next.length * 2);
    this.next.set(next);
  }
}
