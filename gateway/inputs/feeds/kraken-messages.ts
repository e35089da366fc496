/**
 * The messages of Kraken's WebSocket feed, version 2, that the live feed uses
 * (docs.kraken.com, spot-websocket-v2, channel `trade`). Reading never throws.
 */
import { z } from 'zod';
import type { FeedMessage, Venue } from './live.js';
import { parsePriceMicros } from './price-feed.js';

export const KRAKEN: Venue = {
  url: 'wss://ws.kraken.com/v2',
  productId: (symbol) => `${symbol}/USD`,
  subscribeMessage(productIds) {
    return JSON.stringify({
      method: 'subscribe',
      params: { channel: 'trade', symbol: productIds, snapshot: false },
    });
  },
  read: readKrakenMessage,
};

/** Prices are JSON numbers, whose shortest decimal is the one that was sent. */
const priceMicros = z.number().transform((price, context) => {
  const micros = parsePriceMicros(`${price}`);
  if (micros !== null) return micros;
  context.addIssue({
    code: 'custom',
    message: 'not a positive price with at most 6 decimal places',
  });
  return z.NEVER;
});

/** "2025-11-21T06:30:00.123456Z": milliseconds, truncated. */
const timeMs = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

const trade = z
  .object({
    symbol: z.string(),
    trade_id: z.int().nonnegative(),
    price: priceMicros,
    timestamp: timeMs,
  })
  .transform((one): FeedMessage => {
    const { symbol: productId, trade_id: sequence, price, timestamp: tradedAtMs } = one;
    return { type: 'ticker', productId, sequence, priceMicros: price, tradedAtMs };
  });
const trades = z.object({ channel: z.literal('trade'), data: z.array(trade) });
const subscribed = z
  .object({
    method: z.literal('subscribe'),
    success: z.literal(true),
    result: z.object({ symbol: z.string() }),
  })
  .transform(({ result }): FeedMessage[] => [
    { type: 'subscriptions', productIds: [result.symbol] },
  ]);
const refused = z
  .object({ method: z.literal('subscribe'), success: z.literal(false), error: z.string() })
  .transform(({ error }): FeedMessage[] => [{ type: 'error', message: error }]);
const other = z
  .union([
    z.object({ channel: z.enum(['heartbeat', 'status']) }),
    z.object({ method: z.literal('pong') }),
  ])
  .transform((): FeedMessage[] => [{ type: 'other' }]);
const message = z.union([trades.transform(({ data }) => data), subscribed, refused, other]);

function readKrakenMessage(text: string): FeedMessage[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return [{ type: 'malformed', reason: 'not JSON' }];
  }
  const parsed = message.safeParse(json);
  if (parsed.success) return parsed.data;
  return [{ type: 'malformed', reason: z.prettifyError(parsed.error) }];
}
