/** What the HTTP benchmark asks of the exchange: prebuilt requests of each kind, with an answer to each kind for the bare handler. */
import { type ExchangeUnderLoad, HOST } from './exchange-under-load.js';
import { requestBytes } from './messages.js';

const TRADERS = 64;
export const OPERATIONS = 100;

export interface HttpLoad {
  name: string;
  /** In the path of the API. */
  path: string;
  /** Orders in each request; 0: it is a read. */
  orders: number;
  /** Sent in turn. */
  requests: Buffer[];
  /** One that came, for the bare handler to give. */
  answer: string;
}

/** Buys of one dollar at any price, each with one resting order to take. */
export async function buys(exchange: ExchangeUnderLoad): Promise<HttpLoad> {
  const path = `/markets/15m/${exchange.marketId}/buy`;
  const bodies = Array.from({ length: TRADERS }, (_, i) => ({
    outcome: i % 2 === 0 ? 'UP' : 'DOWN',
    amount: 1,
  }));
  return postedBy(exchange, { name: 'durable buys', path, orders: 1 }, 'buyer', bodies);
}

/**
 * Batches of 100 orders: in every second one each order rests, at a better price than the rest of the book; in the others each takes one of
 * those.
 */
export async function batches(exchange: ExchangeUnderLoad): Promise<HttpLoad> {
  const { marketId } = exchange;
  const resting = { op: 'buy', marketId, outcome: 'DOWN', shares: 0.1, price: 0.5, timeInForce: 'GTC' };
  const taking = { op: 'buy', marketId, outcome: 'UP', amount: 0.05 };
  const bodies = Array.from({ length: TRADERS }, (_, i) => ({
    operations: new Array(OPERATIONS).fill(i % 2 === 0 ? resting : taking),
  }));
  const kind = { name: `batches of ${OPERATIONS} durable orders`, path: '/batch', orders: OPERATIONS };
  return postedBy(exchange, kind, 'batcher', bodies);
}

/** Reads of a whole book; nothing is traded meanwhile. */
export async function books(exchange: ExchangeUnderLoad): Promise<HttpLoad> {
  const path = `/markets/15m/${exchange.marketId}/orderbook`;
  const answer = await exchange.send('GET', path);
  const requests = [requestBytes({ method: 'GET', path: `/api${path}`, host: `${HOST}:${exchange.port}` })];
  return { name: 'order book reads', path, orders: 0, requests, answer };
}

/** A new user for each body, who sends it once. */
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
