/**
 * The flex vault: deposits that earn a share of the trading fees.
 *
 * Yield is counted by accumulated yield per staked micro (the "reward per token" of staking
 * contracts). Let E be the micros that are earning. A payment of S, at most E / YIELD_DIVISOR,
 * raises the accumulator by floor(S × 10^18 / E). A deposit's yield is floor(amount × growth of the
 * accumulator since it began to earn / 10^18). Sharing is O(1) for any number of deposits. Rounding
 * remainders stay in the yield due until the last deposit is gone, and then go to the treasury.
 *
 * Deposits that begin to earn at the same quarter hour form a cohort, so that starting to earn is
 * also O(1).
 */

import { WINDOW_MS } from '../interface/domain.js';
import { VAULT_WARM_UP_MS, YIELD_DIVISOR, YIELD_SCALE } from '../interface/parameters.js';
import { type Archive, archivedList } from '../storage/archive.js';
import { addSaturating } from '../storage/arithmetic.js';
import type { UndoLog } from '../storage/undo.js';
import { VaultDeposits } from './vault-deposits.js';

/** The live deposits that begin to earn at one time. */
interface Cohort {
  earnsFromMs: number;
  amountMicros: number;
  depositCount: number;
  /** The accumulator when the cohort began to earn; null if it has not begun. */
  startPerMicro: bigint | null;
}

export class Vault {
  readonly deposits: VaultDeposits;
  private readonly cohorts = new Map<number, Cohort>();
  /** Start times of cohorts that do not earn yet, ascending. */
  private warmingUp: number[] = [];
  private earningMicros = 0;
  private perMicro = 0n;
  yieldPaidMicros = 0;

  constructor(undo: UndoLog) {
    this.deposits = new VaultDeposits(undo);
  }

  /** The first quarter hour at least 15 minutes after `atMs`. */
  static earnsFromMs(atMs: number): number {
    return Math.ceil((atMs + VAULT_WARM_UP_MS) / WINDOW_MS) * WINDOW_MS;
  }

  /** Returns the row of the new deposit. */
  add(userId: number, amountMicros: number, atMs: number): number {
    const earnsFromMs = Vault.earnsFromMs(atMs);
    this.joinCohort(earnsFromMs, amountMicros);
    return this.deposits.add({ userId, amountMicros, stakedAtMs: atMs, earnsFromMs });
  }

  accrued(row: number): number {
    const { deposits } = this;
    if (deposits.closed(row) === 1) return 0;
    const start = this.cohortOf(row).startPerMicro;
    if (start === null) return 0;
    const total = (BigInt(deposits.amountMicros(row)) * (this.perMicro - start)) / YIELD_SCALE;
    return Number(total) - deposits.paidYieldMicros(row);
  }

  /** Records that the accrued yield is paid; returns the amount. */
  payYield(row: number): number {
    const yieldMicros = this.accrued(row);
    this.deposits.addPaidYieldMicros(row, yieldMicros);
    this.yieldPaidMicros = addSaturating(this.yieldPaidMicros, yieldMicros);
    return yieldMicros;
  }

  /** The deposit's yield must be paid. */
  close(row: number): void {
    const cohort = this.cohortOf(row);
    const amountMicros = this.deposits.amountMicros(row);
    if (cohort.startPerMicro !== null) this.earningMicros -= amountMicros;
    cohort.amountMicros -= amountMicros;
    cohort.depositCount--;
    if (cohort.depositCount === 0) this.dropCohort(cohort);
    this.deposits.close(row);
  }

  /**
   * Shares money among the deposits that earn at `atMs`, up to 1 / YIELD_DIVISOR of their amount;
   * returns the shared part.
   */
  share(shareMicros: number, atMs: number): number {
    this.beginEarning(atMs);
    if (this.earningMicros === 0) return 0;
    const earning = BigInt(this.earningMicros);
    const most = Math.floor(this.earningMicros / YIELD_DIVISOR);
    const perMicro = (BigInt(Math.min(shareMicros, most)) * YIELD_SCALE) / earning;
    this.perMicro += perMicro;
    // Rounded up, so that the deposits can never claim more than the yield due.
    return Number((perMicro * earning + YIELD_SCALE - 1n) / YIELD_SCALE);
  }

  archive(archive: Archive, userRows: number): void {
    this.earningMicros = archive.number(this.earningMicros);
    this.perMicro = archive.bigint(this.perMicro);
    this.yieldPaidMicros = archive.number(this.yieldPaidMicros);
    this.deposits.archiveAll(archive, userRows);
    this.archiveCohorts(archive);
  }

  /** Starts the cohorts that are due. Only `share` needs to call it, because only shares matter. */
  private beginEarning(atMs: number): void {
    while (this.warmingUp.length > 0 && this.warmingUp[0]! <= atMs) {
      const cohort = this.cohorts.get(this.warmingUp.shift()!)!;
      cohort.startPerMicro = this.perMicro;
      this.earningMicros += cohort.amountMicros;
    }
  }

  private cohortOf(row: number): Cohort {
    return this.cohorts.get(this.deposits.earnsFromMs(row))!;
  }

  private joinCohort(earnsFromMs: number, amountMicros: number): void {
    const cohort = this.cohorts.get(earnsFromMs);
    if (cohort !== undefined) {
      cohort.amountMicros += amountMicros;
      cohort.depositCount++;
      return;
    }
    this.cohorts.set(earnsFromMs, {
      earnsFromMs,
      amountMicros,
      depositCount: 1,
      startPerMicro: null,
    });
    this.warmingUp.push(earnsFromMs);
  }

  private dropCohort(cohort: Cohort): void {
    this.cohorts.delete(cohort.earnsFromMs);
    this.warmingUp = this.warmingUp.filter((earnsFromMs) => earnsFromMs !== cohort.earnsFromMs);
  }

  private archiveCohorts(archive: Archive): void {
    const cohorts = archivedList(archive, [...this.cohorts.values()], (cohort) => ({
      earnsFromMs: archive.number(cohort?.earnsFromMs ?? 0),
      amountMicros: archive.number(cohort?.amountMicros ?? 0),
      depositCount: archive.number(cohort?.depositCount ?? 0),
      startPerMicro: archivedStart(archive, cohort?.startPerMicro ?? null),
    }));
    if (!archive.reading) return;
    for (const cohort of cohorts) {
      this.cohorts.set(cohort.earnsFromMs, cohort);
      if (cohort.startPerMicro === null) this.warmingUp.push(cohort.earnsFromMs);
    }
  }
}

function archivedStart(archive: Archive, start: bigint | null): bigint | null {
  const earns = archive.number(start === null ? 0 : 1) === 1;
  return earns ? archive.bigint(start ?? 0n) : null;
}
