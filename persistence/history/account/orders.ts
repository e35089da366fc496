/**
 * The orders of an account, open and closed, newest first, out of the events of their placing,
 * amending and cancelling, and of their trades. What the engine knows of an order that rests is the
 * engine's.
 *
 * An order trades as taker in the commands that place it, and as maker at its own price from then
 * on. So the entries of a closed order are read in the order of their numbers, until it is closed.
 */
import {
  CancelReason,
  OrderStatus,
  type Outcome,
  type SelfTrade,
  type Side,
} from '../../../engine/interface/domain.js';
import { type EventRecord, EventType, nameIn } from '../../../engine/interface/events.js';
import type { OrderView } from '../../../engine/interface/views.js';
import { HistoryDamage } from '../rows.js';
import { type EntryOf, RUN_ENTRIES, TAKER, USER_EVENT, USER_TRADE } from '../runs/format.js';
import type { ListReader } from '../runs/reader.js';
import type { CommittedLists } from '../store.js';
import { eventOf, type UserEventEntry } from './user-event.js';

/**
 * How an order stands. OPEN: it rests. UNFILLED: it traded at once, and the rest was dropped, as
 * nothing was left to trade with or, by its reason, as it met an order of the same user or tripped
 * its group.
 * TRADE_LIMIT and TOO_SMALL_TO_REST: it was dropped for that (OrderStatus).
 */
export const OrderState = {
  OPEN: 0,
  FILLED: 1,
  UNFILLED: 2,
  CANCELLED: 3,
  TRADE_LIMIT: 4,
  TOO_SMALL_TO_REST: 5,
} as const;
export type OrderState = (typeof OrderState)[keyof typeof OrderState];

export interface OrderRecord {
  orderId: number;
  clientOrderId: string | null;
  marketId: number;
  userId: number;
  side: Side;
  outcome: Outcome;
  priceTicks: number;
  timeInForce: number;
  postOnly: boolean;
  selfTrade: SelfTrade;
  /** 0: none. */
  groupId: number;
  /** null: when the market ends. */
  expiresAtMs: number | null;
  originalLots: number;
  filledLots: number;
  /** What rests now; 0 of a closed order. */
  restingLots: number;
  /** Spent or received, without the fee. */
  valueMicros: number;
  feeMicros: number;
  end: OrderState;
  /** A CancelReason: of a cancellation, or of an order that is UNFILLED for that; 0: not so. */
  reason: number;
  placedAtMs: number;
  /** null: it is open. */
  closedAtMs: number | null;
}

export interface OrdersRequest {
  userId: number;
  limit: number;
  /** The place of the last order returned; null: from the newest. */
  cursor: number | null;
  status: 'open' | 'closed' | 'all';
  /** Only the order with this id of the client's, if it is remembered. */
  clientOrderId: string | null;
  marketId: number | null;
  /** When the order was placed; both times are included. */
  fromMs: number | null;
  toMs: number | null;
}

export interface OrdersPage {
  entries: OrderRecord[];
  nextCursor: number | null;
}

type TradeEntry = EntryOf<typeof USER_TRADE>;

/** The entry in which an order was placed. */
interface Placed {
  entry: UserEventEntry;
  event: EventRecord<'orderPlaced'>;
  /** The client's name for it; null: none. */
  name: string | null;
  /** 0: none. */
  groupId: number;
}

/** A page with filters ends, perhaps not full, when it has read this many entries. */
const ENTRIES_MAX = 30_000;

/** The events that an order is read from when it was placed. */
const OF_ORDERS: readonly number[] = [
  EventType.orderPlaced,
  EventType.orderNamed,
  EventType.orderGrouped,
];

/** All that the history has of the account, and the orders that rest. */
export interface OrdersEnd {
  events: number;
  trades: number;
  resting: ReadonlyMap<number, OrderView>;
}

export function ordersEnd(
  lists: CommittedLists,
  userId: number,
  resting: readonly OrderView[],
): OrdersEnd {
  return {
    events: lists.lengths.userEvent.of(userId),
    trades: lists.lengths.userTrade.of(userId),
    resting: new Map(resting.map((order) => [order.orderId, order])),
  };
}

