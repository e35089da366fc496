/**
 * Rebuilds one lost or damaged part of the history: a separate engine follows the journal from the
 * newest snapshot up to the part's beginning, or from the first command, to the part's end. The
 * rest of the history is served, and grows, in the meantime.
 */
import type { Engine } from '../../engine/engine.js';
import { assetOfMarket } from '../../engine/interface/domain.js';
import { ListCounts, lengthsOf, MEASURED } from '../history/lists.js';
import { MarketHistory } from '../history/markets.js';
import { type Catalogue, openPath, removeDatabase } from '../history/parts/catalogue.js';
import { PartWriter } from '../history/parts/part.js';
import { type HistoryState, Projection } from '../history/projection.js';
import { MARKET_BOOK, MARKET_TRADE } from '../history/runs/format.js';
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
  { catalogue, part, signal }: { catalogue: Catalogue; part: number; signal: AbortSignal },
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
        projection = new Projection(engine, await stateBefore(catalogue, part, engine), () => {});
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
  part: number,
  engine: Engine,
): Promise<HistoryState> {
  const lengths = lengthsOf(() => new ListCounts());
  for (const layout of MEASURED) await catalogue.lengthsBefore(part, layout, lengths[layout.name]);
  const [trades, books] = [new Map<number, number>(), new Map<number, number>()];
  await catalogue.lengthsBefore(part, MARKET_TRADE, trades);
  await catalogue.lengthsBefore(part, MARKET_BOOK, books);
  const markets = engine.marketIds().map((marketId) =>
    Object.assign(new MarketHistory(marketId), {
      status: engine.market(marketId)!.status,
      tradeCount: trades.get(marketId) ?? 0,
      bookCount: books.get(marketId) ?? 0,
    }),
  );
  // No market is read from a sealed part.
  const lastMarketIds: number[] = [];
  for (const { marketId } of markets) lastMarketIds[assetOfMarket(marketId)] = marketId;
  const { orderEnd: orderEnds } = catalogue.parts.endOf(part - 1).counts;
  return { lengths, orderEnds, markets, lastMarketIds };
}
