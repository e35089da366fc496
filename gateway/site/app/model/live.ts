/**
 * Keeps the page up to date by the stream: the markets, and of what is shown the book, the trades
 * and the prices, and the account of who is signed in. One connection, which the client keeps open.
 *
 * Always holds: while the connection is lost, `connection` says so, and what is shown is marked as
 * stale until the stream has caught up.
 */
import { computed, effect, signal } from '@preact/signals';
import { Account } from '../../../client/stream/account.js';
import { Book as LocalBook } from '../../../client/stream/book.js';
import { MarketList } from '../../../client/stream/markets.js';
import { Stream } from '../../../client/stream/stream.js';
import { forgetAccount, readElsewhere, setAccount } from './account.js';
import { type Book, received } from './book.js';
import { heard } from './clock.js';
import { api, connection } from './exchange.js';
import { beforePaint } from './frame.js';
import { asset, market, noteChance, readActive, setActive } from './markets.js';
import { observePrice, readEarlier, readMissedPrices, showPricesOf } from './prices.js';
import { generation, sessionRevoked, user } from './session.js';
import { noteEnded, readSlots } from './slots.js';
import { observeTrades, readTape } from './tape.js';

type Levels = Book['levels'];

/** How often positions of markets that are not shown are valued anew. */
const ELSEWHERE_MS = 3_000;

const stream = signal<Stream | null>(null);

/** Begins once the page knows whether somebody is signed in. */
export function startLive(): void {
  void quietly(readActive());
  // By id: a market or a user that only changes is followed on.
  const userId = computed(() => user.value?.userId ?? null);
  const marketId = computed(() => market.value?.id ?? null);
  effect(() => connectAs(userId.value, generation.value));
  effect(() => followMarketList(stream.value));
  effect(() => followUser(stream.value, userId.value));
  effect(() => followPrices(stream.value, asset.value));
  effect(() => followMarket(stream.value, marketId.value));
}

/** A stream belongs to one session, so another one has another stream. */
function connectAs(_userId: string | null, _generation: number): () => void {
  const opened = new Stream(api, {
    onState: (isOpen) => {
      connection.value = isOpen ? 'live' : 'lost';
    },
    onEnd: sessionRevoked,
  });
  stream.value = opened;
  return () => opened.close();
}

function followMarketList(from: Stream | null): (() => void) | undefined {
  if (from === null) return undefined;
  const readMissed = () => void quietly(readSlots(asset.peek()));
  const list = new MarketList({ onEnded: noteEnded, onResolved: noteEnded }, readMissed);
  return from.subscribe('markets', (message) => {
    heard(message.atMs);
    list.apply(message);
    setActive([...list.active.values()]);
  });
}

function followUser(from: Stream | null, userId: string | null): (() => void) | undefined {
  forgetAccount();
  if (from === null || userId === null) return undefined;
  const account = new Account();
  const show = () => setAccount(account);
  const stop = from.subscribe('user', {
    onMessage(message) {
      if (!account.apply(message)) from.restart('user');
      beforePaint(show);
    },
    // The cookie is gone; or the stream has ended, which reports that itself.
    onEnd: () => {
      if (from.failure === null) sessionRevoked();
    },
  });
  const timer = setInterval(() => void quietly(readElsewhere(userId)), ELSEWHERE_MS);
  return () => {
    clearInterval(timer);
    stop();
  };
}

function followPrices(from: Stream | null, of: string): (() => void) | undefined {
  showPricesOf(of);
  if (from === null || of === '') return undefined;
  void quietly(readSlots(of));
  return from.subscribe(`prices:${of}`, {
    onMessage({ data, atMs }) {
      heard(atMs);
      if (data.price !== null && data.observedAtMs !== null)
        observePrice(of, data.price, data.observedAtMs);
      if (of === asset.peek()) beforePaint(() => noteChance(data.marketId, data.indicative));
    },
    onGap: () => void quietly(readMissedPrices()),
  });
}

function followMarket(from: Stream | null, marketId: string | null): (() => void) | undefined {
  if (from === null || marketId === null) return undefined;
  const shown = market.peek();
  if (shown !== null) void quietly(readEarlier(shown));
  const book = new LocalBook(marketId);
  const levels: Levels = (...which) => book.levels(...which);
  const show = () => {
    received.value = { marketId, levels };
  };
  // The list of markets says that this one was closed.
  const onEnd = () => {};
  const stops = [
    from.subscribe(`book:${marketId}`, {
      onMessage(message) {
        heard(message.atMs);
        book.apply(message.type, message.data);
        beforePaint(show);
      },
      onEnd,
    }),
    from.subscribe(`trades:${marketId}`, {
      onMessage({ type, data }) {
        // A snapshot has no trades: those before it are read.
        if (type === 'snapshot') void quietly(readTape(marketId));
        else observeTrades(marketId, data.trades);
      },
      onEnd,
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** What the stream brings soon anyway may fail to be read. */
async function quietly(reading: Promise<unknown>): Promise<void> {
  try {
    await reading;
  } catch {
    // The connection's state says what is wrong.
  }
}
