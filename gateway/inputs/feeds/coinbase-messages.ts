/**
 * The messages of the Coinbase Exchange WebSocket feed that the live feed uses
 * (docs.cdp.coinbase.com/exchange/websocket-feed, channel `ticker`). Reading never throws.
 */
import { z } from 'zod';
import { parsePriceMicros } from './price-feed.js';

export type FeedMessage =
  | { type: 'ticker'; productId: string; sequence: number; priceMicros: number; tradedAtMs: number }
  | { type: 'subscriptions'; productIds: string[] }
  | { type: 'error'; message: string }
  /** A message that the feed does not need. */
  | { type: 'other' }
  | { type: 'malformed'; reason: string };

export function subscribeMessage(productIds: readonly string[]): string {
  return JSON.stringify({ type: 'subscribe', product_ids: productIds, channels: ['ticker'] });
}

const priceMicros = z.string().transform((text, context) => {
  const micros = parsePriceMicros(text);
  if (micros !== null) return micros;
  context.addIssue({
    code: 'custom',
    message: 'not a positive price with at most 6 decimal places',
  });
  return z.NEVER;
});

/** "2025-11-21T06:30:00.123456Z": milliseconds, truncated. */
const timeMs = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

const ticker = z.object({
  product_id: z.string(),
  sequence: z.int().nonnegative(),
  price: priceMicros,
  time: timeMs,
});
const subscriptions = z.object({
  channels: z.array(z.object({ name: z.string(), product_ids: z.array(z.string()) })),
});
const serverError = z.object({ message: z.string(), reason: z.string().optional() });

export function readFeedMessage(text: string): FeedMessage {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { type: 'malformed', reason: 'not JSON' };
  }
  const typed = z.object({ type: z.string() }).safeParse(json);
  if (!typed.success) return malformed(typed.error);
  switch (typed.data.type) {
    case 'ticker':
      return readTicker(json);
    case 'subscriptions':
      return readSubscriptions(json);
    case 'error':
      return readError(json);
    default:
      return { type: 'other' };
  }
}

function readTicker(json: unknown): FeedMessage {
  const parsed = ticker.safeParse(json);
  if (!parsed.success) return malformed(parsed.error);
  const { product_id: productId, sequence, price, time } = parsed.data;
  return { type: 'ticker', productId, sequence, priceMicros: price, tradedAtMs: time };
}

function readSubscriptions(json: unknown): FeedMessage {
  const parsed = subscriptions.safeParse(json);
  if (!parsed.success) return malformed(parsed.error);
  const tickers = parsed.data.channels.filter((channel) => channel.name === 'ticker');
  return { type: 'subscriptions', productIds: tickers.flatMap((channel) => channel.product_ids) };
}

function readError(json: unknown): FeedMessage {
  const parsed = serverError.safeParse(json);
  if (!parsed.success) return malformed(parsed.error);
  const { message, reason } = parsed.data;
  return { type: 'error', message: reason === undefined ? message : `${message}: ${reason}` };
}

function malformed(error: z.ZodError): FeedMessage {
  return { type: 'malformed', reason: z.prettifyError(error) };
}
