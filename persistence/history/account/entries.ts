/**
 * The part of the projection that records an account: its trades, its orders, what they hold, its
 * payments, its closed positions, and its balance from time to time.
 *
 * Invariant: every change of an account's money and shares is in exactly one entry of userTrade,
 * userHold, userPayment or closedPosition, and the numbers of these entries follow the order of the
 * events.
 */
import type { Engine } from '../../../engine/engine.js';
import { Side, ticksIn } from '../../../engine/interface/domain.js';
import {
  EVENT_FIELDS,
  EVENT_LENGTHS,
  EventSlot,
  EventType,
} from '../../../engine/interface/events.js';
import { type ListLengths, PendingLists } from '../lists.js';
import {
  BALANCE_ENTRIES,
  CLOSED_POSITION,
  columnsOf,
  TAKER,
  USER_BALANCE,
  USER_HOLD,
  USER_ORDER,
  USER_PAYMENT,
  USER_PAYMENTS,
  USER_TRADE,
} from '../runs/format.js';

export type AccountsEngine = Pick<
  Engine,
  'sequence' | 'nowMs' | 'availableMicros' | 'heldMicros' | 'events' | 'amountPlaced'
>;

const { trade, positionSettled, orderPlaced, orderNamed, orderGrouped } = EventType;
const { orderCancelled, orderAmended } = EventType;
const Trade = EventSlot.trade;
const Settled = EventSlot.positionSettled;
/** The events of orders have the same fields before the price. */
const Placed = EventSlot.orderPlaced;
const Named = EventSlot.orderNamed;
const Cancelled = EventSlot.orderCancelled;
const Amended = EventSlot.orderAmended;

const UserTrade = columnsOf(USER_TRADE);
const Order = columnsOf(USER_ORDER);
const Hold = columnsOf(USER_HOLD);
const UserPayment = columnsOf(USER_PAYMENT);
const Closed = columnsOf(CLOSED_POSITION);
const Balance = columnsOf(USER_BALANCE);

const MAKER = 1;
/** The fields of a trade that belong to one of its sides, by role. */
const SIDES = [
  {
    userId: Trade.takerId,
    orderId: Trade.takerOrderId,
    side: Trade.takerSide,
    outcome: Trade.takerOutcome,
    profitMicros: Trade.takerProfitMicros,
  },
  {
    userId: Trade.makerId,
    orderId: Trade.makerOrderId,
    side: Trade.makerSide,
    outcome: Trade.makerOutcome,
    profitMicros: Trade.makerProfitMicros,
  },
] as const;
const NAME_FIELDS = EVENT_FIELDS.orderNamed.length + 1 - Named.name1;

/**
 * The offset of the user in each type of event that is an entry of userPayment; 0 for other types.
 */
const PAYS_AT: number[] = EVENT_LENGTHS.map(() => 0);
for (const [name, user] of Object.entries(USER_PAYMENTS)) {
  const slots: Readonly<Record<string, number>> = EventSlot[name as keyof typeof USER_PAYMENTS];
  PAYS_AT[EventType[name as keyof typeof USER_PAYMENTS]] = slots[user]!;
}

export class AccountEntries {
  private readonly trades = new PendingLists(USER_TRADE, 'trade');
  private readonly orders = new PendingLists(USER_ORDER, 'orderPlaced');
  /** The events of orders have the same fields before the price. */
  private readonly holds = new PendingLists(USER_HOLD, 'orderPlaced');
  private readonly payments = new PendingLists(USER_PAYMENT);
  private readonly positions = new PendingLists(CLOSED_POSITION, 'positionSettled');
  private readonly balances = new PendingLists(USER_BALANCE);
  readonly lists: readonly PendingLists[];
  /** The users whose balance is due at the end of the command. */
  private readonly due: number[] = [];
  /** The offset of the last order's entry. */
  private orderAt = 0;

  /** @param changed called for each user whose leaderboard values a trade may have changed. */
  constructor(
    private readonly engine: AccountsEngine,
    private readonly lengths: ListLengths,
    private readonly changed: (userId: number) => void,
  ) {
    const { trades, orders, holds, payments, positions, balances } = this;
    this.lists = [trades, orders, holds, payments, positions, balances];
  }

  add(values: Float64Array, at: number): void {
    const type = values[at]!;
    const userAt = PAYS_AT[type]!;
    if (userAt !== 0) {
      this.addPayment(values, at, values[at + userAt]!);
      return;
    }
    switch (type) {
      case trade:
        this.addSide(values, at, TAKER);
        this.addSide(values, at, MAKER);
        break;
      case orderPlaced:
        if (values[at + Placed.anew] === 0) this.addOrder(values, at);
        this.addHold(
          values,
          at,
          values[at + Placed.restingLots]! * values[at + Placed.priceTicks]!,
        );
        break;
      case orderNamed: {
        const name = this.detailOf(values, at) + Order.name1;
        for (let i = 0; i < NAME_FIELDS; i++)
          this.orders.values[name + i] = values[at + Named.name1 + i]!;
        break;
      }
      case orderGrouped:
        this.orders.values[this.detailOf(values, at) + Order.groupId] =
          values[at + EventSlot.orderGrouped.groupId]!;
        break;
      case orderCancelled:
        this.addHold(
          values,
          at,
          0 - values[at + Cancelled.sizeLots]! * values[at + Cancelled.priceTicks]!,
        );
        break;
      case orderAmended: {
        const leftLots =
          values[at + Amended.keptPriority] === 1 ? values[at + Amended.sizeLots]! : 0;
        const lots = leftLots - values[at + Amended.oldSizeLots]!;
        this.addHold(values, at, lots * values[at + Amended.oldPriceTicks]!);
        break;
      }
      case positionSettled:
        this.addPosition(values, at);
        break;
    }
  }

