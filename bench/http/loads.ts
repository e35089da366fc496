/** Prebuilt requests of each kind, and a sample answer. */

import { requestBytes } from '../../test/support/http/messages.js';
import type { ExchangeUnderLoad } from './exchange-under-load.js';

const TRADERS = 64;
export const OPERATIONS = 100;

export interface HttpLoad {
  name: string;
  /** After /api. */
  path: string;
  /** Per request; 0 for a read. */
  orders: number;
  requests: Buffer[];
  /** Of the users who send the requests, in turn. */
  tokens: string[];
  /** The bare server's answer. */
  answer: string;
}

/** One dollar at any price. Each buy takes one resting order. */
export function buys(exchange: ExchangeUnderLoad): Promise<HttpLoad> {
  const path = `/markets/15m/${exchange.marketId}/buy`;
  const [up, down] = ['UP', 'DOWN'].map((outcome) => ({ outcome, amount: 1 }));
  return postedBy(exchange, { name: 'durable buys', path, orders: 1 }, 'buyer', [up!, down!]);
}

/** All 100 orders rest in front of the book, or each takes one of those. */
export function batches(exchange: ExchangeUnderLoad): Promise<HttpLoad> {
  const buy = { op: 'buy', marketId: exchange.marketId };
  const resting = { ...buy, outcome: 'DOWN', shares: 2, price: 0.5, timeInForce: 'GTC' };
  const taking = { ...buy, outcome: 'UP', amount: 1 };
  const name = `batches of ${OPERATIONS} durable orders`;
  const bodies = [resting, taking].map((order) => ({
    operations: new Array(OPERATIONS).fill(order),
  }));
  return postedBy(exchange, { name, path: '/batch', orders: OPERATIONS }, 'batcher', bodies);
}

/** Whole books, while nothing trades. */
export async function books(exchange: ExchangeUnderLoad): Promise<HttpLoad> {
  const path = `/markets/15m/${exchange.marketId}/orderbook`;
  const { text } = await exchange.send({ path });
  const requests = [requestBytes({ path })];
  return { name: 'order book reads', path, orders: 0, requests, tokens: [], answer: text };
}

/** The bodies in turn, each by a new user. Sends each once now, to get a sample. */
async function postedBy(
  exchange: ExchangeUnderLoad,
  kind: Pick<HttpLoad, 'name' | 'path' | 'orders'>,
  role: string,
  bodies: readonly object[],
): Promise<HttpLoad> {
  const requests: Buffer[] = [];
  const tokens: string[] = [];
  let answer = '';
  for (let i = 0; i < TRADERS; i++) {
    const headers = await exchange.register(`${role}-${i}`);
    const body = bodies[i % bodies.length]!;
    const request = { method: 'POST', path: kind.path, headers, body } as const;
    answer = (await exchange.send(request)).text;
    requests.push(requestBytes(request));
    tokens.push(headers['x-user-token']!);
  }
  return { ...kind, requests, tokens, answer };
}
