/**
 * The history: past markets, trades, points, the leaderboard. A read includes everything that was
 * durable when it arrived, or is answered with `unavailable`.
 */
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { idNumber, marketIdNumber } from '../../../engine/interface/notation.js';
import { asOfJson } from '../../../persistence/history/as-of.js';
import { PAGE_END_BYTES } from '../../../persistence/history/requests.js';
import { answerEncoded } from '../../http/answers/encoded-answer.js';
import { hashTag } from '../../http/answers/entity-tags.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { microsText } from '../../json/decimal.js';
import { entriesAskedFor, PagedQuery } from '../../json/fields.js';
import { answerList, LIST_TYPES } from '../csv.js';
import { type Filter, findShownAccount, requireListed, withFilter } from '../find.js';
import { cursorOf, type PageEnd, pageText, startOf, startPosition } from '../paging.js';
import { answerPage, readHistory } from './read.js';
import * as views from './views.js';

const MARKET_TRADES = { name: 'trades', entry: views.marketTrade };
const USER_TRADES = { name: 'trades', entry: views.userTrade };

export const historyRoutes: Route[] = [
  defineRoute('GET', '/markets/15m/history', {
    access: 'public',
    summary: 'Ended markets, newest first, each with its price history',
    caching: 'public',
    query: views.PastMarketsQuery,
    units: entriesAskedFor,
    responses: { 200: views.PastMarkets },
    errors: ['history_unavailable'],
    handle(call) {
      const { engine, query } = call;
      if (query.asset !== undefined && !requireListed(call, query.asset)) return;
      withFilter(call, ({ name, bounds: { fromMs, toMs } }) => {
        const list = `history?asset=${query.asset ?? ''}${name}`;
        const asset = query.asset === undefined ? null : engine.findAsset(query.asset);
        const withPrices = query.priceHistory === 'on';
        const wanted = { kind: 'pastMarketTexts', asset, fromMs, toMs, withPrices } as const;
        if (startOf(call, list) === undefined || !call.charge(query.limit)) return;
        answerPage(call, list, wanted, (page, end) => {
          const bytes = withPageEnd(page.bytes, end);
          answerEncoded(call, end.sequence, bytes, hashTag(page.contentHash));
        });
      });
    },
  }),

  defineRoute('GET', '/markets/15m/:marketId/trades', {
    access: 'public',
    summary:
      'The public trades of a market, newest first; outcome, side and price are the taker’s; as CSV with `Accept: text/csv`',
    caching: 'public',
    query: views.MarketTradesQuery,
    responses: { 200: views.MarketTrades },
    produces: LIST_TYPES,
    errors: ['market_not_found', 'history_unavailable'],
    handle(call) {
      const name = call.parameter('marketId');
      const marketId = marketIdNumber(call.engine, name);
      withFilter(call, ({ name: filter, bounds: { fromMs, toMs } }) => {
        const wanted = { kind: 'marketTrades', marketId, fromMs, toMs } as const;
        answerPage(call, `tape/${marketId}${filter}`, wanted, (page, end) => {
          answerList(call, MARKET_TRADES, `/markets/15m/${name}/trades`, page.entries, end);
        });
      });
    },
  }),

  defineRoute('GET', '/users/:id/trades', {
    access: 'public',
    summary: 'The trades of a user, newest first; as CSV with `Accept: text/csv`',
    caching: 'public',
    query: views.UserTradesQuery,
    responses: { 200: views.UserTrades },
    produces: LIST_TYPES,
    errors: [
      'missing_token',
      'user_not_found',
      'market_not_found',
      'order_not_found',
      'history_pruned',
      'history_unavailable',
    ],
    handle(call) {
      const userId = findShownAccount(call, 'id')?.userId;
      if (userId === undefined) return;
      withFilter(call, (filter) =>
        ofOrder(call, userId, filter, (bounds, name) => {
          const list = `trades/u${userId}${name}`;
          answerPage(call, list, { kind: 'userTrades', userId, ...bounds }, (page, end) => {
            answerList(call, USER_TRADES, `/users/u${userId}/trades`, page.entries, end);
          });
        }),
      );
    },
  }),

  defineRoute('GET', '/users/:id/points', {
    access: 'session',
    summary: 'Your points and how you earned them, newest first',
    caching: 'private',
    query: PagedQuery,
    responses: { 200: views.Points },
    errors: ['history_unavailable'],
    handle(call) {
      const { userId } = call;
      answerPage(call, `points/u${userId}`, { kind: 'pointsCredits', userId }, (page, end) => {
        const credits = page.entries.map((credit) => views.pointsCredit.text(credit, call.engine));
        const head = `"userId":"u${userId}","balance":${microsText(page.microPoints)},`;
        answerEncoded(call, end.sequence, pageText('history', credits, end, head));
      });
    },
  }),

  defineRoute('GET', '/leaderboard', {
    access: 'public',
    summary: 'The users with the highest profit, volume or points',
    query: views.LeaderboardQuery,
    responses: { 200: views.Leaderboard },
    errors: ['history_unavailable'],
    handle(call) {
      const { metric, period, limit } = call.query;
      const list = `leaderboard/${metric}/${period}`;
      const after = startPosition(call, list, LEADERBOARD_POSITION);
      if (after === undefined) return;
      const cursor = after && { userId: after[0]!, value: after[1]! };
      const request = { kind: 'leaderboard', metric, period, limit, cursor } as const;
      readHistory(call, request, (page, at) => {
        const entries = page.entries.map((one) => views.leaderboardEntry.text(one, call.engine));
        const { nextCursor: next } = page;
        const nextCursor = next && cursorOf(list, next.userId, next.value);
        const head = `"metric":"${metric}","period":"${period}",`;
        const text = pageText('entries', entries, { nextCursor, ...at }, head);
        call.answerWhenDurable(200, text, at.sequence);
      });
    },
  }),
];

