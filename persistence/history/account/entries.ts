/**
 * The part of the projection that tells an account's story: its trades, its orders, its other
 * payments, and its balance from time to time.
 *
 * Always holds: every change of an account's money and shares is in exactly one entry of userTrade,
 * userOrder or userPayment. Of the entries that one command makes, payments come first; then each
 * order that it placed, perhaps anew, follows its trades as taker (their order id names it), and
 * trades as maker come last. ledger.ts reads them in this order.
 */
import type { Engine } from '../../../engine/engine.js';
import { Code } from '../../../engine/interface/codes.js';
import { CommandRecord } from '../../../engine/interface/command-record.js';
import { CommandKind } from '../../../engine/interface/commands.js';
import {
  DepositSource,
  OrderStatus,
  Resolution,
  ticksIn,
} from '../../../engine/interface/domain.js';
import { EventSlot } from '../../../engine/interface/events.js';
import { MAX_ORDER_LOTS } from '../../../engine/interface/limits.js';
import { OrderField, type RecordBuffer } from '../../../engine/interface/records.js';
import {
  AMEND_ORDER_AT,
  AmendResult,
  FIRST_OPERATION,
  nextOperation,
  OrderResult,
  ResultHead,
} from '../../../engine/interface/results.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import {
  BALANCE_ENTRIES,
  CLOSED_POSITION,
  columnsOf,
  PaymentKind,
  USER_BALANCE,
  USER_ORDER,
  USER_PAYMENT,
  USER_TRADE,
} from '../format.js';
import { ListCounts, PendingLists } from '../lists.js';
import { detailOf } from './order-details.js';
import {
  cancelledTerms,
  leavingTerms,
  OrderEntry,
  placedTerms,
  replacedTerms,
} from './order-terms.js';

/** What is read of the engine, after each command. */
export interface AccountsEngine
  extends Pick<Engine, 'sequence' | 'nowMs' | 'availableMicros' | 'heldMicros'> {
  readonly events: NumberBuffer;
  readonly result: NumberBuffer;
  readonly replayed: boolean;
}

/** How many entries the lists have. */
export interface AccountCounts {
  userTrades: ListCounts;
  closedPositions: ListCounts;
  userOrders: ListCounts;
  userPayments: ListCounts;
  userBalances: ListCounts;
}

const Trade = EventSlot.trade;
const Settled = EventSlot.positionSettled;
const Cancelled = EventSlot.orderCancelled;
const Rested = EventSlot.orderRested;
const Amended = EventSlot.orderAmended;
const Claimed = EventSlot.claimed;

const UserTrade = columnsOf(USER_TRADE);
const UserOrder = columnsOf(USER_ORDER);
const Payment = columnsOf(USER_PAYMENT);
const Balance = columnsOf(USER_BALANCE);
const Closed = columnsOf(CLOSED_POSITION);

const TAKER = 0;
const MAKER = 1;
const { buy: BUY, sell: SELL, amend: AMEND, batch: BATCH } = CommandKind;

interface PaymentFields {
  kind: number;
  marketId?: number;
  depositId?: number;
  amountMicros?: number;
  extraMicros?: number;
  upLots?: number;
  downLots?: number;
}

export class AccountEntries {
  readonly userTrades = new PendingLists(USER_TRADE);
  readonly closedPositions = new PendingLists(CLOSED_POSITION);
  readonly userOrders = new PendingLists(USER_ORDER);
  readonly userPayments = new PendingLists(USER_PAYMENT);
  readonly userBalances = new PendingLists(USER_BALANCE);
  /** By user: the entries of trades, orders and payments together. */
  private readonly entries = new ListCounts();
  /** The users whose balance is due at the end of the command. */
  private readonly due: number[] = [];
  private readonly command = new CommandRecord();
  private readonly operation = new CommandRecord();
  /** What the batch placed, also anew: where records and results start; the next to add. */
  private readonly placedAt: number[] = [];
  private readonly placedResults: number[] = [];
  /** Which operation of the batch it was, from 0. */
  private readonly placedOperations: number[] = [];
  private nextPlaced = 0;
  /** The taker's order of the last trade in this batch, until it is added; 0: none. */
  private lastTakerOrderId = 0;
  /** Of those placed anew, from their events: the price, and what was placed. */
  private readonly placedTicks: number[] = [];
  private readonly placedLots: number[] = [];