export async function readOrders(
  lists: ListReader,
  end: OrdersEnd,
  request: OrdersRequest,
): Promise<OrdersPage> {
  const { userId: id, limit, cursor, fromMs, toMs } = request;
  const bound = (value: number) =>
    lists.firstFrom(USER_EVENT, { id, count: end.events, column: 'atMs', value });
  const first = fromMs === null ? 1 : await bound(fromMs);
  let last = toMs === null ? end.events : (await bound(toMs + 1)) - 1;
  if (cursor !== null) last = Math.min(last, cursor - 1);
  const found: Placed[] = [];
  let read = 0;
  for (; last >= first && found.length <= limit && read < ENTRIES_MAX; last -= RUN_ENTRIES) {
    const place = { id, first: Math.max(first, last - RUN_ENTRIES + 1), last };
    for (const placed of await placedIn(lists, end, place))
      if (isWanted(placed, request, end)) found.push(placed);
    read += RUN_ENTRIES;
  }
  const page = found.slice(0, limit);
  const entries = await recordsOf(lists, id, end, page);
  if (found.length > limit) return { entries, nextCursor: page.at(-1)!.entry.ordinal };
  return { entries, nextCursor: last >= first ? last + 1 : null };
}

/**
 * The order that has the client's id of the request, if it passes the other filters.
 * @param orderId 0: the id is not remembered.
 */
export async function readNamedOrder(
  lists: ListReader,
  end: OrdersEnd,
  { userId, status, marketId, fromMs, toMs }: OrdersRequest,
  orderId: number,
): Promise<OrdersPage> {
  const found = orderId === 0 ? null : await readOrder(lists, end, { userId, orderId });
  const isWanted =
    found !== null &&
    (status === 'all' || (found.closedAtMs === null) === (status === 'open')) &&
    (marketId === null || found.marketId === marketId) &&
    (fromMs === null || found.placedAtMs >= fromMs) &&
    (toMs === null || found.placedAtMs <= toMs);
  return { entries: isWanted ? [found] : [], nextCursor: null };
}

/** null: the user has placed no such order. */
export async function readOrder(
  lists: ListReader,
  end: OrdersEnd,
  { userId, orderId }: { userId: number; orderId: number },
): Promise<OrderRecord | null> {
  const placed = await findPlaced(lists, end, userId, orderId);
  return placed === null ? null : (await recordsOf(lists, userId, end, [placed]))[0]!;
}

/** Orders are placed in the order of their ids; other events are between them. */
async function findPlaced(
  lists: ListReader,
  end: OrdersEnd,
  id: number,
  orderId: number,
): Promise<Placed | null> {
  let [from, to] = [1, end.events];
  while (from <= to) {
    const middle = Math.floor((from + to) / 2);
    let first = middle;
    let placed: Placed[] = [];
    // The last entries up to the middle that have an order that was placed.
    for (let last = middle; last >= from && placed.length === 0; last = first - 1) {
      first = Math.max(from, last - RUN_ENTRIES + 1);
      placed = await placedIn(lists, end, { id, first, last });
    }
    const [newest, oldest] = [placed[0], placed.at(-1)];
    if (newest === undefined || orderId > newest.event.orderId) from = middle + 1;
    else if (orderId < oldest!.event.orderId) to = first - 1;
    else return placed.find(({ event }) => event.orderId === orderId) ?? null;
  }
  return null;
}

/**
 * The orders that were placed in some entries, newest first. The events after it have its name and
 * its group.
 */
async function placedIn(
  lists: ListReader,
  end: OrdersEnd,
  { id, first, last }: { id: number; first: number; last: number },
): Promise<Placed[]> {
  const place = { id, first, last: Math.min(last + 2, end.events) };
  const found: Placed[] = [];
  let name: string | null = null;
  let groupId = 0;
  for (const entry of await lists.newestFirst(USER_EVENT, place)) {
    const event = OF_ORDERS.includes(entry.type) ? eventOf(entry) : null;
    if (event?.type === 'orderPlaced' && event.anew === 0 && entry.ordinal <= last)
      found.push({ entry, event, name, groupId });
    name = event?.type === 'orderNamed' ? nameIn(event) : null;
    if (event?.type !== 'orderNamed') groupId = event?.type === 'orderGrouped' ? event.groupId : 0;
  }
  return found;
}

