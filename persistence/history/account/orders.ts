/**
 * The orders of an account, open and closed, newest first: as they were placed and, if they rested,
 * as they ended (order-ends.ts). The fills of an order that ended immediately are the trades of its
 * command. The fills and the rest of a resting order come from the engine.
 */
import {
  CancelReason,
  OrderStatus,
  type Outcome,
  type SelfTrade,
  type Side,
} from '../../../engine/interface/domain.js';
import { nameIn } from '../../../engine/interface/events.js';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import type { OrderView } from '../../../engine/interface/views.js';
import type { CommittedLists } from '../opening.js';
import { HistoryPruned } from '../parts/files.js';
import { HistoryDamage } from '../rows.js';
import {
  AMENDED,
  ENDED_ANEW,
  type EntryOf,
  FILLED_IN_BOOK,
  ORDER_END,
  RUN_ENTRIES,
  TAKER,
  USER_ORDER,
  USER_TRADE,
} from '../runs/format.js';
import type { ListReader, Page } from '../runs/reader.js';
import { blockOf } from './order-ends.js';

/**
 * The state of an order. OPEN: it rests. UNFILLED: it did not rest; its remainder was dropped for
 * lack of orders to trade with or, as its reason says, because it met an order of the same user or
 * tripped its group. TRADE_LIMIT and TOO_SMALL_TO_REST: the remainder was dropped for that reason
 * (OrderStatus).
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
  /** The order's group; 0 if none. */
  groupId: number;
  /** When the order expires; null if only at the market's end. */
  expiresAtMs: number | null;
  /** The amount of a buy; null if it was placed for lots, or was amended since. */
  amountMicros: number | null;
  originalLots: number;
  filledLots: number;
  /** The resting lots; 0 for a closed order. */
  restingLots: number;
  /**
   * Lots that trade before it at its price; null if the order is closed or they are unknown;
   * undefined if they were not looked up.
   */
  aheadLots: number | null | undefined;
  /** The amount spent or received, without the fee. */
  valueMicros: number;
  feeMicros: number;
  end: OrderState;
  /** A CancelReason: why the order was cancelled, or why it is UNFILLED; 0 if neither applies. */
  reason: number;
  placedAtMs: number;
  /** When the order was closed; null if it is open. */
  closedAtMs: number | null;
}

export interface OrdersRequest {
  userId: number;
  limit: number;
  /** The position of the last order returned; null starts from the newest. */
  cursor: number | null;
  status: 'open' | 'closed' | 'all';
  /** The client order id of the only wanted order, if it is remembered. */
  clientOrderId: string | null;
  marketId: number | null;
  /** The first and last wanted placing times, both included. */
  fromMs: number | null;
  toMs: number | null;
}

export type OrdersPage = Page<OrderRecord>;

type Placed = EntryOf<typeof USER_ORDER>;
type TradeEntry = EntryOf<typeof USER_TRADE>;
type EndEntry = EntryOf<typeof ORDER_END>;

/** The state of the account when the read is prepared, and the resting orders. */
export interface OrdersEnd {
  orders: number;
  trades: number;
  resting: ReadonlyMap<number, OrderView>;
  /** The lots ahead of each order that the answer may show. */
  ahead: ReadonlyMap<number, number | null>;
}

export function ordersEnd(
  lists: CommittedLists,
  userId: number,
  resting: readonly OrderView[],
  ahead: OrdersEnd['ahead'],
): OrdersEnd {
  return {
    orders: lists.lengths.userOrder.of(userId),
    trades: lists.lengths.userTrade.of(userId),
    resting: new Map(resting.map((order) => [order.orderId, order])),
    ahead,
  };
}

export async function readOrders(
  lists: ListReader,
  end: OrdersEnd,
  request: OrdersRequest,
): Promise<OrdersPage> {
  const { userId: id, cursor } = request;
  const from = 1 + (await lists.files.lastPruned(USER_ORDER.list, id));
  const time = { fromMs: request.fromMs ?? 0, toMs: request.toMs ?? MAX_TIME_MS, first: from };
  const range = await lists.inTime(USER_ORDER, { id, count: end.orders, ...time });
  // A page that ends where orders were pruned has a cursor, so that the next page reports the
  // pruning.
  const isCut = range.first === from && from > 1;
  if (isCut && cursor !== null && cursor <= from) throw pruned(from);
  const wanted = (placed: Placed) => isWanted(placed, request, end);
  const page = await lists.page(USER_ORDER, { id, ...range }, request, wanted);
  const entries = await recordsOf(lists, id, end, page.entries);
  return { entries, nextCursor: page.nextCursor ?? (isCut ? from : null) };
}

