/**
 * Answers from the database, completed with state of the engine: asset prices, a market's book,
 * points.
 *
 * Invariant: an answer is true at one sequence. The engine's state is read immediately, when the
 * history is at the same sequence; the rest is read later, in a transaction that began at that
 * sequence.
 */
import type { Engine } from '../../engine/engine.js';
import { ledgerEnd, readLedger } from './account/ledger.js';
import { ordersEnd, readNamedOrder, readOrder, readOrders } from './account/orders.js';
import { readPayment } from './account/payment.js';
import { indicativeTicks } from './market-json/chance.js';
import { bytesOf, contentHashOf, marketListBytes, marketParts } from './market-json/market.js';
import type { HistoryReads } from './reads.js';
import {
  type HistoryAnswers,
  type HistoryRequest,
  PAGE_END_BYTES,
  type RequestOf,
  viewOfPast,
} from './requests.js';
import { POINTS_CREDIT } from './runs/format.js';

/** Requests that the database answers; the others need the engine or the journal. */
type StoredKind = Exclude<keyof HistoryAnswers, 'journalBatch' | 'leaderboard' | 'rank'>;
export type StoredRequest = RequestOf<StoredKind>;
export type PreparedAnswer = () => Promise<HistoryAnswers[StoredKind]>;

type Prepare<Kind extends StoredKind> = (
  request: RequestOf<Kind>,
  database: HistoryReads,
  engine: Engine,
) => () => Promise<HistoryAnswers[Kind]>;

const PREPARE: { readonly [Kind in StoredKind]: Prepare<Kind> } = {
  userTrades: (request, database) => database.userTrades(request),
  ledger: (request, { lists, entries }, engine) => {
    const account = engine.account(request.userId) ?? { availableMicros: 0, heldMicros: 0 };
    const end = ledgerEnd(lists, request.userId, account, engine.nowMs);
    return () => readLedger(entries, end, request);
  },
  userOrders: (request, { lists, entries }, engine) => {
    const { userId, clientOrderId, status, marketId, cursor, toMs, limit } = request;
    const resting = engine.orders(userId);
    if (clientOrderId !== null) {
      const orderId = engine.orderNamed(userId, clientOrderId);
      const ahead = engine.lotsAhead(engine.rests(orderId) ? [orderId] : []);
      const end = ordersEnd(lists, userId, resting, ahead);
      return () => readNamedOrder(entries, end, request, orderId);
    }
    // Newest first, as pages are. The first page shows no others than its first `limit`.
    const shown = resting
      .filter((order) => (marketId ?? order.marketId) === order.marketId)
      .map(({ orderId }) => orderId)
      .sort((left, right) => right - left)
      .slice(0, cursor === null && toMs === null ? limit : undefined);
    const end = ordersEnd(
      lists,
      userId,
      resting,
      engine.lotsAhead(status === 'closed' ? [] : shown),
    );
    return () => readOrders(entries, end, request);
  },
  userOrder: (request, { lists, entries }, engine) => {
    const { userId, orderId } = request;
    const ahead = engine.lotsAhead(engine.rests(orderId) ? [orderId] : []);
    const end = ordersEnd(lists, userId, engine.orders(userId), ahead);
    return () => readOrder(entries, end, request);
  },
  payment: (request, database) => {
    const { lists, entries } = database;
    const count = lists.lengths.userPayment.of(request.userId);
    const read = database.market(request.marketId, false);
    return async () => {
      const resolvedAtMs = (await read())?.market.resolvedAtMs ?? null;
      return readPayment(entries, request, count, resolvedAtMs);
    };
  },
  pointsCredits: (request, database, engine) => {
    const microPoints = engine.account(request.userId)?.microPoints ?? 0;
    const read = database.listOfUser(POINTS_CREDIT, request);
    return async () => ({ ...(await read()), microPoints });
  },
  keyedResult: (request, database) => database.keyedResult(request),
  marketTrades: (request, database) => database.marketTrades(request),
  marketEvents: (request, database) => database.marketEvents(request),
  candles: (request, database, engine) => database.candles(request, engine.nowMs),
  marketTicks: (request, database) => database.marketTicks(request),
  pastMarkets: (request, database) => database.pastMarkets(request),
  pastMarketTexts: (request, database, engine) => {
    const { sequence, nowMs: atMs } = engine;
    const prices = assetPrices(engine);
    const read = database.pastMarketParts(request, engine);
    return async () => {
      const { entries, nextCursor } = await read();
      const open = '{"markets":[';
      const frame = { sequence, atMs, open, close: ']', spareBytes: PAGE_END_BYTES };
      const bytes = marketListBytes(entries, prices, frame);
      return { bytes, contentHash: contentHashOf(entries, `${nextCursor}`), nextCursor };
    };
  },
  /**
   * The market comes from the engine, with its book; once the engine has removed the market, from
   * the history.
   */
  marketText: ({ marketId, withPrices }, database, engine) => {
    const { sequence, nowMs: atMs } = engine;
    const prices = assetPrices(engine);
    const known = engine.market(marketId);
    const indicative = known && indicativeTicks(engine, known);
    const read = database.market(marketId, withPrices);
    return async () => {
      const found = await read();
      if (found === null) return null;
      const view = known ?? viewOfPast(found.market);
      const parts = bytesOf(marketParts(engine, view, indicative, found.points));
      const frame = { sequence, atMs, open: '', close: '', spareBytes: 0 };
      const bytes = marketListBytes([parts], prices, frame);
      return { bytes, contentHash: contentHashOf([parts], '') };
    };
  },
};

export function isStored(request: HistoryRequest): request is StoredRequest {
  return request.kind in PREPARE;
}

export function prepareAnswer(
  engine: Engine,
  database: HistoryReads,
  request: StoredRequest,
): PreparedAnswer {
  return (PREPARE[request.kind] as Prepare<StoredKind>)(request, database, engine);
}

function assetPrices(engine: Engine): (number | null)[] {
  return Array.from({ length: engine.assetCount }, (_, asset) => engine.assetPriceMicros(asset));
}
