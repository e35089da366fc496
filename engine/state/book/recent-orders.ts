/**
 * The last ORDERS_REMEMBERED orders of all users: whose they were, in which market, and how they
 * ended. So whoever cancels an order that is gone learns why, and learns nothing of other users'
 * orders. An order takes two words, in a place by its id that the next order of that place reuses.
 */
import { OrderEnd } from '../../interface/domain.js';
import { MAX_USERS, ORDERS_REMEMBERED } from '../../interface/limits.js';
import type { Archive } from '../../storage/archive.js';
import type { Undoable, UndoLog } from '../../storage/undo.js';

const END_BITS = 4;
const END_MASK = (1 << END_BITS) - 1;
const IN_PLACES = ORDERS_REMEMBERED - 1;
const FIRST_PLACES = 1_024;

if (MAX_USERS >= 2 ** (31 - END_BITS)) throw new Error('a user and an end do not fit into a word');

export class RecentOrders implements Undoable {
  /** By place × 2: the user and the end; beside them the market. */
  private words = new Int32Array(FIRST_PLACES * 2);

  constructor(
    private readonly undo: UndoLog,
    private readonly lastOrderId: () => number,
  ) {}

  /** Makes room for all of them. */
  reserve(): void {
    this.ensure(ORDERS_REMEMBERED);
  }

  /** Remembers an order; the ids are consecutive. */
  add(orderId: number, userId: number, marketId: number, end: number): void {
    const at = (orderId & IN_PLACES) * 2;
    if (at >= this.words.length) this.ensure((orderId & IN_PLACES) + 1);
    this.set(at, (userId << END_BITS) | end);
    this.set(at + 1, marketId);
  }

  /** A resting order ends. */
  end(orderId: number, end: number): void {
    if (!this.knows(orderId)) return;
    const at = (orderId & IN_PLACES) * 2;
    this.set(at, (this.words[at]! & ~END_MASK) | end);
  }

  /**
   * How the user's order in the market ended; -1: the user has no such order, or had it long ago.
   */
  endOf(orderId: number, userId: number, marketId: number): number {
    if (!Number.isInteger(orderId) || !this.knows(orderId)) return -1;
    const at = (orderId & IN_PLACES) * 2;
    const word = this.words[at]!;
    if (word >>> END_BITS !== userId || this.words[at + 1] !== marketId) return -1;
    return word & END_MASK;
  }

  restore(at: number, word: number): void {
    this.words[at] = word;
  }

  archive(archive: Archive): void {
    const places = Math.min(this.lastOrderId() + 1, ORDERS_REMEMBERED);
    this.ensure(places);
    archive.span(new Uint8Array(this.words.buffer), 0, places * 8);
  }

  private knows(orderId: number): boolean {
    const last = this.lastOrderId();
    return orderId >= 1 && orderId <= last && orderId > last - ORDERS_REMEMBERED;
  }

  private set(at: number, word: number): void {
    if (this.undo.recording) this.undo.record(this, at, this.words[at]!);
    this.words[at] = word;
  }

  private ensure(places: number): void {
    if (places * 2 <= this.words.length) return;
    const words = new Int32Array(Math.max(places * 2, this.words.length * 2));
    words.set(this.words);
    this.words = words;
  }
}

/** The end of an order that was cancelled for this reason. */
export function cancelledFor(reason: number): number {
  return OrderEnd.CANCELLED + reason;
}
