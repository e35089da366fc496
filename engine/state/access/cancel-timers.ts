/**
 * Timers of the dead man's switch: when each user's resting orders are cancelled, unless the user
 * moves the time. A user has at most one timer, and it fires once.
 */
import type { Archive } from '../../storage/archive.js';
import { DeadlineHeap } from '../../storage/deadline-heap.js';
import { tableOf } from '../../storage/table.js';

/** By user: the timer's time, 0 if none, and its place in the heap. */
const TimerTable = tableOf(16, { atMs: 'f64', place: 'i32' });

export class CancelTimers extends TimerTable {
  readonly deadlines = new DeadlineHeap(this);

  id(userId: number): number {
    return userId;
  }

  /** Sets the user's timer; 0: none. */
  set(userId: number, atMs: number): void {
    this.deadlines.remove(userId);
    this.setAtMs(userId, atMs);
    if (atMs !== 0) this.deadlines.add(userId);
  }

  /** Archives the users in the heap, which are few. */
  archive(archive: Archive): void {
    const { deadlines } = this;
    deadlines.archive(archive);
    for (let place = 1; place <= deadlines.count; place++) {
      const userId = deadlines.rowAt(place);
      this.setAtMs(userId, archive.number(this.atMs(userId)));
      this.setPlace(userId, place);
    }
  }
}
