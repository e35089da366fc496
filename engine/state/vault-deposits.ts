/**
 * The vault's deposits, one row each: the live ones, in lists by user, and the last 100,000 closed
 * ones, to distinguish a closed deposit from an unknown one. Ids are 1, 2, … and never reused.
 */

import { CLOSED_DEPOSITS_REMEMBERED, MAX_VAULT_DEPOSITS } from '../interface/limits.js';
import type { Archive } from '../storage/archive.js';
import { HashIndex, mix32 } from '../storage/indexes/hash-index.js';
import { OwnedRows } from '../storage/owned-rows.js';
import { pooledTableOf } from '../storage/table.js';
import type { UndoLog } from '../storage/undo.js';

const DepositTable = pooledTableOf(
  64,
  {
    /** 0 if the row is free. */
    depositId: 'f64',
    amountMicros: 'f64',
    stakedAtMs: 'f64',
    earnsFromMs: 'f64',
    paidYieldMicros: 'f64',
    userId: 'i32',
    /** 1 if the deposit is closed. */
    closed: 'i32',
    before: 'i32',
    after: 'i32',
  },
  'after',
);
/** The owner of the list of closed deposits. No user has this id. */
const CLOSED = 0;

interface NewDeposit {
  userId: number;
  amountMicros: number;
  stakedAtMs: number;
  earnsFromMs: number;
}

export class VaultDeposits extends DepositTable {
  private readonly index = new HashIndex();
  readonly owners: OwnedRows;
  private lastId = 0;

  constructor(undo: UndoLog) {
    super(undo);
    this.owners = new OwnedRows(undo, this);
  }

  get liveCount(): number {
    return this.used - this.owners.count(CLOSED);
  }

  reserve(users: number): void {
    this.ensure(MAX_VAULT_DEPOSITS + CLOSED_DEPOSITS_REMEMBERED + 1);
    this.owners.ensure(users);
  }

  /** The row of a deposit; 0 if it never existed, or was closed long ago. */
  find(depositId: number): number {
    const hash = mix32(depositId);
    let row = this.index.first(hash);
    while (row !== 0 && this.depositId(row) !== depositId) row = this.index.next(hash, row);
    return row;
  }

  idsOf(userId: number): number[] {
    return this.owners.rowsOf(userId).map((row) => this.depositId(row));
  }

  add(deposit: NewDeposit): number {
    const row = this.take();
    this.clear(row);
    this.lastId++;
    this.setDepositId(row, this.lastId);
    this.setUserId(row, deposit.userId);
    this.setAmountMicros(row, deposit.amountMicros);
    this.setStakedAtMs(row, deposit.stakedAtMs);
    this.setEarnsFromMs(row, deposit.earnsFromMs);
    this.index.add(mix32(this.lastId), row);
    this.owners.append(deposit.userId, row);
    return row;
  }

  /** Closes a live deposit. May forget the oldest closed one. */
  close(row: number): void {
    const { owners } = this;
    owners.remove(this.userId(row), row);
    this.setClosed(row, 1);
    owners.append(CLOSED, row);
    if (owners.count(CLOSED) <= CLOSED_DEPOSITS_REMEMBERED) return;
    const oldest = owners.first(CLOSED);
    owners.remove(CLOSED, oldest);
    this.index.remove(mix32(this.depositId(oldest)), oldest);
    this.setDepositId(oldest, 0);
    this.giveBack(oldest);
  }

  archiveAll(archive: Archive, userRows: number): void {
    this.archive(archive);
    this.lastId = archive.number(this.lastId);
    this.owners.archiveRows(archive, 0, userRows);
    if (!archive.reading) return;
    this.index.clear(this.used);
    for (let row = 1; row < this.rows; row++)
      if (this.depositId(row) !== 0) this.index.add(mix32(this.depositId(row)), row);
  }
}
