/**
 * Example: a taker. It buys what looks cheap compared with the asset's price, one order per market
 * and round, sells after a gain, and claims the rest.
 *
 *   node dist/gateway/client/examples/taker.js http://127.0.0.1:3000/api taker books.json
 *
 * SIGTERM: waits until its markets are paid, and exits with status 0. Status 1: it could not
 * continue; the message names the reason and whether orders still rest.
 */
import {
  Api,
  type Book,
  followBooks,
  followMarkets,
  fromLots,
  fromTicks,
  isRefusal,
  type Market,
  type Operation,
  Stream,
  submit,
} from '../index.js';
import { FairPrice } from './fair-price.js';
import { keepBooks, run, signIn } from './saved.js';

const AMOUNT = '2.5';
/** How far below the fair price an offer must be, and how far above it a bid. */
const MARGIN_TICKS = 4;
const LOTS_MAX = 200_000;
const PASSWORD = 'an example, not a secret';
/** Refusals to expect when other traders are faster or the market ends. */
const USUAL = [
  'market_not_active',
  'market_paused',
  'market_not_found',
  'insufficient_liquidity',
  'price_not_met',
  'amount_too_small',
  'insufficient_balance',
  'insufficient_shares',
] as const;

const [url = 'http://127.0.0.1:3000/api', username = 'example-taker', file = './taker.json'] =
  process.argv.slice(2);
const api = new Api({ url, retries: { attempts: 30, longestWaitMs: 500 } });
const userId = await signIn(api, username, PASSWORD);
const stream = new Stream(api, { longestWaitMs: 500, onEnd: () => {} });
const kept = keepBooks(stream, file);
const { account } = kept;
const latest = new Map<string, Book | null>();
const fairPrice = new FairPrice(stream, 250_000);
const { markets } = followMarkets(stream, {
  onOpened({ asset }) {
    fairPrice.follow(asset);
    if (latest.has(asset)) return;
    latest.set(asset, null);
    followBooks(stream, asset, (book) => latest.set(asset, book));
  },
});

/** `null` if nothing is cheap or dear. */
function decide(market: Market, book: Book): Operation | null {
  const marketId = market.id;
  for (const outcome of ['UP', 'DOWN'] as const) {
    const up = fairPrice.ticks(market);
    const fair = outcome === 'UP' ? up : 1_000 - up;
    const [bid, ask] = [book.bestBid(outcome), book.bestAsk(outcome)];
    const lots = account.lots(marketId, outcome);
    if (bid !== null && lots > 0 && bid.priceTicks >= fair + MARGIN_TICKS) {
      const shares = fromLots(Math.min(lots, bid.lots));
      return { op: 'sell', marketId, outcome, shares, price: fromTicks(bid.priceTicks) };
    }
    if (ask !== null && lots < LOTS_MAX && ask.priceTicks <= fair - MARGIN_TICKS) {
      return { op: 'buy', marketId, outcome, amount: AMOUNT, price: fromTicks(ask.priceTicks) };
    }
  }
  return null;
}

async function trade(): Promise<void> {
  for (const market of markets.active.values()) {
    const book = latest.get(market.asset);
    const operation = book?.marketId === market.id ? decide(market, book) : null;
    if (operation === null) continue;
    await submit(stream, operation).catch((error) => {
      if (!isRefusal(error, ...USUAL)) throw error;
    });
  }
}

await run({ api, userId, stream, ...kept }, async (isStopping) => {
  if (!isStopping) await trade();
});
