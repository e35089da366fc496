/**
 * The follower's history: past markets with their price history, trades, points, the leaderboard. A
 * read waits until the history has everything that was durable when the request came, so an
 * acknowledged trade is in it. If the history is behind for longer, the response is `unavailable`,
 * never an old list.
 */

import { idNumber, marketIdNumber } from '../../../engine/interface/notation.js';
import { PAGE_END_BYTES } from '../../../persistence/history/requests.js';
import type { LeaderboardCursor } from '../../../persistence/leaderboard/leaderboard.js';
import { errorAnswer } from '../../http/errors.js';
import type { RequestContext } from '../../http/request-context.js';
import { defineRoute, type Route } from '../../http/route.js';
import { micros } from '../../json/decimal.js';
import { PagedQuery } from '../../json/fields.js';
import { serializer } from '../../json/serializer.js';
import { cursorOf, type PageRequest, refuseCursor, startOf } from '../paging.js';
import * as examples from './examples.js';
import { isListed, readHistory } from './read.js';
import {
  Leaderboard,
  LeaderboardQuery,
  MarketTrades,
  PastMarkets,
  PastMarketsQuery,
  Points,
  UserTrades,
} from './schemas.js';
import { leaderboardEntryOf, marketTradeOf, pointsCreditOf, userTradeOf } from './views.js';

const leaderboardText = serializer(Leaderboard);
const marketTradesText = serializer(MarketTrades);
const pointsText = serializer(Points);
const userTradesText = serializer(UserTrades);

