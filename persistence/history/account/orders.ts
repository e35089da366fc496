/**
 * The orders of an account, open and closed, newest first, out of the entries that were made when
 * they were placed, amended and cancelled, and of their trades. What the engine knows of an order
 * that rests is the engine's.
 *
 * An order trades as taker in the commands that place it, and as maker at its own price from then
 * on. So the entries of a closed order are read in the order of their commands, until it is closed.
 * An order that was placed or taken out by a command does not trade as maker in it.
 */
import {
  CancelReason,
  OrderStatus,
  type Outcome,
  type SelfTrade,
  type Side,
} from '../../../engine/interface/domain.js';
import type { OrderView } from '../../../engine/interface/views.js';
import { type EntryOf, RUN_ENTRIES, USER_ORDER, USER_TRADE } from '../format.js';
import type { ListReader } from '../list-reader.js';
import { HistoryDamage } from '../rows.js';
import type { CommittedLists } from '../store.js';
import { DetailsReader, type FindBatch, USUAL_DETAILS } from './order-details.js';
import { OrderEntry, orderEntryOf, termsOf } from './order-terms.js';

/**
 * How an order stands. OPEN: it rests. UNFILLED: it traded at once, and the rest was dropped, as
 * nothing was left to trade with or, by its reason, as it met an order of the same user.
 */
export const OrderState = { OPEN: 0, FILLED: 1, UNFILLED: 2, CANCELLED: 3 } as const;
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
  /** null: not known any more (order-details.ts); then clientOrderId and expiresAtMs are null. */
  selfTrade: SelfTrade | null;
  expiresAtMs: number | null;
  originalLots: number;
  filledLots: number;
  /** What rests now; 0 of a closed order. */
  restingLots: number;
  /** Spent or received, without the fee. */
  valueMicros: number;
  feeMicros: number;
  end: OrderState;
  /** A CancelReason: of a cancellation, and SELF_TRADE of an order that is UNFILLED for that. */
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
  details: DetailsReader;
}