  /** @param changed called for each user whose leaderboard values a trade may have changed. */
  constructor(
    private readonly engine: AccountsEngine,
    private readonly counts: AccountCounts,
    private readonly changed: (userId: number) => void,
  ) {
    const { userTrades, userOrders, userPayments } = counts;
    for (const list of [userTrades, userOrders, userPayments]) this.entries.addCounts(list);
  }

  get pendingEntries(): number {
    const { userTrades, closedPositions, userOrders, userPayments, userBalances } = this;
    return (
      userTrades.count +
      closedPositions.count +
      userOrders.count +
      userPayments.count +
      userBalances.count
    );
  }

  /** The command was applied; its events follow. */
  begin(records: RecordBuffer, at: number): void {
    const { command } = this;
    command.open(records, at);
    if (command.kind === BATCH || command.kind === AMEND) this.findPlaced();
  }

  /** All events were given. */
  end(): void {
    const { kind } = this.command;
    const { values } = this.engine.result;
    if (kind === BUY || kind === SELL) {
      if (values[ResultHead.code] === Code.ok && !this.engine.replayed)
        this.addPlaced(this.command, 0, 0);
    } else if (kind === BATCH || kind === AMEND) this.addPlacedBefore(this.placedAt.length);
    if (this.due.length > 0) this.addBalances();
  }

  addTrade(values: Float64Array, at: number): void {
    this.addSide(values, at, TAKER);
    this.addSide(values, at, MAKER);
  }

  orderRested(values: Float64Array, at: number): void {
    if (this.command.kind === BATCH) this.addPlacedThrough(values[at + Rested.orderId]!);
  }

  orderCancelled(values: Float64Array, at: number): void {
    // An order of the batch that has traded comes first.
    this.addTraded();
    const to = this.addOrder(
      values[at + Cancelled.userId]!,
      cancelledTerms(
        values[at + Cancelled.side]!,
        values[at + Cancelled.outcome]!,
        values[at + Cancelled.reason]!,
      ),
    );
    const entries = this.userOrders.values;
    entries[to + UserOrder.orderId] = values[at + Cancelled.orderId]!;
    entries[to + UserOrder.marketId] = values[at + Cancelled.marketId]!;
    entries[to + UserOrder.priceTicks] = values[at + Cancelled.priceTicks]!;
    entries[to + UserOrder.sizeLots] = values[at + Cancelled.sizeLots]!;
    entries[to + UserOrder.restingLots] = 0;
  }

  orderAmended(values: Float64Array, at: number): void {
    const isKept = values[at + Amended.keptPriority] === 1;
    const orderId = values[at + Amended.orderId]!;
    const oldLots = values[at + Amended.oldSizeLots]!;
    const newLots = values[at + Amended.sizeLots]!;
    if (isKept) this.addTraded();
    else {
      const placed = this.nextPlacedOf(orderId);
      this.addPlacedBefore(placed);
      this.placedTicks[placed] = values[at + Amended.priceTicks]!;
      this.placedLots[placed] = newLots;
    }
    const sizeLots = isKept ? oldLots - newLots : oldLots;
    if (sizeLots === 0) return;
    const to = this.addOrder(
      values[at + Amended.userId]!,
      leavingTerms(
        isKept ? OrderEntry.REDUCED : OrderEntry.TAKEN_OUT,
        values[at + Amended.side]!,
        values[at + Amended.outcome]!,
      ),
    );
    const entries = this.userOrders.values;
    entries[to + UserOrder.orderId] = orderId;
    entries[to + UserOrder.marketId] = values[at + Amended.marketId]!;
    entries[to + UserOrder.priceTicks] = values[at + Amended.oldPriceTicks]!;
    entries[to + UserOrder.sizeLots] = sizeLots;
    entries[to + UserOrder.restingLots] = 0;
  }

