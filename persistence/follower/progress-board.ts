/**
 * The follower's progress in shared memory, which both threads read and write without messages.
 *
 * Before the follower sleeps it sets the idle flag and checks the durable sequence again. The
 * trading thread stores the durable sequence first, then clears the flag, and sends a message only
 * if it was set. So no commit is missed, and under load commits cost no messages.
 *
 * A thread that loads a snapshot receives no messages for seconds, so it marks such work as
 * interruptible: it may be terminated there. (Terminating a thread within a call into SQLite, or in
 * a callback from it, makes the process die of a signal.) The thread also says when it has ended,
 * to a process that is ending and receives no events.
 */

const SLOTS = [
  ...(['durable', 'applied', 'projected', 'snapshotSequence'] as const),
  /** One more than the sequence at which the open part of the history begins; 0: not known. */
  'partBegin',
] as const;
type Slot = (typeof SLOTS)[number];

/** Three flags, and an unused word. */
const FLAG_BYTES = 16;
/** States of the second flag. `closing` is final. */
const Interruptible = { no: 0, yes: 1, closing: 2 } as const;

export class ProgressBoard {
  private readonly numbers: BigInt64Array;
  private readonly idle: Int32Array;
  private readonly interruptible: Int32Array;
  private readonly ended: Int32Array;

  constructor(readonly memory = new SharedArrayBuffer(FLAG_BYTES + SLOTS.length * 8)) {
    this.idle = new Int32Array(memory, 0, 1);
    this.interruptible = new Int32Array(memory, 4, 1);
    this.ended = new Int32Array(memory, 8, 1);
    this.numbers = new BigInt64Array(memory, FLAG_BYTES);
  }

  get(slot: Slot): number {
    return Number(Atomics.load(this.numbers, SLOTS.indexOf(slot)));
  }

  set(slot: Slot, value: number): void {
    Atomics.store(this.numbers, SLOTS.indexOf(slot), BigInt(value));
  }

  /** Where the open part of the history begins; null until the history has been opened. */
  get partSequence(): number | null {
    return this.get('partBegin') === 0 ? null : this.get('partBegin') - 1;
  }

  set partSequence(sequence: number) {
    this.set('partBegin', sequence + 1);
  }

  setIdle(): void {
    Atomics.store(this.idle, 0, 1);
  }

  clearIdle(): boolean {
    return Atomics.exchange(this.idle, 0, 0) === 1;
  }

  /**
   * Runs long work, during which the thread may be terminated: outside of SQLite's callbacks, while
   * no call into SQLite is under way. If the follower is closing before or after it, calls `end`,
   * which must end the thread.
   */
  workInterruptibly<T>(work: () => T, end: () => void): T {
    this.setInterruptible(Interruptible.no, Interruptible.yes, end);
    try {
      return work();
    } finally {
      this.setInterruptible(Interruptible.yes, Interruptible.no, end);
    }
  }

  /**
   * Prevents further interruptible work. Returns whether some is in progress: the thread may then
   * be terminated.
   */
  close(): boolean {
    return Atomics.exchange(this.interruptible, 0, Interruptible.closing) === Interruptible.yes;
  }

  threadStarts(): void {
    Atomics.store(this.ended, 0, 0);
  }

  threadHasEnded(): void {
    Atomics.store(this.ended, 0, 1);
    Atomics.notify(this.ended, 0);
  }

  /** Blocks the calling thread until the other thread has ended, or for `timeoutMs`. */
  waitForEnd(timeoutMs: number): void {
    Atomics.wait(this.ended, 0, 0, timeoutMs);
  }

  private setInterruptible(from: number, to: number, end: () => void): void {
    if (Atomics.compareExchange(this.interruptible, 0, from, to) === Interruptible.closing) end();
  }
}
