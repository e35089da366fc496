/**
 * The list of all markets that ever were: those that the engine knows, merged with those that it has forgotten and the history
 * has.
 *
 * Always holds: no market is left out and none comes twice, whichever source has it, also when the engine forgets one while a
 * client is paging: both are in one order, by window and asset, and a cursor names a place in it. What the engine knows counts,
 * because it is newer. The engine forgets a market a day after its end at the earliest, so the newest pages need no history.
 */

import { type MarketStatusName, statusName } from '../../../engine/interface/notation.js';
import { PAYOUT_DELAY_MS } from '../../../engine/interface/parameters.js';
import type { MarketView } from '../../../engine/interface/views.js';
import type { MarketRecord, Page } from '../../../persistence/history/requests.js';
import { viewOfPast } from '../../../persistence/history/requests.js';
import { cursorOf, type PageRequest } from '../../http/paging.js';
import type { RequestContext } from '../../http/request-context.js';
import { readHistory } from '../history/read.js';
import { marketText } from './views.js';

export interface MarketsWanted extends PageRequest {
  status?: MarketStatusName | undefined;
  /** As listed. */
  asset?: string | undefined;
}

interface MarketsPage {
  markets: MarketView[];
  /** The market that the next page starts after; null: this is the last page. */
  nextAfter: number | null;
}

/** Answers with a page of markets; `after`: the market that it starts after, null for the first page. */
export function answerMarkets(call: RequestContext<unknown, MarketsWanted>, after: number | null): void {
  const { engine, gateway, query } = call;
  const known = knownMarkets(call, after);
  if (gateway.history === null || isAllKnown(call, known)) {
    call.answer(200, pageText(call, cutPage(known, query.limit, null)));
    return;
  }
  const asset = query.asset === undefined ? null : engine.findAsset(query.asset);
  const request = { kind: 'pastMarkets', asset, limit: query.limit, cursor: after } as const;
  readHistory(call, request, (page) => {
    const markets = merged(call, knownMarkets(call, after), page);
    call.answer(200, pageText(call, cutPage(markets, query.limit, page.nextCursor)));
  });
}

/** Those of the engine that are asked for, newest window first. */
function knownMarkets(
  { engine, query }: RequestContext<unknown, MarketsWanted>,
  after: number | null,
): MarketView[] {
  const markets: MarketView[] = [];
  for (const marketId of engine.marketIds().reverse()) {
    if (after !== null && marketId >= after) continue;
    const market = engine.market(marketId)!;
    const isAsked =
      (query.status === undefined || statusName(market.status) === query.status) &&
      (query.asset === undefined || engine.assetSymbol(market.asset) === query.asset);
    if (isAsked) markets.push(market);
  }
  return markets;
}

/** Whether no market that the engine has forgotten can be on the page. Only those that are resolved are ever forgotten. */
function isAllKnown(
  { engine, query }: RequestContext<unknown, MarketsWanted>,
  known: readonly MarketView[],
): boolean {
  if (query.status === 'active' || query.status === 'ended') return true;
  const last = known[query.limit - 1];
  const isFollowed = known.length > query.limit;
  return isFollowed && last !== undefined && last.endsAtMs > engine.nowMs - PAYOUT_DELAY_MS;
}

/** `known` and those of the page that the engine does not know, newest first, as far down as the page reaches. */
function merged(
  { engine }: RequestContext<unknown, MarketsWanted>,
  known: readonly MarketView[],
  page: Page<MarketRecord>,
): MarketView[] {
  const lowest = page.nextCursor ?? 0;
  const forgotten = page.entries.filter((market) => engine.market(market.marketId) === null).map(viewOfPast);
  return [...known.filter(({ marketId }) => marketId >= lowest), ...forgotten].sort(
    (a, b) => b.marketId - a.marketId,
  );
}

/** `reachesTo`: the market that the list was read down to; null: to its end. */
function cutPage(markets: readonly MarketView[], limit: number, reachesTo: number | null): MarketsPage {
  if (markets.length <= limit) return { markets: [...markets], nextAfter: reachesTo };
  return { markets: markets.slice(0, limit), nextAfter: markets[limit - 1]!.marketId };
}

function pageText(
  { engine, query }: RequestContext<unknown, MarketsWanted>,
  { markets, nextAfter }: MarketsPage,
): string {
  const { sequence } = engine;
  const texts = markets.map((market) => marketText(engine, market, sequence));
  const next = nextAfter === null ? 'null' : `"${cursorOf(listName(query), nextAfter)}"`;
  return `{"markets":[${texts.join(',')}],"nextCursor":${next},"sequence":${sequence}}`;
}

/** The list that a cursor belongs to. */
export function listName({ status, asset }: MarketsWanted): string {
  return `markets?status=${status ?? ''}&asset=${asset ?? ''}`;
}
