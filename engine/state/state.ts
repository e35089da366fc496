/**
 * The whole state of the engine, and the buffers of one command.
 *
 * Invariant: everything that affects later commands is in the state and in its archive.
 */

import { Code } from '../interface/codes.js';
import {
  type Limit,
  MAX_ASSETS,
  MAX_OPEN_ORDERS,
  MAX_ORDER_GROUPS,
  MAX_POSITIONS,
  MAX_USERS,
  RECENT_RESULT_WORDS,
} from '../interface/limits.js';
import { UPCOMING_WINDOWS } from '../interface/parameters.js';
import type { Archive } from '../storage/archive.js';
import type { IncrementalTask } from '../storage/incremental-task.js';
import { NumberBuffer } from '../storage/number-buffer.js';
import { TextHash } from '../storage/text-hash.js';
import { UndoLog } from '../storage/undo.js';
import { CancelTimers } from './access/cancel-timers.js';
import { ClientSequences } from './access/client-sequences.js';
import { OperatorActions } from './access/operator-actions.js';
import { Pauses } from './access/pauses.js';
import { RateTiers } from './access/rate-tiers.js';
import { POOL_SIZES, Pool, Room } from './access/room.js';
import { RulesInForce } from './access/rules-in-force.js';
import { Tokens } from './access/tokens.js';
import { Accounts } from './accounts.js';
import { ClientOrderIds } from './book/client-order-ids.js';
import { Expiries } from './book/expiries.js';
import { OrderDetails } from './book/order-details.js';
import { OrderGroups } from './book/order-groups.js';
import { RecentOrders } from './book/recent-orders.js';
import { Idempotency } from './idempotency.js';
import { Ledger } from './ledger.js';
import { Levels } from './levels.js';
import { Markets } from './markets.js';
import { Orders } from './orders.js';
import { Positions } from './positions.js';
import { PriceSources } from './prices/price-sources.js';
import { Prices } from './prices/prices.js';
import { RecentResults } from './recent-results.js';
import { Schedule } from './schedule.js';
import { Transfers } from './transfers.js';
import { Users } from './users.js';
import { Vault } from './vault.js';

/**
 * The active market, the ended one, an earlier one whose orders are still being cancelled, and the
 * upcoming ones.
 */
const BOOKS_PER_ASSET = 3 + UPCOMING_WINDOWS;
/** Users for whom the indexes have chains in advance; further chains are added one by one. */
const INDEXED_USERS = 1_000_000;

export class State {
  readonly undo = new UndoLog();
  readonly hash = new TextHash();
  readonly accounts = new Accounts(this.undo);
  readonly users = new Users(this.undo, this.hash);
  readonly room = new Room(this.undo, this.accounts, (userId) => this.users.isOfExchange(userId));
  readonly levels = new Levels(this.undo);
  readonly clientOrderIds: ClientOrderIds;
  readonly orderDetails: OrderDetails;
  readonly orderGroups: OrderGroups;
  readonly expiries: Expiries;
  readonly orders: Orders;
  readonly markets = new Markets(this.undo, this.levels);
  readonly positions = new Positions(this.undo, this.accounts, this.markets, this.users, this.room);
  readonly ledger = new Ledger(this.undo, this.accounts, this.markets);
  readonly prices = new Prices();
  readonly priceSources = new PriceSources();
  readonly tokens = new Tokens(this.undo, this.room);
  readonly clientSequences = new ClientSequences(this.tokens);
  readonly timers = new CancelTimers(this.undo);
  readonly pauses = new Pauses();
  readonly actions = new OperatorActions();
  readonly rateTiers = new RateTiers();
  readonly rules = new RulesInForce();
  readonly schedule = new Schedule(this.tokens.deadlines, this.timers.deadlines);
  readonly vault = new Vault(this.undo);
  readonly transfers = new Transfers(this.hash);
  readonly recentResults = new RecentResults(RECENT_RESULT_WORDS);
  readonly idempotency = new Idempotency(this.room, this.recentResults);
  /** The last ids of orders and of trades. */
  private readonly lastIds = this.undo.block(2);
  readonly recentOrders = new RecentOrders(this.undo, this.lastIds);

