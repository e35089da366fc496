/**
 * All money. Every micro-dollar is in exactly one of these pots, and after every command
 *
 *   Σ available + Σ held + Σ collateral + Σ fee escrow + stake + yield due + treasury = deposits −
 *   withdrawals.
 *
 * Accounts and markets have a pot each (columns), and the sum of each kind of pot is stored, so
 * that checking the identity after every command costs a few additions. Pots never go below zero.
 */
import { MAX_TOTAL_MICROS } from '../interface/limits.js';
import type { Archive } from '../storage/archive.js';
import { Int53Column, Scalar } from '../storage/columns.js';
import type { UndoLog } from '../storage/undo.js';

export class Ledger {
  /** By user id. */
  readonly available: Int53Column;
  readonly held: Int53Column;
  /** By market slot. */
  readonly collateral: Int53Column;
  readonly escrow: Int53Column;

  readonly totalAvailable: Scalar;
  readonly totalHeld: Scalar;
  readonly totalCollateral: Scalar;
  readonly totalEscrow: Scalar;
  readonly staked: Scalar;
  readonly yieldDue: Scalar;
  readonly treasury: Scalar;
  /** Deposits less withdrawals. */
  readonly netDeposits: Scalar;

  constructor(undo: UndoLog) {
    this.available = new Int53Column(undo);
    this.held = new Int53Column(undo);
    this.collateral = new Int53Column(undo);
    this.escrow = new Int53Column(undo);
    this.totalAvailable = new Scalar(undo);
    this.totalHeld = new Scalar(undo);
    this.totalCollateral = new Scalar(undo);
    this.totalEscrow = new Scalar(undo);
    this.staked = new Scalar(undo);
    this.yieldDue = new Scalar(undo);
    this.treasury = new Scalar(undo);
    this.netDeposits = new Scalar(undo);
  }

  ensureUsers(rows: number): void {
    this.available.ensure(rows);
    this.held.ensure(rows);
  }

  ensureMarkets(rows: number): void {
    this.collateral.ensure(rows);
    this.escrow.ensure(rows);
  }

  addAvailable(userId: number, micros: number): void {
    this.available.add(userId, micros);
    this.totalAvailable.add(micros);
  }

  addHeld(userId: number, micros: number): void {
    this.held.add(userId, micros);
    this.totalHeld.add(micros);
  }

  /** Available money becomes held; a negative amount releases it. */
  hold(userId: number, micros: number): void {
    this.addAvailable(userId, 0 - micros);
    this.addHeld(userId, micros);
  }

  addCollateral(slot: number, micros: number): void {
    this.collateral.add(slot, micros);
    this.totalCollateral.add(micros);
  }

  addEscrow(slot: number, micros: number): void {
    this.escrow.add(slot, micros);
    this.totalEscrow.add(micros);
  }

  /** Whether a deposit of so much would bring the exchange above MAX_TOTAL_MICROS. */
  exceedsTotal(depositMicros: number): boolean {
    return depositMicros > MAX_TOTAL_MICROS - this.netDeposits.value;
  }

  /** Sum of all pots; equals `netDeposits`. */
  total(): number {
    return (
      this.totalAvailable.value +
      this.totalHeld.value +
      this.totalCollateral.value +
      this.totalEscrow.value +
      this.staked.value +
      this.yieldDue.value +
      this.treasury.value
    );
  }

  archive(archive: Archive, userRows: number, marketRows: number): void {
    this.available.archive(archive, userRows);
    this.held.archive(archive, userRows);
    this.collateral.archive(archive, marketRows);
    this.escrow.archive(archive, marketRows);
    const scalars = [
      this.totalAvailable,
      this.totalHeld,
      this.totalCollateral,
      this.totalEscrow,
      this.staked,
      this.yieldDue,
      this.treasury,
      this.netDeposits,
    ];
    for (const scalar of scalars) scalar.archive(archive);
  }
}
