/**
 * What the trading thread and the follower's thread tell each other without messages: a few numbers in shared memory.
 *
 * The follower sleeps when it has applied everything that is durable. Before it sleeps it raises a flag and looks
 * again; whoever commits tells the new sequence first and then takes the flag down, and only who took it down sends a
 * message. So no commit is missed, and under load no commit costs a message.
 *
 * A message does not reach a thread that is busy for seconds, as the follower is while it loads a snapshot. It tells that it is,
 * and that nothing of it is under way elsewhere, so that it may be ended there. (A thread that SQLite works for must not be: the
 * process would end with it.)
 */

const SLOTS = ['durable', 'applied', 'projected', 'snapshotSequence', 'snapshotAtMs', 'entryCount'] as const;
type Slot = (typeof SLOTS)[number];

const FLAG_BYTES = 8;
/** What the second flag says. Closing is the last. */
const Alone = { no: 0, yes: 1, closing: 2 } as const;

export class ProgressBoard {
  private readonly numbers: BigInt64Array;
  private readonly flag: Int32Array;
  private readonly alone: Int32Array;

  constructor(readonly memory = new SharedArrayBuffer(FLAG_BYTES + SLOTS.length * 8)) {
    this.flag = new Int32Array(memory, 0, 1);
    this.alone = new Int32Array(memory, 4, 1);
    this.numbers = new BigInt64Array(memory, FLAG_BYTES);
  }

  get(slot: Slot): number {
    return Number(Atomics.load(this.numbers, SLOTS.indexOf(slot)));
  }

  set(slot: Slot, value: number): void {
    Atomics.store(this.numbers, SLOTS.indexOf(slot), BigInt(value));
  }

  raiseIdle(): void {
    Atomics.store(this.flag, 0, 1);
  }

  /** Whether the flag was up; it is down afterwards. */
  takeIdle(): boolean {
    return Atomics.exchange(this.flag, 0, 0) === 1;
  }

  /**
   * Does work that takes long, while nothing else of this thread is under way, and during which the thread may be ended. If the
   * follower is closing before or after it, `end` is called, which must end the thread.
   */
  workAlone<T>(work: () => T, end: () => void): T {
    this.setAlone(Alone.no, Alone.yes, end);
    try {
      return work();
    } finally {
      this.setAlone(Alone.yes, Alone.no, end);
    }
  }

  /** From now on no such work begins, and none goes on. Returns whether the thread is at some, and is to be ended. */
  close(): boolean {
    return Atomics.exchange(this.alone, 0, Alone.closing) === Alone.yes;
  }

  private setAlone(from: number, to: number, end: () => void): void {
    if (Atomics.compareExchange(this.alone, 0, from, to) === Alone.closing) end();
  }
}
