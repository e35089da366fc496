/**
 * Deadlines and pending work. The next deadline is the earliest of all assets' (at most 64), the
 * first payout's, the next token's and the next timer's. Work is done first in, first out.
 */
import { type Archive, archivedList } from '../storage/archive.js';
import type { DeadlineHeap } from '../storage/deadline-heap.js';

/** The schedule of an asset: market slots (0: none) and times (Infinity: nothing is due). */
export interface AssetSchedule {
  boundaryAtMs: number;
  /** When the last boundary's reference price is fixed and the market that ended there resolves. */
  fixAtMs: number;
  /** When a market that ended without a price becomes VOID. */
  voidAtMs: number;
  activeSlot: number;
  /** The market that has ended and is not resolved. */
  endedSlot: number;
  /** 1 if the current window's market waits for a price to open. */
  waitsForPrice: number;
  listsAhead: number;
}

export const DeadlineKind = {
  BOUNDARY: 0,
  FIX: 1,
  VOID: 2,
  PAYOUT: 3,
  TOKENS: 4,
  TIMERS: 5,
} as const;
export type DeadlineKind = (typeof DeadlineKind)[keyof typeof DeadlineKind];

/**
 * The subject of work is the slot of a market. For EXPIRE it is the time before which orders
 * expire. For TOKENS and TIMERS, which handle all that are due, it is 0.
 */
export const WorkKind = {
  CANCEL: 0,
  SETTLE: 1,
  PAY: 2,
  TOKENS: 3,
  TIMERS: 4,
  EXPIRE: 5,
} as const;
export type WorkKind = (typeof WorkKind)[keyof typeof WorkKind];

export class Schedule {
  readonly assets: AssetSchedule[] = [];
  private payoutAtMs: number[] = [];
  private payoutSlots: number[] = [];
  private workKinds: WorkKind[] = [];
  private workSubjects: number[] = [];

  /**
   * The earliest deadline: time (Infinity: nothing is due), kind and asset (for a payout the market
   * slot; for tokens and timers 0).
   */
  nextAtMs = Number.POSITIVE_INFINITY;
  nextKind: DeadlineKind = DeadlineKind.BOUNDARY;
  nextSubject = 0;

  constructor(
    private readonly tokens: DeadlineHeap,
    private readonly timers: DeadlineHeap,
  ) {}

  addAsset(boundaryAtMs: number): void {
    this.assets.push({
      boundaryAtMs,
      fixAtMs: Number.POSITIVE_INFINITY,
      voidAtMs: Number.POSITIVE_INFINITY,
      activeSlot: 0,
      endedSlot: 0,
      waitsForPrice: 1,
      listsAhead: 0,
    });
    this.findNext();
  }

  /** Whether the start price of an active market may still change. */
  isStartPriceOpen(asset: number, slot: number): boolean {
    const { activeSlot, fixAtMs } = this.assets[asset]!;
    return activeSlot === slot && fixAtMs !== Number.POSITIVE_INFINITY;
  }

  addPayout(atMs: number, slot: number): void {
    this.payoutAtMs.push(atMs);
    this.payoutSlots.push(slot);
  }

  removePayout(): void {
    this.payoutAtMs.shift();
    this.payoutSlots.shift();
  }

  get hasWork(): boolean {
    return this.workKinds.length > 0;
  }

  get workKind(): WorkKind {
    return this.workKinds[0]!;
  }

  get workSubject(): number {
    return this.workSubjects[0]!;
  }

  addWork(kind: WorkKind, subject: number): void {
    this.workKinds.push(kind);
    this.workSubjects.push(subject);
  }

  /** Schedules the cancellation of orders that expire before a time. */
  addExpiry(beforeMs: number): void {
    const last = this.workKinds.length - 1;
    if (this.workKinds[last] === WorkKind.EXPIRE) this.workSubjects[last] = beforeMs;
    else this.addWork(WorkKind.EXPIRE, beforeMs);
  }

  removeWork(): void {
    this.workKinds.shift();
    this.workSubjects.shift();
  }

  /** Finds the earliest deadline; ties by kind, then by asset. Call it after deadlines change. */
  findNext(): void {
    this.nextAtMs = Number.POSITIVE_INFINITY;
    for (let asset = 0; asset < this.assets.length; asset++) {
      const schedule = this.assets[asset]!;
      this.consider(schedule.boundaryAtMs, DeadlineKind.BOUNDARY, asset);
      this.consider(schedule.fixAtMs, DeadlineKind.FIX, asset);
      this.consider(schedule.voidAtMs, DeadlineKind.VOID, asset);
    }
    if (this.payoutAtMs.length > 0) {
      this.consider(this.payoutAtMs[0]!, DeadlineKind.PAYOUT, this.payoutSlots[0]!);
    }
    // Pending work also does whatever becomes due before it runs.
    if (!this.workKinds.includes(WorkKind.TOKENS))
      this.consider(this.tokens.firstAtMs, DeadlineKind.TOKENS, 0);
    if (!this.workKinds.includes(WorkKind.TIMERS))
      this.consider(this.timers.firstAtMs, DeadlineKind.TIMERS, 0);
  }

  archive(archive: Archive): void {
    const assets = archive.number(this.assets.length);
    for (let asset = 0; asset < assets; asset++) {
      if (archive.reading) this.addAsset(0);
      const schedule = this.assets[asset]!;
      schedule.boundaryAtMs = archive.number(schedule.boundaryAtMs);
      schedule.fixAtMs = archive.number(schedule.fixAtMs);
      schedule.voidAtMs = archive.number(schedule.voidAtMs);
      schedule.activeSlot = archive.number(schedule.activeSlot);
      schedule.endedSlot = archive.number(schedule.endedSlot);
      schedule.waitsForPrice = archive.number(schedule.waitsForPrice);
      schedule.listsAhead = archive.number(schedule.listsAhead);
    }
    const number = (value = 0) => archive.number(value);
    this.payoutAtMs = archivedList(archive, this.payoutAtMs, number);
    this.payoutSlots = archivedList(archive, this.payoutSlots, number);
    this.workKinds = archivedList<number>(archive, this.workKinds, number) as WorkKind[];
    this.workSubjects = archivedList(archive, this.workSubjects, number);
    this.findNext();
  }

  private consider(atMs: number, kind: DeadlineKind, subject: number): void {
    if (atMs > this.nextAtMs) return;
    if (atMs === this.nextAtMs && kind >= this.nextKind) return;
    this.nextAtMs = atMs;
    this.nextKind = kind;
    this.nextSubject = subject;
  }
}
