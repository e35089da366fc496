/** The response bodies of the routes about a market's past, and the query of the digest. */
import { z } from 'zod';
import { responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  decimal,
  marketId,
  money,
  pageEnd,
  price,
  sequence,
  side,
  state,
  timeMs,
  tradeFields,
} from '../../json/response-fields.js';

const at = {
  sequence: sequence.describe('The journal sequence of the event'),
  atMs: timeMs,
};

const BookEvent = responseObject('BookEvent', 'A change of a level of a book', {
  ...at,
  type: z.literal('book').describe('A level of the order book of UP changed'),
  side: side.describe('BUY: a bid for UP; SELL: an ask'),
  price: price.describe('US dollars per share of UP'),
  change: decimal.describe('Shares; negative if the level has fewer than before'),
});

const TradeEvent = responseObject('TradeEvent', 'A trade of a market', {
  ...at,
  type: z.literal('trade').describe('A trade; outcome, side and price are the taker’s'),
  ...tradeFields,
});

const PriceEvent = responseObject('PriceEvent', 'A price of the asset of a market', {
  ...at,
  type: z.literal('price').describe('A price of the asset arrived'),
  observedAtMs: timeMs,
  price: money.describe('US dollars'),
});

export const MarketEvents = responseObject('MarketEvents', 'The events of a market', {
  marketId,
  events: z
    .array(z.discriminatedUnion('type', [BookEvent, TradeEvent, PriceEvent]))
    .describe('The events, oldest first'),
  ...pageEnd,
});

const tick = responseObject('Tick', 'A price of the asset', {
  observedAtMs: timeMs,
  price: money.describe('US dollars'),
});

export const MarketTicks = responseObject('MarketTicks', 'The prices that settle a market', {
  marketId,
  startPrice: money
    .nullable()
    .describe('US dollars: the average of `start`; null: the market has not opened'),
  endPrice: money
    .nullable()
    .describe('US dollars: the average of `end`; null until resolved, and if VOID'),
  start: z
    .array(tick)
    .describe(
      'The prices of the minute before the start, by observedAtMs, the one in force when it began first; without any, the first price after it',
    ),
  end: z.array(tick).describe('The same of the minute before the end; empty until resolved'),
  ...state,
});

export const DigestQuery = request.ownQuery({
  sequence: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'must be a journal sequence, a whole number from 1')
    .transform(Number)
    .meta({
      type: 'integer',
      minimum: 1,
      description: 'A sequence of the journal, not beyond its end, such as a receipt’s',
    }),
});

export const Digest = responseObject('Digest', 'A batch of the journal', {
  sequence: sequence.describe('The sequence that was asked for'),
  digest: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .describe('The digest after the batch, as 16 hex digits'),
  batch: z
    .strictObject({
      firstSequence: sequence.describe('The first sequence of the batch'),
      lastSequence: sequence.describe('The last sequence of the batch'),
      hash: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .describe('SHA-256 over the batch and all before it, in hex'),
    })
    .describe('The batch of the journal that holds the sequence'),
});
