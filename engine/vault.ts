/**
 * The flex vault: deposits that earn a share of the trading fees.
 *
 * Yield is counted by accumulated yield per staked micro (the "reward per token" of staking contracts): when a share
 * S comes in and E micros are earning, the accumulator grows by floor(S × 10^18 / E); a deposit has accrued what the
 * accumulator grew since it began to earn, times its amount, over 10^18, floored. Sharing is O(1) for any number of
 * deposits. What the floors keep is never paid twice: it stays in the yield that is due until no deposit is left,
 * and goes to the treasury then.
 *
 * Deposits that begin to earn at the same quarter hour form a cohort, so that beginning is O(1) too.
 */
import type { Archive } from './archive.js';
import { WINDOW_MS } from './domain.js';
import { CLOSED_DEPOSITS_REMEMBERED } from './limits.js';

/** What the accumulator counts in: 10^-18 micro per staked micro. */
const SCALE = 10n ** 18n;
const WARM_UP_MS = 900_000;

export interface VaultDeposit {
  depositId: number;
  userId: number;
  amountMicros: number;
  stakedAtMs: number;
  earnsFromMs: number;
  paidYieldMicros: number;
  closed: boolean;
}

/** The live deposits that begin to earn at one time. */
interface Cohort {
  earnsFromMs: number;
  amountMicros: number;
  depositCount: number;
  /** The accumulator when the cohort began to earn; null: no share has come in since it could. */
  startPerMicro: bigint | null;
}

export class Vault {
  /** In order of their ids; closed ones are forgotten, oldest first, beyond a number of them. */
  private readonly deposits = new Map<number, VaultDeposit>();
  private readonly depositsOfUser = new Map<number, Set<number>>();
  private readonly cohorts = new Map<number, Cohort>();
  /** Start times of cohorts that do not earn yet, ascending. */
  private warmingUp: number[] = [];
  private closedIds: number[] = [];
  private lastDepositId = 0;
  private earningMicros = 0;
  private perMicro = 0n;
  liveCount = 0;
  yieldPaidMicros = 0;

  /** The first quarter hour at least 15 minutes after `atMs`. */
  static earnsFromMs(atMs: number): number {
    return Math.ceil((atMs + WARM_UP_MS) / WINDOW_MS) * WINDOW_MS;
  }

  find(depositId: number): VaultDeposit | null {
    return this.deposits.get(depositId) ?? null;
  }

  /** Live deposits of a user, oldest first. */
  ofUser(userId: number): VaultDeposit[] {
    const ids = this.depositsOfUser.get(userId);
    return ids === undefined ? [] : [...ids].map((id) => this.deposits.get(id)!);
  }

  add(userId: number, amountMicros: number, atMs: number): VaultDeposit {
    const earnsFromMs = Vault.earnsFromMs(atMs);
    this.lastDepositId++;
    const deposit: VaultDeposit = {
      depositId: this.lastDepositId,
      userId,
      amountMicros,
      stakedAtMs: atMs,
      earnsFromMs,
      paidYieldMicros: 0,
      closed: false,
    };
    this.deposits.set(deposit.depositId, deposit);
    this.index(deposit);
    this.joinCohort(earnsFromMs, amountMicros);
    this.liveCount++;
    return deposit;
  }

  /** What a live deposit has accrued and not been paid. */
  accrued(deposit: VaultDeposit): number {
    if (deposit.closed) return 0;
    const start = this.cohorts.get(deposit.earnsFromMs)!.startPerMicro;
    if (start === null) return 0;
    const total = (BigInt(deposit.amountMicros) * (this.perMicro - start)) / SCALE;
    return Number(total) - deposit.paidYieldMicros;
  }

  /** Notes that what is accrued has been paid; returns how much. */
  payYield(deposit: VaultDeposit): number {
    const yieldMicros = this.accrued(deposit);
    deposit.paidYieldMicros += yieldMicros;
    this.yieldPaidMicros += yieldMicros;
    return yieldMicros;
  }

  /** Ends a deposit whose yield has been paid. */
  close(deposit: VaultDeposit): void {
    deposit.closed = true;
    this.liveCount--;
    const cohort = this.cohorts.get(deposit.earnsFromMs)!;
    if (cohort.startPerMicro !== null) this.earningMicros -= deposit.amountMicros;
    cohort.amountMicros -= deposit.amountMicros;
    cohort.depositCount--;
    if (cohort.depositCount === 0) this.dropCohort(cohort);
    const ids = this.depositsOfUser.get(deposit.userId)!;
    ids.delete(deposit.depositId);
    if (ids.size === 0) this.depositsOfUser.delete(deposit.userId);
    this.closedIds.push(deposit.depositId);
    if (this.closedIds.length > CLOSED_DEPOSITS_REMEMBERED) this.deposits.delete(this.closedIds.shift()!);
  }