  /** `values` as in the events: the user, then what the kind has. */
  deposited(userId: number, source: number, amountMicros: number): void {
    const kind = source === DepositSource.GRANT ? PaymentKind.GRANT : PaymentKind.DEPOSIT;
    this.addPayment(userId, { kind, amountMicros });
  }

  withdrawn(userId: number, amountMicros: number): void {
    this.addPayment(userId, { kind: PaymentKind.WITHDRAWAL, amountMicros: 0 - amountMicros });
  }

  referralEarned(userId: number, marketId: number, amountMicros: number): void {
    this.addPayment(userId, { kind: PaymentKind.REFERRAL, marketId, amountMicros });
  }

  staked(depositId: number, userId: number, amountMicros: number): void {
    this.addPayment(userId, {
      kind: PaymentKind.STAKE,
      depositId,
      amountMicros: 0 - amountMicros,
    });
  }

  unstaked(depositId: number, userId: number, amountMicros: number, extraMicros: number): void {
    this.addPayment(userId, { kind: PaymentKind.UNSTAKE, depositId, amountMicros, extraMicros });
  }

  yieldClaimed(depositId: number, userId: number, amountMicros: number): void {
    this.addPayment(userId, { kind: PaymentKind.YIELD, depositId, amountMicros });
  }

  claimed(values: Float64Array, at: number, resolution: number): void {
    const lots = values[at + Claimed.lots]!;
    const isDown = resolution === Resolution.DOWN;
    this.addPayment(values[at + Claimed.userId]!, {
      kind: PaymentKind.CLAIM,
      marketId: values[at + Claimed.marketId]!,
      amountMicros: values[at + Claimed.payoutMicros]!,
      extraMicros: values[at + Claimed.refundMicros]!,
      upLots: isDown ? 0 : lots,
      downLots: isDown ? lots : 0,
    });
  }

  positionSettled(values: Float64Array, at: number, resolution: number): void {
    const userId = values[at + Settled.userId]!;
    const marketId = values[at + Settled.marketId]!;
    const upLots = values[at + Settled.upLots]!;
    const downLots = values[at + Settled.downLots]!;
    const to = this.closedPositions.add(userId, this.counts.closedPositions.next(userId));
    const entries = this.closedPositions.values;
    entries[to + Closed.marketId] = marketId;
    entries[to + Closed.resolution] = resolution;
    entries[to + Closed.upLots] = upLots;
    entries[to + Closed.downLots] = downLots;
    entries[to + Closed.upCostMicros] = values[at + Settled.upCostMicros]!;
    entries[to + Closed.downCostMicros] = values[at + Settled.downCostMicros]!;
    entries[to + Closed.feesMicros] = values[at + Settled.feesMicros]!;
    entries[to + Closed.payoutMicros] = values[at + Settled.payoutMicros]!;
    entries[to + Closed.refundMicros] = values[at + Settled.refundMicros]!;
    entries[to + Closed.profitMicros] = values[at + Settled.profitMicros]!;
    entries[to + Closed.atMs] = this.engine.nowMs;
    entries[to + Closed.sequence] = this.engine.sequence;
    this.changed(userId);
    const kind = PaymentKind.LOSS;
    if (resolution === Resolution.UP && downLots > 0)
      this.addPayment(userId, { kind, marketId, downLots });
    if (resolution === Resolution.DOWN && upLots > 0)
      this.addPayment(userId, { kind, marketId, upLots });
  }

