/** A client that changes the book of the active market at a steady rate. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Api, activeMarkets, buy, cancel, register } from '../../gateway/client/index.js';

/** Places and cancels orders in turn. Returns the number of changes. */
export async function changeBook(url: string, perSecond: number, forMs: number): Promise<number> {
  const api = new Api({ url: `${url}/api` });
  const username = `book-${Date.now() % 1e9}`;
  api.token = (await register(api, { username, password: 'correct horse battery' })).token;
  const { markets } = await activeMarkets(api);
  const marketId = markets[0]!.id;
  const fromMs = performance.now();
  let changes = 0;
  let resting: string | null = null;
  while (performance.now() - fromMs < forMs) {
    if (resting === null) {
      const price = 0.05 + (changes % 20) / 100;
      const order = { outcome: 'UP', shares: 10, price, timeInForce: 'GTC' } as const;
      resting = (await buy(api, marketId, { ...order, price: price.toFixed(3) })).orderId;
    } else {
      await cancel(api, marketId, resting);
      resting = null;
    }
    changes++;
    await sleep(Math.max(0, (changes * 1_000) / perSecond - (performance.now() - fromMs)));
  }
  return changes;
}
