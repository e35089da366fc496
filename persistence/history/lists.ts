/**
 * The lists of the history: how many entries each has, and the entries that wait for the next
 * transaction, which writes them as runs.
 *
 * Waiting entries are kept in order of arrival in one array of numbers, each linked to the next of
 * its list. The entries of a list are a chain, whose last entry is found by the list's id, a user's
 * number. Nothing is allocated per entry or chain: under load a transaction has a hundred thousand.
 */
import { MAX_USERS } from '../../engine/interface/limits.js';
import { atOnce, type Work } from '../../engine/storage/pieces.js';
import { ByteWriter } from '../storage/bytes.js';
import { type ListLayout, RUN_ENTRIES, runChecksum } from './format.js';
import { RecordBuffer } from './records.js';
import { RunWriter } from './rows.js';

/**
 * Capacity, in entries, at first, and the most that is kept between transactions: more than the
 * follower lets wait, because memory that is new is slow at first.
 */
const FIRST_ENTRIES = 4_096;
const KEPT_ENTRIES = 524_288;
/** A piece ends after this many bytes, which bounds the time of one statement. */
const PIECE_BYTES = 1024 * 1024;

/** After so many entries, and after so many runs, the work of a transaction may pause. */
const ENTRIES_IN_PIECE = 8_192;
const RUNS_IN_PIECE = 256;
/** A multiple of this many entries are read together, ahead of being written. */
const TOUCHED_AT_ONCE = 8;

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

const FIRST_IDS = 1_024;
/** From this id on there is room for all users. Memory is taken only where it is written to. */
const MANY_IDS = 65_536;

/** The same values with room for an id. A copy for millions of users takes 30 ms: none is made. */
function roomFor(id: number, values: Uint32Array): Uint32Array<ArrayBuffer> {
  const length = id < MANY_IDS ? values.length * 2 : MAX_USERS + 1;
  const larger = new Uint32Array(Math.max(id + 1, length));
  larger.set(values);
  return larger;
}

/** The number of entries in each user's list; 0 until it is set. */
export class ListCounts {
  private counts = new Uint32Array(FIRST_IDS);

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

  /** Adds the counts of another list to this one's. */
  addCounts(other: ListCounts): void {
    for (let userId = 0; userId < other.counts.length; userId++) {
      const count = other.counts[userId]!;
      if (count > 0) this.set(userId, this.of(userId) + count);
    }
  }

  set(userId: number, count: number): void {
    if (userId >= this.counts.length) this.grow(userId);
    this.counts[userId] = count;
  }

  copy(): ListCounts {
    const copy = new ListCounts();
    let end = this.counts.length;
    while (end > FIRST_IDS && this.counts[end - 1] === 0) end--;
    const counts = this.counts.subarray(0, end);
    copy.counts = end > MANY_IDS ? roomFor(end - 1, counts) : counts.slice();
    return copy;
  }

  private grow(userId: number): void {
    this.counts = roomFor(userId, this.counts);
  }
}

/** Collects runs into pieces. */
class Pieces {
  /** The bytes of the entries of the runs in the piece that is being filled. */
  readonly bytes = new ByteWriter(PIECE_BYTES);
  private readonly records = new RecordBuffer();
  private pieces: RunPiece[] = [];

  constructor(private readonly tag: number) {}

