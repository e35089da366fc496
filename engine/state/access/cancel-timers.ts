/**
 * Timers of the dead man's switch: when each user's resting orders are cancelled, unless the user
 * moves the time. A user has at most one timer, and it fires once.
 */
import type { Archive } from '../../storage/archive.js';
import { Deadlines } from '../../storage/deadline-heap.js';

export class CancelTimers {
  readonly deadlines = new Deadlines((userId) => userId);

  ensureUsers(userRows: number): void {
    this.deadlines.ensure(userRows);
  }

  archive(archive: Archive, userRows: number): void {
    const { deadlines } = this;
    const users: number[] = [];
    for (let userId = 1; userId < userRows && !archive.reading; userId++)
      if (deadlines.atMs(userId) !== 0) users.push(userId);
    const count = archive.number(users.length);
    for (let i = 0; i < count; i++) {
      const userId = archive.number(users[i] ?? 0);
      const atMs = archive.number(archive.reading ? 0 : deadlines.atMs(userId));
      if (archive.reading) deadlines.set(userId, atMs);
    }
  }
}
