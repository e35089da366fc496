/**
 * The part of the projection that tells an account's story: its trades, what became of its orders,
 * its other payments, its closed positions, and its balance from time to time.
 *
 * Always holds: every change of an account's money and shares is in exactly one entry of userTrade,
 * userEvent or closedPosition, and the numbers of these entries follow the order of the events.
 */
import type { Engine } from '../../../engine/engine.js';
import { ticksIn } from '../../../engine/interface/domain.js';
import { EVENT_LENGTHS, EventSlot, EventType } from '../../../engine/interface/events.js';
import { ListCounts, type ListLengths, PendingLists } from '../lists.js';
import {
  BALANCE_ENTRIES,
  CLOSED_POSITION,
  columnsOf,
  TAKER,
  USER_BALANCE,
  USER_EVENT,
  USER_EVENT_FIELDS,
  USER_EVENTS,
  USER_TRADE,
} from '../runs/format.js';

export type AccountsEngine = Pick<
  Engine,
  'sequence' | 'nowMs' | 'availableMicros' | 'heldMicros' | 'events' | 'amountPlaced'
>;

const Trade = EventSlot.trade;
const Settled = EventSlot.positionSettled;

const UserTrade = columnsOf(USER_TRADE);
const UserEvent = columnsOf(USER_EVENT);
const Closed = columnsOf(CLOSED_POSITION);
const Balance = columnsOf(USER_BALANCE);

const MAKER = 1;

/** By type of event: where it names the user in whose list it is; 0: in nobody's. */
const USER_AT: number[] = EVENT_LENGTHS.map(() => 0);
for (const [name, user] of Object.entries(USER_EVENTS)) {
  const slots: Readonly<Record<string, number>> = EventSlot[name as keyof typeof USER_EVENTS];
  USER_AT[EventType[name as keyof typeof USER_EVENTS]] = slots[user]!;
}

export class AccountEntries {
  private readonly userTrades: PendingLists;
  private readonly userEvents: PendingLists;
  private readonly closedPositions: PendingLists;
  private readonly userBalances: PendingLists;
  /** By user: the entries of trades, events and closed positions together. */
  private readonly numbers = new ListCounts();
  /** The users whose balance is due at the end of the command. */
  private readonly due: number[] = [];

  /** @param changed called for each user whose leaderboard values a trade may have changed. */
  constructor(
    private readonly engine: AccountsEngine,
    private readonly lengths: ListLengths,
    private readonly changed: (userId: number) => void,
  ) {
    const { userTrade, userEvent, closedPosition, userBalance } = lengths;
    this.userTrades = new PendingLists(USER_TRADE, userTrade);
    this.userEvents = new PendingLists(USER_EVENT, userEvent);
    this.closedPositions = new PendingLists(CLOSED_POSITION, closedPosition);
    this.userBalances = new PendingLists(USER_BALANCE, userBalance);
    for (const list of [userTrade, userEvent, closedPosition]) this.numbers.addCounts(list);
  }

  get pendingEntries(): number {
    const { userTrades, userEvents, closedPositions, userBalances } = this;
    return userTrades.count + userEvents.count + closedPositions.count + userBalances.count;
  }

  *drainInPieces() {
    return {
      userTrade: yield* this.userTrades.drainInPieces(),
      userEvent: yield* this.userEvents.drainInPieces(),
      closedPosition: yield* this.closedPositions.drainInPieces(),
      userBalance: yield* this.userBalances.drainInPieces(),
    };
  }

  add(values: Float64Array, at: number): void {
    const type = values[at]!;
    const userAt = USER_AT[type]!;
    if (userAt !== 0) this.addEvent(values, at, values[at + userAt]!);
    else if (type === EventType.trade) {
      this.addSide(values, at, TAKER);
      this.addSide(values, at, MAKER);
    } else if (type === EventType.positionSettled) this.addPosition(values, at);
  }

  /** All events of the command were given. */
  end(): void {
    if (this.due.length > 0) this.addBalances();
  }