function pruned(from: number): HistoryPruned {
  return new HistoryPruned(`the orders of the account before its ${from}. were pruned`);
}

/**
 * The order with the requested client order id, if it passes the other filters. @param orderId 0 if
 * the id is not remembered
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

/** Reads one order; null if the user has placed no such order. */
export async function readOrder(
  lists: ListReader,
  end: OrdersEnd,
  { userId: id, orderId }: { userId: number; orderId: number },
): Promise<OrderRecord | null> {
  const from = 1 + (await lists.files.lastPruned(USER_ORDER.list, id));
  const search = { id, count: end.orders, column: 'orderId', value: orderId, from } as const;
  const ordinal = await lists.firstFrom(USER_ORDER, search);
  const placed = ordinal > end.orders ? null : await lists.at(USER_ORDER, id, ordinal);
  if (placed?.orderId === orderId) return (await recordsOf(lists, id, end, [placed]))[0]!;
  if (from > 1 && ordinal === from) throw pruned(from);
  return null;
}

function isWanted(order: Placed, request: OrdersRequest, { resting }: OrdersEnd): boolean {
  return (
    (request.marketId === null || order.marketId === request.marketId) &&
    (request.status === 'all' || resting.has(order.orderId) === (request.status === 'open'))
  );
}

/** The records of placed orders, in the given order. */
async function recordsOf(
  lists: ListReader,
  userId: number,
  end: OrdersEnd,
  placed: readonly Placed[],
): Promise<OrderRecord[]> {
  const hasRested = (order: Placed) => order.restingLots > 0 && !end.resting.has(order.orderId);
  const { ends, originals } = await endsOf(lists, placed.filter(hasRested));
  const trades = new TakerTrades(lists, userId, end.trades);
  const records: OrderRecord[] = [];
  // Oldest first, in the order in which the trades are read.
  for (const order of placed.toReversed()) {
    const { orderId } = order;
    const record = placedRecord(order);
    const resting = end.resting.get(orderId);
    if (resting !== undefined) show(record, resting, end.ahead.get(orderId) ?? null);
    else if (order.restingLots > 0) {
      const amended = originals.get(orderId);
      if (amended !== undefined)
        Object.assign(record, { originalLots: amended, amountMicros: null });
      endInBook(record, ends.get(orderId) ?? (await withoutEnd(lists, order)));
    } else {
      for (const trade of await trades.of(orderId, order.sequence)) fill(record, trade);
      endAtOnce(record, order.status, order.atMs);
    }
    records.push(record);
  }
  return records.reverse();
}

/** Throws: either the order was pruned during the read, or its end is missing. */
async function withoutEnd(lists: ListReader, { userId, orderId, ordinal }: Placed): Promise<never> {
  const last = await lists.files.lastPruned(USER_ORDER.list, userId);
  if (ordinal <= last) throw pruned(last + 1);
  const what = 'it neither rests nor was filled or cancelled';
  throw new HistoryDamage(ORDER_END.name, `userId ${userId}, orderId ${orderId}`, what);
}

/** The last end of each order; for amended orders, also the total lots that they were to fill. */
async function endsOf(lists: ListReader, orders: readonly Placed[]) {
  const ends = new Map<number, EndEntry>();
  const originals = new Map<number, number>();
  for (const block of new Set(orders.map(({ orderId }) => blockOf(orderId))))
    for (const entry of await lists.all(ORDER_END, block))
      if (entry.how === AMENDED) originals.set(entry.orderId, entry.leftLots);
      else ends.set(entry.orderId, entry);
  return { ends, originals };
}

/** The record of an order as it was placed. */
function placedRecord(order: Placed): OrderRecord {
  return {
    orderId: order.orderId,
    clientOrderId: order.name1 === 0 ? null : nameIn(order),
    marketId: order.marketId,
    userId: order.userId,
    side: order.side as Side,
    outcome: order.outcome as Outcome,
    priceTicks: order.priceTicks,
    timeInForce: order.timeInForce,
    postOnly: order.postOnly === 1,
    selfTrade: order.selfTrade as SelfTrade,
    groupId: order.groupId,
    expiresAtMs: order.expiresAtMs === 0 ? null : order.expiresAtMs,
    amountMicros: order.amountMicros === 0 ? null : order.amountMicros,
    originalLots: order.sizeLots,
    filledLots: 0,
    restingLots: 0,
    aheadLots: null,
    valueMicros: 0,
    feeMicros: 0,
    end: OrderState.OPEN,
    reason: 0,
    placedAtMs: order.atMs,
    closedAtMs: null,
  };
}

