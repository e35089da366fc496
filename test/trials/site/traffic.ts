/** Clients that change the book of the active market at a steady rate. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Api, activeMarkets, buy, cancel, register } from '../../../gateway/client/index.js';

/** Several clients, so that the rate does not depend on the time of each answer. */
const CLIENTS = 10;
/** Levels of each outcome, so that the book is full; the changes are between them. */
const LEVELS = 10;

export interface Traffic {
  /** Resolves to the exact number of changes, and the time that they took. */
  run(perSecond: number, changes: number): Promise<{ changes: number; seconds: number }>;
}

/** Registers the clients and fills the book. */
export async function prepareTraffic(url: string): Promise<Traffic> {
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, async (_, index) => {
      const api = new Api({ url: `${url}/api` });
      const username = `book-${Date.now() % 1e9}-${index}`;
      api.token = (await register(api, { username, password: 'correct horse battery' })).token;
      return api;
    }),
  );
  const [first] = clients as [Api];
  const { markets } = await activeMarkets(first);
  const marketId = markets[0]!.id;
  for (let level = 1; level <= LEVELS; level++)
    for (const outcome of ['UP', 'DOWN'] as const)
      await rest(first, marketId, outcome, 450 - level * 10);
  return {
    run: async (perSecond, changes) => {
      const fromMs = performance.now();
      await Promise.all(
        clients.map((api, index) => change(api, marketId, { index, perSecond, changes, fromMs })),
      );
      return { changes, seconds: (performance.now() - fromMs) / 1_000 };
    },
  };
}

async function rest(api: Api, marketId: string, outcome: 'UP' | 'DOWN', ticks: number) {
  const price = (ticks / 1_000).toFixed(3);
  const order = { outcome, shares: 10, price, timeInForce: 'GTC' } as const;
  return (await buy(api, marketId, order)).orderId;
}

/** Makes a client's part of the changes, each at its time: places and cancels an order in turn. */
async function change(
  api: Api,
  marketId: string,
  plan: { index: number; perSecond: number; changes: number; fromMs: number },
): Promise<void> {
  let resting: string | null = null;
  for (let each = plan.index; each < plan.changes; each += CLIENTS) {
    const dueMs = plan.fromMs + (each * 1_000) / plan.perSecond;
    await sleep(Math.max(0, dueMs - performance.now()));
    if (resting === null) {
      const outcome = each % 2 === 0 ? 'UP' : 'DOWN';
      resting = await rest(api, marketId, outcome, 445 - (each % 7) * 10);
    } else {
      await cancel(api, marketId, resting);
      resting = null;
    }
  }
}
