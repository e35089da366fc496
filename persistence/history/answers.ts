/**
 * Answers from the database, completed with state of the engine: asset prices, a market's book,
 * points.
 *
 * Always holds: an answer is true at one sequence. The engine's state is read at once, when the
 * history is at the same sequence; the rest is read later, in a transaction begun at that sequence.
 */
import type { Engine } from '../../engine/engine.js';
import { ledgerEnd, readLedger } from './account/ledger.js';
import { ordersEnd, readNamedOrder, readOrder, readOrders } from './account/orders.js';
import { bytesOf, contentHashOf, marketListBytes, marketParts } from './market-json/market.js';
import type { HistoryReads, StoredKind, StoredRequest } from './reads.js';
import { type HistoryAnswers, PAGE_END_BYTES, type RequestOf, viewOfPast } from './requests.js';
import { CLOSED_POSITION, POINTS_CREDIT } from './runs/format.js';

export type PreparedAnswer = () => Promise<HistoryAnswers[StoredKind]>;

export function prepareAnswer(
  engine: Engine,
  database: HistoryReads,
  request: StoredRequest,
): PreparedAnswer {
  switch (request.kind) {
    case 'userTrades':
      return database.userTrades(request);
    case 'ledger':
      return prepareLedger(engine, database, request);
    case 'userOrders':
    case 'userOrder':
      return prepareOrders(engine, database, request);
    case 'closedPositions':
      return database.listOfUser(CLOSED_POSITION, request);
    case 'marketTrades':
      return database.marketTrades(request);
    case 'marketEvents':
      return database.marketEvents(request);
    case 'marketTicks':
      return database.marketTicks(request);
    case 'pastMarkets':
      return database.pastMarkets(request);
    case 'pointsCredits':
      return preparePoints(engine, database, request);
    case 'pastMarketTexts':
      return preparePastMarkets(engine, database, request);
    case 'marketText':
      return prepareMarket(engine, database, request);
  }
}

function prepareLedger(
  engine: Engine,
  database: HistoryReads,
  request: RequestOf<'ledger'>,
): () => Promise<HistoryAnswers['ledger']> {
  const account = engine.account(request.userId) ?? { availableMicros: 0, heldMicros: 0 };
  const end = ledgerEnd(database.lists, request.userId, account, engine.nowMs);
  return () => readLedger(database.entries, end, request);
}

function prepareOrders(
  engine: Engine,
  database: HistoryReads,
  request: RequestOf<'userOrders' | 'userOrder'>,
): () => Promise<HistoryAnswers['userOrders' | 'userOrder']> {
  const { userId } = request;
  const { lists, entries } = database;
  const end = ordersEnd(lists, userId, engine.orders(userId));
  if (request.kind === 'userOrder') return () => readOrder(entries, end, request);
  if (request.clientOrderId === null) return () => readOrders(entries, end, request);
  const orderId = engine.orderNamed(userId, request.clientOrderId);
  return () => readNamedOrder(entries, end, request, orderId);
}

function preparePoints(
  engine: Engine,
  database: HistoryReads,
  request: RequestOf<'pointsCredits'>,
): () => Promise<HistoryAnswers['pointsCredits']> {
  const microPoints = engine.account(request.userId)?.microPoints ?? 0;
  const read = database.listOfUser(POINTS_CREDIT, request);
  return async () => ({ ...(await read()), microPoints });
}

function preparePastMarkets(
  engine: Engine,
  database: HistoryReads,
  request: RequestOf<'pastMarketTexts'>,
): () => Promise<HistoryAnswers['pastMarketTexts']> {
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
}

/** From the engine, with its book; from the history once the engine has removed the market. */
function prepareMarket(
  engine: Engine,
  database: HistoryReads,
  { marketId }: RequestOf<'marketText'>,
): () => Promise<HistoryAnswers['marketText']> {
  const { sequence, nowMs: atMs } = engine;
  const prices = assetPrices(engine);
  const known = engine.market(marketId);
  const read = database.market(marketId);
  return async () => {
    const found = await read();
    if (found === null) return null;
    const parts = bytesOf(marketParts(engine, known ?? viewOfPast(found.market), found.points));
    const frame = { sequence, atMs, open: '', close: '', spareBytes: 0 };
    const bytes = marketListBytes([parts], prices, frame);
    return { bytes, contentHash: contentHashOf([parts], '') };
  };
}

function assetPrices(engine: Engine): (number | null)[] {
  return Array.from({ length: engine.assetCount }, (_, asset) => engine.assetPriceMicros(asset));
}