/**
 * Copies everything but the placing time, which the engine resets when an amended order is placed
 * again.
 */
function show(record: OrderRecord, resting: OrderView, aheadLots: number | null): void {
  const { priceTicks, amountMicros, originalLots, filledLots, valueMicros, feeMicros } = resting;
  const terms = { priceTicks, amountMicros, originalLots, restingLots: resting.sizeLots };
  Object.assign(record, { ...terms, aheadLots, filledLots, valueMicros, feeMicros });
}

function endInBook(record: OrderRecord, entry: EndEntry): void {
  const { how, leftLots, priceTicks, filledLots, valueMicros, feeMicros, atMs } = entry;
  Object.assign(record, { priceTicks, filledLots, valueMicros, feeMicros });
  if (how >= ENDED_ANEW) {
    endAtOnce(record, how - ENDED_ANEW, atMs);
    return;
  }
  record.filledLots = record.originalLots - leftLots;
  record.valueMicros += (record.filledLots - filledLots) * priceTicks;
  const state = how === FILLED_IN_BOOK ? OrderState.FILLED : OrderState.CANCELLED;
  close(record, state, atMs, how === FILLED_IN_BOOK ? 0 : how);
}

/** The end of an order in the command that placed it; for other statuses, UNFILLED. */
const ENDS_AT_ONCE: Readonly<Record<number, [end: OrderState, reason?: CancelReason]>> = {
  [OrderStatus.FILLED]: [OrderState.FILLED],
  [OrderStatus.STOPPED_UNFILLED]: [OrderState.CANCELLED, CancelReason.SELF_TRADE],
  [OrderStatus.STOPPED]: [OrderState.UNFILLED, CancelReason.SELF_TRADE],
  [OrderStatus.ORDER_GROUP]: [OrderState.UNFILLED, CancelReason.ORDER_GROUP],
  [OrderStatus.TRADE_LIMIT]: [OrderState.TRADE_LIMIT],
  [OrderStatus.TOO_SMALL_TO_REST]: [OrderState.TOO_SMALL_TO_REST],
};

function endAtOnce(record: OrderRecord, status: number, atMs: number): void {
  const [end, reason] = ENDS_AT_ONCE[status] ?? [OrderState.UNFILLED];
  close(record, end, atMs, reason);
}

function close(record: OrderRecord, end: OrderState, closedAtMs: number, reason = 0): void {
  Object.assign(record, { end, reason, closedAtMs });
}

function fill(record: OrderRecord, { sizeLots, priceTicks, feeMicros }: TradeEntry): void {
  record.filledLots += sizeLots;
  record.valueMicros += sizeLots * priceTicks;
  record.feeMicros += feeMicros;
}

/** The trades of orders in the commands that placed them, read in the order of the commands. */
class TakerTrades {
  /** Consecutive trades of the account, starting with the first at or after the sequence `from`. */
  private trades: TradeEntry[] = [];
  private from = Number.POSITIVE_INFINITY;
  /** The ordinal of the next trade to read. */
  private next = 1;

  constructor(
    private readonly lists: ListReader,
    private readonly id: number,
    private readonly count: number,
  ) {}

  async of(orderId: number, sequence: number): Promise<TradeEntry[]> {
    if (sequence < this.from || sequence > this.lastSequence) {
      const at = { id: this.id, count: this.count, column: 'sequence', value: sequence } as const;
      this.next = await this.lists.firstFrom(USER_TRADE, at);
      this.trades = [];
      this.from = sequence;
      await this.read();
    }
    while (this.lastSequence === sequence && this.next <= this.count) await this.read();
    return this.trades.filter(
      (trade) => trade.sequence === sequence && trade.orderId === orderId && trade.role === TAKER,
    );
  }

  private get lastSequence(): number {
    return this.trades.at(-1)?.sequence ?? Number.POSITIVE_INFINITY;
  }

  private async read(): Promise<void> {
    const last = Math.min(this.count, this.next + RUN_ENTRIES - 1);
    const place = { id: this.id, first: this.next, last };
    this.trades.push(...(await this.lists.oldestFirst(USER_TRADE, place)));
    this.next = last + 1;
  }
}
