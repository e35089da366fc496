/**
 * The slow twin of statements and order histories: applies commands one by one, and notes every
 * balance and every order from results and events.
 */
import { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import type { BatchOperation, Command } from '../../engine/interface/commands.js';
import {
  CancelReason,
  OrderStatus,
  type Outcome,
  Resolution,
  SelfTrade,
  Side,
} from '../../engine/interface/domain.js';
import { decodeEvents } from '../../engine/interface/events.js';
import { MAX_TIME_MS, UNSIZED_LOTS } from '../../engine/interface/limits.js';
import {
  AMEND_ORDER_AT,
  FIRST_OPERATION,
  nextOperation,
  OrderResult,
  ResultHead,
} from '../../engine/interface/results.js';
import { type AccountChange, changesOf } from '../../persistence/history/account/changes.js';
import type { TimedCommand } from './history-oracle.js';

export interface ExpectedOrder {
  orderId: number;
  clientOrderId: string | null;
  marketId: number;
  userId: number;
  side: number;
  outcome: number;
  priceTicks: number;
  timeInForce: number;
  postOnly: boolean;
  selfTrade: SelfTrade;
  groupId: number;
  /** The order's expiry, or null if only the market's end ends it. */
  expiresAtMs: number | null;
  amountMicros: number | null;
  originalLots: number;
  filledLots: number;
  restingLots: number;
  valueMicros: number;
  feeMicros: number;
  /** A CancelReason, the negative OrderStatus of a dropped remainder, or null. */
  reason: number | null;
  placedAtMs: number;
  closedAtMs: number | null;
}

export interface Noted {
  sequence: number;
  availableMicros: number;
  heldMicros: number;
}

export interface NotedChange extends AccountChange {
  sequence: number;
}

export class OrderOracle {
  readonly engine = new Engine();
  readonly orders = new Map<number, ExpectedOrder>();
  /** Each user's balance after every command that changed it. */
  readonly balances = new Map<number, Noted[]>();
  readonly changes = new Map<number, NotedChange[]>();
  amended = 0;
  expired = 0;

  apply({ command, atMs }: TimedCommand): void {
    const { engine } = this;
    engine.apply(command, atMs);
    this.noteOrders(command, atMs);
    for (const event of decodeEvents(engine.events)) {
      for (const change of changesOf(event))
        listOf(this.changes, change.userId).push({ sequence: engine.sequence, ...change });
      if (event.type === 'trade') {
        this.fill(event.takerOrderId, event, event.takerOutcome, event.feeMicros, false);
        this.fill(event.makerOrderId, event, event.makerOutcome, 0, true);
      } else if (event.type === 'orderCancelled') {
        const order = this.orders.get(event.orderId)!;
        if (event.reason === CancelReason.EXPIRED) this.expired++;
        Object.assign(order, { restingLots: 0, reason: event.reason, closedAtMs: atMs });
      } else if (event.type === 'orderAmended') {
        this.amended++;
        const { originalLots, priceTicks, sizeLots, keptPriority } = event;
        const restingLots = keptPriority === 1 ? sizeLots : 0;
        const closedAtMs = restingLots === 0 ? atMs : null;
        const terms = { amountMicros: null, originalLots, priceTicks, restingLots, closedAtMs };
        Object.assign(this.orders.get(event.orderId)!, terms);
      } else if (event.type === 'orderPlaced' && event.restingLots > 0) {
        const rests = { restingLots: event.restingLots, closedAtMs: null };
        Object.assign(this.orders.get(event.orderId)!, rests);
      }
    }
    for (let userId = 1; userId <= engine.userCount; userId++) this.noteBalance(userId);
  }

  /** A user's shares, as the API shows positions: without losing outcomes. */
  shares(userId: number): Map<string, number> {
    const shares = new Map<string, number>();
    for (const { marketId, upLots, downLots } of this.engine.positions(userId)) {
      const { resolution } = this.engine.market(marketId)!;
      if (upLots > 0 && resolution !== Resolution.DOWN) shares.set(`${marketId} 0`, upLots);
      if (downLots > 0 && resolution !== Resolution.UP) shares.set(`${marketId} 1`, downLots);
    }
    return shares;
  }

  private noteOrders(command: Command, atMs: number): void {
    const { values } = this.engine.result;
    if (this.engine.replayed || values[ResultHead.code] !== Code.ok) return;
    if (command.kind !== 'batch') {
      this.noteOrder(command, 0, atMs);
      return;
    }
    let result = FIRST_OPERATION;
    for (const operation of command.operations) {
      if (values[result + ResultHead.code] === Code.ok) this.noteOrder(operation, result, atMs);
      result = nextOperation(values, result);
    }
  }

  private noteOrder(command: Command | BatchOperation, result: number, atMs: number): void {
    const { values } = this.engine.result;
    if (command.kind === 'amend') {
      // The command may name the order by its clientOrderId.
      const at = result + AMEND_ORDER_AT;
      const reason = reasonOf(values[at + OrderResult.status]!);
      if (reason !== null) this.orders.get(values[at + OrderResult.orderId]!)!.reason = reason;
    }
    if (command.kind !== 'buy' && command.kind !== 'sell') return;
    const field = (name: keyof typeof OrderResult) => values[result + OrderResult[name]]!;
    const restingLots = field('restingLots');
    const bought = field('filledLots') + restingLots;
    this.orders.set(field('orderId'), {
      orderId: field('orderId'),
      clientOrderId: command.clientOrderId ?? null,
      marketId: command.marketId,
      userId: command.userId,
      side: command.kind === 'buy' ? Side.BUY : Side.SELL,
      // A random command may have -0; the journal stores 0.
      outcome: (command.outcome + 0) as Outcome,
      priceTicks: command.priceTicks,
      timeInForce: command.timeInForce + 0,
      postOnly: command.postOnly,
      selfTrade: ((command.selfTrade ?? SelfTrade.CANCEL_RESTING) + 0) as SelfTrade,
      groupId: command.groupId ?? 0,
      expiresAtMs: command.expiresAtMs === MAX_TIME_MS ? null : (command.expiresAtMs ?? null),
      amountMicros:
        command.kind === 'buy' && command.sizeLots === UNSIZED_LOTS ? command.budgetMicros : null,
      originalLots:
        command.sizeLots === UNSIZED_LOTS ||
        restingLots > 0 ||
        field('status') === OrderStatus.FILLED
          ? bought
          : command.sizeLots,
      filledLots: 0,
      restingLots,
      valueMicros: 0,
      feeMicros: 0,
      reason: reasonOf(field('status')),
      placedAtMs: atMs,
      closedAtMs: restingLots === 0 ? atMs : null,
    });
  }

  private fill(
    orderId: number,
    { upTicks, sizeLots }: { upTicks: number; sizeLots: number },
    outcome: number,
    feeMicros: number,
    isMaker: boolean,
  ): void {
    const order = this.orders.get(orderId)!;
    order.filledLots += sizeLots;
    order.valueMicros += sizeLots * (outcome === 0 ? upTicks : 1_000 - upTicks);
    order.feeMicros += feeMicros;
    if (!isMaker) return;
    order.restingLots -= sizeLots;
    if (order.restingLots === 0) order.closedAtMs = this.engine.nowMs;
  }

  private noteBalance(userId: number): void {
    const { availableMicros, heldMicros } = this.engine.account(userId)!;
    const noted = listOf(this.balances, userId);
    const last = noted.at(-1);
    if (last?.availableMicros === availableMicros && last.heldMicros === heldMicros) return;
    noted.push({ sequence: this.engine.sequence, availableMicros, heldMicros });
  }
}

function reasonOf(status: number): number | null {
  if (status === OrderStatus.STOPPED || status === OrderStatus.STOPPED_UNFILLED)
    return CancelReason.SELF_TRADE;
  if (status === OrderStatus.ORDER_GROUP) return CancelReason.ORDER_GROUP;
  return status >= OrderStatus.TRADE_LIMIT ? -status : null;
}

function listOf<T>(lists: Map<number, T[]>, userId: number): T[] {
  const list = lists.get(userId) ?? [];
  lists.set(userId, list);
  return list;
}