function isWanted({ event }: Placed, request: OrdersRequest, { resting }: OrdersEnd): boolean {
  return (
    (request.marketId === null || event.marketId === request.marketId) &&
    (request.status === 'all' || resting.has(event.orderId) === (request.status === 'open'))
  );
}

/** The records of placed orders, in the order given. */
async function recordsOf(
  lists: ListReader,
  id: number,
  end: OrdersEnd,
  placed: readonly Placed[],
): Promise<OrderRecord[]> {
  if (placed.length === 0) return [];
  const orders = placed.map((each) => new Order(each, end.resting.get(each.event.orderId)));
  await new Completion(lists, id, end, orders).run();
  return orders.map((order) => order.record);
}

class Order {
  readonly record: OrderRecord;
  /** What rests, as far as was read; 0 if nothing more is to be read. */
  lotsLeft: number;
  readonly sequence: number;
  readonly ordinal: number;

  constructor({ entry, event, name, groupId }: Placed, resting: OrderView | undefined) {
    const { restingLots, status } = event;
    this.sequence = entry.sequence;
    this.ordinal = entry.ordinal;
    this.lotsLeft = resting === undefined ? restingLots : 0;
    this.record = {
      orderId: event.orderId,
      clientOrderId: name,
      marketId: event.marketId,
      userId: event.userId,
      side: event.side as Side,
      outcome: event.outcome as Outcome,
      priceTicks: event.priceTicks,
      timeInForce: event.timeInForce,
      postOnly: event.postOnly === 1,
      selfTrade: event.selfTrade as SelfTrade,
      groupId,
      expiresAtMs: event.expiresAtMs === 0 ? null : event.expiresAtMs,
      originalLots: event.sizeLots,
      filledLots: 0,
      restingLots: 0,
      valueMicros: 0,
      feeMicros: 0,
      end: OrderState.OPEN,
      reason: 0,
      placedAtMs: entry.atMs,
      closedAtMs: null,
    };
    if (resting !== undefined) this.show(resting);
    else if (restingLots === 0) this.endAtOnce(status, entry.atMs);
  }

  get rests(): boolean {
    return this.record.closedAtMs === null;
  }

  /** All but the fees and the time of the placing: the engine's is that of the last one. */
  private show(resting: OrderView): void {
    const { priceTicks, originalLots, filledLots, valueMicros, feeMicros } = resting;
    const terms = { priceTicks, originalLots, restingLots: resting.sizeLots };
    Object.assign(this.record, { ...terms, filledLots, valueMicros, feeMicros });
  }

  /** In the command that placed it. */
  private endAtOnce(status: number, atMs: number): void {
    if (status === OrderStatus.FILLED) this.close(OrderState.FILLED, atMs);
    else if (status === OrderStatus.STOPPED_UNFILLED)
      this.close(OrderState.CANCELLED, atMs, CancelReason.SELF_TRADE);
    else if (status === OrderStatus.STOPPED)
      this.close(OrderState.UNFILLED, atMs, CancelReason.SELF_TRADE);
    else if (status === OrderStatus.ORDER_GROUP)
      this.close(OrderState.UNFILLED, atMs, CancelReason.ORDER_GROUP);
    else if (status === OrderStatus.TRADE_LIMIT) this.close(OrderState.TRADE_LIMIT, atMs);
    else if (status === OrderStatus.TOO_SMALL_TO_REST)
      this.close(OrderState.TOO_SMALL_TO_REST, atMs);
    else this.close(OrderState.UNFILLED, atMs);
  }

  private close(end: OrderState, atMs: number, reason = 0): void {
    Object.assign(this.record, { end, reason, closedAtMs: atMs });
  }

