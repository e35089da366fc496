/** A market's past, to replay or verify: events, averaged prices, and hashes of journal batches. */

import { z } from 'zod';
import { MarketStatus } from '../../../engine/interface/domain.js';
import { marketIdNumber, marketIdText } from '../../../engine/interface/notation.js';
import { type AsOf, asOfJson } from '../../../persistence/history/as-of.js';
import type { MarketTicks as Ticks } from '../../../persistence/history/market-events.js';
import { eventText } from '../../../persistence/history/market-json/event-text.js';
import { errorAnswer, invalidRequest } from '../../commands/errors.js';
import { answerEncoded } from '../../http/answers/encoded-answer.js';
import { defineRoute, type Route } from '../../http/route.js';
import { responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import { Writer } from '../../json/writer.js';
import { readHistory } from '../history/read.js';
import { cursorOf, startPosition } from '../paging.js';

const at = {
  sequence: response.sequence.describe('The journal sequence of the event'),
  atMs: response.timeMs,
};

const BookEvent = responseObject('BookEvent', 'A change of a level of a book', {
  ...at,
  type: z.literal('book').describe('A level of UP’s order book changed'),
  side: response.side.describe('BUY: a bid for UP; SELL: an ask'),
  price: response.price.describe('US dollars per share of UP'),
  change: response.decimal.describe('The change of the level’s shares'),
});

const TradeEvent = responseObject('TradeEvent', 'A trade of a market', {
  ...at,
  type: z.literal('trade').describe('A trade; outcome, side and price are the taker’s'),
  ...response.tradeFields,
});

const PriceEvent = responseObject('PriceEvent', 'A price of the asset of a market', {
  ...at,
  type: z.literal('price').describe('A price of the asset arrived'),
  observedAtMs: response.timeMs,
  price: response.money.describe('US dollars'),
});

export const MarketEvents = responseObject('MarketEvents', 'The events of a market', {
  marketId: response.marketId,
  events: z
    .array(z.discriminatedUnion('type', [BookEvent, TradeEvent, PriceEvent]))
    .describe('The events, oldest first'),
  ...response.pageEnd,
});

const tick = responseObject('Tick', 'A price of the asset', {
  observedAtMs: response.timeMs,
  price: response.money.describe('US dollars'),
});

export const MarketTicks = responseObject('MarketTicks', 'The prices that settle a market', {
  marketId: response.marketId,
  startPrice: response.money
    .nullable()
    .describe('US dollars: the average of `start`; null until the market opens'),
  endPrice: response.money
    .nullable()
    .describe(
      'US dollars: the average of `end`; null until the market is resolved, and if it is VOID',
    ),
  start: z
    .array(tick)
    .describe(
      'The prices of the minute before the start, by observedAtMs; the first is the price in force when the minute began. If there is none, the first price after the start',
    ),
  end: z
    .array(tick)
    .describe('The same for the minute before the end; empty until the market is resolved'),
  ...response.state,
});

const DigestQuery = request.ownQuery({
  sequence: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'must be a journal sequence, a whole number from 1')
    .transform(Number)
    .meta({
      type: 'integer',
      minimum: 1,
      description: 'A journal sequence up to the journal’s end, such as a receipt’s',
    }),
});

export const Digest = responseObject('Digest', 'A batch of the journal', {
  sequence: response.sequence.describe('The requested sequence'),
  digest: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .describe('The digest after the batch, as 16 hex digits'),
  batch: z
    .strictObject({
      firstSequence: response.sequence.describe('The first sequence of the batch'),
      lastSequence: response.sequence.describe('The last sequence of the batch'),
      hash: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .describe('SHA-256 over this batch and all earlier batches, in hex'),
    })
    .describe('The journal batch that contains the sequence'),
});

export const marketEventRoutes: Route[] = [
  defineRoute('GET', '/markets/15m/:marketId/events', {
    access: 'public',
    summary: 'The events of a resolved market, oldest first: book changes, trades, prices',
    caching: 'public',
    query: request.PagedQuery,
    responses: { 200: MarketEvents },
    errors: ['market_not_found', 'market_not_resolved', 'history_pruned', 'history_unavailable'],
    handle(call) {
      const { engine, query } = call;
      const marketId = marketIdNumber(engine, call.parameter('marketId'));
      const list = `events/${marketId}`;
      const after = startPosition(call, list, EVENT_POSITION);
      if (after === undefined) return;
      const cursor = after && { sequence: after[0]!, events: after[1]! };
      const request = { kind: 'marketEvents', marketId, limit: query.limit, cursor } as const;
      readHistory(call, request, (page, at) => {
        if (!call.require(page, 'market_not_found')) return;
        if (page.market.status !== MarketStatus.RESOLVED) {
          call.refuseWhenDurable(errorAnswer('market_not_resolved'));
          return;
        }
        const events = page.entries.map(eventText).join(',');
        const { nextCursor } = page;
        const next = nextCursor && cursorOf(list, nextCursor.sequence, nextCursor.events);
        const end = `"nextCursor":${JSON.stringify(next)},${asOfJson(at)}`;
        const name = marketIdText(engine, marketId);
        answerEncoded(call, at.sequence, `{"marketId":"${name}","events":[${events}],${end}`);
      });
    },
  }),

  defineRoute('GET', '/markets/15m/:marketId/ticks', {
    access: 'public',
    summary: 'The prices from which a market’s start and end price are averaged',
    caching: 'public',
    responses: { 200: MarketTicks },
    errors: ['market_not_found', 'history_unavailable'],
    handle(call) {
      const { engine } = call;
      const marketId = marketIdNumber(engine, call.parameter('marketId'));
      readHistory(call, { kind: 'marketTicks', marketId }, (found, at) => {
        if (!call.require(found, 'market_not_found')) return;
        answerEncoded(call, at.sequence, TICKS.text({ ...found.market, ...found, ...at }, engine));
      });
    },
  }),

  defineRoute('GET', '/digest', {
    access: 'public',
    summary: 'The hash of the journal batch that contains a sequence',
    query: DigestQuery,
    responses: { 200: Digest },
    errors: ['history_unavailable'],
    handle(call) {
      const { sequence } = call.query;
      const { durableSequence } = call.gateway.sequencer;
      if (sequence > durableSequence) {
        const problem = `is beyond the end of the journal, which is ${durableSequence}`;
        call.refuseNow(invalidRequest({ sequence: problem }));
        return;
      }
      readHistory(call, { kind: 'journalBatch', sequence }, (batch) => {
        const { digest, firstSequence, lastSequence, hash } = batch;
        const fields = { sequence, digest, batch: { firstSequence, lastSequence, hash } };
        call.answerJson<typeof Digest>(fields, lastSequence);
      });
    },
  }),
];

/** A sequence, and the index of an event in it. */
const EVENT_POSITION = [/^\d{1,15}$/, /^\d{1,9}$/];

const TICK = new Writer<Ticks['start'][number]>(tick);
const TICKS = new Writer<Ticks & Ticks['market'] & AsOf>(MarketTicks, {
  startPrice: ({ startPriceMicros }) => startPriceMicros || null,
  endPrice: ({ endPriceMicros }) => endPriceMicros || null,
  start: ({ start }, names) => TICK.all(start, names),
  end: ({ end }, names) => TICK.all(end, names),
});
