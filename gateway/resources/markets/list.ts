/**
 * The list of all markets: the engine's, merged with those that only the history still has.
 *
 * Invariant: each market is listed exactly once, even if the engine removes it during the read.
 * Both sources have the same order (window, then asset), and a cursor is a place in it. The
 * engine's version is the newer one. The engine keeps a market for at least a day after its end, so
 * the newest pages do not need the history.
 */
import { type MarketStatusName, statusName } from '../../../engine/interface/notation.js';
import { PAYOUT_DELAY_MS } from '../../../engine/interface/parameters.js';
import type { MarketView } from '../../../engine/interface/views.js';
import { asOfJson } from '../../../persistence/history/as-of.js';
import { type Page, viewOfPast } from '../../../persistence/history/requests.js';
import type { MarketRecord } from '../../../persistence/history/runs/format.js';
import { unitsOfSeen } from '../../access/fair-use/charges.js';
import type { Call } from '../../http/call.js';
import { readHistory } from '../history/read.js';
import { cursorOf, type PageRequest, ROWS_OF_MARKET } from '../paging.js';
import { SharedTexts } from './shared-texts.js';
import { marketText } from './views.js';

interface MarketsWanted extends PageRequest {
  status?: MarketStatusName | undefined;
  /** The symbol of a listed asset. */
  asset?: string | undefined;
}

type MarketsCall = Call<unknown, MarketsWanted>;

interface MarketsPage {
  markets: MarketView[];
  /** `null` on the last page. */
  nextAfter: number | null;
}

/** `after`: the last market before the page; `null` for the first page. */
export function answerMarkets(call: MarketsCall, after: number | null): void {
  const { engine, query } = call;
  // An empty text means that the page also needs markets from the history.
  const text = knownPages.get(engine, `${listName(query)}&${query.limit}&${after}`, () => {
    const known = knownMarkets(call, after);
    return isAllKnown(call, known) ? pageText(call, cutPage(known, query.limit, null)) : '';
  });
  if (text !== '') {
    call.answerWhenDurable(200, text);
    return;
  }
  const asset = query.asset === undefined ? null : engine.findAsset(query.asset);
  const request = { kind: 'pastMarkets', asset, limit: query.limit, cursor: after } as const;
  readHistory(call, request, (page) => {
    const markets = merged(call, knownMarkets(call, after), page);
    call.answerWhenDurable(200, pageText(call, cutPage(markets, query.limit, page.nextCursor)));
  });
}

const knownPages = new SharedTexts<string, string>();

/** Newest window first; at most one more than fits a page. */
function knownMarkets(call: MarketsCall, after: number | null): MarketView[] {
  const { engine, query } = call;
  const markets: MarketView[] = [];
  let seen = 0;
  for (const marketId of engine.marketIds().reverse()) {
    if (after !== null && marketId >= after) continue;
    if (markets.length > query.limit) break;
    seen++;
    const market = engine.market(marketId)!;
    const isAsked =
      (query.status === undefined || statusName(market.status) === query.status) &&
      (query.asset === undefined || engine.assetSymbol(market.asset) === query.asset);
    if (isAsked) markets.push(market);
  }
  call.owe(unitsOfSeen(seen * ROWS_OF_MARKET));
  return markets;
}

/** The engine removes only resolved markets. */
function isAllKnown({ engine, query }: MarketsCall, known: readonly MarketView[]): boolean {
  if (query.status !== undefined && query.status !== 'resolved') return true;
  const last = known[query.limit - 1];
  const isFollowed = known.length > query.limit;
  return isFollowed && last !== undefined && last.endsAtMs > engine.nowMs - PAYOUT_DELAY_MS;
}

function merged(
  { engine }: MarketsCall,
  known: readonly MarketView[],
  page: Page<MarketRecord>,
): MarketView[] {
  const lowest = page.nextCursor ?? 0;
  const forgotten = page.entries
    .filter((market) => !engine.hasMarket(market.marketId))
    .map(viewOfPast);
  return [...known.filter(({ marketId }) => marketId >= lowest), ...forgotten].sort(
    (a, b) => b.marketId - a.marketId,
  );
}

/** `reachesTo`: the last market read; `null` if the list was read to its end. */
function cutPage(
  markets: readonly MarketView[],
  limit: number,
  reachesTo: number | null,
): MarketsPage {
  if (markets.length <= limit) return { markets: [...markets], nextAfter: reachesTo };
  return { markets: markets.slice(0, limit), nextAfter: markets[limit - 1]!.marketId };
}

function pageText(
  { engine, query, asOf }: MarketsCall,
  { markets, nextAfter }: MarketsPage,
): string {
  const texts = markets.map((market) => marketText(engine, market));
  const next = nextAfter === null ? 'null' : `"${cursorOf(listName(query), nextAfter)}"`;
  return `{"markets":[${texts.join(',')}],"nextCursor":${next},${asOfJson(asOf)}`;
}

export function listName({ status, asset }: MarketsWanted): string {
  return `markets?status=${status ?? ''}&asset=${asset ?? ''}`;
}
