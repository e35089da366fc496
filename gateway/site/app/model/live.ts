/**
 * Keeps the page current through the stream: the markets; the shown market's book, trades and
 * prices; and the signed-in user's account. Uses one connection, which the client keeps open.
 *
 * Invariant: while the connection is lost, `connection` is `lost`, and the page marks its contents
 * as stale until the stream has caught up.
 */
import { computed, effect, signal } from '@preact/signals';
import { Account, Book as LocalBook, MarketList, Stream } from '../../../client/index.js';
import { forgetAccount, readElsewhere, setAccount } from './account.js';
import { type Book, received } from './book.js';
import { heard, silenceMs } from './clock.js';
import { api, connection } from './exchange.js';
import { beforePaint } from './frame.js';
import { asset, market, noteChance, readActive, setListed } from './markets.js';
import { observePrice, readEarlier, readMissedPrices, showPricesOf } from './prices.js';
import { generation, sessionRevoked, user } from './session.js';
import { noteEnded, readSlots } from './slots.js';
import { observeTrades, readTape } from './tape.js';

type Levels = Book['levels'];

/** How often positions in other markets are valued again. */
const ELSEWHERE_MS = 3_000;

const stream = signal<Stream | null>(null);

/** Call once the page knows whether a user is signed in. */
export function startLive(): void {
  void quietly(readActive());
  // Follows ids, so that the subscription stays when only other fields change.
  const userId = computed(() => user.value?.userId ?? null);
  const marketId = computed(() => market.value?.id ?? null);
  effect(() => connectAs(userId.value, generation.value));
  effect(() => followMarketList(stream.value));
  effect(() => followUser(stream.value, userId.value));
  effect(() => followPrices(stream.value, asset.value));
  effect(() => followMarket(stream.value, marketId.value));
}

/** Opens a stream for a session. Another session gets another stream. */
function connectAs(_userId: string | null, _generation: number): () => void {
  const opened = new Stream(api, {
    onState: (isOpen) => note(opened, isOpen ? 'live' : 'lost'),
    onEnd: sessionRevoked,
  });
  stream.value = opened;
  const stopWatching = watchSilence(opened);
  return () => {
    stopWatching();
    opened.close();
  };
}

/** Ignores a stream that another one has replaced. */
function note(of: Stream, state: 'live' | 'lost'): void {
  if (of === stream.peek()) connection.value = state;
}

/** A silent exchange gets a ping. Without an answer, the page reports the loss within 3 s. */
const WATCH_EVERY_MS = 500;
const QUIET_MS = 1_000;
const SIGN_MS = 1_400;

function watchSilence(of: Stream): () => void {
  let isAsking = false;
  const watch = async () => {
    const state = connection.peek();
    if (isAsking || document.hidden || state === 'starting') return;
    if (state === 'live' && silenceMs() < QUIET_MS) return;
    isAsking = true;
    try {
      await of.request({ op: 'ping' }, AbortSignal.timeout(SIGN_MS), false);
      note(of, 'live');
    } catch {
      note(of, 'lost');
    } finally {
      isAsking = false;
    }
  };
  const timer = setInterval(() => void watch(), WATCH_EVERY_MS);
  return () => clearInterval(timer);
}

function followMarketList(from: Stream | null): (() => void) | undefined {
  if (from === null) return undefined;
  const readMissed = () => void quietly(readSlots(asset.peek()));
  const list = new MarketList({ onEnded: noteEnded, onResolved: noteEnded }, readMissed);
  return from.subscribe('markets', (message) => {
    heard(message.atMs);
    list.apply(message);
    setListed([...list.active.values()], [...list.upcoming.values()]);
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
    // Either the cookie is gone, or the stream has ended, which is reported separately.
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
  // The list of markets reports that this market was closed.
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
      onMessage({ type, data, sequence }) {
        // A snapshot has no trades, so read the earlier ones.
        if (type === 'snapshot') void quietly(readTape(marketId));
        else observeTrades(marketId, data.trades, sequence);
      },
      onEnd,
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Ignores a failed read of data that the stream will deliver anyway. */
async function quietly(reading: Promise<unknown>): Promise<void> {
  try {
    await reading;
  } catch {
    // `connection` shows the problem.
  }
}
