/**
 * What the trading thread and the follower's thread tell each other without messages: a few numbers in shared memory.
 *
 * The follower sleeps when it has applied everything that is durable. Before it sleeps it raises a flag and looks
 * again; whoever commits tells the new sequence first and then takes the flag down, and only who took it down sends a
 * message. So no commit is missed, and under load no commit costs a message.
 */

const SLOTS = ['durable', 'applied', 'projected', 'snapshotSequence', 'snapshotAtMs', 'entryCount'] as const;
type Slot = (typeof SLOTS)[number];

const FLAG_BYTES = 8;

export class FollowerBoard {
  private readonly numbers: BigInt64Array;
  private readonly flag: Int32Array;

  constructor(readonly memory = new SharedArrayBuffer(FLAG_BYTES + SLOTS.length * 8)) {
    this.flag = new Int32Array(memory, 0, 1);
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
}
