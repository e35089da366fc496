/** Coinbase's messages (docs.cdp.coinbase.com/exchange/websocket-feed, channel `ticker`). */
import { z } from 'zod';
import type { FeedMessage, Venue } from './live.js';
import { malformed, NOT_JSON, parseJson, priceMicros, timeMs } from './message-fields.js';

export const COINBASE: Venue = {
  url: 'wss://ws-feed.exchange.coinbase.com',
  productId: (symbol) => `${symbol}-USD`,
  subscribeMessage,
  read: (text) => [readFeedMessage(text)],
};

function subscribeMessage(productIds: readonly string[]): string {
  return JSON.stringify({ type: 'subscribe', product_ids: productIds, channels: ['ticker'] });
}

const ticker = z
  .object({
    product_id: z.string(),
    sequence: z.int().nonnegative(),
    price: priceMicros,
    time: timeMs,
  })
  .transform((message): FeedMessage => {
    const { product_id: productId, sequence, price, time } = message;
    return { type: 'ticker', productId, sequence, priceMicros: price, tradedAtMs: time };
  });
const channel = z.object({ name: z.string(), product_ids: z.array(z.string()) });
const subscriptions = z
  .object({ channels: z.array(channel) })
  .transform(({ channels }): FeedMessage => {
    const tickers = channels.filter(({ name }) => name === 'ticker');
    return { type: 'subscriptions', productIds: tickers.flatMap((each) => each.product_ids) };
  });
const error = z
  .object({ message: z.string(), reason: z.string().optional() })
  .transform(({ message, reason }): FeedMessage => {
    return { type: 'error', message: reason === undefined ? message : `${message}: ${reason}` };
  });
const SCHEMAS = new Map(Object.entries({ ticker, subscriptions, error }));

function readFeedMessage(text: string): FeedMessage {
  const json = parseJson(text);
  if (json === undefined) return NOT_JSON;
  const typed = z.object({ type: z.string() }).safeParse(json);
  if (!typed.success) return malformed(typed.error);
  const schema = SCHEMAS.get(typed.data.type);
  if (schema === undefined) return { type: 'other' };
  const parsed = schema.safeParse(json);
  return parsed.success ? parsed.data : malformed(parsed.error);
}
