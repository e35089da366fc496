/**
 * A queue for work that runs one task at a time and that any client may request, such as password
 * hashing. Addresses take turns, one task each, in two lanes that also take turns: known addresses
 * (known-addresses.ts), and all others. A flood from one address delays others by one task per
 * turn. A flood from unknown addresses delays a known address by one task.
 *
 * Invariant: no task is queued longer than `waitMs`. A task that gets no turn is refused exactly
 * once. Each lane limits its length (lane.ts).
 */
import type { AddressKey } from './addresses.js';
import { KnownAddresses } from './known-addresses.js';
import { Lane, type LaneLimits } from './lane.js';
import type { ElapsedMs } from './token-buckets.js';

export interface FairQueueLimits extends LaneLimits {
  waitMs: number;
}

export interface Requester {
  /** The address, read once when the task is queued. */
  readonly address: AddressKey;
  readonly isOver: boolean;
}

export class FairQueue {
  private isBusy = false;
  private isClosed = false;
  private refused = 0;
  private readonly knownLane: Lane<Waiter>;
  private readonly otherLane: Lane<Waiter>;
  private nextLane: Lane<Waiter>;
  private readonly waiting = new Set<Waiter>();
  private timer: NodeJS.Timeout | null = null;
  private abandon = () => {};

  constructor(
    private readonly limits: FairQueueLimits,
    private readonly elapsedMs: ElapsedMs,
    readonly known = new KnownAddresses(),
  ) {
    this.knownLane = new Lane(limits);
    this.otherLane = new Lane(limits);
    this.nextLane = this.knownLane;
  }

  get waitingCount(): number {
    return this.waiting.size;
  }

  get refusedCount(): number {
    return this.refused;
  }

  /** Runs the task in turn. Returns `null` if the task got no turn or was abandoned. */
  async run<T>(requester: Requester, task: () => Promise<T>): Promise<T | null> {
    if (!(await this.turn(requester))) return null;
    try {
      return await this.untilAbandoned(task());
    } finally {
      this.passOn();
    }
  }

  /** Refuses all queued and future tasks. The running task continues. */
  close(): void {
    this.isClosed = true;
    for (const waiter of this.waiting) this.refuse(waiter);
  }

  /** Call after {@link close} to stop waiting for the running task. */
  giveUp(): void {
    this.abandon();
  }

  private untilAbandoned<T>(work: Promise<T>): Promise<T | null> {
    return new Promise((resolve, reject) => {
      this.abandon = () => resolve(null);
      work.then(resolve, reject);
    });
  }

  private turn(requester: Requester): boolean | Promise<boolean> {
    if (this.isClosed) {
      this.refused++;
      return false;
    }
    if (!this.isBusy) {
      this.isBusy = true;
      return true;
    }
    return new Promise((decide) => this.enter(requester, decide));
  }

  private enter(requester: Requester, decide: (hasTurn: boolean) => void): void {
    const { address } = requester;
    const lane = this.known.has(address) ? this.knownLane : this.otherLane;
    const waiter: Waiter = { requester, key: address, lane, sinceMs: this.elapsedMs(), decide };
    if (lane.isFullFor(address)) this.dropUnwanted();
    const displaced = lane.add(waiter);
    this.waiting.add(waiter);
    if (displaced !== null) this.refuse(displaced);
    this.setTimer();
  }

  /** Passes the turn directly to the next task, so that no new task overtakes it. */
  private passOn(): void {
    for (let next = this.takeNext(); next !== null; next = this.takeNext()) {
      const { isOver } = next.requester;
      next.decide(!isOver);
      if (!isOver) return;
    }
    this.isBusy = false;
  }

  private takeNext(): Waiter | null {
    const lane = this.nextLane;
    const other = lane === this.knownLane ? this.otherLane : this.knownLane;
    const waiter = lane.take() ?? other.take();
    if (waiter === null) return null;
    this.nextLane = waiter.lane === this.knownLane ? this.otherLane : this.knownLane;
    this.forget(waiter);
    return waiter;
  }

  private dropUnwanted(): void {
    for (const waiter of this.waiting) {
      if (!waiter.requester.isOver) continue;
      this.forget(waiter);
      waiter.decide(false);
    }
  }

  private refuse(waiter: Waiter): void {
    this.refused++;
    this.forget(waiter);
    waiter.decide(false);
  }

  private forget(waiter: Waiter): void {
    waiter.lane.remove(waiter);
    this.waiting.delete(waiter);
    if (this.waiting.size > 0 || this.timer === null) return;
    clearTimeout(this.timer);
    this.timer = null;
  }

  private setTimer(): void {
    const first = this.waiting.values().next();
    if (this.timer !== null || first.done === true) return;
    const leftMs = first.value.sinceMs + this.limits.waitMs - this.elapsedMs();
    this.timer = setTimeout(() => this.refuseLate(), leftMs);
  }

  private refuseLate(): void {
    this.timer = null;
    const beforeMs = this.elapsedMs() - this.limits.waitMs;
    for (const waiter of this.waiting) {
      if (waiter.sinceMs > beforeMs) break;
      this.refuse(waiter);
    }
    this.setTimer();
  }
}

interface Waiter {
  requester: Requester;
  key: AddressKey;
  lane: Lane<Waiter>;
  sinceMs: number;
  decide: (hasTurn: boolean) => void;
}
