/**
 * Bad prices and a running exchange: sources that gain a digit, fall silent, repeat themselves or
 * disagree, close to the end of markets. RULES.md says at which price each market settles.
 */
import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { eventually } from '../../support/eventually.js';
import { Exchanges } from '../../support/programs.js';
import type { ApiClient } from '../../support/server.js';

const START_MS = 1_763_700_300_000;
const WINDOW_MS = 900_000;
/** Fifteen minutes take less than a second. */
const SPEED = '1500';

let exchanges: Exchanges;
beforeEach(() => {
  exchanges = new Exchanges({ ASSETS: 'BTC', HOUSE: 'off' });
});
afterEach(() => exchanges.end());

const open = (variables: Record<string, string>) => exchanges.listening(exchanges.spawn(variables));

interface Moment {
  /** The number of the window, from 0, and the seconds left in it. */
  window: number;
  leftS: number;
}

/** The price that a source sends each second, or null if it sends none. */
type Source = (moment: Moment) => number | null;

async function fileOf(windows: number, sources: Record<string, Source>): Promise<string> {
  const names = Object.keys(sources);
  const hasSources = names.length > 1;
  const lines = [`observedAtMs,asset,price${hasSources ? ',source' : ''}`];
  for (let second = 0; second < windows * 900 + 5; second++) {
    const moment = { window: Math.floor(second / 900), leftS: 900 - (second % 900) };
    for (const [name, price] of Object.entries(sources)) {
      const dollars = price(moment);
      const line = `${START_MS + second * 1_000},BTC,${dollars}`;
      if (dollars !== null) lines.push(hasSources ? `${line},${name}` : line);
    }
  }
  const path = join(exchanges.work, 'prices.csv');
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}

/** The end prices of the first markets, once they are resolved. */
async function endPrices(client: ApiClient, count: number): Promise<(number | null)[]> {
  const ids = Array.from(
    { length: count },
    (_, window) => `btc-15m-${(START_MS + window * WINDOW_MS) / 1_000}`,
  );
  let prices: (number | null)[] = [];
  await eventually(async () => {
    const answers = await Promise.all(ids.map((id) => client.get(`/markets/${id}`)));
    for (const answer of answers) expect(answer.json?.status).toBe('resolved');
    prices = answers.map(({ json }) => json.endPrice);
  });
  return prices;
}

test('one source: ten times the price settles nothing, half a minute of it does', async () => {
  const path = await fileOf(4, {
    only({ window, leftS }) {
      if (window === 0) return leftS <= 29 ? 1_000_000 : 100_000;
      // Every other price of the last five minutes is wrong.
      if (window === 1) return leftS <= 300 && leftS % 2 === 0 ? 10_000 : 100_000;
      // The price really falls, five minutes before the end.
      if (window === 2) return leftS <= 300 ? 60_000 : 100_000;
      // Silence after a last price that nothing confirms.
      if (window === 3 && leftS > 61) return 60_000;
      return leftS === 61 ? 600_000 : null;
    },
  });
  const client = await open({ PRICE_FEED: `file:${path}`, FEED_SPEED: SPEED });
  expect(await endPrices(client, 4)).toEqual([100_000, 100_000, 60_000, 60_000]);
});

test('several sources: the median settles, whichever of them is wrong or silent', async () => {
  const path = await fileOf(4, {
    a({ window, leftS }) {
      if (window === 0) return leftS <= 400 ? 1_000_010 : 100_010;
      return window === 1 && leftS <= 400 ? null : 100_010;
    },
    b({ window, leftS }) {
      // Two sources disagree while the third is silent: the price closer to the last one counts.
      if (window === 1 && leftS <= 300) return 1_000;
      return window === 3 ? null : 100_020;
    },
    c({ window, leftS }) {
      // This source is wrong for half of the last minute: the median is the lower price of the
      // other two.
      if (window === 2 && leftS <= 29) return 50_000;
      return window === 3 ? null : 100_040;
    },
  });
  const client = await open({ PRICE_FEED: `file:${path}`, FEED_SPEED: SPEED });
  const prices = await endPrices(client, 4);
  expect(prices).toEqual([100_040, 100_040, 100_015, 100_010].map((one) => expect.closeTo(one, 0)));
  const { text } = await client.get('/metrics');
  expect(text).toMatch(/^exchange_prices_total\{source="b"\} 270\d$/m);
  expect(text).toMatch(/^exchange_prices_held 0$/m);
});

/** A server with a venue's protocol, which sends what the test tells it to. */
async function venue(ports: WebSocketServer[]): Promise<{ url: string; send(text: string): void }> {
  const own = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  ports.push(own);
  const ready = new Set<WebSocket>();
  own.on('connection', (socket) => socket.on('message', () => ready.add(socket)));
  await new Promise((resolve) => own.once('listening', resolve));
  const send = (text: string) => {
    for (const socket of ready) socket.send(text);
  };
  return { url: `ws://127.0.0.1:${(own.address() as AddressInfo).port}`, send };
}

test('two live feeds: each one’s price is in /status, and their median counts', async () => {
  const ports: WebSocketServer[] = [];
  try {
    const coinbase = await venue(ports);
    const kraken = await venue(ports);
    const client = await open({
      PRICE_FEED: 'coinbase,kraken',
      COINBASE_URL: coinbase.url,
      KRAKEN_URL: kraken.url,
    });
    let count = 0;
    const send = (coinbaseDollars: number, krakenDollars: number) => {
      count++;
      const time = new Date().toISOString();
      const ticker = { type: 'ticker', product_id: 'BTC-USD', sequence: count, time };
      coinbase.send(JSON.stringify({ ...ticker, price: `${coinbaseDollars}` }));
      const trade = { symbol: 'BTC/USD', side: 'buy', qty: 0.1, ord_type: 'market' };
      const data = [{ ...trade, price: krakenDollars, trade_id: count, timestamp: time }];
      kraken.send(JSON.stringify({ channel: 'trade', type: 'update', data }));
    };
    const status = async () => (await client.get('/status')).json.prices[0];
    await eventually(async () => {
      send(100_000, 100_001.5);
      expect(await status()).toMatchObject({
        asset: 'BTC',
        price: 100_000.75,
        held: null,
        sources: [
          { source: expect.any(String), isFresh: true },
          { source: expect.any(String), isFresh: true },
        ],
      });
    });
    // One source gains a digit: the other source counts.
    await eventually(async () => {
      send(1_000_000, 100_002);
      const { price, sources } = await status();
      expect(price).toBe(100_002);
      expect(sources).toContainEqual(
        expect.objectContaining({ source: 'coinbase', price: 1_000_000 }),
      );
    });
    // Both sources jump: their price is held back.
    await eventually(async () => {
      send(1_000_000, 1_000_002);
      expect(await status()).toMatchObject({ price: 100_002, held: { price: 1_000_001 } });
    });
    // Operators see the state of each connection.
    await eventually(async () => {
      coinbase.send('no message of theirs');
      const { text } = await client.get('/metrics');
      for (const source of ['coinbase', 'kraken']) {
        expect(text).toContain(`exchange_feed_live{source="${source}"} 1`);
        expect(text).toMatch(new RegExp(`feed_connections_total\\{source="${source}"} [1-9]`));
        expect(text).toContain(`exchange_feed_refusals_total{source="${source}"} 0`);
      }
      expect(text).toMatch(/exchange_feed_malformed_total\{source="coinbase"} [1-9]/);
      expect(text).toContain('exchange_feed_malformed_total{source="kraken"} 0');
    });
  } finally {
    for (const port of ports) {
      for (const socket of port.clients) socket.terminate();
      port.close();
    }
  }
});
