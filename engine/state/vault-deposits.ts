/**
 * The vault's deposits, one row each: the live ones, in lists by user, and the last 100,000 closed
 * ones, to distinguish a closed deposit from an unknown one. Ids are 1, 2, … and never reused.
 */

import { CLOSED_DEPOSITS_REMEMBERED } from '../interface/limits.js';
import { type Archive, ROWS_IN_PIECE } from '../storage/archive.js';
import { Int32Chunks, Int53Chunks, RowPool } from '../storage/chunks.js';
import { HashIndex, mixed } from '../storage/indexes/hash-index.js';
import { Links, ListEnds } from '../storage/linked-lists.js';
import type { Work } from '../storage/pieces.js';

/** The owner of the list of closed deposits. */
const ALL = 0;

export interface VaultDeposit {
  readonly row: number;
  readonly depositId: number;
  readonly userId: number;
  readonly amountMicros: number;
  readonly stakedAtMs: number;
  readonly earnsFromMs: number;
  paidYieldMicros: number;
  closed: boolean;
}

type NewDeposit = Pick<VaultDeposit, 'userId' | 'amountMicros' | 'stakedAtMs' | 'earnsFromMs'>;

export class VaultDeposits {
  private readonly index = new HashIndex();
  private readonly ids = new Int53Chunks();
  private readonly userIds = new Int32Chunks();
  private readonly amounts = new Int53Chunks();
  private readonly stakedAtMs = new Int53Chunks();
  private readonly earnsFromMs = new Int53Chunks();
  private readonly paidYields = new Int53Chunks();
  private readonly closed = new Int32Chunks();
  /** A live deposit is in its user's list, a closed one in the list of closed ones. */
  private readonly links = new Links();
  private readonly ofUser = new ListEnds();
  private readonly closedOnes = new ListEnds();
  private readonly countOfUser = new Int32Chunks();

  private lastId = 0;
  liveCount = 0;
  private closedCount = 0;
  private readonly pool = new RowPool(this.links.afters, (rows) => {
    for (const column of this.columns()) column.ensure(rows);
  });

  constructor() {
    this.closedOnes.ensure(ALL + 1);
  }

  /** The deposit; null if it never existed, or was closed long ago. */
  find(depositId: number): VaultDeposit | null {
    const hash = mixed(depositId);
    let row = this.index.first(hash);
    while (row !== 0 && this.ids.get(row) !== depositId) row = this.index.next(hash, row);
    return row === 0 ? null : this.read(row);
  }

  countOf(userId: number): number {
    return this.countOfUser.get(userId);
  }

  idsOf(userId: number): number[] {
    const ids: number[] = [];
    for (let row = this.ofUser.first(userId); row !== 0; row = this.links.next(row))
      ids.push(this.ids.get(row));
    return ids;
  }

  add(deposit: NewDeposit): VaultDeposit {
    this.lastId++;
    const row = this.store(this.lastId, deposit);
    this.link(row, deposit.userId);
    return this.read(row);
  }

  setPaidYield(deposit: VaultDeposit, micros: number): void {
    deposit.paidYieldMicros = micros;
    this.paidYields.set(deposit.row, micros);
  }

  /** Closes a live deposit. May forget the oldest closed one. */
  close(deposit: VaultDeposit): void {
    const { row, userId } = deposit;
    deposit.closed = true;
    this.links.remove(this.ofUser, userId, row);
    this.countOfUser.set(userId, this.countOfUser.get(userId) - 1);
    this.liveCount--;
    this.rememberClosed(row);
  }

  ensureUsers(userRows: number): void {
    this.ofUser.ensure(userRows);
    this.countOfUser.ensure(userRows);
  }

  /** The live deposits of each user, then the closed ones, oldest first. */
  *archive(archive: Archive, userRows: number): Work<void> {
    this.lastId = archive.number(this.lastId);
    const live = archive.number(this.liveCount);
    if (archive.reading) {
      for (let i = 0; i < live; i++) {
        const row = this.archiveRow(archive, 0);
        this.link(row, this.userIds.get(row));
      }
    } else yield* this.writeLive(archive, userRows);
    const closed = archive.number(this.closedCount);
    let next = this.closedOnes.first(ALL);
    for (let i = 0; i < closed; i++) {
      const row = this.archiveRow(archive, next);
      if (archive.reading) this.rememberClosed(row);
      else next = this.links.next(next);
    }
  }

  private *writeLive(archive: Archive, userRows: number): Work<void> {
    for (let userId = 1; userId < userRows; userId++) {
      if (userId % ROWS_IN_PIECE === 0) yield;
      for (let row = this.ofUser.first(userId); row !== 0; row = this.links.next(row))
        this.archiveRow(archive, row);
    }
  }

  /** Writes a row, or reads one into a new row; returns the row. */
  private archiveRow(archive: Archive, row: number): number {
    const isReading = archive.reading;
    const depositId = archive.number(isReading ? 0 : this.ids.get(row));
    const fields = {
      userId: archive.number(isReading ? 0 : this.userIds.get(row)),
      amountMicros: archive.number(isReading ? 0 : this.amounts.get(row)),
      stakedAtMs: archive.number(isReading ? 0 : this.stakedAtMs.get(row)),
      earnsFromMs: archive.number(isReading ? 0 : this.earnsFromMs.get(row)),
    };
    const paidYield = archive.number(isReading ? 0 : this.paidYields.get(row));
    if (!isReading) return row;
    const made = this.store(depositId, fields);
    this.paidYields.set(made, paidYield);
    return made;
  }

  private read(row: number): VaultDeposit {
    return {
      row,
      depositId: this.ids.get(row),
      userId: this.userIds.get(row),
      amountMicros: this.amounts.get(row),
      stakedAtMs: this.stakedAtMs.get(row),
      earnsFromMs: this.earnsFromMs.get(row),
      paidYieldMicros: this.paidYields.get(row),
      closed: this.closed.get(row) === 1,
    };
  }

  private store(depositId: number, deposit: NewDeposit): number {
    const row = this.pool.take();
    this.ids.set(row, depositId);
    this.userIds.set(row, deposit.userId);
    this.amounts.set(row, deposit.amountMicros);
    this.stakedAtMs.set(row, deposit.stakedAtMs);
    this.earnsFromMs.set(row, deposit.earnsFromMs);
    this.paidYields.set(row, 0);
    this.closed.set(row, 0);
    this.index.add(mixed(depositId), row);
    return row;
  }

  private link(row: number, userId: number): void {
    this.links.append(this.ofUser, userId, row);
    this.countOfUser.set(userId, this.countOfUser.get(userId) + 1);
    this.liveCount++;
  }

  private rememberClosed(row: number): void {
    this.closed.set(row, 1);
    this.links.append(this.closedOnes, ALL, row);
    this.closedCount++;
    if (this.closedCount <= CLOSED_DEPOSITS_REMEMBERED) return;
    const oldest = this.closedOnes.first(ALL);
    this.links.remove(this.closedOnes, ALL, oldest);
    this.closedCount--;
    this.index.remove(mixed(this.ids.get(oldest)), oldest);
    this.pool.giveBack(oldest);
  }

  private columns(): (Int32Chunks | Int53Chunks | Links)[] {
    return [
      this.ids,
      this.userIds,
      this.amounts,
      this.stakedAtMs,
      this.earnsFromMs,
      this.paidYields,
      this.closed,
      this.links,
    ];
  }
}
