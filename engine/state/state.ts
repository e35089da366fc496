/**
 * The whole state of the engine, and the buffers that one command writes. Everything that affects
 * later commands is in here and in its archive.
 */

import { MAX_OPEN_ORDERS, MAX_POSITIONS, MAX_USERS } from '../interface/limits.js';
import type { Archive } from '../storage/archive.js';
import { Scalar } from '../storage/columns.js';
import { NumberBuffer } from '../storage/number-buffer.js';
import { TextHash } from '../storage/text-hash.js';
import { UndoLog } from '../storage/undo.js';
import { Idempotency } from './idempotency.js';
import { Ledger } from './ledger.js';
import { Markets } from './markets.js';
import { Orders } from './orders.js';
import { Positions } from './positions.js';
import { Prices } from './prices.js';
import { Schedule } from './schedule.js';
import { Transfers } from './transfers.js';
import { UserStatistics } from './user-statistics.js';
import { Users } from './users.js';
import { Vault } from './vault.js';

/** Users that the indexes have chains for in advance; further chains are added one by one. */
const INDEXED_USERS = 1_000_000;

export class State {
  readonly undo = new UndoLog();
  readonly hash = new TextHash();
  readonly ledger = new Ledger(this.undo);
  readonly users = new Users(this.undo, this.hash);
  readonly userStatistics = new UserStatistics(this.undo);
  readonly orders = new Orders(this.undo);
  readonly positions = new Positions(this.undo);
  readonly markets = new Markets(this.undo, (rows) => {
    this.ledger.ensureMarkets(rows);
    this.positions.ensureMarkets(rows);
  });
  readonly prices = new Prices();
  readonly schedule = new Schedule();
  readonly vault = new Vault();
  readonly transfers = new Transfers(this.hash);
  readonly idempotency = new Idempotency(this.hash);
  readonly lastOrderId = new Scalar(this.undo);
  readonly lastTradeId = new Scalar(this.undo);

  /** Of the last command. */
  sequence = 0;
  nowMs = 0;

  /** The result and the events of the last command. */
  readonly result = new NumberBuffer();
  readonly events = new NumberBuffer();
  /** In the head of the result: those of the first time if the result is replayed. */
  resultSequence = 0;
  resultAtMs = 0;
  replayed = false;
  /** Makers that the current command may still trade with, or check for a refused FOK order. */
  fillsLeft = 0;
  /** Details of the current command's refusal. */
  required = 0;
  available = 0;

  /** Records the details of a refusal; returns the code. */
  refuse(code: number, required: number, available: number): number {
    this.required = required;
    this.available = available;
    return code;
  }

  /** Writes the user's balance, which ends many results. */
  writeBalance(userId: number): void {
    this.result.write(this.ledger.available.values[userId]!, this.ledger.held.values[userId]!);
  }

  /** The result is that of an earlier command. */
  markReplayed(sequence: number, atMs: number): void {
    this.resultSequence = sequence;
    this.resultAtMs = atMs;
    this.replayed = true;
  }

  /**
   * Reserves address space for the maxima, so that no command pays for a resize. Memory is taken
   * only when it is first written to.
   */
  reserve(): void {
    for (const part of [this.ledger, this.userStatistics, this.orders, this.positions])
      part.ensureUsers(MAX_USERS + 1);
    this.users.reserve(MAX_USERS + 1, INDEXED_USERS);
    this.orders.reserve(MAX_OPEN_ORDERS);
    this.positions.reserve(MAX_POSITIONS);
    this.idempotency.reserve();
  }

  /** Makes room for users 1 to `userRows` - 1 everywhere but in `users`. */
  ensureUsers(userRows: number): void {
    this.idempotency.ensureUsers(userRows);
    this.vault.deposits.ensureUsers(userRows);
    this.ledger.ensureUsers(userRows);
    this.userStatistics.ensureUsers(userRows);
    this.orders.ensureUsers(userRows);
    this.positions.ensureUsers(userRows);
  }

  /** The first secret becomes the key of the hash, and the indexes are rebuilt with it. */
  learnSecret(secret: string): void {
    if (secret === '' || this.hash.hasKey) return;
    this.hash.setKey(secret);
    this.users.rebuildIndexes();
    this.transfers.rebuildIndex();
    this.idempotency.rebuildIndex();
  }

  archive(archive: Archive): void {
    this.hash.archive(archive);
    this.sequence = archive.number(this.sequence);
    this.nowMs = archive.number(this.nowMs);
    this.lastOrderId.archive(archive);
    this.lastTradeId.archive(archive);
    this.users.archive(archive);
    const userRows = this.users.count + 1;
    if (archive.reading) this.ensureUsers(userRows);
    this.userStatistics.archive(archive, userRows);
    this.orders.archive(archive, userRows);
    this.markets.archive(archive);
    this.ledger.archive(archive, userRows, this.markets.rows);
    this.positions.archive(archive, userRows, this.markets.rows);
    this.prices.archive(archive);
    this.schedule.archive(archive);
    this.vault.archive(archive, userRows);
    this.transfers.archive(archive);
    this.idempotency.archive(archive);
  }
}
