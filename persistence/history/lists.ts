/**
 * The lists of the history: how many entries each has, and the entries that wait for the next
 * transaction, which writes them as runs.
 *
 * Waiting entries are kept in order of arrival, each with the number of its list among those that
 * have waiting entries, which is found by the list's id, a user's number. They are put in order of
 * their lists when the transaction begins. Nothing is allocated per entry or list: under load a
 * transaction has hundreds of thousands.
 */
import { MAX_USERS } from '../../engine/interface/limits.js';
import { atOnce, type Work } from '../../engine/storage/pieces.js';
import { ByteWriter } from '../storage/bytes.js';
import {
  ASSET_PRICE,
  CLOSED_POSITION,
  type ListLayout,
  ORDER_END,
  POINTS_CREDIT,
  RUN_ENTRIES,
  USER_BALANCE,
  USER_EVENT,
  USER_TRADE,
} from './runs/format.js';
import { Pieces, type RunPiece, RunWriter } from './runs/writer.js';

/** Entries are kept in blocks of so many, as a power of two: a larger array would be copied. */
const BLOCK_BITS = 15;
const IN_BLOCK = (1 << BLOCK_BITS) - 1;
/**
 * The most blocks that are kept between transactions: about what the follower lets wait, because
 * memory that is new is slow at first.
 */
const KEPT_BLOCKS = 32;

/** After so many entries, runs and ids, the work of a transaction may pause. */
const ENTRIES_IN_PIECE = 8_192;
const RUNS_IN_PIECE = 256;
const IDS_IN_PIECE = 262_144;
/** Ids are sorted if fewer than one of so many has entries; otherwise all are looked through. */
const SORTED_ONE_OF = 16;
/** A multiple of this many entries are read together, ahead of being written. */
const TOUCHED_AT_ONCE = 8;

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

/**
 * A longer copy, with room for an id; never one for millions of users, which takes 30 ms. There can
 * be more blocks of orders than users.
 */
function roomFor(id: number, values: Uint32Array): Uint32Array<ArrayBuffer> {
  const isMany = id >= MANY_IDS && values.length <= MAX_USERS;
  const length = isMany ? MAX_USERS + 1 : values.length * 2;
  const larger = new Uint32Array(Math.max(id + 1, length));
  larger.set(values);
  return larger;
}

/** Lengths are stored in chunks of so many (runs/lengths.ts). */
export const LENGTHS_IN_CHUNK = 4_096;

/** The number of entries in each user's list; 0 until it is set. */
export class ListCounts {
  /** The chunks in which `set` has changed a length. */
  readonly changedChunks = new Set<number>();
  private lastChanged = -1;
  /** 1 more than the largest id that was set. */
  idCount = 0;
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

  addCounts(other: ListCounts): void {
    for (let userId = 0; userId < other.counts.length; userId++) {
      const count = other.counts[userId]!;
      if (count > 0) this.set(userId, this.of(userId) + count);
    }
  }

  set(userId: number, count: number): void {
    if (userId >= this.counts.length) this.grow(userId);
    this.counts[userId] = count;
    if (userId >= this.idCount) this.idCount = userId + 1;
    const chunk = Math.floor(userId / LENGTHS_IN_CHUNK);
    if (chunk === this.lastChanged) return;
    this.lastChanged = chunk;
    this.changedChunks.add(chunk);
  }

  /** All chunks are stored. */
  stored(): void {
    this.changedChunks.clear();
    this.lastChanged = -1;
  }

  chunk(number: number): Uint32Array {
    const from = number * LENGTHS_IN_CHUNK;
    return this.counts.slice(from, from + LENGTHS_IN_CHUNK);
  }

  setChunk(number: number, counts: Uint32Array): void {
    const from = number * LENGTHS_IN_CHUNK;
    const last = from + counts.length - 1;
    if (last >= this.counts.length) this.grow(last);
    this.counts.set(counts, from);
    this.idCount = Math.max(this.idCount, last + 1);
  }

  total(): number {
    let total = 0;
    for (let userId = 0; userId < this.counts.length; userId++) total += this.counts[userId]!;
    return total;
  }

