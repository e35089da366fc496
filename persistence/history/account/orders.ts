/**
 * The orders of an account, open and closed, newest first, out of the entries that were made when
 * they were placed and cancelled, and of their trades.
 *
 * An order trades as taker in the command that places it, and as maker at its own price from then
 * on, so what a resting order has filled is what it was for less what rests or was cancelled. Only
 * to tell when it was filled, its later trades are read.
 */
import { OrderStatus, type Outcome, type Side } from '../../../engine/interface/domain.js';
import type { OrderView } from '../../../engine/interface/views.js';
import { type EntryOf, RUN_ENTRIES, USER_ORDER, USER_TRADE } from '../format.js';
import type { ListReader } from '../list-reader.js';
import { HistoryDamage } from '../rows.js';
import type { CommittedLists } from '../store.js';
import { OrderEntry, orderEntryOf, termsOf } from './order-terms.js';

/** How an order stands. OPEN: it rests. UNFILLED: what it could not fill at once was dropped. */
export const OrderEnd = { OPEN: 0, FILLED: 1, UNFILLED: 2, CANCELLED: 3 } as const;
export type OrderEnd = (typeof OrderEnd)[keyof typeof OrderEnd];

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
  originalLots: number;
  filledLots: number;
  /** What rests now; 0 of a closed order. */
  restingLots: number;
  /** Spent or received, without the fee. */
  valueMicros: number;
  feeMicros: number;
  end: OrderEnd;
  /** Of a cancellation. */
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
  marketId: number | null;
  /** Of the placing; both included. */
  fromMs: number | null;
  toMs: number | null;
}

export interface OrdersPage {
  entries: OrderRecord[];
  nextCursor: number | null;
}

type Entry = EntryOf<typeof USER_ORDER>;
type TradeEntry = EntryOf<typeof USER_TRADE>;

const TAKER = 0;

/** A page with filters ends, perhaps not full, when it has read this many entries. */
const ENTRIES_MAX = 30_000;

/** All that the history has of the account, and the orders that rest. */
export interface OrdersEnd {
  orders: number;
  trades: number;
  resting: ReadonlyMap<number, OrderView>;
}

