/** Clients that change the book of the active market at a steady rate. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Api, activeMarkets, buy, cancel, register } from '../../gateway/client/index.js';

/** Several, so that the rate does not depend on how soon each answer comes. */
const CLIENTS = 5;

/** Places and cancels orders in turn. Returns the number of changes. */
export async function changeBook(url: string, perSecond: number, forMs: number): Promise<number> {
  const untilMs = performance.now() + forMs;
  const clients = Array.from({ length: CLIENTS }, async (_, index) => {
    const api = new Api({ url: `${url}/api` });
    const username = `book-${Date.now() % 1e9}-${index}`;
    api.token = (await register(api, { username, password: 'correct horse battery' })).token;
    // One after the other, not all at once.
    await sleep((index * 1_000) / perSecond);
    return changes(api, perSecond / CLIENTS, untilMs);
  });
  const counts = await Promise.all(clients);
  return counts.reduce((sum, count) => sum + count, 0);
}

async function changes(api: Api, perSecond: number, untilMs: number): Promise<number> {
  const { markets } = await activeMarkets(api);
  const marketId = markets[0]!.id;
  const fromMs = performance.now();
  let count = 0;
  let resting: string | null = null;
  while (performance.now() < untilMs) {
    if (resting === null) {
      const price = 0.05 + (count % 20) / 100;
      const order = { outcome: 'UP', shares: 10, price, timeInForce: 'GTC' } as const;
      resting = (await buy(api, marketId, { ...order, price: price.toFixed(3) })).orderId;
    } else {
      await cancel(api, marketId, resting);
      resting = null;
    }
    count++;
    await sleep(Math.max(0, (count * 1_000) / perSecond - (performance.now() - fromMs)));
  }
  return count;
}
