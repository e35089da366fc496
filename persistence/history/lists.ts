/**
 * The lists of the history: how many entries each has, and the entries that wait for the next
 * transaction, which writes them as runs.
 *
 * Waiting entries are kept in order of arrival, and put in order of their lists when the
 * transaction begins. Nothing is allocated per entry or list: under load a transaction has hundreds
 * of thousands.
 */
import { EventSlot } from '../../engine/interface/events.js';
import { MAX_USERS } from '../../engine/interface/limits.js';
import type { IncrementalTask } from '../../engine/storage/incremental-task.js';
import {
  ASSET_PRICE,
  CLOSED_POSITION,
  type ListLayout,
  POINTS_CREDIT,
  RUN_ENTRIES,
  USER_BALANCE,
  USER_HOLD,
  USER_ORDER,
  USER_PAYMENT,
  USER_TRADE,
} from './runs/format.js';
import { type Pieces, RunWriter } from './runs/writer.js';

/**
 * The base-2 logarithm of the number of entries in a block. Entries are kept in blocks because a
 * single array would be copied as it grows.
 */
const BLOCK_BITS = 15;
const IN_BLOCK = (1 << BLOCK_BITS) - 1;
/**
 * The most blocks that are kept between transactions, because new memory is slow at first. They
 * hold about as many entries as the follower puts into one transaction.
 */
const KEPT_BLOCKS = 32;
const FIRST_ENTRIES = 4_096;
/** The largest id of a list; entries are sorted by some of its bits at a time. */
export const MAX_LIST_ID = 2 ** 32 - 1;
const ID_BITS = 32;
const DIGIT_BITS = 11;
const DIGIT = (1 << DIGIT_BITS) - 1;
/** The work of sorting may pause after this many entries. */
const ENTRIES_IN_PIECE = 65_536;
/**
 * How many entries are read into the cache at a time, and the distance between reads: a cache line.
 */
const TOUCHED = 16;
const LINE = 8;
/** The work of a transaction may pause after this many runs. */
const RUNS_IN_PIECE = 256;

const FIRST_IDS = 1_024;
/** At this id, the array grows to hold all users. Unwritten parts take no memory. */
const MANY_IDS = 65_536;

/** The number of entries in each user's list; 0 until it is set. */
export class ListCounts {
  private counts = new Uint32Array(FIRST_IDS);

  of(id: number): number {
    return this.counts[id] ?? 0;
  }

  /** Counts one more entry and returns its ordinal. */
  next(id: number): number {
    if (id >= this.counts.length) this.grow(id);
    return ++this.counts[id]!;
  }

  set(id: number, count: number): void {
    if (id >= this.counts.length) this.grow(id);
    this.counts[id] = count;
  }

  total(): number {
    let total = 0;
    for (let id = 0; id < this.counts.length; id++) total += this.counts[id]!;
    return total;
  }

  /** A copy of the lengths, up to the last list that is not empty. */
  toArray(): Uint32Array<ArrayBuffer> {
    let end = this.counts.length;
    while (end > 0 && this.counts[end - 1] === 0) end--;
    return this.counts.slice(0, end);
  }

  static from(counts: Uint32Array): ListCounts {
    const lengths = new ListCounts();
    if (counts.length > 0) lengths.grow(counts.length - 1);
    lengths.counts.set(counts);
    return lengths;
  }

  /** Grows the array. Never copies the lengths of millions of users, which would take 30 ms. */
  private grow(id: number): void {
    const length = id >= MANY_IDS ? MAX_USERS + 1 : this.counts.length * 2;
    const larger = new Uint32Array(Math.max(id + 1, length));
    larger.set(this.counts);
    this.counts = larger;
  }
}

/** The lists whose lengths are kept in memory. The lengths of a market's lists are in its row. */
export const MEASURED = [
  USER_TRADE,
  POINTS_CREDIT,
  CLOSED_POSITION,
  USER_ORDER,
  USER_HOLD,
  USER_PAYMENT,
  USER_BALANCE,
  ASSET_PRICE,
] as const;
type Measured = (typeof MEASURED)[number];
export type ListLengths = Record<Measured['name'], ListCounts>;

export function lengthsOf(of: (layout: Measured) => ListCounts): ListLengths {
  return Object.fromEntries(MEASURED.map((layout) => [layout.name, of(layout)])) as ListLengths;
}

interface Order {
  ids: Uint32Array;
  entries: Uint32Array;
}

interface Digit {
  shift: number;
  places: Uint32Array;
  from: number;
}

/** Moves ENTRIES_IN_PIECE entries, from `from` on, to the places of their digits. */
function moveByDigit({ ids, entries }: Order, to: Order, { shift, places, from }: Digit): void {
  const end = Math.min(ids.length, from + ENTRIES_IN_PIECE);
  for (let i = from; i < end; i++) {
    const place = places[(ids[i]! >>> shift) & DIGIT]!++;
    to.ids[place] = ids[i]!;
    to.entries[place] = entries[i]!;
  }
}

/** The engine after a command. */
interface Stamp {
  readonly nowMs: number;
  readonly sequence: number;
}

export class PendingLists {
  count = 0;
  /** The columns of waiting entries; `add` returns the offset of the last one's. */
  values: Float64Array = new Float64Array(0);
  private readonly blocks: Float64Array[] = [];
  /** The list of each entry. */
  private ids = new Uint32Array(FIRST_ENTRIES);
  private ordinals = new Float64Array(FIRST_ENTRIES);
  private readonly width: number;
  private readonly writer: RunWriter;
  /**
   * A sum without meaning: values that {@link touch} reads must be used, or V8 would not read them.
   */
  protected touched = 0;