  private addEvent(values: Float64Array, at: number, userId: number): void {
    const to = this.userEvents.add(userId);
    const entries = this.userEvents.values;
    entries[to + UserEvent.number] = this.nextNumber(userId);
    const type = to + UserEvent.type;
    const length = EVENT_LENGTHS[values[at]!]!;
    for (let i = 0; i < length; i++) entries[type + i] = values[at + i]!;
    for (let i = length; i <= USER_EVENT_FIELDS.length; i++) entries[type + i] = 0;
    entries[to + UserEvent.amountMicros] =
      values[at] === EventType.orderPlaced
        ? this.engine.amountPlaced(values[at + EventSlot.orderPlaced.orderId]!)
        : 0;
    entries[to + UserEvent.atMs] = this.engine.nowMs;
    entries[to + UserEvent.sequence] = this.engine.sequence;
  }

  private addPosition(values: Float64Array, at: number): void {
    const userId = values[at + Settled.userId]!;
    const to = this.closedPositions.add(userId);
    const entries = this.closedPositions.values;
    entries[to + Closed.number] = this.nextNumber(userId);
    const fields = EVENT_LENGTHS[EventType.positionSettled]! - Settled.marketId;
    for (let i = 0; i < fields; i++)
      entries[to + Closed.marketId + i] = values[at + Settled.marketId + i]!;
    entries[to + Closed.atMs] = this.engine.nowMs;
    entries[to + Closed.sequence] = this.engine.sequence;
    this.changed(userId);
  }

  private addSide(values: Float64Array, at: number, role: number): void {
    const isTaker = role === TAKER;
    const userId = values[at + (isTaker ? Trade.takerId : Trade.makerId)]!;
    const outcome = values[at + (isTaker ? Trade.takerOutcome : Trade.makerOutcome)]!;
    const to = this.userTrades.add(userId);
    const entries = this.userTrades.values;
    entries[to + UserTrade.number] = this.nextNumber(userId);
    entries[to + UserTrade.tradeId] = values[at + Trade.tradeId]!;
    entries[to + UserTrade.orderId] =
      values[at + (isTaker ? Trade.takerOrderId : Trade.makerOrderId)]!;
    entries[to + UserTrade.marketId] = values[at + Trade.marketId]!;
    entries[to + UserTrade.role] = role;
    entries[to + UserTrade.side] = values[at + (isTaker ? Trade.takerSide : Trade.makerSide)]!;
    entries[to + UserTrade.outcome] = outcome;
    entries[to + UserTrade.priceTicks] = ticksIn(outcome, values[at + Trade.upTicks]!);
    entries[to + UserTrade.sizeLots] = values[at + Trade.sizeLots]!;
    entries[to + UserTrade.feeMicros] = isTaker ? values[at + Trade.feeMicros]! : 0;
    entries[to + UserTrade.profitMicros] =
      values[at + (isTaker ? Trade.takerProfitMicros : Trade.makerProfitMicros)]!;
    entries[to + UserTrade.atMs] = this.engine.nowMs;
    entries[to + UserTrade.sequence] = this.engine.sequence;
    this.changed(userId);
  }

  private nextNumber(userId: number): number {
    const number = this.numbers.next(userId);
    const isDue = (number & (BALANCE_ENTRIES - 1)) === 0;
    if (isDue && !this.due.includes(userId)) this.due.push(userId);
    return number;
  }

  private addBalances(): void {
    const { engine, lengths, due } = this;
    for (const userId of due) {
      const to = this.userBalances.add(userId);
      const entries = this.userBalances.values;
      entries[to + Balance.trades] = lengths.userTrade.of(userId);
      entries[to + Balance.events] = lengths.userEvent.of(userId);
      entries[to + Balance.positions] = lengths.closedPosition.of(userId);
      entries[to + Balance.availableMicros] = engine.availableMicros(userId);
      entries[to + Balance.heldMicros] = engine.heldMicros(userId);
      entries[to + Balance.atMs] = engine.nowMs;
      entries[to + Balance.sequence] = engine.sequence;
    }
    due.length = 0;
  }
}
