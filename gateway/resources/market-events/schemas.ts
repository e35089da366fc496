/** The response bodies of the routes about a market's past, and the query of the digest. */
import { z } from 'zod';
import { responseSchema } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  decimal,
  marketId,
  matchType,
  money,
  nextCursor,
  outcome,
  price,
  sequence,
  shares,
  side,
  state,
  timeMs,
  tradeId,
} from '../../json/response-fields.js';

const at = {
  sequence: sequence.meta({ description: 'The journal sequence of the event' }),
  atMs: timeMs,
};

export const BookEvent = responseSchema(
  'BookEvent',
  'A change of a level of a book',
  z.strictObject({
    ...at,
    type: z.literal('book').meta({ description: 'A level of the order book of UP changed' }),
    side: side.meta({ description: 'BUY: a bid for UP; SELL: an ask' }),
    price: price.meta({ description: 'US dollars per share of UP' }),
    change: decimal.meta({ description: 'Shares; negative if the level has fewer than before' }),
  }),
);

export const TradeEvent = responseSchema(
  'TradeEvent',
  'A trade of a market',
  z.strictObject({
    ...at,
    type: z.literal('trade').meta({
      description: 'A trade; outcome, side and price are the taker’s',
    }),
    tradeId,
    outcome,
    side,
    price,
    shares,
    value: money,
    matchType,
  }),
);

export const PriceEvent = responseSchema(
  'PriceEvent',
  'A price of the asset of a market',
  z.strictObject({
    ...at,
    type: z.literal('price').meta({ description: 'A price of the asset arrived' }),
    observedAtMs: timeMs,
    price: money.meta({ description: 'US dollars' }),
  }),
);

export const MarketEvents = responseSchema(
  'MarketEvents',
  'The events of a market',
  z.strictObject({
    marketId,
    events: z
      .array(z.discriminatedUnion('type', [BookEvent, TradeEvent, PriceEvent]))
      .describe('The events, oldest first'),
    nextCursor,
    ...state,
  }),
);

const tick = responseSchema(
  'Tick',
  'A price of the asset',
  z.strictObject({
    observedAtMs: timeMs,
    price: money.meta({ description: 'US dollars' }),
  }),
);

export const MarketTicks = responseSchema(
  'MarketTicks',
  'The prices that settle a market',
  z.strictObject({
    marketId,
    startPrice: money.meta({ description: 'US dollars: the average of `start`' }),
    endPrice: money.nullable().meta({
      description: 'US dollars: the average of `end`; null until resolved, and if VOID',
    }),
    start: z.array(tick).meta({
      description:
        'The prices of the minute before the start, by observedAtMs, the one in force when it began first; without any, the first price after it',
    }),
    end: z.array(tick).meta({
      description: 'The same of the minute before the end; empty until resolved',
    }),
    ...state,
  }),
);

export const DigestQuery = z.strictObject({
  ...request.own,
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

export const Digest = responseSchema(
  'Digest',
  'A batch of the journal',
  z.strictObject({
    sequence: sequence.meta({ description: 'The sequence that was asked for' }),
    digest: z
      .string()
      .regex(/^[0-9a-f]{16}$/)
      .meta({ description: 'The digest after the batch, as 16 hex digits' }),
    batch: z
      .strictObject({
        firstSequence: sequence.meta({ description: 'The first sequence of the batch' }),
        lastSequence: sequence.meta({ description: 'The last sequence of the batch' }),
        hash: z
          .string()
          .regex(/^[0-9a-f]{64}$/)
          .meta({ description: 'SHA-256 over the batch and all before it, in hex' }),
      })
      .meta({ description: 'The batch of the journal that holds the sequence' }),
  }),
);
