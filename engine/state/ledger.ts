/**
 * All money. Every micro-dollar is in exactly one of these pots.
 *
 * Invariant: no pot is negative, and after every command
 *
 *   Σ available + Σ held + Σ collateral + Σ fee escrow + stake + yield due + treasury = deposits −
 *   withdrawals.
 *
 * Accounts and markets have their pots in their rows. The sum of each kind of pot is stored, so
 * that checking the identity after every command costs a few additions.
 */
import { MAX_DEPOSITED_MICROS, MAX_GRANTED_MICROS } from '../interface/limits.js';
import type { Archive } from '../storage/archive.js';
import type { UndoLog } from '../storage/undo.js';
import type { Accounts } from './accounts.js';
import type { Markets } from './markets.js';

/** The totals. The first seven add up to `netDeposits`. */
export const Pot = {
  available: 0,
  held: 1,
  collateral: 2,
  escrow: 3,
  staked: 4,
  yieldDue: 5,
  treasury: 6,
  netDeposits: 7,
  /** The play money among the net deposits. */
  granted: 8,
} as const;
export type Pot = (typeof Pot)[keyof typeof Pot];

export class Ledger {
  private readonly totals: Float64Array;

  constructor(
    undo: UndoLog,
    private readonly accounts: Accounts,
    private readonly markets: Markets,
  ) {
    this.totals = undo.block(9);
  }

  of(pot: Pot): number {
    return this.totals[pot]!;
  }

  available(userId: number): number {
    return this.accounts.availableMicros(userId);
  }

  held(userId: number): number {
    return this.accounts.heldMicros(userId);
  }

  addAvailable(userId: number, micros: number): void {
    this.accounts.touch(userId);
    this.accounts.addAvailableMicros(userId, micros);
    this.totals[Pot.available]! += micros;
  }

  addHeld(userId: number, micros: number): void {
    this.accounts.touch(userId);
    this.accounts.addHeldMicros(userId, micros);
    this.totals[Pot.held]! += micros;
  }

  /** Moves available money to held; a negative amount releases it. */
  hold(userId: number, micros: number): void {
    this.addAvailable(userId, 0 - micros);
    this.addHeld(userId, micros);
  }

  addCollateral(slot: number, micros: number): void {
    this.markets.touch(slot);
    this.markets.addCollateralMicros(slot, micros);
    this.totals[Pot.collateral]! += micros;
  }

  addEscrow(slot: number, micros: number): void {
    this.markets.touch(slot);
    this.markets.addEscrowMicros(slot, micros);
    this.totals[Pot.escrow]! += micros;
  }

  /** Changes the total of a pot that is not kept per account or per market. */
  add(pot: Pot, micros: number): void {
    this.totals[pot]! += micros;
  }

  addGranted(micros: number): void {
    this.add(Pot.netDeposits, micros);
    this.add(Pot.granted, micros);
  }

  exceedsDeposits(micros: number): boolean {
    return micros > MAX_DEPOSITED_MICROS - (this.of(Pot.netDeposits) - this.of(Pot.granted));
  }

  exceedsGrants(micros: number, maximum = MAX_GRANTED_MICROS): boolean {
    return micros > maximum - this.of(Pot.granted);
  }

  /** Sum of all pots; equals `netDeposits`. */
  total(): number {
    const { totals } = this;
    // Each command checks the sum, and a loop is slower.
    const ofAccounts = totals[Pot.available]! + totals[Pot.held]!;
    const ofMarkets = totals[Pot.collateral]! + totals[Pot.escrow]!;
    const ofVault = totals[Pot.staked]! + totals[Pot.yieldDue]!;
    return ofAccounts + ofMarkets + ofVault + totals[Pot.treasury]!;
  }

  archive(archive: Archive): void {
    for (let i = 0; i < this.totals.length; i++) this.totals[i] = archive.number(this.totals[i]!);
  }
}