  /** Call after all events of the command. */
  end(): void {
    if (this.due.length > 0) this.addBalances();
  }

  private addPayment(values: Float64Array, at: number, userId: number): void {
    const { payments, lengths, engine } = this;
    const to = payments.addEvent(userId, lengths.userPayment.next(userId), values, at, engine);
    const entries = payments.values;
    entries[to + UserPayment.number] = this.lastNumber(userId);
    const type = to + UserPayment.type;
    const length = EVENT_LENGTHS[values[at]!]!;
    for (let i = 0; i < length; i++) entries[type + i] = values[at + i]!;
  }

  private addOrder(values: Float64Array, at: number): void {
    const { orders, lengths, engine } = this;
    const userId = values[at + Placed.userId]!;
    const to = orders.addEvent(userId, lengths.userOrder.next(userId), values, at, engine);
    const orderId = values[at + Placed.orderId]!;
    orders.values[to + Order.amountMicros] = engine.amountPlaced(orderId);
    this.orderAt = to;
  }

  /**
   * The entry of the order whose details the event adds; the event follows the order's orderPlaced.
   */
  private detailOf(values: Float64Array, at: number): number {
    if (this.orders.values[this.orderAt + Order.orderId] !== values[at + Named.orderId])
      throw new Error(`order ${values[at + Named.orderId]} was not placed before its details`);
    return this.orderAt;
  }

  /**
   * Adds money of a buy that becomes held, or available again if `heldMicros` is below 0
   * (changes.ts).
   */
  private addHold(values: Float64Array, at: number, heldMicros: number): void {
    if (heldMicros === 0 || values[at + Placed.side] === Side.SELL) return;
    const { holds, lengths, engine } = this;
    const userId = values[at + Placed.userId]!;
    const to = holds.addEvent(userId, lengths.userHold.next(userId), values, at, engine);
    holds.values[to + Hold.number] = this.lastNumber(userId);
    holds.values[to + Hold.heldMicros] = heldMicros;
  }

  private addPosition(values: Float64Array, at: number): void {
    const { positions, lengths, engine } = this;
    const userId = values[at + Settled.userId]!;
    const to = positions.addEvent(userId, lengths.closedPosition.next(userId), values, at, engine);
    positions.values[to + Closed.number] = this.lastNumber(userId);
    this.changed(userId);
  }

  private addSide(values: Float64Array, at: number, role: number): void {
    const { trades, lengths, engine } = this;
    const side = SIDES[role]!;
    const userId = values[at + side.userId]!;
    const outcome = values[at + side.outcome]!;
    const to = trades.addEvent(userId, lengths.userTrade.next(userId), values, at, engine);
    const entries = trades.values;
    entries[to + UserTrade.number] = this.lastNumber(userId);
    entries[to + UserTrade.orderId] = values[at + side.orderId]!;
    entries[to + UserTrade.role] = role;
    entries[to + UserTrade.side] = values[at + side.side]!;
    entries[to + UserTrade.outcome] = outcome;
    entries[to + UserTrade.priceTicks] = ticksIn(outcome, values[at + Trade.upTicks]!);
    if (role === MAKER) entries[to + UserTrade.feeMicros] = 0;
    entries[to + UserTrade.profitMicros] = values[at + side.profitMicros]!;
    this.changed(userId);
  }

  /** The number of the entry of a statement that was counted last. */
  private lastNumber(userId: number): number {
    const { userTrade, userHold, userPayment, closedPosition } = this.lengths;
    const number =
      userTrade.of(userId) +
      userHold.of(userId) +
      userPayment.of(userId) +
      closedPosition.of(userId);
    const isDue = (number & (BALANCE_ENTRIES - 1)) === 0;
    if (isDue && !this.due.includes(userId)) this.due.push(userId);
    return number;
  }

  private addBalances(): void {
    const { engine, lengths, due } = this;
    for (const userId of due) {
      const to = this.balances.add(userId, lengths.userBalance.next(userId));
      const entries = this.balances.values;
      entries[to + Balance.trades] = lengths.userTrade.of(userId);
      entries[to + Balance.holds] = lengths.userHold.of(userId);
      entries[to + Balance.payments] = lengths.userPayment.of(userId);
      entries[to + Balance.positions] = lengths.closedPosition.of(userId);
      entries[to + Balance.availableMicros] = engine.availableMicros(userId);
      entries[to + Balance.heldMicros] = engine.heldMicros(userId);
      entries[to + Balance.atMs] = engine.nowMs;
      entries[to + Balance.sequence] = engine.sequence;
    }
    due.length = 0;
  }
}