export function ordersEnd(
  lists: CommittedLists,
  userId: number,
  resting: readonly OrderView[],
): OrdersEnd {
  return {
    orders: lists.userOrders.of(userId),
    trades: lists.userTrades.of(userId),
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
    lists.firstFrom(USER_ORDER, { id, count: end.orders, column: 'atMs', value });
  const first = fromMs === null ? 1 : await bound(fromMs);
  let last = toMs === null ? end.orders : (await bound(toMs + 1)) - 1;
  if (cursor !== null) last = Math.min(last, cursor - 1);
  const found: Entry[] = [];
  let read = 0;
  for (; last >= first && found.length <= limit && read < ENTRIES_MAX; last -= RUN_ENTRIES) {
    const place = { id, first: Math.max(first, last - RUN_ENTRIES + 1), last };
    for (const entry of await lists.newestFirst(USER_ORDER, place))
      if (isWanted(entry, request, end)) found.push(entry);
    read += RUN_ENTRIES;
  }
  const page = found.slice(0, limit);
  const entries = await recordsOf(lists, id, end, page);
  if (found.length > limit) return { entries, nextCursor: page.at(-1)!.ordinal };
  return { entries, nextCursor: last >= first ? last + 1 : null };
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

/** Orders are placed in the order of their ids; cancellations are between them. */
async function findPlaced(
  lists: ListReader,
  end: OrdersEnd,
  id: number,
  orderId: number,
): Promise<Entry | null> {
  let [from, to] = [1, end.orders];
  while (from <= to) {
    const middle = Math.floor((from + to) / 2);
    let first = middle;
    let placed: Entry[] = [];
    // The last entries up to the middle that have an order that was placed.
    for (let last = middle; last >= from && placed.length === 0; last = first - 1) {
      first = Math.max(from, last - RUN_ENTRIES + 1);
      placed = (await lists.oldestFirst(USER_ORDER, { id, first, last })).filter(isPlaced);
    }
    const [oldest, newest] = [placed[0], placed.at(-1)];
    if (newest === undefined || orderId > newest.orderId) from = middle + 1;
    else if (orderId < oldest!.orderId) to = first - 1;
    else return placed.find((entry) => entry.orderId === orderId) ?? null;
  }
  return null;
}

function isPlaced({ terms }: Entry): boolean {
  return orderEntryOf(terms) === OrderEntry.PLACED;
}

function isWanted(entry: Entry, request: OrdersRequest, { resting }: OrdersEnd): boolean {
  return (
    isPlaced(entry) &&
    (request.marketId === null || entry.marketId === request.marketId) &&
    (request.status === 'all' || resting.has(entry.orderId) === (request.status === 'open'))
  );
}

/** The records of placed orders, in the order given. */
async function recordsOf(
  lists: ListReader,
  id: number,
  end: OrdersEnd,
  placed: readonly Entry[],
): Promise<OrderRecord[]> {
  if (placed.length === 0) return [];
  const orders = placed.map((entry) => new Order(entry, end.resting.get(entry.orderId)));
  await new Completion(lists, id, end, orders).run();
  return orders.map((order) => order.record);
}

class Order {
  readonly record: OrderRecord;
  /** What came to rest and has neither traded nor been cancelled, as far as was read. */
  lotsLeft: number;
  readonly sequence: number;
  readonly ordinal: number;

  constructor(entry: Entry, resting: OrderView | undefined) {
    const { orderId, marketId, userId, priceTicks, atMs, restingLots, sizeLots } = entry;
    const { side, outcome, timeInForce, postOnly, status } = termsOf(entry.terms);
    const stillResting = resting?.sizeLots ?? 0;
    const endAtOnce = status === OrderStatus.FILLED ? OrderEnd.FILLED : OrderEnd.UNFILLED;
    this.sequence = entry.sequence;
    this.ordinal = entry.ordinal;
    this.lotsLeft = resting === undefined ? restingLots : 0;
    this.record = {
      orderId,
      clientOrderId: resting?.clientOrderId ?? null,
      marketId,
      userId,
      side,
      outcome,
      priceTicks,
      timeInForce,
      postOnly: postOnly === 1,
      originalLots: sizeLots,
      filledLots: 0,
      restingLots: stillResting,
      valueMicros: 0,
      feeMicros: 0,
      end: resting === undefined ? endAtOnce : OrderEnd.OPEN,
      reason: 0,
      placedAtMs: atMs,
      closedAtMs: resting === undefined ? atMs : null,
    };
    if (resting !== undefined) this.fillAsMaker(restingLots - stillResting);
  }

  fillAsTaker({ sizeLots, priceTicks, feeMicros }: TradeEntry): void {
    const { record } = this;
    record.filledLots += sizeLots;
    record.valueMicros += sizeLots * priceTicks;
    record.feeMicros += feeMicros;
  }

  fillAsMaker(lots: number): void {
    this.record.filledLots += lots;
    this.record.valueMicros += lots * this.record.priceTicks;
  }
}

/** Reads on from the oldest of some orders until it is known what became of all of them. */
class Completion {
  private readonly byId = new Map<number, Order>();
  private readonly unfinished = new Set<number>();
  private readonly newestSequence: number;
  private nextTrade = 0;
  private nextOrder: number;
  /** The sequences up to which the lists have been read. */
  private tradesTo = 0;
  private ordersTo = 0;

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
    this.nextOrder = Math.min(...orders.map(({ ordinal }) => ordinal)) + 1;
    this.ordersTo = Math.min(...orders.map(({ sequence }) => sequence));
  }

  async run(): Promise<void> {
    const { end, id, lists, unfinished } = this;
    const at = { id, count: end.trades, column: 'sequence', value: this.ordersTo } as const;
    this.nextTrade = await lists.firstFrom(USER_TRADE, at);
    for (;;) {
      const wantsTrades = unfinished.size > 0 || this.tradesTo <= this.newestSequence;
      const hasTrades = wantsTrades && this.nextTrade <= end.trades;
      const hasOrders = unfinished.size > 0 && this.nextOrder <= end.orders;
      if (hasTrades && (!hasOrders || this.tradesTo <= this.ordersTo)) await this.readTrades();
      else if (hasOrders) await this.readOrders();
      else break;
    }
    const [lost] = unfinished;
    if (lost === undefined) return;
    const what = 'it neither rests nor was filled or cancelled';
    throw new HistoryDamage(USER_ORDER.name, `userId ${id}, orderId ${lost}`, what);
  }

  private async readTrades(): Promise<void> {
    const { id, end } = this;
    const last = Math.min(this.nextTrade + RUN_ENTRIES - 1, end.trades);
    const place = { id, first: this.nextTrade, last };
    for (const trade of await this.lists.oldestFirst(USER_TRADE, place)) {
      this.tradesTo = trade.sequence;
      const order = this.byId.get(trade.orderId);
      if (order === undefined) continue;
      if (trade.role === TAKER) order.fillAsTaker(trade);
      else if (this.unfinished.has(trade.orderId)) this.fill(order, trade);
    }
    this.nextTrade = last + 1;
  }

  private fill(order: Order, { sizeLots, atMs }: TradeEntry): void {
    order.fillAsMaker(sizeLots);
    order.lotsLeft -= sizeLots;
    if (order.lotsLeft > 0) return;
    order.record.end = OrderEnd.FILLED;
    order.record.closedAtMs = atMs;
    this.unfinished.delete(order.record.orderId);
  }

  private async readOrders(): Promise<void> {
    const { id, end } = this;
    const last = Math.min(this.nextOrder + RUN_ENTRIES - 1, end.orders);
    const place = { id, first: this.nextOrder, last };
    for (const entry of await this.lists.oldestFirst(USER_ORDER, place)) {
      this.ordersTo = entry.sequence;
      if (isPlaced(entry) || !this.unfinished.has(entry.orderId)) continue;
      const order = this.byId.get(entry.orderId)!;
      // The trades before it may not have been read yet.
      order.fillAsMaker(order.lotsLeft - entry.sizeLots);
      order.lotsLeft = 0;
      order.record.end = OrderEnd.CANCELLED;
      order.record.reason = termsOf(entry.terms).reason;
      order.record.closedAtMs = entry.atMs;
      this.unfinished.delete(entry.orderId);
    }
    this.nextOrder = last + 1;
  }
}
