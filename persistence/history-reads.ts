/**
 * Reading the history, on a connection of its own, one request at a time.
 *
 * Always holds: an answer is of one transaction, and names the sequence at which that ends. Every row in it is as it was
 * written, and none is missing: a page's ordinals follow each other from where they must begin to where they must end,
 * and every market that has ended is there. What is not so is a {@link HistoryDamage}, never a shorter list.
 */
import sqlite3 from 'sqlite3';
import { assetOfMarket } from '../engine/domain.js';
import type { ListCounts } from './history-counts.js';
import { asDamage, HistoryDamage } from './history-damage.js';
import {
  CLOSED_POSITION,
  MARKET,
  MARKET_TRADE,
  POINTS_CREDIT,
  type RowOf,
  type TableLayout,
  USER_TRADE,
} from './history-format.js';
import type { HistoryAnswers, HistoryRequest, MarketEntry, Page, RequestOf } from './history-requests.js';
import { checkRow, type PricesRecord, pointsOf, selectSql } from './history-rows.js';
import { type CommittedLists, historyPath } from './history-store.js';
import { closeDatabase, execute, openDatabase, query } from './sqlite.js';

/** What the database answers; leaderboards come from the engine. */
export type StoredKind = Exclude<keyof HistoryAnswers, 'leaderboard' | 'rank'>;
export type StoredRequest = RequestOf<StoredKind>;

export interface StoredAnswer {
  sequence: number;
  answer: HistoryAnswers[StoredKind];
}

interface PageOf {
  key: number;
  limit: number;
  cursor: number | null;
  /** Rows that the list has at least, and (where it is known) exactly. */
  least: number;
  exact?: number;
}

export class HistoryReads {
  private constructor(
    private readonly database: sqlite3.Database,
    private readonly lists: CommittedLists,
  ) {}

  /** @param lists as of the last transaction whenever a read begins. */
  static async open(folder: string, lists: CommittedLists): Promise<HistoryReads> {
    const mode = sqlite3.OPEN_READONLY | sqlite3.OPEN_FULLMUTEX;
    return new HistoryReads(await openDatabase(historyPath(folder), mode), lists);
  }

  /** @throws HistoryDamage, or an error of SQLite that is none. */
  async read(request: StoredRequest): Promise<StoredAnswer> {
    // What must be there is noted before the transaction begins, which may then see more, but not less.
    const answer = this.prepare(request);
    try {
      await execute(this.database, 'BEGIN');
      try {
        const [progress] = await this.query<{ sequence: number }>('SELECT sequence FROM progress');
        if (progress === undefined) throw new HistoryDamage('progress', 'id 1', 'it is missing');
        return { sequence: progress.sequence, answer: await answer() };
      } finally {
        await execute(this.database, 'COMMIT');
      }
    } catch (error) {
      throw asDamage(error);
    }
  }

  close(): Promise<void> {
    return closeDatabase(this.database);
  }

  private prepare(request: StoredRequest): () => Promise<HistoryAnswers[StoredKind]> {
    const { lists } = this;
    switch (request.kind) {
      case 'userTrades':
        return this.listOfUser(USER_TRADE, request, lists.userTrades);
      case 'pointsCredits':
        return this.listOfUser(POINTS_CREDIT, request, lists.pointsCredits);
      case 'closedPositions':
        return this.listOfUser(CLOSED_POSITION, request, lists.closedPositions);
      case 'marketTrades': {
        const isKnown = lists.knownMarketIds.has(request.marketId);
        return () => this.marketTrades(request, isKnown);
      }
      case 'market': {
        const isKnown = lists.knownMarketIds.has(request.marketId);
        return async () => {
          const row = await this.marketRow(request.marketId, isKnown);
          return row === null ? null : (await this.withPoints([row]))[0]!;
        };
      }
      case 'pastMarkets': {
        const ids = this.pastIds(request);
        return () => this.pastMarkets(ids, request);
      }
    }
  }

  private listOfUser<Layout extends TableLayout>(
    layout: Layout,
    { userId, limit, cursor }: { userId: number; limit: number; cursor: number | null },
    counts: ListCounts,
  ): () => Promise<Page<Omit<RowOf<Layout>, 'checksum'>>> {
    const least = counts.of(userId);
    return () => this.list(layout, { key: userId, limit, cursor, least });
  }

  /** A page of the list of a user or market, by descending ordinal. */
  private async list<Layout extends TableLayout>(
    layout: Layout,
    page: PageOf,
  ): Promise<Page<Omit<RowOf<Layout>, 'checksum'>>> {
    const [key] = layout.keys;
    const before = page.cursor ?? Number.MAX_SAFE_INTEGER;
    const rows = await this.query<RowOf<Layout> & { ordinal: number }>(
      `${selectSql(layout)} WHERE ${key} = ? AND ordinal < ? ORDER BY ordinal DESC LIMIT ?`,
      [page.key, before, page.limit],
    );
    for (const row of rows) checkRow(layout, row);
    checkOrdinals(layout, rows, page);
    const last = rows.at(-1)?.ordinal ?? 0;
    return { entries: rows.map(withoutChecksum), nextCursor: last > 1 ? last : null };
  }