  sequence = 0;
  nowMs = 0;

  readonly result = new NumberBuffer();
  readonly events = new NumberBuffer();
  /** The buys for an amount that the last command placed: pairs of order id and micros. */
  readonly amounts = new NumberBuffer();
  /** Written to the result's head. A replay keeps the original sequence and time. */
  resultSequence = 0;
  resultAtMs = 0;
  replayed = false;
  /** Whether the last command has used a new idempotency key. */
  remembered = false;
  /**
   * Makers with which the current command may still trade. A refused FOK order uses up those it
   * checks.
   */
  fillsLeft = 0;
  /** Due orders that the current command may still pass over; negative if it met too many. */
  passesLeft = 0;
  /** Resting orders that the current command, or a quote, has examined before trading. */
  makersSeen = 0;
  /** Resting orders that expire at or before this time wait for cancellation; -1 if none. */
  overdueMs = -1;
  /** Orders with a larger id belong to the running atomic batch, and may be undone. */
  lastKeptOrderId = Number.MAX_SAFE_INTEGER;
  required = 0;
  available = 0;

  constructor(sizes = POOL_SIZES) {
    this.room.setSizes(sizes);
    const isResting = (orderId: number) => this.orders.find(orderId) !== 0;
    this.clientOrderIds = new ClientOrderIds(this.undo, isResting, this.room);
    this.orderDetails = new OrderDetails(this.undo, this.clientOrderIds);
    this.orderGroups = new OrderGroups(this.undo, this.orderDetails, this.room);
    this.expiries = new Expiries(this.undo, this.orderDetails);
    this.orders = new Orders(
      this.undo,
      this.accounts,
      this.levels,
      this.orderDetails,
      this.orderGroups,
      this.expiries,
      this.recentOrders,
      this.room,
    );
  }

  get lastOrderId(): number {
    return this.lastIds[0]!;
  }

  nextOrderId(): number {
    this.lastIds[0]! += 1;
    return this.lastIds[0]!;
  }

  nextTradeId(): number {
    this.lastIds[1]! += 1;
    return this.lastIds[1]!;
  }

  /** Records the details of a refusal; returns the code. */
  refuse(code: number, required: number, available: number): number {
    this.required = required;
    this.available = available;
    return code;
  }

  refuseLimit(limit: Limit): number {
    return this.refuse(Code.limit_reached, limit, 0);
  }

  mayTake(pool: Pool, userId: number): boolean {
    return this.room.mayTake(pool, userId, this.taken(pool, userId));
  }

  taken(pool: Pool, userId: number): number {
    switch (pool) {
      case Pool.orders:
        return this.accounts.orderCount(userId);
      case Pool.positions:
        return this.users.positionCount(userId);
      case Pool.vaultDeposits:
        return this.vault.deposits.owners.count(userId);
      case Pool.tokens:
        return this.tokens.owners.count(userId);
      case Pool.referralCodes:
        return this.users.codes.countOf(userId) - 1;
      case Pool.clientOrderIds:
        return this.clientOrderIds.countOf(userId);
      case Pool.keys:
        return this.idempotency.keysOf(userId);
      case Pool.orderGroups:
        return this.orderGroups.owners.count(userId);
      case Pool.subAccounts:
        return this.users.subAccounts(userId).length;
    }
  }

  /** Marks the user as established, no longer a newcomer. */
  establish(userId: number): void {
    for (const pool of Object.values(Pool))
      this.room.leaveNewcomers(pool, this.taken(pool, userId));
    this.accounts.setEstablished(userId);
  }

  /** Many results end with the user's balance. */
  writeBalance(userId: number): void {
    const at = this.result.reserve(2);
    this.result.values[at] = this.accounts.availableMicros(userId);
    this.result.values[at + 1] = this.accounts.heldMicros(userId);
  }

  markReplayed(sequence: number, atMs: number): void {
    this.resultSequence = sequence;
    this.resultAtMs = atMs;
    this.replayed = true;
  }