  /** Shares money out among the deposits that earn at `atMs`; returns what was given, the rest being nobody's. */
  share(shareMicros: number, atMs: number): number {
    this.beginEarning(atMs);
    if (this.earningMicros === 0) return 0;
    const earning = BigInt(this.earningMicros);
    const perMicro = (BigInt(shareMicros) * SCALE) / earning;
    this.perMicro += perMicro;
    // Rounded up, so that what the deposits can claim is never more than what is due.
    return Number((perMicro * earning + SCALE - 1n) / SCALE);
  }

  archive(archive: Archive): void {
    this.lastDepositId = archive.number(this.lastDepositId);
    this.earningMicros = archive.number(this.earningMicros);
    this.perMicro = archive.bigint(this.perMicro);
    this.liveCount = archive.number(this.liveCount);
    this.yieldPaidMicros = archive.number(this.yieldPaidMicros);
    this.archiveDeposits(archive);
    this.archiveCohorts(archive);
    const closed = archive.number(this.closedIds.length);
    for (let i = 0; i < closed; i++) this.closedIds[i] = archive.number(this.closedIds[i] ?? 0);
  }

  /** Lets the cohorts begin whose time has come. Only a share makes a difference to them, so it does this first. */
  private beginEarning(atMs: number): void {
    while (this.warmingUp.length > 0 && this.warmingUp[0]! <= atMs) {
      const cohort = this.cohorts.get(this.warmingUp.shift()!)!;
      cohort.startPerMicro = this.perMicro;
      this.earningMicros += cohort.amountMicros;
    }
  }

  private joinCohort(earnsFromMs: number, amountMicros: number): void {
    const cohort = this.cohorts.get(earnsFromMs);
    if (cohort !== undefined) {
      cohort.amountMicros += amountMicros;
      cohort.depositCount++;
      return;
    }
    this.cohorts.set(earnsFromMs, { earnsFromMs, amountMicros, depositCount: 1, startPerMicro: null });
    this.warmingUp.push(earnsFromMs);
  }

  private dropCohort(cohort: Cohort): void {
    this.cohorts.delete(cohort.earnsFromMs);
    this.warmingUp = this.warmingUp.filter((earnsFromMs) => earnsFromMs !== cohort.earnsFromMs);
  }

  private index(deposit: VaultDeposit): void {
    const ids = this.depositsOfUser.get(deposit.userId);
    if (ids === undefined) this.depositsOfUser.set(deposit.userId, new Set([deposit.depositId]));
    else ids.add(deposit.depositId);
  }

  private archiveDeposits(archive: Archive): void {
    const count = archive.number(this.deposits.size);
    const existing = archive.reading ? [] : [...this.deposits.values()];
    for (let i = 0; i < count; i++) {
      const old = existing[i];
      const deposit: VaultDeposit = {
        depositId: archive.number(old?.depositId ?? 0),
        userId: archive.number(old?.userId ?? 0),
        amountMicros: archive.number(old?.amountMicros ?? 0),
        stakedAtMs: archive.number(old?.stakedAtMs ?? 0),
        earnsFromMs: archive.number(old?.earnsFromMs ?? 0),
        paidYieldMicros: archive.number(old?.paidYieldMicros ?? 0),
        closed: archive.number(old?.closed ? 1 : 0) === 1,
      };
      if (!archive.reading) continue;
      this.deposits.set(deposit.depositId, deposit);
      if (!deposit.closed) this.index(deposit);
    }
  }

  private archiveCohorts(archive: Archive): void {
    const count = archive.number(this.cohorts.size);
    const existing = archive.reading ? [] : [...this.cohorts.values()];
    for (let i = 0; i < count; i++) {
      const old = existing[i];
      const earnsFromMs = archive.number(old?.earnsFromMs ?? 0);
      const amountMicros = archive.number(old?.amountMicros ?? 0);
      const depositCount = archive.number(old?.depositCount ?? 0);
      const earns = archive.number(old !== undefined && old.startPerMicro !== null ? 1 : 0) === 1;
      const startPerMicro = earns ? archive.bigint(old?.startPerMicro ?? 0n) : null;
      if (!archive.reading) continue;
      this.cohorts.set(earnsFromMs, { earnsFromMs, amountMicros, depositCount, startPerMicro });
      if (!earns) this.warmingUp.push(earnsFromMs);
    }
  }
}
