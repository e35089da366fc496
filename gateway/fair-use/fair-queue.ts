/**
 * A queue for work that is done one task at a time and that anybody may ask for, such as hashing a password: every address
 * gets the same share of it.
 *
 * The addresses that wait take turns, one task each. They wait in two lanes, one for addresses that are known to be
 * somebody's (see {@link FairQueue.know}) and one for all others, and the lanes take turns too. So a flood from one
 * address delays others by one task each turn; a flood from any number of unknown addresses delays a known one by one task.
 *
 * Always holds:
 * - at most `perAddress` tasks of one address wait, and at most `perLane` in a lane. In a full lane a newcomer takes the place
 *   of the last task of the address that has most waiting, if that has more than the newcomer's;
 * - nobody waits for longer than `waitMs`; and who gets no turn is told so, once.
 */
import type { AddressKey } from './addresses.js';
import type { ElapsedMs } from './token-buckets.js';

export interface FairQueueLimits {
  perLane: number;
  perAddress: number;
  /** Real time. */
  waitMs: number;
}

/** Who asks for a task to be done. */
export interface Asker {
  /** Read once, when the task is handed in. */
  readonly address: AddressKey;
  /** Nobody wants the result any more. */
  readonly isOver: boolean;
}

/** Known addresses that are remembered; the one that was confirmed the longest ago is forgotten first. */
const KNOWN_MAX = 10_000;

export class FairQueue {
  private isBusy = false;
  private isClosed = false;
  private refused = 0;
  private readonly known = new Set<AddressKey>();
  private readonly knownLane: Lane;
  private readonly otherLane: Lane;
  /** Whose turn it is. */
  private nextLane: Lane;
  /** All of both lanes in the order in which they came, which is that in which their time is up. */
  private readonly waiting = new Set<Waiter>();
  private timer: NodeJS.Timeout | null = null;
  /** Tells the one whose task is under way that nothing comes of it. */
  private abandon = () => {};

  constructor(
    private readonly limits: FairQueueLimits,
    private readonly elapsedMs: ElapsedMs,
  ) {
    this.knownLane = new Lane(limits);
    this.otherLane = new Lane(limits);
    this.nextLane = this.knownLane;
  }

  /** Tasks that wait for their turn. */
  get waitingCount(): number {
    return this.waiting.size;
  }

  /** Tasks that got no turn, since the start; without those that nobody wanted any more. */
  get refusedCount(): number {
    return this.refused;
  }

  /** Does the task when its turn comes. null: there was no turn for it, or it was given up. */
  async run<T>(asker: Asker, task: () => Promise<T>): Promise<T | null> {
    if (!(await this.turn(asker))) return null;
    try {
      return await this.untilAbandoned(task());
    } finally {
      this.passOn();
    }
  }

  /** From now on the address waits in the lane of the known ones. */
  know(address: AddressKey): void {
    this.known.delete(address);
    if (this.known.size >= KNOWN_MAX) {
      const oldest = this.known.values().next();
      if (oldest.done !== true) this.known.delete(oldest.value);
    }
    this.known.add(address);
  }

  /** Refuses everything that waits, and everything to come. The task under way goes on. */
  close(): void {
    this.isClosed = true;
    for (const waiter of this.waiting) this.refuse(waiter);
  }

  /** After {@link close}: does not wait for the task under way any longer. */
  giveUp(): void {
    this.abandon();
  }

  private untilAbandoned<T>(work: Promise<T>): Promise<T | null> {
    return new Promise((resolve, reject) => {
      this.abandon = () => resolve(null);
      work.then(resolve, reject);
    });
  }

  private turn(asker: Asker): boolean | Promise<boolean> {
    if (this.isClosed) {
      this.refused++;
      return false;
    }
    if (!this.isBusy) {
      this.isBusy = true;
      return true;
    }
    return new Promise((decide) => this.enter(asker, decide));
  }

  private enter(asker: Asker, decide: (hasTurn: boolean) => void): void {
    const { address } = asker;
    const lane = this.known.has(address) ? this.knownLane : this.otherLane;
    const waiter: Waiter = { asker, address, lane, sinceMs: this.elapsedMs(), decide };
    if (lane.isFullFor(address)) this.dropUnwanted();
    const displaced = lane.add(waiter);
    this.waiting.add(waiter);
    if (displaced !== null) this.refuse(displaced);
    this.setTimer();
  }

  /** The place goes straight to the next in line, so that nobody who comes now gets in between. */
  private passOn(): void {
    for (let next = this.takeNext(); next !== null; next = this.takeNext()) {
      const { isOver } = next.asker;
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
      if (!waiter.asker.isOver) continue;
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

  /** For the one who came first. */
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
  asker: Asker;
  address: AddressKey;
  lane: Lane;
  sinceMs: number;
  decide: (hasTurn: boolean) => void;
}

/** Tasks by address. The address whose turn is next is the first; one that has had its turn and has more goes to the end. */
class Lane {
  private readonly lines = new Map<AddressKey, Waiter[]>();
  private length = 0;

  constructor(private readonly limits: FairQueueLimits) {}

  isFullFor(address: AddressKey): boolean {
    return this.length >= this.limits.perLane || this.lengthOf(address) >= this.limits.perAddress;
  }

  /** Returns the one who has no place any more: another, the new one, or null. */
  add(waiter: Waiter): Waiter | null {
    const { address } = waiter;
    let displaced: Waiter | null = null;
    if (this.isFullFor(address)) {
      displaced = this.displacedBy(address);
      if (displaced === null) return waiter;
      this.remove(displaced);
    }
    const line = this.lines.get(address);
    if (line === undefined) this.lines.set(address, [waiter]);
    else line.push(waiter);
    this.length++;
    return displaced;
  }

  take(): Waiter | null {
    const first = this.lines.values().next();
    if (first.done === true) return null;
    const waiter = first.value[0]!;
    this.remove(waiter);
    const { address } = waiter;
    const rest = this.lines.get(address);
    if (rest !== undefined) {
      this.lines.delete(address);
      this.lines.set(address, rest);
    }
    return waiter;
  }

  /** Does nothing if it does not wait here. */
  remove(waiter: Waiter): void {
    const line = this.lines.get(waiter.address);
    const at = line?.indexOf(waiter) ?? -1;
    if (line === undefined || at < 0) return;
    line.splice(at, 1);
    if (line.length === 0) this.lines.delete(waiter.address);
    this.length--;
  }

  private lengthOf(address: AddressKey): number {
    return this.lines.get(address)?.length ?? 0;
  }

  /** null: nobody else has so much waiting that the newcomer may take a place of theirs. */
  private displacedBy(address: AddressKey): Waiter | null {
    const own = this.lengthOf(address);
    if (own >= this.limits.perAddress) return null;
    let longest: Waiter[] = [];
    for (const line of this.lines.values()) if (line.length > longest.length) longest = line;
    return longest.length > own + 1 ? longest.at(-1)! : null;
  }
}
