/**
 * The orders of an account, open and closed, newest first, out of the events of their placing and,
 * of orders that have rested, of their ends (order-ends.ts). What an order that ended at once has
 * filled is in the trades of its command. What the engine knows of an order that rests is the
 * engine's.
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
import type { ListCounts } from '../lists.js';
import type { CommittedLists } from '../opening.js';
import { checkRow, HistoryDamage, selectRows } from '../rows.js';
import {
  AMENDED_ORDER,
  ENDED_ANEW,
  type EntryOf,
  FILLED_IN_BOOK,
  ORDER_END,
  type RowOf,
  RUN_ENTRIES,
  TAKER,
  USER_EVENT,
  USER_TRADE,
} from '../runs/format.js';
import { ENTRIES_MAX, type ListReader } from '../runs/reader.js';
import { blockOf } from './order-ends.js';
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
  /** What a buy was placed to spend; null: it was placed for lots, or was amended since. */
  amountMicros: number | null;
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
type EndEntry = EntryOf<typeof ORDER_END>;

/** The entry in which an order was placed. */
interface Placed {
  entry: UserEventEntry;
  event: EventRecord<'orderPlaced'>;
  /** The client's name for it; null: none. */
  name: string | null;
  /** 0: none. */
  groupId: number;
}

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
  /** By block of orders. */
  ends: ListCounts;
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
    ends: lists.lengths.orderEnd,
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
  userId: number,
  end: OrdersEnd,
  placed: readonly Placed[],
): Promise<OrderRecord[]> {
  const hasRested = ({ event }: Placed) => event.restingLots > 0 && !end.resting.has(event.orderId);
  const rested = placed.filter(hasRested).map(({ event }) => event.orderId);
  const ends = await endsOf(lists, end, rested);
  const originals = await amendedLots(lists, ends, placed);
  const trades = new TakerTrades(lists, userId, end.trades);
  const records: OrderRecord[] = [];
  // Oldest first, as the trades are read.
  for (const each of placed.toReversed()) {
    const { entry, event } = each;
    const record = placedRecord(each);
    const resting = end.resting.get(event.orderId);
    if (resting !== undefined) show(record, resting);
    else if (event.restingLots > 0) {
      const last = ends.get(event.orderId) ?? unknownEnd(userId, event.orderId);
      const amended = originals.get(event.orderId);
      if (amended !== undefined)
        Object.assign(record, { originalLots: amended, amountMicros: null });
      endInBook(record, last);
    } else {
      for (const trade of await trades.of(event.orderId, entry.sequence)) fill(record, trade);
      endAtOnce(record, event.status, entry.atMs);
    }
    records.push(record);
  }
  return records.reverse();
}

function unknownEnd(userId: number, orderId: number): never {
  const what = 'it neither rests nor was filled or cancelled';
  throw new HistoryDamage(ORDER_END.name, `userId ${userId}, orderId ${orderId}`, what);
}

/** The last entry of each order in orderEnd. */
async function endsOf(
  lists: ListReader,
  { ends }: OrdersEnd,
  orderIds: readonly number[],
): Promise<Map<number, EndEntry>> {
  const found = new Map<number, EndEntry>();
  for (const id of new Set(orderIds.map(blockOf)))
    for (const entry of await lists.oldestFirst(ORDER_END, { id, first: 1, last: ends.of(id) }))
      found.set(entry.orderId, entry);
  return found;
}

/** For each order that was amended while it rested: the total lots it was to fill. */
async function amendedLots(
  { files }: ListReader,
  ends: ReadonlyMap<number, EndEntry>,
  placed: readonly Placed[],
): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  const rested = placed.filter(({ event }) => ends.has(event.orderId));
  if (rested.length === 0) return found;
  const fromMs = Math.min(...rested.map(({ entry }) => entry.atMs));
  const toMs = Math.max(...rested.map(({ event }) => ends.get(event.orderId)!.atMs));
  const ids = JSON.stringify(rested.map(({ event }) => event.orderId));
  const sql = `${selectRows(AMENDED_ORDER)} WHERE orderId IN (SELECT value FROM json_each(?))`;
  for (const part of files.parts.within(fromMs, toMs))
    for (const row of await files.query<RowOf<typeof AMENDED_ORDER>>(part, sql, [ids])) {
      checkRow(AMENDED_ORDER, row);
      // The newest part comes first.
      if (!found.has(row.orderId)) found.set(row.orderId, row.originalLots);
    }
  return found;
}

/** As it was placed. */
function placedRecord({ entry, event, name, groupId }: Placed): OrderRecord {
  return {
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
    amountMicros: entry.amountMicros === 0 ? null : entry.amountMicros,
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
}

/** Copies all but the placing time: in the engine, placing an amended order again changes it. */
function show(record: OrderRecord, resting: OrderView): void {
  const { priceTicks, amountMicros, originalLots, filledLots, valueMicros, feeMicros } = resting;
  const terms = { priceTicks, amountMicros, originalLots, restingLots: resting.sizeLots };
  Object.assign(record, { ...terms, filledLots, valueMicros, feeMicros });
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

/** In the command that placed it. */
function endAtOnce(record: OrderRecord, status: number, atMs: number): void {
  if (status === OrderStatus.FILLED) close(record, OrderState.FILLED, atMs);
  else if (status === OrderStatus.STOPPED_UNFILLED)
    close(record, OrderState.CANCELLED, atMs, CancelReason.SELF_TRADE);
  else if (status === OrderStatus.STOPPED)
    close(record, OrderState.UNFILLED, atMs, CancelReason.SELF_TRADE);
  else if (status === OrderStatus.ORDER_GROUP)
    close(record, OrderState.UNFILLED, atMs, CancelReason.ORDER_GROUP);
  else if (status === OrderStatus.TRADE_LIMIT) close(record, OrderState.TRADE_LIMIT, atMs);
  else if (status === OrderStatus.TOO_SMALL_TO_REST)
    close(record, OrderState.TOO_SMALL_TO_REST, atMs);
  else close(record, OrderState.UNFILLED, atMs);
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
  /** Consecutive trades of the account, from the first with the sequence `from` on. */
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