  private addSide(values: Float64Array, at: number, role: number): void {
    const isTaker = role === TAKER;
    const userId = values[at + (isTaker ? Trade.takerId : Trade.makerId)]!;
    const outcome = values[at + (isTaker ? Trade.takerOutcome : Trade.makerOutcome)]!;
    const upTicks = values[at + Trade.upTicks]!;
    const orderId = values[at + (isTaker ? Trade.takerOrderId : Trade.makerOrderId)]!;
    if (isTaker) this.lastTakerOrderId = orderId;
    const to = this.userTrades.add(userId, this.counts.userTrades.next(userId));
    const entries = this.userTrades.values;
    entries[to + UserTrade.tradeId] = values[at + Trade.tradeId]!;
    entries[to + UserTrade.orderId] = orderId;
    entries[to + UserTrade.marketId] = values[at + Trade.marketId]!;
    entries[to + UserTrade.role] = role;
    entries[to + UserTrade.side] = values[at + (isTaker ? Trade.takerSide : Trade.makerSide)]!;
    entries[to + UserTrade.outcome] = outcome;
    entries[to + UserTrade.priceTicks] = ticksIn(outcome, upTicks);
    entries[to + UserTrade.sizeLots] = values[at + Trade.sizeLots]!;
    entries[to + UserTrade.feeMicros] = isTaker ? values[at + Trade.feeMicros]! : 0;
    entries[to + UserTrade.profitMicros] =
      values[at + (isTaker ? Trade.takerProfitMicros : Trade.makerProfitMicros)]!;
    entries[to + UserTrade.atMs] = this.engine.nowMs;
    entries[to + UserTrade.sequence] = this.engine.sequence;
    this.count(userId);
    this.changed(userId);
  }

  /** Finds what the command has placed: of a batch nothing if it is atomic and one was refused. */
  private findPlaced(): void {
    const { command, operation, placedAt, placedResults, placedOperations, engine } = this;
    this.nextPlaced = 0;
    this.lastTakerOrderId = 0;
    placedAt.length = 0;
    placedResults.length = 0;
    placedOperations.length = 0;
    const { values } = engine.result;
    if (values[ResultHead.code] !== Code.ok || engine.replayed) return;
    if (command.kind === AMEND) {
      this.notePlaced(0, 0, 0);
      return;
    }
    let at = command.afterKey;
    let result = FIRST_OPERATION;
    for (let i = 0; i < command.operationCount; i++) {
      operation.openOperation(command.records, at);
      if (values[result + ResultHead.code] === Code.ok) this.notePlaced(at, result, i);
      at = operation.next;
      result = nextOperation(values, result);
    }
  }

  private notePlaced(at: number, result: number, operation: number): void {
    const { values } = this.engine.result;
    const kind = values[result + ResultHead.kind];
    const isReplaced = kind === AMEND && values[result + AmendResult.keptPriority] === 0;
    if (kind !== BUY && kind !== SELL && !isReplaced) return;
    this.placedAt.push(at);
    this.placedResults.push(result);
    this.placedOperations.push(operation);
  }

  /** Where the fields of an order begin in the result of something placed, as of a buy or sell. */
  private placedFields(placed: number): number {
    const result = this.placedResults[placed]!;
    const isAmended = this.engine.result.values[result + ResultHead.kind] === AMEND;
    return isAmended ? result + AMEND_ORDER_AT : result;
  }

  /** The next of the order that is not added yet; the number of all if there is none. */
  private nextPlacedOf(orderId: number): number {
    const { values } = this.engine.result;
    let placed = this.nextPlaced;
    for (; placed < this.placedAt.length; placed++)
      if (values[this.placedFields(placed) + OrderResult.orderId] === orderId) break;
    return placed;
  }

  /** An order of the batch that has traded comes before what follows. */
  private addTraded(): void {
    if (this.command.kind === BATCH && this.lastTakerOrderId !== 0)
      this.addPlacedThrough(this.lastTakerOrderId);
  }

  private addPlacedThrough(orderId: number): void {
    const placed = this.nextPlacedOf(orderId);
    if (placed < this.placedAt.length) this.addPlacedBefore(placed + 1);
    this.lastTakerOrderId = 0;
  }

  private addPlacedBefore(end: number): void {
    const { placedAt, placedResults, operation, engine } = this;
    for (; this.nextPlaced < end; this.nextPlaced++) {
      const result = placedResults[this.nextPlaced]!;
      if (engine.result.values[result + ResultHead.kind] === AMEND) {
        this.addReplaced(this.nextPlaced);
        continue;
      }
      operation.openOperation(this.command.records, placedAt[this.nextPlaced]!);
      this.addPlaced(operation, result, this.placedOperations[this.nextPlaced]!);
    }
  }