type TradeBounds = Filter['bounds'] & { orderId: number | null };

/** Limits a filter to the named order. Refuses an order that the user never placed. */
function ofOrder(
  call: Call<unknown, { orderId?: string | undefined }>,
  userId: number,
  { bounds, name }: Filter,
  respond: (bounds: TradeBounds, name: string) => void,
): void {
  const { orderId: text } = call.query;
  if (text === undefined) {
    respond({ ...bounds, orderId: null }, name);
    return;
  }
  const orderId = idNumber('o', text);
  readHistory(call, { kind: 'userOrder', userId, orderId }, (order) => {
    if (!call.require(order, 'order_not_found')) return;
    const { marketId, placedAtMs, closedAtMs } = order;
    // The filter's market has none of the order's trades, so use an empty time range.
    const isElsewhere = bounds.marketId !== null && bounds.marketId !== marketId;
    const fromMs = isElsewhere ? MAX_TIME_MS : Math.max(bounds.fromMs ?? 0, placedAtMs);
    const toMs = Math.min(bounds.toMs ?? MAX_TIME_MS, closedAtMs ?? MAX_TIME_MS);
    respond({ orderId, marketId, fromMs, toMs }, `${name}?${text}`);
  });
}

/** A user, and a value that may be negative. */
const LEADERBOARD_POSITION = [/^\d{1,9}$/, /^-?\d{1,16}$/];

function withPageEnd(bytes: Uint8Array, { nextCursor, ...asOf }: PageEnd): Uint8Array {
  const end = `,"nextCursor":${JSON.stringify(nextCursor)},${asOfJson(asOf)}`;
  const at = bytes.length - PAGE_END_BYTES;
  if (end.length > PAGE_END_BYTES)
    throw new Error(`the end of a page has ${end.length} characters`);
  const { written } = new TextEncoder().encodeInto(end, bytes.subarray(at));
  return bytes.subarray(0, at + written);
}