export const historyRoutes: Route[] = [
  defineRoute({
    method: 'GET',
    path: '/markets/15m/history',
    access: 'public',
    summary: 'Markets that have ended, newest first, each with its price history',
    query: PastMarketsQuery,
    responses: { 200: PastMarkets },
    errors: ['unavailable'],
    example: examples.pastMarkets,
    handle(call) {
      const { engine, query } = call;
      if (query.asset !== undefined && !isListed(call, query.asset)) return;
      const list = `history?asset=${query.asset ?? ''}`;
      const cursor = startOf(call, list);
      if (cursor === undefined) return;
      const asset = query.asset === undefined ? null : engine.findAsset(query.asset);
      const { limit } = query;
      if (!call.allowsMore(limit - 1)) return;
      readHistory(call, { kind: 'pastMarketTexts', asset, limit, cursor }, (page, sequence) => {
        const end = pageEnd(nextCursorOf(list, page.nextCursor), sequence);
        call.answerAt(sequence, 200, withPageEnd(page.bytes, end));
      });
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/markets/15m/:marketId/trades',
    access: 'public',
    summary: 'The public trades of a market, newest first; outcome, side and price are the taker’s',
    query: PagedQuery,
    responses: { 200: MarketTrades },
    errors: ['market_not_found', 'unavailable'],
    example: examples.marketTrades,
    handle(call) {
      const marketId = marketIdNumber(call.engine, call.parameter('marketId'));
      const list = `tape/${marketId}`;
      const cursor = startOf(call, list);
      if (cursor === undefined) return;
      const { limit } = call.query;
      readHistory(call, { kind: 'marketTrades', marketId, limit, cursor }, (page, sequence) => {
        if (page === null) {
          call.answerError(errorAnswer('market_not_found'));
          return;
        }
        const trades = page.entries.map(marketTradeOf);
        const nextCursor = nextCursorOf(list, page.nextCursor);
        call.answerAt(sequence, 200, marketTradesText({ trades, nextCursor, sequence }));
      });
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/users/:id/trades',
    access: 'public',
    summary: 'The trades of a user, newest first',
    userParameter: 'id',
    query: PagedQuery,
    responses: { 200: UserTrades },
    errors: ['user_not_found', 'unavailable'],
    example: examples.userTrades,
    handle(call) {
      const { engine } = call;
      const userId = idNumber('u', call.parameter('id'));
      if (engine.account(userId) === null) {
        call.answerError(errorAnswer('user_not_found'));
        return;
      }
      const list = `trades/u${userId}`;
      const cursor = startOf(call, list);
      if (cursor === undefined) return;
      const { limit } = call.query;
      readHistory(call, { kind: 'userTrades', userId, limit, cursor }, (page, sequence) => {
        const trades = page.entries.map((trade) => userTradeOf(engine, trade));
        const nextCursor = nextCursorOf(list, page.nextCursor);
        call.answerAt(sequence, 200, userTradesText({ trades, nextCursor, sequence }));
      });
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/users/:id/points',
    access: 'session',
    summary: 'Your points and how you earned them, newest first',
    userParameter: 'id',
    query: PagedQuery,
    responses: { 200: Points },
    errors: ['unavailable'],
    example: examples.points,
    handle(call) {
      const { engine, userId } = call;
      const list = `points/u${userId}`;
      const cursor = startOf(call, list);
      if (cursor === undefined) return;
      const { limit } = call.query;
      readHistory(call, { kind: 'pointsCredits', userId, limit, cursor }, (page, sequence) => {
        const text = pointsText({
          userId: `u${userId}`,
          balance: micros(page.microPoints),
          history: page.entries.map((credit) => pointsCreditOf(engine, credit)),
          nextCursor: nextCursorOf(list, page.nextCursor),
          sequence,
        });
        call.answerAt(sequence, 200, text);
      });
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/leaderboard',
    access: 'public',
    summary: 'The users with the highest profit, volume or points',
    query: LeaderboardQuery,
    responses: { 200: Leaderboard },
    errors: ['unavailable'],
    example: examples.leaderboard,
    handle(call) {
      const { metric, period, limit } = call.query;
      const list = `leaderboard/${metric}/${period}`;
      const cursor = leaderboardStart(call, list);
      if (cursor === undefined) return;
      readHistory(
        call,
        { kind: 'leaderboard', metric, period, limit, cursor },
        (page, sequence) => {
          const { atMs, nextCursor: next } = page;
          const entries = page.entries.map(leaderboardEntryOf);
          const nextCursor = next === null ? null : leaderboardCursor(list, next);
          call.answerAt(
            sequence,
            200,
            leaderboardText({ metric, period, entries, nextCursor, atMs, sequence }),
          );
        },
      );
    },
  }),
];

function leaderboardStart(
  call: RequestContext<unknown, PageRequest>,
  list: string,
): LeaderboardCursor | null | undefined {
  const { cursor } = call.query;
  if (cursor === undefined) return null;
  const [name, userId, value, ...rest] = Buffer.from(cursor, 'base64url')
    .toString('utf8')
    .split('\n');
  const isWhole =
    /^\d{1,9}$/.test(userId ?? '') && /^-?\d{1,16}$/.test(value ?? '') && rest.length === 0;
  if (name !== list || !isWhole) return refuseCursor(call);
  const position = { userId: Number(userId), value: Number(value) };
  // Only in the form that was given out: decoding base64url skips invalid characters.
  return leaderboardCursor(list, position) === cursor ? position : refuseCursor(call);
}

function leaderboardCursor(list: string, { userId, value }: LeaderboardCursor): string {
  return Buffer.from(`${list}\n${userId}\n${value}`).toString('base64url');
}

function nextCursorOf(list: string, position: number | null): string | null {
  return position === null ? null : cursorOf(list, position);
}

/** The end of a page of markets, from the comma to the closing brace. */
function pageEnd(nextCursor: string | null, sequence: number): string {
  return `,"nextCursor":${JSON.stringify(nextCursor)},"sequence":${sequence}}`;
}

/** The bytes with `end` written into the space reserved for it. */
function withPageEnd(bytes: Uint8Array, end: string): Uint8Array {
  const at = bytes.length - PAGE_END_BYTES;
  if (end.length > PAGE_END_BYTES)
    throw new Error(`the end of a page has ${end.length} characters`);
  const { written } = new TextEncoder().encodeInto(end, bytes.subarray(at));
  return bytes.subarray(0, at + written);
}
