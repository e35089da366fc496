/**
 * Live prices from the WebSocket feed of another exchange, a venue.
 *
 * Invariant: at most one connection is open or opening. If it ends, is refused, falls silent, or
 * has only dropped prices, the feed reconnects. The delay doubles with each failure, and a price
 * resets it. Sequences start over with each connection, and the latest accepted time is never ahead
 * of the exchange's clock. At most `MAX_TICKS_PER_SECOND` prices a second are delivered per asset,
 * always the newest.
 */
import type { Logger } from 'pino';
import WebSocket from 'ws';
import { PRICE_REMEMBERED_MS } from '../../../engine/interface/parameters.js';
import { elapsedMs } from '../../observe/clock.js';
import type { Clock } from '../clock.js';
import type { PriceFeed, PriceSink } from './price-feed.js';

export type FeedMessage =
  /** `sequence` grows with each price of the product on one connection. */
  | { type: 'ticker'; productId: string; sequence: number; priceMicros: number; tradedAtMs: number }
  | { type: 'subscriptions'; productIds: string[] }
  | { type: 'error'; message: string }
  | { type: 'other' }
  | { type: 'malformed'; reason: string };

export interface Venue {
  url: string;
  productId(symbol: string): string;
  subscribeMessage(productIds: readonly string[]): string;
  /** Never throws. */
  read(text: string): FeedMessage[];
}

export interface LiveFeedOptions {
  venue: Venue;
  symbols: readonly string[];
  clock: Clock;
  log: Logger;
  /** Uniform on [0, 1). Spreads the reconnections of many exchanges. */
  random: () => number;
  url?: string;
  /** Silence in real time after which the connection counts as lost. */
  idleTimeoutMs?: number;
  /** In real time. Doubles up to `backoffMaxMs`. */
  backoffFirstMs?: number;
  backoffMaxMs?: number;
}

export interface LiveFeedStatus {
  /** Whether the current connection has delivered a price in the last minute. */
  live: boolean;
  /** Including the first attempt. */
  connections: number;
  delivered: number;
  /** Messages and trades that violate the venue's protocol or are implausible. */
  malformed: number;
  serverErrors: number;
}

const MAX_TICKS_PER_SECOND = 10;
const SPACING_MS = 1_000 / MAX_TICKS_PER_SECOND;
const MAX_MESSAGE_BYTES = 65_536;
/** A trade further ahead of the exchange's clock is invalid. */
const MAX_AHEAD_MS = 30_000;
/** Without a price for this long, a connection is not live, whatever else it sends. */
const LIVE_MS = 60_000;
/** Fewer consecutive drops, for example of a quiet product, do not condemn a connection. */
const DROPS_LEAST = 10;
/**
 * How many times the wait before reconnecting for a product whose prices are all dropped may
 * double: by default, from 15 s to a quarter of an hour.
 */
const DOUBLINGS_MAX = 6;

interface Usefulness {
  readonly symbol: string;
  /** `null` if the last price was accepted. */
  uselessFromMs: number | null;
  drops: number;
  /** Doubles the patience before the next one. */
  reconnections: number;
}

interface Product extends Usefulness {
  /** Starts over with each connection. */
  sequence: number;
  tradedAtMs: number;
  deliveredElapsedMs: number;
  waiting: { priceMicros: number; tradedAtMs: number } | null;
  timer: NodeJS.Timeout | null;
}

export class LiveFeed implements PriceFeed {
  private readonly options: Required<LiveFeedOptions>;
  private readonly products: ReadonlyMap<string, Product>;
  private readonly counters = { connections: 0, delivered: 0, malformed: 0, serverErrors: 0 };
  private readonly all: Usefulness = {
    symbol: 'all',
    uselessFromMs: null,
    drops: 0,
    reconnections: 0,
  };
  private sink: PriceSink | null = null;
  private socket: WebSocket | null = null;
  private stopped = false;
  private pricedElapsedMs: number | null = null;
  private failures = 0;
  private idleTimer: NodeJS.Timeout | null = null;
  private reconnectTimer: NodeJS.Timeout | null = null;

  constructor(options: LiveFeedOptions) {
    this.options = {
      url: options.venue.url,
      idleTimeoutMs: 15_000,
      backoffFirstMs: 500,
      backoffMaxMs: 30_000,
      ...options,
    };
    const { symbols, venue } = options;
    this.products = new Map(symbols.map((symbol) => [venue.productId(symbol), newProduct(symbol)]));
  }

  start(sink: PriceSink): void {
    if (this.sink !== null) throw new Error('the feed can only be started once');
    this.sink = sink;
    this.connect();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    if (this.reconnectTimer !== null) clearTimeout(this.reconnectTimer);
    const socket = this.socket;
    if (socket === null) return;
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.terminate();
    await closed;
  }

  status(): LiveFeedStatus {
    const { pricedElapsedMs } = this;
    const live = pricedElapsedMs !== null && elapsedMs() - pricedElapsedMs < LIVE_MS;
    return { live, ...this.counters };
  }

  private connect(): void {
    this.counters.connections++;
    for (const product of this.products.values()) {
      product.sequence = -1;
      product.uselessFromMs = null;
    }
    this.all.uselessFromMs = null;
    const socket = new WebSocket(this.options.url, {
      handshakeTimeout: this.options.idleTimeoutMs,
      maxPayload: MAX_MESSAGE_BYTES,
      perMessageDeflate: false,
    });
    this.socket = socket;
    socket.on('open', () => {
      this.watchForSilence();
      socket.send(this.options.venue.subscribeMessage([...this.products.keys()]));
    });
    socket.on('message', (data) => {
      // A message can still arrive after the connection was dropped.
      for (const message of this.options.venue.read(data.toString()))
        if (socket.readyState === WebSocket.OPEN) this.receive(message);
    });
    socket.on('error', (error) =>
      this.options.log.warn({ err: error }, 'price feed: connection failed'),
    );
    socket.on('close', (code) => this.disconnected(code));
  }