export function ordersEnd(
  lists: CommittedLists,
  userId: number,
  resting: readonly OrderView[],
  findBatch: FindBatch,
): OrdersEnd {
  return {
    details: new DetailsReader(findBatch),
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

/**
 * The order that has the client's id of the request, if it passes the other filters.
 * @param orderId 0: the id is not remembered.
 */
export async function readNamedOrder(
  lists: ListReader,
  end: OrdersEnd,
  { userId, clientOrderId, status, marketId, fromMs, toMs }: OrdersRequest,
  orderId: number,
): Promise<OrdersPage> {
  const found = orderId === 0 ? null : await readOrder(lists, end, { userId, orderId });
  const isWanted =
    found !== null &&
    (status === 'all' || (found.closedAtMs === null) === (status === 'open')) &&
    (marketId === null || found.marketId === marketId) &&
    (fromMs === null || found.placedAtMs >= fromMs) &&
    (toMs === null || found.placedAtMs <= toMs);
  // The id is known even if the part of the journal that has it is in an archive.
  return { entries: isWanted ? [{ ...found, clientOrderId }] : [], nextCursor: null };
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
  for (const order of orders) {
    if (order.rests) continue;
    Object.assign(order.record, await end.details.read(order.sequence, order.detail));
  }
  return orders.map((order) => order.record);
}

class Order {
  readonly record: OrderRecord;
  /** What rests, as far as was read; 0 if nothing more is to be read. */
  lotsLeft: number;
  readonly sequence: number;
  readonly ordinal: number;
  readonly detail: number;

  constructor(entry: Entry, resting: OrderView | undefined) {
    const { orderId, marketId, userId, priceTicks, atMs, restingLots, sizeLots } = entry;
    const { side, outcome, timeInForce, postOnly, status, detail } = termsOf(entry.terms);
    this.detail = detail;
    this.sequence = entry.sequence;
    this.ordinal = entry.ordinal;
    this.lotsLeft = resting === undefined ? restingLots : 0;
    this.record = {
      orderId,
      ...USUAL_DETAILS,
      marketId,
      userId,
      side,
      outcome,
      priceTicks,
      timeInForce,
      postOnly: postOnly === 1,
      originalLots: sizeLots,
      filledLots: 0,
      restingLots: 0,
      valueMicros: 0,
      feeMicros: 0,
      end: OrderState.OPEN,
      reason: 0,
      placedAtMs: atMs,
      closedAtMs: null,
    };
    if (resting !== undefined) this.show(resting);
    else if (restingLots === 0) this.endAtOnce(status, atMs);
  }

  get rests(): boolean {
    return this.record.closedAtMs === null;
  }

  /** All but the fees and the time of the placing: the engine's is that of the last one. */
  private show(resting: OrderView): void {
    const { clientOrderId, priceTicks, originalLots, filledLots, valueMicros } = resting;
    const { sizeLots: restingLots, feeMicros, selfTrade, expiresAtMs } = resting;
    const terms = { clientOrderId, priceTicks, originalLots, restingLots, selfTrade, expiresAtMs };
    Object.assign(this.record, { ...terms, filledLots, valueMicros, feeMicros });
  }

  /** In the command that placed it. */
  private endAtOnce(status: OrderStatus, atMs: number): void {
    if (status === OrderStatus.FILLED) this.close(OrderState.FILLED, atMs);
    else if (status === OrderStatus.STOPPED_UNFILLED)
      this.close(OrderState.CANCELLED, atMs, CancelReason.SELF_TRADE);
    else if (status === OrderStatus.STOPPED)
      this.close(OrderState.UNFILLED, atMs, CancelReason.SELF_TRADE);
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

  /** An entry after the first. */
  read({ terms, sizeLots, restingLots, priceTicks, atMs }: Entry): void {
    const { record } = this;
    const { entry, status, reason } = termsOf(terms);
    if (entry === OrderEntry.REPLACED) {
      record.priceTicks = priceTicks;
      record.originalLots += sizeLots;
      this.lotsLeft = restingLots;
      if (restingLots === 0) this.endAtOnce(status, atMs);
      return;
    }
    this.lotsLeft -= sizeLots;
    if (entry !== OrderEntry.CANCELLED) record.originalLots -= sizeLots;
    if (entry === OrderEntry.CANCELLED) this.close(OrderState.CANCELLED, atMs, reason);
    else if (entry === OrderEntry.REDUCED && this.lotsLeft === 0)
      this.close(OrderState.FILLED, atMs);
  }
}

/** Reads on from the oldest of some orders until it is known what became of all of them. */
class Completion {
  private readonly byId = new Map<number, Order>();
  /** Closed orders of which the end is to be read. */
  private readonly unfinished = new Set<number>();
  private readonly oldestSequence: number;
  private readonly newestSequence: number;
  private readonly trades: Ahead<TradeEntry>;
  private readonly entries: Ahead<Entry>;

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
    const read = (first: number, last: number) => ({ id, first, last });
    this.trades = new Ahead(end.trades, (first, last) =>
      lists.oldestFirst(USER_TRADE, read(first, last)),
    );
    this.entries = new Ahead(end.orders, (first, last) =>
      lists.oldestFirst(USER_ORDER, read(first, last)),
    );
    this.entries.next = Math.min(...orders.map(({ ordinal }) => ordinal)) + 1;
  }

  async run(): Promise<void> {
    const { end, id, lists, unfinished, trades, entries } = this;
    const value = this.oldestSequence;
    const at = { id, count: end.trades, column: 'sequence', value } as const;
    trades.next = await lists.firstFrom(USER_TRADE, at);
    for (;;) {
      const trade = await trades.peek();
      const entry = unfinished.size > 0 ? await entries.peek() : undefined;
      const isTrade = trade !== undefined && (entry?.sequence ?? trade.sequence) >= trade.sequence;
      const isLate = trade !== undefined && trade.sequence > this.newestSequence;
      if (unfinished.size === 0 && (trade === undefined || isLate)) break;
      if (isTrade) this.readTrade(trades.take()!);
      else if (entry !== undefined) this.readEntry(entries.take()!);
      else break;
    }
    const [lost] = unfinished;
    if (lost === undefined) return;
    const what = 'it neither rests nor was filled or cancelled';
    throw new HistoryDamage(USER_ORDER.name, `userId ${id}, orderId ${lost}`, what);
  }

  private readTrade(trade: TradeEntry): void {
    const order = this.byId.get(trade.orderId);
    if (order === undefined || this.end.resting.has(trade.orderId)) return;
    if (trade.role === TAKER) order.fillAsTaker(trade);
    else order.fillAsMaker(trade);
    this.finish(order);
  }

  private readEntry(entry: Entry): void {
    if (isPlaced(entry) || !this.unfinished.has(entry.orderId)) return;
    const order = this.byId.get(entry.orderId)!;
    order.read(entry);
    this.finish(order);
  }

  private finish(order: Order): void {
    if (!order.rests) this.unfinished.delete(order.record.orderId);
  }
}

/** A list of one account, read in pieces and taken entry by entry, the oldest first. */
class Ahead<Of> {
  /** The ordinal of the next entry to read. */
  next = 1;
  private entries: Of[] = [];
  private taken = 0;

  constructor(
    private readonly count: number,
    private readonly read: (first: number, last: number) => Promise<Of[]>,
  ) {}

  /** undefined: there is no other. */
  async peek(): Promise<Of | undefined> {
    if (this.taken === this.entries.length && this.next <= this.count) {
      const last = Math.min(this.next + RUN_ENTRIES - 1, this.count);
      this.entries = await this.read(this.next, last);
      this.taken = 0;
      this.next = last + 1;
    }
    return this.entries[this.taken];
  }

  /** After `peek`. */
  take(): Of | undefined {
    return this.entries[this.taken++];
  }
}
