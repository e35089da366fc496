/**
 * The loads of the HTTP benchmark: prebuilt requests of each kind, and a sample answer for the bare
 * server.
 */
import { type ExchangeUnderLoad, HOST } from './exchange-under-load.js';
import { requestBytes } from './messages.js';

const TRADERS = 64;
export const OPERATIONS = 100;

export interface HttpLoad {
  name: string;
  /** The path after /api. */
  path: string;
  /** Orders per request; 0: a read. */
  orders: number;
  /** Sent in turn. */
  requests: Buffer[];
  /** A sample answer, for the bare server. */
  answer: string;
}

/** Buys of one dollar at any price. Each takes one resting order. */
export async function buys(exchange: ExchangeUnderLoad): Promise<HttpLoad> {
  const path = `/markets/15m/${exchange.marketId}/buy`;
  const bodies = Array.from({ length: TRADERS }, (_, i) => ({
    outcome: i % 2 === 0 ? 'UP' : 'DOWN',
    amount: 1,
  }));
  return postedBy(exchange, { name: 'durable buys', path, orders: 1 }, 'buyer', bodies);
}

/**
 * Batches of 100 orders. In every second one, all rest in front of the book; in the others, each
 * takes one of those.
 */
export async function batches(exchange: ExchangeUnderLoad): Promise<HttpLoad> {
  const { marketId } = exchange;
  const resting = {
    op: 'buy',
    marketId,
    outcome: 'DOWN',
    shares: 0.1,
    price: 0.5,
    timeInForce: 'GTC',
  };
  const taking = { op: 'buy', marketId, outcome: 'UP', amount: 0.05 };
  const bodies = Array.from({ length: TRADERS }, (_, i) => ({
    operations: new Array(OPERATIONS).fill(i % 2 === 0 ? resting : taking),
  }));
  const kind = {
    name: `batches of ${OPERATIONS} durable orders`,
    path: '/batch',
    orders: OPERATIONS,
  };
  return postedBy(exchange, kind, 'batcher', bodies);
}

/** Reads of a whole book, without trading. */
export async function books(exchange: ExchangeUnderLoad): Promise<HttpLoad> {
  const path = `/markets/15m/${exchange.marketId}/orderbook`;
  const answer = await exchange.send('GET', path);
  const requests = [
    requestBytes({ method: 'GET', path: `/api${path}`, host: `${HOST}:${exchange.port}` }),
  ];
  return { name: 'order book reads', path, orders: 0, requests, answer };
}

/** Requests with these bodies, each of a new user, who sends it once now. */
async function postedBy(
  exchange: ExchangeUnderLoad,
  kind: Pick<HttpLoad, 'name' | 'path' | 'orders'>,
  role: string,
  bodies: readonly object[],
): Promise<HttpLoad> {
  const requests: Buffer[] = [];
  let answer = '';
  for (const [i, body] of bodies.entries()) {
    const token = await exchange.register(`${role}-${i}`);
    answer = await exchange.send('POST', kind.path, { body, token });
    requests.push(
      requestBytes({
        method: 'POST',
        path: `/api${kind.path}`,
        host: `${HOST}:${exchange.port}`,
        headers: { 'x-user-token': token },
        body,
      }),
    );
  }
  return { ...kind, requests, answer };
}