  /** For each column, the offset of the event's field with its name; 0: none has. */
  private readonly slots: readonly number[];

  /** @param event the event that {@link addEvent} makes entries of */
  constructor(
    readonly layout: ListLayout,
    event: keyof typeof EventSlot = 'none',
  ) {
    const fields: Readonly<Record<string, number>> = EventSlot[event];
    this.slots = layout.columns.map((column) => fields[column] ?? 0);
    this.width = layout.columns.length;
    this.writer = new RunWriter(layout);
  }

  /**
   * Adds an entry to a list, whose ordinal is above those before it. Returns the index in `values`
   * at which the caller writes its columns, in the order of the layout.
   * @throws RangeError if the id is above MAX_LIST_ID
   */
  add(id: number, ordinal: number): number {
    if (id > MAX_LIST_ID) throw new RangeError(`no list of ${this.layout.name} has the id ${id}`);
    const entry = this.count++;
    if (entry === this.ids.length) this.grow();
    if ((entry & IN_BLOCK) === 0) this.values = this.block(entry >>> BLOCK_BITS);
    this.ids[entry] = id;
    this.ordinals[entry] = ordinal;
    return (entry & IN_BLOCK) * this.width;
  }

  /**
   * Adds an entry with the event's fields that have the name of a column, and in its last two
   * columns the time and the sequence. The caller writes the other columns, which are 0.
   */
  addEvent(id: number, ordinal: number, values: Float64Array, at: number, stamp: Stamp): number {
    const to = this.add(id, ordinal);
    const { slots, values: entries } = this;
    const own = slots.length - 2;
    for (let i = 0; i < own; i++) entries[to + i] = slots[i] === 0 ? 0 : values[at + slots[i]!]!;
    entries[to + own] = stamp.nowMs;
    entries[to + own + 1] = stamp.sequence;
    return to;
  }

  /**
   * Makes runs of all waiting entries, in pieces; afterwards none waits. No entry may be added in
   * between. Returns their number.
   */
  *drainInPieces(into: Pieces): IncrementalTask<number> {
    const { count } = this;
    const order = yield* this.inOrder();
    for (let from = 0, runs = 0; from < count; ) {
      from = this.writeRun(into, order, from);
      if (++runs % RUNS_IN_PIECE === 0) yield;
    }
    this.count = 0;
    if (this.blocks.length > KEPT_BLOCKS) this.blocks.length = KEPT_BLOCKS;
    return count;
  }

  /** Sorts the entries by list, then by arrival. */
  private *inOrder(): IncrementalTask<Order> {
    const { count } = this;
    let order: Order = { ids: this.ids.subarray(0, count), entries: new Uint32Array(count) };
    for (let entry = 0; entry < count; entry++) order.entries[entry] = entry;
    for (let shift = 0; shift < ID_BITS; shift += DIGIT_BITS) {
      /** The next place for each digit. */
      const places = new Uint32Array(DIGIT + 2);
      for (let i = 0; i < count; i++) places[((order.ids[i]! >>> shift) & DIGIT) + 1]!++;
      // All have the same digit, or there is none.
      if (places.includes(count)) continue;
      for (let digit = 1; digit <= DIGIT; digit++) places[digit]! += places[digit - 1]!;
      const next = { ids: new Uint32Array(count), entries: new Uint32Array(count) };
      for (let from = 0; from < count; from += ENTRIES_IN_PIECE) {
        moveByDigit(order, next, { shift, places, from });
        yield;
      }
      order = next;
    }
    return order;
  }

  /** Writes the run that begins at `from`. Returns the start of the next run. */
  private writeRun(into: Pieces, { ids, entries }: Order, from: number): number {
    const { layout, blocks, width, writer } = this;
    const { bytes } = into;
    const id = ids[from]!;
    const start = bytes.length;
    const end = Math.min(ids.length, from + RUN_ENTRIES);
    let to = from;
    writer.begin();
    for (; to < end && ids[to] === id; to++) {
      if (to % TOUCHED === 0) this.touch(entries, to + TOUCHED);
      const entry = entries[to]!;
      writer.append(bytes, blocks[entry >>> BLOCK_BITS]!, (entry & IN_BLOCK) * width);
    }
    into.add(layout.list, id, this.ordinals[entries[from]!]!, to - from, start);
    return to;
  }

  /**
   * Reads a value of each entry that will soon be written. The entries of a list are far apart: one
   * by one, each would wait for memory longer than it takes to write.
   */
  private touch(entries: Uint32Array, from: number): void {
    const { blocks, width } = this;
    const to = Math.min(entries.length, from + TOUCHED);
    let sum = 0;
    for (let i = from; i < to; i++) {
      const values = blocks[entries[i]! >>> BLOCK_BITS]!;
      const at = (entries[i]! & IN_BLOCK) * width;
      for (let column = 0; column < width; column += LINE) sum += values[at + column]!;
    }
    this.touched = sum;
  }

  private block(number: number): Float64Array {
    this.blocks[number] ??= new Float64Array((IN_BLOCK + 1) * this.width);
    return this.blocks[number];
  }

  private grow(): void {
    const { ids, ordinals } = this;
    this.ids = new Uint32Array(ids.length * 2);
    this.ids.set(ids);
    this.ordinals = new Float64Array(ids.length * 2);
    this.ordinals.set(ordinals);
  }
}
