/** Kraken's messages, version 2 (docs.kraken.com, spot-websocket-v2, channel `trade`). */
import { z } from 'zod';
import type { FeedMessage, Venue } from './live.js';
import { malformed, NOT_JSON, parseJson, priceMicros, timeMs } from './message-fields.js';

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

const trade = z
  .object({
    symbol: z.string(),
    trade_id: z.int().nonnegative(),
    /** A JSON number. Its shortest decimal is the one that was sent. */
    price: z.number().transform(String).pipe(priceMicros),
    timestamp: timeMs,
  })
  .transform((one): FeedMessage => {
    const { symbol: productId, trade_id: sequence, price, timestamp: tradedAtMs } = one;
    return { type: 'ticker', productId, sequence, priceMicros: price, tradedAtMs };
  });
/** Drops only the malformed trades of a message. */
const trades = z
  .object({ channel: z.literal('trade'), data: z.array(z.unknown()) })
  .transform(({ data }): FeedMessage[] =>
    data.map((one, i) => {
      const parsed = trade.safeParse(one);
      if (parsed.success) return parsed.data;
      const { reason } = malformed(parsed.error);
      return { type: 'malformed', reason: `trade ${i + 1} of the message: ${reason}` };
    }),
  );
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
const message = z.union([trades, subscribed, refused, other]);

function readKrakenMessage(text: string): FeedMessage[] {
  const json = parseJson(text);
  if (json === undefined) return [NOT_JSON];
  const parsed = message.safeParse(json);
  return parsed.success ? parsed.data : [malformed(parsed.error)];
}
