/**
 * Answers that the database gives, together with what the engine says: prices of assets, the book of a market, points.
 *
 * Always holds: an answer is true as a whole at one sequence. To be prepared when engine and history stand there; what is of the
 * engine is taken then, and the rest is read later, in a transaction that was begun there.
 */
import type { Engine } from '../../engine/engine.js';
import { bytesOf, marketParts, marketTextsBytes, viewOfPast } from './market-text.js';
import type { HistoryReads, StoredKind, StoredRequest } from './reads.js';
import { type HistoryAnswers, PAGE_END_BYTES, type RequestOf } from './requests.js';

export type PreparedAnswer = () => Promise<HistoryAnswers[StoredKind]>;

export function prepareAnswer(
  engine: Engine,
  database: HistoryReads,
  request: StoredRequest,
): PreparedAnswer {
  switch (request.kind) {
    case 'userTrades':
      return database.userTrades(request);
    case 'closedPositions':
      return database.closedPositions(request);
    case 'marketTrades':
      return database.marketTrades(request);
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

function preparePoints(
  engine: Engine,
  database: HistoryReads,
  request: RequestOf<'pointsCredits'>,
): () => Promise<HistoryAnswers['pointsCredits']> {
  const microPoints = engine.account(request.userId)?.microPoints ?? 0;
  const read = database.pointsCredits(request);
  return async () => ({ ...(await read()), microPoints });
}

function preparePastMarkets(
  engine: Engine,
  database: HistoryReads,
  request: RequestOf<'pastMarketTexts'>,
): () => Promise<HistoryAnswers['pastMarketTexts']> {
  const { sequence } = engine;
  const prices = assetPrices(engine);
  const read = database.pastMarketParts(request, engine);
  return async () => {
    const { entries, nextCursor } = await read();
    const frame = { sequence, open: '{"markets":[', close: ']', room: PAGE_END_BYTES };
    return { bytes: marketTextsBytes(entries, prices, frame), nextCursor };
  };
}

/** What the engine has forgotten is as the history has it; the rest is as the engine has it, with its book. */
function prepareMarket(
  engine: Engine,
  database: HistoryReads,
  { marketId }: RequestOf<'marketText'>,
): () => Promise<HistoryAnswers['marketText']> {
  const { sequence } = engine;
  const prices = assetPrices(engine);
  const known = engine.market(marketId);
  const read = database.market(marketId);
  return async () => {
    const found = await read();
    if (found === null) return null;
    const parts = marketParts(engine, known ?? viewOfPast(found.market), found.points);
    return marketTextsBytes([bytesOf(parts)], prices, { sequence, open: '', close: '', room: 0 });
  };
}

function assetPrices(engine: Engine): (number | null)[] {
  return Array.from({ length: engine.assetCount }, (_, asset) => engine.assetPriceMicros(asset));
}
