/**
 * The user, the market and the end of each of the last ORDERS_REMEMBERED orders that has ended. The
 * reply to a cancel of such an order gives its end, and reveals nothing about other users' orders.
 * An order takes two words, at a place computed from its id, which a later order reuses. The words
 * are written once, when the order ends; resting orders are in the book.
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
  /** The user and the end, then the market, at place × 2. */
  private words = new Int32Array(FIRST_PLACES * 2);

  constructor(
    private readonly undo: UndoLog,
    /** The first entry is the last order id. */
    private readonly lastIds: Float64Array,
  ) {}

  reserve(): void {
    this.ensure(ORDERS_REMEMBERED);
  }

  end(orderId: number, userId: number, marketId: number, end: number): void {
    if (orderId <= this.lastIds[0]! - ORDERS_REMEMBERED) return;
    const at = (orderId & IN_PLACES) * 2;
    if (at >= this.words.length) this.ensure((orderId & IN_PLACES) + 1);
    const { words, undo } = this;
    if (undo.recording) {
      undo.record(this, at, words[at]!);
      undo.record(this, at + 1, words[at + 1]!);
    }
    words[at] = (userId << END_BITS) | end;
    words[at + 1] = marketId;
  }

  /**
   * The end of the user's order in the market, which must not rest; -1 if it is unknown or long
   * ago.
   */
  endOf(orderId: number, userId: number, marketId: number): number {
    if (!this.remembers(orderId)) return -1;
    const at = (orderId & IN_PLACES) * 2;
    const word = this.words[at]!;
    if (word >>> END_BITS !== userId || this.words[at + 1] !== marketId) return -1;
    return word & END_MASK;
  }

  remembers(orderId: number): boolean {
    const last = this.lastIds[0]!;
    return (
      Number.isInteger(orderId) &&
      orderId >= 1 &&
      orderId <= last &&
      orderId > last - ORDERS_REMEMBERED
    );
  }

  restore(at: number, word: number): void {
    this.words[at] = word;
  }

  archive(archive: Archive): void {
    const places = Math.min(this.lastIds[0]! + 1, ORDERS_REMEMBERED);
    this.ensure(places);
    archive.span(new Uint8Array(this.words.buffer), 0, places * 8);
  }

  private ensure(places: number): void {
    if (places * 2 <= this.words.length) return;
    const words = new Int32Array(Math.max(places * 2, this.words.length * 2));
    words.set(this.words);
    this.words = words;
  }
}

export function cancelledFor(reason: number): number {
  return OrderEnd.CANCELLED + reason;
}