  /** The run's entries have been appended to `bytes`, from `start` on. */
  add(id: number, firstOrdinal: number, count: number, start: number): void {
    const { bytes, records } = this;
    const entries = bytes.buffer.subarray(start, bytes.length);
    const numbers = [id, firstOrdinal, count];
    // In the order of insertRuns (records.ts); SQLite counts bytes from 1.
    for (const number of numbers) records.put(number);
    records.put(runChecksum(this.tag, numbers, entries));
    records.put(start + 1);
    records.put(entries.length);
    if (bytes.length + records.length >= PIECE_BYTES) this.end();
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

const CHAINS = 4_096;

/** The chains of waiting entries, one per list, by number from 0. */
class Chains {
  count = 0;
  ids = new Float64Array(CHAINS);
  firstOrdinals = new Uint32Array(CHAINS);
  firsts = new Uint32Array(CHAINS);

  /** Adds the chain of a list that has none, with its first entry. */
  add(id: number, ordinal: number, entry: number): void {
    if (this.count === this.ids.length) this.grow();
    const chain = this.count++;
    this.ids[chain] = id;
    this.firstOrdinals[chain] = ordinal;
    this.firsts[chain] = entry;
  }

  private grow(): void {
    const ids = new Float64Array(this.ids.length * 2);
    ids.set(this.ids);
    this.ids = ids;
    this.firstOrdinals = doubled(this.firstOrdinals);
    this.firsts = doubled(this.firsts);
  }
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
  /** By entry: the next of its list; 0: it is the last. */
  private next: Uint32Array;
  /** By list: 1 more than its last entry; 0: none waits. */
  private lasts = new Uint32Array(CHAINS);
  private readonly width: number;
  /** Without a meaning: what {@link touch} reads must be used, or it is not read. */
  protected touched = 0;
  private readonly chains = new Chains();
  private readonly writer: RunWriter;
  private readonly pieces: Pieces;

  constructor(layout: ListLayout) {
    this.width = layout.columns.length;
    this.writer = new RunWriter(layout);
    this.pieces = new Pieces(layout.tag);
    this.values = new Float64Array(FIRST_ENTRIES * this.width);
    this.next = new Uint32Array(FIRST_ENTRIES);
  }

  /**
   * Adds an entry to a list; its ordinal follows the list's last. Returns the index in `values` at
   * which the caller writes its columns, in the order of the layout.
   */
  add(id: number, ordinal: number): number {
    const entry = this.count++;
    if (entry === this.next.length) this.grow();
    if (id >= this.lasts.length) this.growLasts(id);
    const { lasts, next } = this;
    const last = lasts[id]!;
    lasts[id] = entry + 1;
    next[entry] = 0;
    if (last === 0) this.chains.add(id, ordinal, entry);
    else next[last - 1] = entry;
    return entry * this.width;
  }

  /** Makes runs of all waiting entries; afterwards none waits. */
  drain(): ListAdditions {
    return atOnce(this.drainInPieces());
  }

  /** The same in pieces. No entry may be added in between. */
  *drainInPieces(): Work<ListAdditions> {
    const { chains, count } = this;
    const ids = chains.ids.slice(0, chains.count).sort();
    yield;
    const counts = new Uint32Array(ids.length);
    const firstOrdinals = new Uint32Array(ids.length);
    const order = yield* this.ordered(ids, counts, firstOrdinals);
    const pieces = yield* this.writeLists(ids, counts, firstOrdinals, order);
    this.clear();
    return { count, pieces, ids, counts };
  }

  /** All entries, list by list. Fills in the numbers of each list. */
  private *ordered(
    ids: Float64Array,
    counts: Uint32Array,
    firstOrdinals: Uint32Array,
  ): Work<Uint32Array> {
    const { chains, lasts, next } = this;
    const order = new Uint32Array(this.count);
    // The last entries are not needed any more: their places say which chain is the list's.
    for (let chain = 0; chain < chains.count; chain++) lasts[chains.ids[chain]!] = chain;
    let to = 0;
    for (let i = 0; i < ids.length; i++) {
      const chain = lasts[ids[i]!]!;
      lasts[ids[i]!] = 0;
      firstOrdinals[i] = chains.firstOrdinals[chain]!;
      const from = to;
      let entry = chains.firsts[chain]!;
      do {
        order[to++] = entry;
        entry = next[entry]!;
        if (to % ENTRIES_IN_PIECE === 0) yield;
      } while (entry !== 0);
      counts[i] = to - from;
    }
    return order;
  }

  private *writeLists(
    ids: Float64Array,
    counts: Uint32Array,
    firstOrdinals: Uint32Array,
    order: Uint32Array,
  ): Work<RunPiece[]> {
    const { pieces } = this;
    let from = 0;
    let runs = 0;
    for (let i = 0; i < ids.length; i++) {
      for (let done = 0; done < counts[i]!; done += RUN_ENTRIES) {
        const runCount = Math.min(RUN_ENTRIES, counts[i]! - done);
        const start = pieces.bytes.length;
        this.writeEntries(order, from, from + runCount);
        from += runCount;
        pieces.add(ids[i]!, firstOrdinals[i]! + done, runCount, start);
        if (++runs % RUNS_IN_PIECE === 0) yield;
      }
    }
    return pieces.drain();
  }

  private writeEntries(order: Uint32Array, from: number, to: number): void {
    const { writer, values, width } = this;
    const { bytes } = this.pieces;
    writer.begin();
    for (let at = from; at < to; at++) {
      if (at % TOUCHED_AT_ONCE === 0) this.touch(order, at + TOUCHED_AT_ONCE);
      writer.append(bytes, values, order[at]! * width);
    }
  }

  /**
   * Reads something of the entries that are written after the next ones. The entries of a list are
   * far apart: read one by one, each would wait for memory, and that takes longer than writing it.
   * The reads of several at once wait together.
   */
  private touch(order: Uint32Array, from: number): void {
    const { values, width } = this;
    const to = Math.min(order.length, from + TOUCHED_AT_ONCE);
    let sum = 0;
    for (let at = from; at < to; at++) {
      const start = order[at]! * width;
      sum += values[start]! + values[start + width - 1]!;
    }
    this.touched = sum;
  }

  private clear(): void {
    this.count = 0;
    this.chains.count = 0;
    if (this.next.length <= KEPT_ENTRIES) return;
    this.values = new Float64Array(KEPT_ENTRIES * this.width);
    this.next = new Uint32Array(KEPT_ENTRIES);
  }

  private grow(): void {
    const { values, next } = this;
    this.values = new Float64Array(values.length * 2);
    this.values.set(values);
    this.next = doubled(next);
  }

  private growLasts(id: number): void {
    this.lasts = roomFor(id, this.lasts);
  }
}

/** The runs of one list, as they grow. */
class GrowingList {
  readonly bytes = new ByteWriter(1_024);
  readonly writer: RunWriter;
  count = 0;
  /** Where each run but the first starts. */
  readonly starts: number[] = [];

  constructor(
    layout: ListLayout,
    readonly firstOrdinal: number,
  ) {
    this.writer = new RunWriter(layout);
    this.writer.begin();
  }

  append(values: Float64Array): void {
    if (this.count > 0 && this.count % RUN_ENTRIES === 0) {
      this.starts.push(this.bytes.length);
      this.writer.begin();
    }
    this.writer.append(this.bytes, values, 0);
    this.count++;
  }
}

/**
 * {@link PendingLists} for the few lists of markets and assets. Entries become bytes at once, while
 * the list's last entry is in the cache, which takes half the time.
 */
export class FewPendingLists {
  count = 0;
  /** The columns of the entry that is added next. */
  readonly values: Float64Array;
  private readonly lists = new Map<number, GrowingList>();
  private readonly pieces: Pieces;
  private lastId = -1;
  private last: GrowingList | null = null;

  constructor(private readonly layout: ListLayout) {
    this.values = new Float64Array(layout.columns.length);
    this.pieces = new Pieces(layout.tag);
  }

  /** Adds the entry in `values` to a list; its ordinal follows the list's last. */
  add(id: number, ordinal: number): void {
    let list = id === this.lastId ? this.last : (this.lists.get(id) ?? null);
    if (list === null) {
      list = new GrowingList(this.layout, ordinal);
      this.lists.set(id, list);
    }
    this.lastId = id;
    this.last = list;
    list.append(this.values);
    this.count++;
  }

  drain(): ListAdditions {
    const ids = Float64Array.from(this.lists.keys()).sort();
    const counts = Uint32Array.from(ids, (id) => this.lists.get(id)!.count);
    for (const id of ids) this.writeRuns(id, this.lists.get(id)!);
    const { count } = this;
    this.count = 0;
    this.lists.clear();
    this.lastId = -1;
    this.last = null;
    return { count, pieces: this.pieces.drain(), ids, counts };
  }

  private writeRuns(id: number, list: GrowingList): void {
    const { pieces } = this;
    const ends = [...list.starts, list.bytes.length];
    let from = 0;
    for (const [run, end] of ends.entries()) {
      const start = pieces.bytes.length;
      pieces.bytes.append(list.bytes.buffer, from, end);
      const done = run * RUN_ENTRIES;
      const count = Math.min(RUN_ENTRIES, list.count - done);
      pieces.add(id, list.firstOrdinal + done, count, start);
      from = end;
    }
  }
}