  fillAsTaker({ sizeLots, priceTicks, feeMicros }: TradeEntry): void {
    this.fill(sizeLots, priceTicks);
    this.record.feeMicros += feeMicros;
  }

  fillAsMaker({ sizeLots, priceTicks, atMs }: TradeEntry): void {
    this.fill(sizeLots, priceTicks);
    this.lotsLeft -= sizeLots;
    if (this.lotsLeft === 0) this.close(OrderState.FILLED, atMs);
  }

  private fill(lots: number, priceTicks: number): void {
    this.record.filledLots += lots;
    this.record.valueMicros += lots * priceTicks;
  }

  /** An event after the first. */
  read(event: EventRecord, atMs: number): void {
    const { record } = this;
    if (event.type === 'orderPlaced') {
      this.lotsLeft = event.restingLots;
      if (event.restingLots === 0) this.endAtOnce(event.status, atMs);
    } else if (event.type === 'orderAmended') {
      record.priceTicks = event.priceTicks;
      record.originalLots = event.originalLots;
      this.lotsLeft = event.sizeLots;
      if (event.sizeLots === 0) this.close(OrderState.FILLED, atMs);
    } else if (event.type === 'orderCancelled') {
      this.close(OrderState.CANCELLED, atMs, event.reason);
    }
  }
}

/** Reads on from the oldest of some orders until it is known what became of all of them. */
class Completion {
  private readonly byId = new Map<number, Order>();
  /** Closed orders of which the end is to be read. */
  private readonly unfinished = new Set<number>();
  private readonly oldestSequence: number;
  private readonly newestSequence: number;
  private readonly firstEvent: number;

  constructor(
    private readonly lists: ListReader,
    private readonly id: number,
    private readonly end: OrdersEnd,
    orders: readonly Order[],
  ) {
    for (const order of orders) {
      this.byId.set(order.record.orderId, order);
      if (order.lotsLeft > 0) this.unfinished.add(order.record.orderId);
    }
    this.newestSequence = Math.max(...orders.map(({ sequence }) => sequence));
    this.oldestSequence = Math.min(...orders.map(({ sequence }) => sequence));
    this.firstEvent = Math.min(...orders.map(({ ordinal }) => ordinal)) + 1;
  }

  async run(): Promise<void> {
    const { end, id, lists, unfinished, firstEvent } = this;
    const at = { id, count: end.trades, column: 'sequence', value: this.oldestSequence } as const;
    const firstTrade = await lists.firstFrom(USER_TRADE, at);
    const trades = lists.from(USER_TRADE, { id, first: firstTrade, last: end.trades });
    const events = lists.from(USER_EVENT, { id, first: firstEvent, last: end.events });
    let trade = (await trades.next()).value ?? null;
    let event = (await events.next()).value ?? null;
    while (unfinished.size > 0 || (trade !== null && trade.sequence <= this.newestSequence)) {
      if (trade !== null && trade.number < (event?.number ?? Number.POSITIVE_INFINITY)) {
        this.readTrade(trade);
        trade = (await trades.next()).value ?? null;
      } else if (event !== null) {
        this.readEvent(event);
        event = (await events.next()).value ?? null;
      } else break;
    }
    const [lost] = unfinished;
    if (lost === undefined) return;
    const what = 'it neither rests nor was filled or cancelled';
    throw new HistoryDamage(USER_EVENT.name, `userId ${id}, orderId ${lost}`, what);
  }

  private readTrade(trade: TradeEntry): void {
    const order = this.byId.get(trade.orderId);
    if (order === undefined || this.end.resting.has(trade.orderId)) return;
    if (trade.role === TAKER) order.fillAsTaker(trade);
    else order.fillAsMaker(trade);
    this.finish(order);
  }

  private readEvent(entry: UserEventEntry): void {
    const event = eventOf(entry);
    if (!('orderId' in event) || !this.unfinished.has(event.orderId)) return;
    const order = this.byId.get(event.orderId)!;
    order.read(event, entry.atMs);
    this.finish(order);
  }

  private finish(order: Order): void {
    if (!order.rests) this.unfinished.delete(order.record.orderId);
  }
}