  private watchForSilence(): void {
    this.idleTimer = setTimeout(() => {
      this.options.log.warn(
        { idleTimeoutMs: this.options.idleTimeoutMs },
        'price feed: silent, reconnecting',
      );
      this.socket?.terminate();
    }, this.options.idleTimeoutMs);
  }

  private disconnected(code: number): void {
    if (this.idleTimer !== null) clearTimeout(this.idleTimer);
    this.socket = null;
    this.pricedElapsedMs = null;
    for (const product of this.products.values()) dropWaiting(product);
    if (this.stopped) return;
    const { backoffFirstMs, backoffMaxMs, random, log } = this.options;
    const longestMs = Math.min(backoffMaxMs, backoffFirstMs * 2 ** Math.min(this.failures, 30));
    this.failures++;
    // Wait at least half of the delay, to spare a failing server.
    const delayMs = (longestMs * (1 + random())) / 2;
    log.warn({ code, delayMs: Math.round(delayMs) }, 'price feed: disconnected');
    this.reconnectTimer = setTimeout(() => this.connect(), delayMs);
  }

  private receive(message: FeedMessage): void {
    const { log } = this.options;
    if (message.type !== 'malformed') this.idleTimer?.refresh();
    switch (message.type) {
      case 'ticker':
        this.receiveTicker(message);
        break;
      case 'subscriptions':
        log.info({ productIds: message.productIds }, 'price feed: subscribed');
        break;
      case 'error':
        this.counters.serverErrors++;
        log.error({ reason: message.message }, 'price feed: refused by the server');
        this.socket?.terminate();
        break;
      case 'malformed':
        this.countMalformed(message.reason);
        this.drop(this.all);
        break;
      case 'other':
        break;
    }
  }

  private countMalformed(reason: string): void {
    this.counters.malformed++;
    this.options.log.warn({ reason }, 'price feed: malformed message');
  }

  private receiveTicker(ticker: Extract<FeedMessage, { type: 'ticker' }>): void {
    const product = this.products.get(ticker.productId);
    if (product === undefined) {
      this.countMalformed(`a product that was not subscribed: ${ticker.productId}`);
      this.drop(this.all);
      return;
    }
    const nowMs = this.options.clock.nowMs();
    if (ticker.tradedAtMs > nowMs + MAX_AHEAD_MS) {
      const time = new Date(ticker.tradedAtMs).toISOString();
      this.countMalformed(`a trade of ${ticker.productId} at ${time}, which is in the future`);
      this.drop(product);
      return;
    }
    // The engine does not remember older prices.
    const oldestMs = Math.max(product.tradedAtMs, nowMs - PRICE_REMEMBERED_MS);
    if (ticker.sequence <= product.sequence || ticker.tradedAtMs < oldestMs) {
      this.drop(product);
      return;
    }
    product.sequence = ticker.sequence;
    product.tradedAtMs = Math.min(ticker.tradedAtMs, nowMs);
    for (const useful of [product, this.all]) {
      useful.uselessFromMs = null;
      useful.reconnections = 0;
    }
    this.pricedElapsedMs = elapsedMs();
    this.failures = 0;
    product.waiting = ticker;
    const delayMs = product.deliveredElapsedMs + SPACING_MS - elapsedMs();
    if (delayMs <= 0) this.deliver(product);
    else product.timer ??= setTimeout(() => this.deliver(product), delayMs);
  }

  /** If all prices are dropped, the feed reconnects; for a single product, ever more rarely. */
  private drop(of: Usefulness): void {
    if (of.uselessFromMs === null) {
      of.uselessFromMs = elapsedMs();
      of.drops = 0;
    }
    of.drops++;
    const uselessMs = elapsedMs() - of.uselessFromMs;
    const doublings = of === this.all ? 0 : Math.min(of.reconnections, DOUBLINGS_MAX);
    const patienceMs = this.options.idleTimeoutMs * 2 ** doublings;
    if (uselessMs < patienceMs || of.drops < DROPS_LEAST) return;
    of.reconnections++;
    const { symbol } = of;
    this.options.log.warn({ symbol }, 'price feed: all prices are dropped, reconnecting');
    this.socket?.terminate();
  }

  private deliver(product: Product): void {
    const { waiting } = product;
    dropWaiting(product);
    if (waiting === null || this.sink === null) return;
    product.deliveredElapsedMs = elapsedMs();
    this.counters.delivered++;
    this.sink(
      product.symbol,
      waiting.priceMicros,
      Math.min(waiting.tradedAtMs, this.options.clock.nowMs()),
    );
  }
}

function newProduct(symbol: string): Product {
  return {
    symbol,
    sequence: -1,
    tradedAtMs: 0,
    deliveredElapsedMs: Number.NEGATIVE_INFINITY,
    uselessFromMs: null,
    drops: 0,
    reconnections: 0,
    waiting: null,
    timer: null,
  };
}

function dropWaiting(product: Product): void {
  if (product.timer !== null) clearTimeout(product.timer);
  product.timer = null;
  product.waiting = null;
}