  /**
   * Reserves address space for the maxima, so that no command pays for a resize. Memory is used
   * only once it is written to. In pieces, so that V8 can collect garbage in between.
   */
  *reserve(): IncrementalTask<void> {
    this.accounts.ensureUsers(MAX_USERS + 1);
    yield;
    this.users.reserve(MAX_USERS + 1, INDEXED_USERS);
    yield;
    this.orders.reserve(MAX_OPEN_ORDERS);
    yield;
    this.orderDetails.ensure(MAX_OPEN_ORDERS + 1);
    this.orderGroups.ensure(MAX_ORDER_GROUPS + 1);
    this.orderGroups.owners.ensure(MAX_USERS + 1);
    this.recentOrders.reserve();
    yield;
    this.clientOrderIds.reserve(MAX_OPEN_ORDERS);
    this.clientOrderIds.ensureUsers(MAX_USERS + 1);
    yield;
    this.positions.reserve(MAX_POSITIONS);
    yield;
    this.vault.deposits.reserve(MAX_USERS + 1);
    this.tokens.reserve(MAX_USERS + 1);
    this.timers.ensure(MAX_USERS + 1);
    yield;
    this.levels.ensureBooks(MAX_ASSETS * BOOKS_PER_ASSET);
    this.idempotency.ensureUsers(MAX_USERS + 1);
  }

  /** Makes room for users 1 to `userRows` - 1 everywhere except in `users`. */
  ensureUsers(userRows: number): void {
    this.idempotency.ensureUsers(userRows);
    this.vault.deposits.owners.ensure(userRows);
    this.accounts.ensureUsers(userRows);
    this.tokens.owners.ensure(userRows);
    this.clientSequences.ensureUsers(userRows);
    this.clientOrderIds.ensureUsers(userRows);
    this.orderGroups.owners.ensure(userRows);
    this.timers.ensure(userRows);
  }

  /** The first secret becomes the key of the hash. Until then, idempotency keys are refused. */
  learnSecret(secret: string): void {
    if (secret === '' || this.hash.hasKey) return;
    this.hash.setKey(secret);
    this.users.rebuildIndexes();
    this.transfers.rebuildIndex();
  }

  *archive(archive: Archive): IncrementalTask<void> {
    this.hash.archive(archive);
    this.sequence = archive.number(this.sequence);
    this.nowMs = archive.number(this.nowMs);
    for (let i = 0; i < this.lastIds.length; i++)
      this.lastIds[i] = archive.number(this.lastIds[i]!);
    yield* this.users.archive(archive);
    const userRows = this.users.count + 1;
    if (archive.reading) this.ensureUsers(userRows);
    this.accounts.archive(archive, userRows);
    this.levels.archive(archive);
    this.orders.archive(archive);
    this.orderDetails.archive(archive);
    this.orderGroups.archiveAll(archive, userRows);
    this.expiries.archive(archive);
    this.recentOrders.archive(archive);
    this.clientOrderIds.archiveAll(archive, userRows);
    this.markets.archive(archive);
    this.positions.archive(archive);
    this.ledger.archive(archive);
    yield;
    if (archive.reading) this.rebuildIndexes(userRows);
    this.prices.archive(archive);
    this.priceSources.archive(archive, this.prices.assetCount);
    yield* this.tokens.archiveAll(archive, userRows);
    this.clientSequences.archive(archive, userRows);
    yield;
    this.timers.archive(archive);
    this.pauses.archive(archive);
    this.actions.archive(archive);
    this.rateTiers.archive(archive);
    this.rules.archive(archive);
    this.schedule.archive(archive);
    this.vault.archive(archive, userRows);
    yield* this.transfers.archive(archive);
    yield* this.idempotency.archive(archive);
    this.room.archive(archive);
  }

  /** Finds orders and positions through the users' lists, because rows in no list are free. */
  private rebuildIndexes(userRows: number): void {
    const { accounts, orders, positions } = this;
    for (let userId = 1; userId < userRows; userId++) {
      for (let row = accounts.firstOrder(userId); row !== 0; row = orders.userAfter(row))
        orders.addToIndex(row);
      let row = accounts.firstPosition(userId);
      for (; row !== 0; row = positions.owners.userAfter(row)) positions.addToIndex(row);
    }
  }
}
