/**
 * The vault's deposits, a row each: those that are live, linked by user, and the last 100,000 that were closed, so that
 * asking for one again can be told from asking for one that never was. Ids are 1, 2, … and never used again.
 */

import { CLOSED_DEPOSITS_REMEMBERED } from '../interface/limits.js';
import type { Archive } from '../storage/archive.js';
import { Int32Chunks, Int53Chunks } from '../storage/chunks.js';
import { HashIndex } from '../storage/hash-index.js';

/** What a deposit is, as of when it was looked at. */
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
  /** Of a live deposit: those of the same user before and after it. Of a closed one: `after` is the one closed next. */
  private readonly before = new Int32Chunks();
  private readonly after = new Int32Chunks();
  /** By user id: first and last live deposit, and how many. */
  private readonly firstOfUser = new Int32Chunks();
  private readonly lastOfUser = new Int32Chunks();
  private readonly countOfUser = new Int32Chunks();

  private lastId = 0;
  /** Live deposits of everyone. */
  liveCount = 0;
  private closedCount = 0;
  private firstClosed = 0;
  private lastClosed = 0;
  /** Rows ever used, plus one; and the first that is free, the others being linked by `after`. */
  private end = 1;
  private firstFree = 0;

  /** null: there is none, or it was closed long ago. */
  find(depositId: number): VaultDeposit | null {
    let row = this.index.first(depositId | 0);
    while (row !== 0 && this.ids.get(row) !== depositId) row = this.index.next(row);
    return row === 0 ? null : this.read(row);
  }

  /** How many live deposits a user has. */
  countOf(userId: number): number {
    return this.countOfUser.get(userId);
  }

  /** The ids of a user's live deposits, oldest first. */
  idsOf(userId: number): number[] {
    const ids: number[] = [];
    for (let row = this.firstOfUser.get(userId); row !== 0; row = this.after.get(row))
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

  /** Ends a live deposit; when too many that are closed are remembered, the first of them is forgotten. */
  close(deposit: VaultDeposit): void {
    const { row, userId } = deposit;
    deposit.closed = true;
    const before = this.before.get(row);
    const after = this.after.get(row);
    if (before !== 0) this.after.set(before, after);
    else this.firstOfUser.set(userId, after);
    if (after !== 0) this.before.set(after, before);
    else this.lastOfUser.set(userId, before);
    this.countOfUser.set(userId, this.countOfUser.get(userId) - 1);
    this.liveCount--;
    this.rememberClosed(row);
  }

  ensureUsers(userRows: number): void {
    this.firstOfUser.ensure(userRows);
    this.lastOfUser.ensure(userRows);
    this.countOfUser.ensure(userRows);
  }

  /** The live deposits of each user, then the closed ones, each the oldest first. */
  archive(archive: Archive, userRows: number): void {
    this.lastId = archive.number(this.lastId);
    const live = archive.number(this.liveCount);
    const rows = archive.reading ? [] : this.rowsInOrder(userRows);
    for (let i = 0; i < live; i++) {
      const row = this.archiveRow(archive, rows[i] ?? 0);
      if (archive.reading) this.link(row, this.userIds.get(row));
    }
    const closed = archive.number(this.closedCount);
    let next = this.firstClosed;
    for (let i = 0; i < closed; i++) {
      const row = this.archiveRow(archive, next);
      if (archive.reading) this.rememberClosed(row);
      else next = this.after.get(next);
    }
  }

  private rowsInOrder(userRows: number): number[] {
    const rows: number[] = [];
    for (let userId = 1; userId < userRows; userId++) {
      for (let row = this.firstOfUser.get(userId); row !== 0; row = this.after.get(row)) rows.push(row);
    }
    return rows;
  }

  /** Writes a row, or makes one of what was written; returns it. */
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
    const row = this.takeRow();
    this.ids.set(row, depositId);
    this.userIds.set(row, deposit.userId);
    this.amounts.set(row, deposit.amountMicros);
    this.stakedAtMs.set(row, deposit.stakedAtMs);
    this.earnsFromMs.set(row, deposit.earnsFromMs);
    this.paidYields.set(row, 0);
    this.closed.set(row, 0);
    this.index.add(depositId | 0, row);
    return row;
  }

  private link(row: number, userId: number): void {
    const last = this.lastOfUser.get(userId);
    this.before.set(row, last);
    this.after.set(row, 0);
    if (last !== 0) this.after.set(last, row);
    else this.firstOfUser.set(userId, row);
    this.lastOfUser.set(userId, row);
    this.countOfUser.set(userId, this.countOfUser.get(userId) + 1);
    this.liveCount++;
  }

  private rememberClosed(row: number): void {
    this.closed.set(row, 1);
    this.after.set(row, 0);
    if (this.lastClosed !== 0) this.after.set(this.lastClosed, row);
    else this.firstClosed = row;
    this.lastClosed = row;
    this.closedCount++;
    if (this.closedCount <= CLOSED_DEPOSITS_REMEMBERED) return;
    const forgotten = this.firstClosed;
    this.firstClosed = this.after.get(forgotten);
    this.closedCount--;
    this.index.remove(forgotten);
    this.after.set(forgotten, this.firstFree);
    this.firstFree = forgotten;
  }

  private takeRow(): number {
    const free = this.firstFree;
    if (free !== 0) {
      this.firstFree = this.after.get(free);
      return free;
    }
    const row = this.end++;
    for (const column of this.columns()) column.ensure(this.end);
    return row;
  }

  private columns(): (Int32Chunks | Int53Chunks)[] {
    return [
      this.ids,
      this.userIds,
      this.amounts,
      this.stakedAtMs,
      this.earnsFromMs,
      this.paidYields,
      this.closed,
      this.before,
      this.after,
    ];
  }
}
