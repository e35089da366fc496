/**
 * When the follower finds that the journal gives another state than the exchange has, all trading
 * stops: clients, house, prices, market ends, and disconnecting streams. Reads still work. And when
 * a start fails, the operator sees the first failure, and nothing is left running.
 */

import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { Engine } from '../../engine/engine.js';
import { Digest } from '../../engine/storage/digest.js';
import { NumberBuffer } from '../../engine/storage/number-buffer.js';
import type { PriceFeed } from '../../gateway/inputs/feeds/price-feed.js';
import { createLog } from '../../gateway/observe/log.js';
import { TradingHalted } from '../../gateway/observe/watched-sequencer.js';
import { readConfig } from '../../gateway/start/config.js';
import { type Exchange, startExchange } from '../../gateway/start/exchange.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { ManualClock } from '../support/clock.js';
import { eventually } from '../support/eventually.js';
import {
  codeOf,
  ManualFeed,
  PASSWORD,
  TestServer,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../support/server.js';

/** Changes the trading thread's memory without a command. */
function corrupt(engine: Engine): void {
  const running = (engine as unknown as { running: Digest }).running;
  expect(running).toBeInstanceOf(Digest);
  const tape = new NumberBuffer();
  tape.write(1);
  running.add(tape, tape);
}

test('a disagreement stops all trading', async ({ onTestFinished }) => {
  const server = await TestServer.start({ houseFundsMicros: 1_000_000_000_000 });
  onTestFinished(() => server.stop());
  const { api, feed, clock, exchange } = server;
  const { sequencer } = exchange;
  const { engine } = sequencer;
  feed.deliver('BTC', 100_000);
  // The house is quoting.
  const house = engine.findUser('house');
  await eventually(() => engine.orders(house).length > 0);
  const ada = await server.register('ada');
  const adaId = engine.findUser('ada');
  const order = { outcome: 'UP', shares: 1_000, price: 0.001, timeInForce: 'GTC' };
  const buy = () => server.buy(ada, order);
  expect((await buy()).status).toBe(200);
  const stream = new WebSocket(`${api.url.replace('http', 'ws')}/api/stream`);
  await new Promise((resolve) => stream.on('open', resolve));
  const signedIn = new Promise((resolve) => stream.on('message', resolve));
  stream.send(JSON.stringify({ op: 'auth', token: ada.token, cancelOnDisconnect: true }));
  await signedIn;
  expect((await api.get('/ready')).status).toBe(200);

  corrupt(engine);
  // The difference is only found in a batch, so a command must follow.
  expect((await buy()).status).toBe(200);
  await eventually(() => sequencer.halted !== null);
  await eventually(() => sequencer.backlog === 0);
  const before = await server.state();

  const refused = await buy();
  expect(codeOf(refused)).toBe('503 unavailable');
  expect(refused.json.error.details).toEqual({ executed: false });
  const account = { username: 'bob', password: PASSWORD };
  expect((await api.post('/auth/register', account)).status).toBe(503);
  const ready = await api.get('/ready');
  expect([ready.status, ready.json.error.details.reason]).toEqual([
    503,
    expect.stringMatching(/^the follower's state differs from the engine's from sequence \d+ on$/),
  ]);
  expect(await api.metric('exchange_halted')).toBe(1);
  // The price feed has been stopped, and a late price is refused.
  expect(() => feed.deliver('BTC', 101_000)).toThrow('not running');
  // The scheduler alone ends the market; the house would withdraw its quotes before the end.
  clock.set(WINDOW_START_MS + WINDOW_MS + 10_000);
  for (const command of [
    { kind: 'advanceTime' },
    { kind: 'cancelAll', userId: house, idempotencyKey: null, marketId: engine.activeMarket(0) },
    { kind: 'observePrice', asset: 0, priceMicros: 1, observedAtMs: clock.nowMs() },
  ] as const) {
    expect(() => sequencer.submit(command)).toThrow(TradingHalted);
  }
  // A connection with cancel on disconnect ends.
  const closed = new Promise((resolve) => stream.on('close', resolve));
  stream.close();
  await closed;
  await eventually(async () => (await api.metric('exchange_connections{kind="stream"}')) === 0);
  expect(engine.orders(adaId)).toHaveLength(2);
  expect(engine.orders(house).length).toBeGreaterThan(0);

  // Users can still read, and sign in to read.
  expect((await api.post('/auth/login', { username: 'ada', password: PASSWORD })).status).toBe(200);
  expect((await api.get(`/users/${ada.userId}/orders`, ada.token)).json.orders).toHaveLength(2);
  expect(await server.state()).toEqual(before);
});

describe('a start that fails', () => {
  const folders: string[] = [];
  let taken: Server | null = null;
  afterEach(async () => {
    await new Promise((resolve) => (taken === null ? resolve(null) : taken.close(resolve)));
    taken = null;
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
  });

  function startWith(
    folder: string,
    variables: Record<string, string>,
    feed?: PriceFeed,
  ): Promise<Exchange> {
    const clock = new ManualClock(WINDOW_START_MS);
    const config = { ...readConfig({ ASSETS: 'BTC', ...variables }), dataFolder: folder };
    const onFatal = (error: Error) => expect.fail(error.message);
    return startExchange({
      config,
      log: createLog('silent'),
      onFatal,
      inputs: { clock, feed: feed ?? new ManualFeed(clock), venues: [] },
    });
  }

  async function newFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'exchange-'));
    folders.push(folder);
    return folder;
  }

  async function takenPort(): Promise<number> {
    taken = createServer();
    await new Promise<void>((resolve) => taken!.listen(0, '127.0.0.1', resolve));
    return (taken.address() as { port: number }).port;
  }

  test('says why and frees the folder for the next process', async () => {
    const folder = await newFolder();
    const feed: PriceFeed = {
      start: () => {
        throw new Error('no prices today');
      },
      stop: () => Promise.resolve(),
    };
    await expect(startWith(folder, { PORT: '0' }, feed)).rejects.toThrow('no prices today');
    // Nothing holds the folder, which contains everything executed up to the halt.
    const journal = await openJournal({ folder });
    expect(journal.end.sequence).toBeGreaterThan(0);
    await journal.close();
  });

  test('because a port is in use, or is given to two addresses, creates nothing', async () => {
    const parent = await newFolder();
    const folder = join(parent, 'data');
    const key = join(parent, 'key');
    await writeFile(key, '0123456789abcdef'.repeat(2), { mode: 0o600 });
    const port = await takenPort();
    const variables = [
      { PORT: `${port}` },
      { PORT: '0', OPERATIONS_PORT: `${port}` },
      { PORT: `${port}`, EDGE_THREADS: '1' },
      { PORT: '0', REPLICAS_PORT: `${port}`, REPLICAS_KEY_FILE: key },
    ];
    const refused = `cannot listen on 127.0.0.1:${port}`;
    for (const each of variables) await expect(startWith(folder, each)).rejects.toThrow(refused);
    await new Promise((resolve) => taken!.close(resolve));
    taken = null;
    const both = { PORT: `${port}`, OPERATIONS_PORT: `${port}` };
    await expect(startWith(folder, both)).rejects.toThrow(refused);
    expect(existsSync(folder)).toBe(false);
  });
});