  private addPlaced(order: CommandRecord, result: number, operation: number): void {
    const { values } = this.engine.result;
    const sizeLots = order.number(OrderField.sizeLots);
    const restingLots = values[result + OrderResult.restingLots]!;
    const status = values[result + OrderResult.status]!;
    // A budget can end an order, or what rests of it, before its size does.
    const isBounded =
      sizeLots >= MAX_ORDER_LOTS || restingLots > 0 || status === OrderStatus.FILLED;
    const to = this.addOrder(order.userId, placedTerms(order, status, detailOf(order, operation)));
    const entries = this.userOrders.values;
    entries[to + UserOrder.orderId] = values[result + OrderResult.orderId]!;
    entries[to + UserOrder.marketId] = values[result + OrderResult.marketId]!;
    entries[to + UserOrder.priceTicks] = order.number(OrderField.priceTicks);
    entries[to + UserOrder.sizeLots] = isBounded
      ? values[result + OrderResult.filledLots]! + restingLots
      : sizeLots;
    entries[to + UserOrder.restingLots] = restingLots;
  }

  private addReplaced(placed: number): void {
    const { values } = this.engine.result;
    const side = values[this.placedResults[placed]! + AmendResult.side]!;
    const result = this.placedFields(placed);
    const to = this.addOrder(
      values[result + OrderResult.userId]!,
      replacedTerms(
        side,
        values[result + OrderResult.outcome]!,
        values[result + OrderResult.status]!,
      ),
    );
    const entries = this.userOrders.values;
    entries[to + UserOrder.orderId] = values[result + OrderResult.orderId]!;
    entries[to + UserOrder.marketId] = values[result + OrderResult.marketId]!;
    entries[to + UserOrder.priceTicks] = this.placedTicks[placed]!;
    entries[to + UserOrder.sizeLots] = this.placedLots[placed]!;
    entries[to + UserOrder.restingLots] = values[result + OrderResult.restingLots]!;
  }

  /** Adds an entry; returns where its columns begin. The caller writes the others. */
  private addOrder(userId: number, terms: number): number {
    const to = this.userOrders.add(userId, this.counts.userOrders.next(userId));
    const entries = this.userOrders.values;
    entries[to + UserOrder.terms] = terms;
    entries[to + UserOrder.atMs] = this.engine.nowMs;
    entries[to + UserOrder.sequence] = this.engine.sequence;
    this.count(userId);
    return to;
  }

  private addPayment(userId: number, fields: PaymentFields): void {
    const to = this.userPayments.add(userId, this.counts.userPayments.next(userId));
    const entries = this.userPayments.values;
    entries[to + Payment.kind] = fields.kind;
    entries[to + Payment.marketId] = fields.marketId ?? 0;
    entries[to + Payment.depositId] = fields.depositId ?? 0;
    entries[to + Payment.amountMicros] = fields.amountMicros ?? 0;
    entries[to + Payment.extraMicros] = fields.extraMicros ?? 0;
    entries[to + Payment.upLots] = fields.upLots ?? 0;
    entries[to + Payment.downLots] = fields.downLots ?? 0;
    entries[to + Payment.atMs] = this.engine.nowMs;
    entries[to + Payment.sequence] = this.engine.sequence;
    this.count(userId);
  }

  private count(userId: number): void {
    const isDue = (this.entries.next(userId) & (BALANCE_ENTRIES - 1)) === 0;
    if (isDue && !this.due.includes(userId)) this.due.push(userId);
  }

  private addBalances(): void {
    const { engine, counts, due } = this;
    for (const userId of due) {
      const availableMicros = engine.availableMicros(userId);
      const heldMicros = engine.heldMicros(userId);
      const to = this.userBalances.add(userId, counts.userBalances.next(userId));
      const entries = this.userBalances.values;
      entries[to + Balance.trades] = counts.userTrades.of(userId);
      entries[to + Balance.orders] = counts.userOrders.of(userId);
      entries[to + Balance.payments] = counts.userPayments.of(userId);
      entries[to + Balance.availableMicros] = availableMicros;
      entries[to + Balance.heldMicros] = heldMicros;
      entries[to + Balance.atMs] = engine.nowMs;
      entries[to + Balance.sequence] = engine.sequence;
    }
    due.length = 0;
  }
}