  copy(): ListCounts {
    const copy = new ListCounts();
    copy.idCount = this.idCount;
    for (const chunk of this.changedChunks) copy.changedChunks.add(chunk);
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

/** The lists whose lengths are kept in memory. The lengths of a market's lists are in its row. */
export const MEASURED = [
  USER_TRADE,
  POINTS_CREDIT,
  CLOSED_POSITION,
  USER_EVENT,
  USER_BALANCE,
  ASSET_PRICE,
  ORDER_END,
] as const;
type Measured = (typeof MEASURED)[number];
export type ListLengths = Record<Measured['name'], ListCounts>;

export function lengthsOf(of: (layout: Measured) => ListCounts): ListLengths {
  return Object.fromEntries(MEASURED.map((layout) => [layout.name, of(layout)])) as ListLengths;
}

const WAITING = 4_096;

/** The lists that have waiting entries, by number from 0 in the order in which the first came. */
class WaitingLists {
  count = 0;
  ids = new Float64Array(WAITING);
  firstOrdinals = new Uint32Array(WAITING);
  /** How many entries wait. */
  counts = new Uint32Array(WAITING);

  /** Returns the list's number. */
  add(id: number, ordinal: number): number {
    if (this.count === this.ids.length) this.grow();
    const list = this.count++;
    this.ids[list] = id;
    this.firstOrdinals[list] = ordinal;
    this.counts[list] = 0;
    return list;
  }

  private grow(): void {
    const ids = new Float64Array(this.ids.length * 2);
    ids.set(this.ids);
    this.ids = ids;
    this.firstOrdinals = doubled(this.firstOrdinals);
    this.counts = doubled(this.counts);
  }
}

function doubled(values: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(values.length * 2);
  larger.set(values);
  return larger;
}

export class PendingLists {
  count = 0;
  /** The columns of the entry that was added last; `add` returns where they begin. */
  values: Float64Array = new Float64Array(0);
  private blocks: Float64Array[] = [];
  /** By entry: the number of its list among the waiting ones. */
  private listOf = new Uint32Array(WAITING);
  /** By id: 1 more than that number; 0: no entry waits. */
  private waitingOf = new Uint32Array(WAITING);
  private readonly width: number;
  /** Without a meaning: what {@link touch} reads must be used, or it is not read. */
  protected touched = 0;
  private readonly waiting = new WaitingLists();
  private readonly writer: RunWriter;
  private readonly pieces: Pieces;

  /** @param lengths how many entries each list has, those that wait included. */
  constructor(
    layout: ListLayout,
    private readonly lengths: ListCounts,
  ) {
    this.width = layout.columns.length;
    this.writer = new RunWriter(layout);
    this.pieces = new Pieces(layout.tag);
  }

  /**
   * Adds an entry to a list. Returns the index in `values` at which the caller writes its columns,
   * in the order of the layout.
   */
  add(id: number): number {
    const ordinal = this.lengths.next(id);
    const entry = this.count++;
    if (entry === this.listOf.length) this.listOf = doubled(this.listOf);
    if ((entry & IN_BLOCK) === 0) this.values = this.block(entry >>> BLOCK_BITS);
    if (id >= this.waitingOf.length) this.growIds(id);
    const { waiting, waitingOf } = this;
    let list = waitingOf[id]! - 1;
    if (list === -1) {
      list = waiting.add(id, ordinal);
      waitingOf[id] = list + 1;
    }
    waiting.counts[list]!++;
    this.listOf[entry] = list;
    return (entry & IN_BLOCK) * this.width;
  }

  /** Makes runs of all waiting entries; afterwards none waits. */
  drain(): ListAdditions {
    return atOnce(this.drainInPieces());
  }

  /** {@link drain} in pieces. No entry may be added in between. */
  *drainInPieces(): Work<ListAdditions> {
    const { count } = this;
    const ids = yield* this.sortedIds();
    const counts = new Uint32Array(ids.length);
    const firstOrdinals = new Uint32Array(ids.length);
    const order = yield* this.ordered(ids, counts, firstOrdinals);
    const pieces = yield* this.writeLists(ids, counts, firstOrdinals, order);
    this.clear();
    return { count, pieces, ids, counts };
  }

  /** The lists that have waiting entries, in ascending order. */
  private *sortedIds(): Work<Float64Array> {
    const { waiting, waitingOf } = this;
    if (waiting.count * SORTED_ONE_OF < waitingOf.length) {
      const ids = waiting.ids.slice(0, waiting.count).sort();
      yield;
      return ids;
    }
    const ids = new Float64Array(waiting.count);
    let count = 0;
    for (let id = 0; id < waitingOf.length; id++) {
      if (waitingOf[id] !== 0) ids[count++] = id;
      if ((id + 1) % IDS_IN_PIECE === 0) yield;
    }
    return ids;
  }

  /** All entries, list by list. Fills in the numbers of each list. */
  private *ordered(
    ids: Float64Array,
    counts: Uint32Array,
    firstOrdinals: Uint32Array,
  ): Work<Uint32Array> {
    const { waiting, waitingOf, listOf } = this;
    /** By list: where its next entry goes. */
    const places = new Uint32Array(waiting.count);
    let place = 0;
    for (let i = 0; i < ids.length; i++) {
      const list = waitingOf[ids[i]!]! - 1;
      waitingOf[ids[i]!] = 0;
      counts[i] = waiting.counts[list]!;
      firstOrdinals[i] = waiting.firstOrdinals[list]!;
      places[list] = place;
      place += counts[i]!;
      if ((i + 1) % ENTRIES_IN_PIECE === 0) yield;
    }
    const order = new Uint32Array(this.count);
    for (let entry = 0; entry < order.length; entry++) {
      order[places[listOf[entry]!]!++] = entry;
      if ((entry + 1) % ENTRIES_IN_PIECE === 0) yield;
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
    const { writer, blocks, width } = this;
    const { bytes } = this.pieces;
    writer.begin();
    for (let at = from; at < to; at++) {
      if (at % TOUCHED_AT_ONCE === 0) this.touch(order, at + TOUCHED_AT_ONCE);
      const entry = order[at]!;
      writer.append(bytes, blocks[entry >>> BLOCK_BITS]!, (entry & IN_BLOCK) * width);
    }
  }

  /**
   * Reads something of the entries that are written after the next ones. The entries of a list are
   * far apart: read one by one, each would wait for memory, and that takes longer than writing it.
   * The reads of several at once wait together.
   */
  private touch(order: Uint32Array, from: number): void {
    const { blocks, width } = this;
    const to = Math.min(order.length, from + TOUCHED_AT_ONCE);
    let sum = 0;
    for (let at = from; at < to; at++) {
      const values = blocks[order[at]! >>> BLOCK_BITS]!;
      const start = (order[at]! & IN_BLOCK) * width;
      sum += values[start]! + values[start + width - 1]!;
    }
    this.touched = sum;
  }

  private clear(): void {
    this.count = 0;
    this.waiting.count = 0;
    if (this.blocks.length > KEPT_BLOCKS) this.blocks.length = KEPT_BLOCKS;
  }

  private block(number: number): Float64Array {
    this.blocks[number] ??= new Float64Array((IN_BLOCK + 1) * this.width);
    return this.blocks[number];
  }

  private growIds(id: number): void {
    this.waitingOf = roomFor(id, this.waitingOf);
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
