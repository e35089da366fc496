import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import * as client from '../../../gateway/client/index.js';
import { Api } from '../../../gateway/client/index.js';
import { eventually } from '../../support/eventually.js';
import { Bot, findPython } from '../../support/load/bots.js';
import { MARKET, TestServer, WINDOW_MS, WINDOW_START_MS } from '../../support/server.js';
import { streamLimits } from '../stream/support.js';
import { Relay } from './relay.js';

const PASSWORD = 'an example, not a secret';
const DAY_MS = 24 * 60 * 60_000;
const python = await findPython();
const PYTHONS = [null, ...(python?.modes.includes('stream') ? [python.program] : [])];

let server: TestServer;
let folder: string;
let relay: Relay;
let bots: Bot[] = [];
afterEach(async () => {
  for (const bot of bots.splice(0)) await bot.stop('SIGKILL');
  relay.stop();
  await server.stop();
  await rm(folder, { recursive: true });
});

async function start(which: (bot: Bot) => boolean = () => true): Promise<void> {
  server = await TestServer.withMarket(streamLimits({ heartbeatMs: 200 }));
  relay = await Relay.to(server.exchange.port);
  folder = await mkdtemp(join(tmpdir(), 'bots-'));
  bots = PYTHONS.flatMap((program) =>
    (['market-maker', 'taker'] as const).map(
      (name) =>
        new Bot(name, folder, relay.url, program === null ? null : { program, mode: 'stream' }),
    ),
  ).filter(which);
}

async function signedUp(username: string): Promise<Api> {
  const api = new Api({ url: `${server.api.url}/api` });
  api.token = (await client.register(api, { username, password: PASSWORD })).token;
  return api;
}

/** Sells to the makers' bids, then cheaply to the takers, until each bot has shares. */
async function trade(): Promise<void> {
  const api = await signedUp('seller');
  await client.split(api, MARKET, 4_000);
  for (const bot of bots) bot.start();
  await untilShares(true, async () => {
    const bids = { outcome: 'UP', shares: 50, price: '0.48' } as const;
    await client.sell(api, MARKET, bids).catch((error) => expect(client.isRefusal(error)));
  });
  const offers = { outcome: 'UP', shares: 500, price: '0.45', timeInForce: 'GTC' } as const;
  await client.sell(api, MARKET, offers);
  await untilShares(false);
}

/** Waits until each maker or each taker has shares. */
function untilShares(isMaker: boolean, meanwhile = async () => {}): Promise<void> {
  return eventually(async () => {
    for (const bot of bots.filter((each) => each.isMaker === isMaker)) {
      if (!bot.hasShares) await meanwhile();
      expect(bot.hasShares, `${bot.name} ${bot.errors}`).toBe(true);
    }
  });
}

const closed = () => server.passTime(WINDOW_START_MS + WINDOW_MS + 3_000, 100_100);

/** Each bot exits by itself once its market is paid, with books that equal the exchange's. */
async function expectGoodEnds(): Promise<void> {
  const exits = await Promise.all(bots.map((bot) => bot.stop('SIGTERM')));
  expect(exits, bots.map(({ errors }) => errors).join('')).toEqual(bots.map(() => 0));
  for (const bot of bots) await bot.reconciled();
}

test('a dead token: status 1, why, and that orders still rest', async () => {
  await start();
  await trade();
  for (const bot of bots) {
    const { api } = await bot.signedIn();
    await client.changePassword(api, { currentPassword: PASSWORD, newPassword: 'another one' });
  }
  for (const bot of bots) {
    expect(await bot.exit, `${bot.name} ${bot.errors}`).toBe(1);
    expect(bot.errors, bot.name).toMatch(/cannot go on: token_revoked/);
    expect(bot.errors, bot.name).toMatch(/Its \d+ orders still rest/);
  }
});

test('a market that is void', async () => {
  await start();
  await trade();
  server.clock.set(WINDOW_START_MS + WINDOW_MS + 120_000);
  await server.advance();
  const { json } = await server.api.get(`/markets/${MARKET}`);
  expect(json.resolution).toBe('VOID');
  await expectGoodEnds();
});

test('a day away, while the market was paid', async () => {
  await start();
  await trade();
  await Promise.all(bots.map((bot) => bot.stop('SIGKILL')));
  await closed();
  await server.passTime(server.clock.nowMs() + DAY_MS + WINDOW_MS, 100_100);
  for (const bot of bots) bot.start();
  await eventually(() => {
    for (const bot of bots) expect(bot.hasShares, `${bot.name} ${bot.errors}`).toBe(false);
  });
  await expectGoodEnds();
});

test('deltas that are lost, each once', async () => {
  await start();
  await trade();
  const lost = new Set<string>();
  relay.loses = (text) => {
    const loses = text.includes('"delta"') && lost.size % 3 !== 1 && !lost.has(text);
    lost.add(text);
    return loses;
  };
  await eventually(() => expect(lost.size).toBeGreaterThan(10));
  await closed();
  await expectGoodEnds();
});

test('an order of a taker that meets thousands of others', async () => {
  await start(({ isMaker }) => !isMaker);
  let largest = 0;
  relay.loses = (text) => {
    if (text.startsWith('{"type":"part"')) largest = Math.max(largest, JSON.parse(text).parts);
    return false;
  };
  const offer = { op: 'sell', marketId: MARKET, outcome: 'UP', shares: '0.002' } as const;
  const order = { ...offer, price: '0.45', timeInForce: 'GTC' } as const;
  const orders = Array.from({ length: 100 }, () => order);
  for (let seller = 0; seller < 5; seller++) {
    const api = await signedUp(`seller-${seller}`);
    await client.split(api, MARKET, 2);
    for (let i = 0; i < 10; i++) await client.batch(api, orders);
  }
  for (const bot of bots) bot.start();
  // A taker that starts quickly may buy everything before the next one has started.
  let late = 0;
  await untilShares(false, async () => {
    const api = await signedUp(`late-seller-${late++}`);
    await client.split(api, MARKET, 1);
    await client.batch(api, orders);
  });
  expect(largest).toBeGreaterThan(1);
  await closed();
  await expectGoodEnds();
});
