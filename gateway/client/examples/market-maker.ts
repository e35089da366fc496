/**
 * Example: a market maker. In every market it bids for UP and for DOWN, slightly below a fair price
 * derived from the asset's price. When both bids trade, a complete set costs less than the dollar
 * that it pays. In upcoming markets of the next hour it bids before they open, at even odds.
 *
 *   node dist/gateway/client/examples/market-maker.js http://127.0.0.1:3000/api maker books.json
 *
 * SIGTERM: cancels its orders, waits until its markets are paid, and exits with status 0. Status 1:
 * it could not continue; the message names the reason and whether orders still rest.
 */
import {
  Api,
  createOrderGroup,
  followMarkets,
  type Market,
  type Operation,
  orderGroups,
  resetOrderGroup,
  Stream,
  submitBatch,
} from '../index.js';
import { FairPrice } from './fair-price.js';
import { keepBooks, run, signIn } from './saved.js';

/** In ticks of 0.001 dollar. */
const EDGE_TICKS = 5;
const SHARES = 20;
/** The exchange cancels its other bids after this many fills within a second. */
const SWEEP = { maxFilledShares: 60, windowMs: 1_000 };
/** Per outcome. */
const LOTS_MAX = 400_000;
const PASSWORD = 'an example, not a secret';

const [url = 'http://127.0.0.1:3000/api', username = 'example-maker', file = './maker.json'] =
  process.argv.slice(2);
const api = new Api({ url, retries: { attempts: 30, longestWaitMs: 500 } });
const userId = await signIn(api, username, PASSWORD);
const [known] = (await orderGroups(api, userId)).orderGroups;
const { groupId } = known ?? (await createOrderGroup(api, userId, SWEEP));
const stream = new Stream(api, { longestWaitMs: 500, onEnd: () => {} });
const kept = keepBooks(stream, file);
const { account } = kept;
const fairPrice = new FairPrice(stream, 300_000);
const { markets } = followMarkets(stream, { onOpened: ({ asset }) => fairPrice.follow(asset) });

/** The operations that leave one bid per outcome at its price. */
function requote(market: Market): Operation[] {
  const operations: Operation[] = [];
  const own = [...account.orders.values()].filter(({ marketId }) => marketId === market.id);
  const fair = fairPrice.ticks(market);
  for (const outcome of ['UP', 'DOWN'] as const) {
    const ticks = (outcome === 'UP' ? fair : 1_000 - fair) - EDGE_TICKS;
    const resting = own.filter((order) => order.outcome === outcome);
    const isQuoted = resting.length === 1 && Math.abs(resting[0]!.priceTicks - ticks) <= 2;
    if (isQuoted) continue;
    for (const { orderId } of resting)
      operations.push({ op: 'cancel', marketId: market.id, orderId });
    if (account.lots(market.id, outcome) >= LOTS_MAX) continue;
    const price = ticks / 1_000;
    const terms = { outcome, shares: SHARES, price, groupId } as const;
    const rests = { timeInForce: 'GTC', postOnly: true } as const;
    operations.push({ op: 'buy', marketId: market.id, ...terms, ...rests });
  }
  return operations;
}

/** Refused operations are harmless: prices move and markets end. The next round corrects them. */
async function quote(): Promise<void> {
  const open = [...markets.active.values(), ...markets.upcoming.values()];
  const operations = open.flatMap(requote).slice(0, 100);
  if (operations.length === 0) return;
  const { results } = await submitBatch(stream, operations);
  // The bids were swept, so their prices were wrong. The next round uses the new price.
  const isTripped = results.some(
    (result) => result.type === 'error' && result.error.code === 'order_group_tripped',
  );
  if (isTripped) await resetOrderGroup(api, userId, groupId);
}

async function cancelAll(): Promise<void> {
  const cancels = [...account.orders.values()].map(
    ({ marketId, orderId }) => ({ op: 'cancel', marketId, orderId }) as const,
  );
  if (cancels.length > 0) await submitBatch(stream, cancels.slice(0, 100));
}

await run({ api, userId, stream, ...kept }, (isStopping) => (isStopping ? cancelAll() : quote()));
