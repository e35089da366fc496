/**
 * Rebuilds one lost or damaged part of the history: a separate engine follows the journal from the
 * newest snapshot up to the part's beginning, or from the first command, to the part's end. The
 * rest of the history is served, and grows, in the meantime.
 */
import type { Engine } from '../../engine/engine.js';
import { hasEnded } from '../../engine/interface/domain.js';
import { ListCounts, lengthsOf, MEASURED } from '../history/lists.js';
import { CANDLE_MS, candleWith, newMarket, startOf } from '../history/markets.js';
import { type Catalogue, openPath, removeDatabase } from '../history/parts/catalogue.js';
import type { HistoryFiles } from '../history/parts/files.js';
import { PartWriter } from '../history/parts/part.js';
import { type HistoryState, Projection } from '../history/projection.js';
import {
  MARKET_LISTS,
  MARKET_TRADE,
  type MarketRecord,
  type TradeCandle,
} from '../history/runs/format.js';
import { ListReader } from '../history/runs/reader.js';
import { JournalFollower } from '../recovery/recovery.js';
import { loadNewestSnapshot, type ReadSnapshot } from '../recovery/snapshot/load.js';
import { type JournalPlace, openSource } from '../replication/source.js';
import type { FollowerLog } from './troubles.js';

/** Entries that are kept in memory before they are written. */
const PENDING_ENTRIES = 100_000;

export interface RebuildOptions {
  folder: string;
  journal: JournalPlace;
  log: FollowerLog;
  readSnapshot: ReadSnapshot;
}

/** Writes the part's file as it was before sealing. @throws JournalError, or another error */
export async function rebuildPart(
  { folder, journal, log, readSnapshot: read }: RebuildOptions,
  {
    catalogue,
    files,
    part,
    signal,
  }: { catalogue: Catalogue; files: HistoryFiles; part: number; signal: AbortSignal },
): Promise<void> {
  const begin = catalogue.parts.endOf(part - 1);
  const { sequence: last } = catalogue.parts.endOf(part);
  removeDatabase(openPath(folder, part));
  const reader = await openSource(journal);
  let writer: PartWriter | null = null;
  try {
    const to = await PartWriter.open(folder, part, begin);
    writer = to;
    const start = await loadNewestSnapshot({ folder, reader, log, notAfter: begin.sequence, read });
    const { engine } = start;
    engine.keepRecentResults(0);
    let projection: Projection | null = null;
    const beginProjection = async () => {
      if (engine.sequence === begin.sequence)
        projection = new Projection(
          engine,
          await stateBefore(catalogue, files, part, engine),
          () => {},
        );
    };
    await beginProjection();
    const follower = new JournalFollower(engine, start.position, {
      mayApply: () => !signal.aborted,
      applying: (atMs) => projection?.applying(atMs),
      applied: () => projection?.applied(),
      proven: async ({ lastSequence: sequence, hash }) => {
        if (projection === null) await beginProjection();
        else if (sequence === last || projection.pendingEntries >= PENDING_ENTRIES)
          await to.commit(projection.drain(), { sequence, hash, atMs: engine.nowMs });
        return sequence < last;
      },
    });
    await follower.follow(reader);
    signal.throwIfAborted();
    if (engine.sequence !== last)
      throw new Error(`the journal ends at sequence ${engine.sequence}, before the part's end`);
  } finally {
    await reader.close();
    await writer?.close();
  }
}

/**
 * The state from which a part's entries are numbered, computed from the places of earlier parts.
 */
async function stateBefore(
  catalogue: Catalogue,
  files: HistoryFiles,
  part: number,
  engine: Engine,
): Promise<HistoryState> {
  const lengths = lengthsOf(() => new ListCounts());
  for (const layout of MEASURED) await catalogue.lengthsBefore(part, layout, lengths[layout.name]);
  const markets = engine.marketIds().map((marketId) => {
    const { status } = engine.market(marketId)!;
    return { ...newMarket(marketId), status };
  });
  for (const [field, layout] of Object.entries(MARKET_LISTS)) {
    const counts = new Map<number, number>();
    await catalogue.lengthsBefore(part, layout, counts);
    for (const market of markets)
      market[field as keyof typeof MARKET_LISTS] = counts.get(market.marketId) ?? 0;
  }
  const lists = new ListReader({
    query: (...asked) => files.query(...asked),
    holding: (place) => files.holding(place),
    lastPruned: (...list) => files.lastPruned(...list),
    parts: { open: part, unsealed: [], prunedTo: catalogue.parts.prunedTo },
  });
  for (const market of markets)
    if (!hasEnded(market.status)) market.candle = await candleOf(lists, market);
  const { orderEnd: orderEnds } = catalogue.parts.endOf(part - 1).counts;
  return { lengths, orderEnds, markets };
}

/** The candle of a market's last trade, which is in no list. */
async function candleOf(
  lists: ListReader,
  { marketId: id, tradeCount: count }: MarketRecord,
): Promise<TradeCandle | null> {
  if (count === 0) return null;
  const { atMs } = await lists.at(MARKET_TRADE, id, count);
  const value = startOf(atMs, CANDLE_MS);
  const first = await lists.firstFrom(MARKET_TRADE, { id, count, column: 'atMs', value });
  let candle: TradeCandle | null = null;
  for await (const trade of lists.from(MARKET_TRADE, { id, first, last: count }))
    candle = candleWith(candle, trade);
  return candle;
}