  private async marketTrades(
    { marketId, limit, cursor }: RequestOf<'marketTrades'>,
    isKnown: boolean,
  ): Promise<HistoryAnswers['marketTrades']> {
    const market = await this.marketRow(marketId, isKnown);
    if (market === null) return null;
    const exact = market.tradeCount;
    return this.list(MARKET_TRADE, { key: marketId, limit, cursor, least: exact, exact });
  }

  private async marketRow(marketId: number, isKnown: boolean): Promise<RowOf<typeof MARKET> | null> {
    const [row] = await this.query<RowOf<typeof MARKET>>(`${selectSql(MARKET)} WHERE marketId = ?`, [
      marketId,
    ]);
    if (row !== undefined) checkRow(MARKET, row);
    else if (isKnown) throw new HistoryDamage('market', `marketId ${marketId}`, 'it is missing');
    return row ?? null;
  }

  /** The ids of a page of past markets, and one more if there is one. */
  private pastIds({ asset, limit, cursor }: RequestOf<'pastMarkets'>): number[] {
    const { pastMarketIds } = this.lists;
    const ids: number[] = [];
    for (let i = pastMarketIds.length - 1; i >= 0 && ids.length <= limit; i--) {
      const marketId = pastMarketIds[i]!;
      if (cursor !== null && marketId >= cursor) continue;
      if (asset === null || assetOfMarket(marketId) === asset) ids.push(marketId);
    }
    return ids;
  }

  private async pastMarkets(
    ids: readonly number[],
    { limit, points }: RequestOf<'pastMarkets'>,
  ): Promise<Page<MarketEntry>> {
    const page = ids.slice(0, limit);
    const sql = `${selectSql(MARKET)} WHERE marketId IN (SELECT value FROM json_each(?)) ORDER BY marketId DESC`;
    const rows = await this.query<RowOf<typeof MARKET>>(sql, [JSON.stringify(page)]);
    for (let i = 0; i < Math.max(page.length, rows.length); i++) {
      const row = rows[i];
      if (row !== undefined) checkRow(MARKET, row);
      if (row?.marketId !== page[i])
        throw new HistoryDamage('market', `marketId ${page[i]}`, 'it is missing');
    }
    const entries = points ? await this.withPoints(rows) : rows.map(withoutPoints);
    return { entries, nextCursor: ids.length > limit ? page.at(-1)! : null };
  }

  private async withPoints(markets: readonly RowOf<typeof MARKET>[]): Promise<MarketEntry[]> {
    const ids = JSON.stringify(markets.map(({ marketId }) => marketId));
    const sql = 'SELECT * FROM marketPrices WHERE marketId IN (SELECT value FROM json_each(?))';
    const prices = new Map((await this.query<PricesRecord>(sql, [ids])).map((row) => [row.marketId, row]));
    return markets.map((market) => {
      const row = prices.get(market.marketId);
      if (row === undefined) {
        throw new HistoryDamage('marketPrices', `marketId ${market.marketId}`, 'it is missing');
      }
      return { market: withoutChecksum(market), points: pointsOf(row) };
    });
  }

  private query<Row>(sql: string, parameters: readonly (number | string)[] = []): Promise<Row[]> {
    return query<Row>(this.database, sql, parameters);
  }
}

function withoutPoints(market: RowOf<typeof MARKET>): MarketEntry {
  return { market: withoutChecksum(market), points: new Float64Array() };
}

/** A page must begin at the entry after its cursor, or at the list's newest, and go on without a gap to its end. */
function checkOrdinals(layout: TableLayout, rows: readonly { ordinal: number }[], page: PageOf): void {
  const { cursor, limit, least, exact, key } = page;
  const newest = exact ?? Math.max(least, rows[0]?.ordinal ?? 0);
  const begin = cursor === null ? newest : Math.min(cursor - 1, newest);
  const count = Math.max(0, Math.min(limit, begin));
  for (let i = 0; i < Math.max(count, rows.length); i++) {
    if (rows[i]?.ordinal === begin - i && i < count) continue;
    throw new HistoryDamage(layout.name, `${layout.keys[0]} ${key}, ordinal ${begin - i}`, 'it is missing');
  }
}

function withoutChecksum<Row extends { checksum: number }>(row: Row): Omit<Row, 'checksum'> {
  const { checksum: _, ...rest } = row;
  return rest;
}

export function isStored(request: HistoryRequest): request is StoredRequest {
  return request.kind !== 'leaderboard' && request.kind !== 'rank';
}
