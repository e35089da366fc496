/**
 * The example bots: they trade over several markets against the house and each other, are killed
 * and started again at random together with the exchange, and end with books that equal the
 * exchange's to the micro-dollar.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Random } from '../../../bench/workload/random.js';
import type { Books } from '../../../gateway/client/examples/saved.js';
import * as client from '../../../gateway/client/index.js';
import { Api } from '../../../gateway/client/index.js';
import { eventually } from '../../support/eventually.js';
import { extent, SEED } from '../../support/extent.js';
import { ChildServer, freePort } from '../../support/programs.js';

const KILLS = extent(20, 1);
/** A market lasts 7.5 s, and an idempotency key 30 s: longer than any downtime here. */
const SPEED = 120;
const LIMIT_MS = 120_000 + KILLS * 15_000;
const PASSWORD = 'an example, not a secret';
const EXAMPLES = fileURLToPath(new URL('../../../dist/gateway/client/examples', import.meta.url));

const random = new Random(SEED);
let folder: string;
/** Bots connect to the same address again, so the exchange keeps it. */
let port: number;
let server: ChildServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exchange-bots-'));
  port = await freePort();
});
afterAll(async () => {
  for (const bot of bots) await bot.stop('SIGKILL');
  await server?.stop('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

class Bot {
  errors = '';
  private startedAtMs = 0;
  private child: ChildProcess | null = null;
  private exited: Promise<number | null> = Promise.resolve(null);

  constructor(readonly name: 'market-maker' | 'taker') {}

  start(): void {
    const program = join(EXAMPLES, `${this.name}.js`);
    const args = [program, `http://127.0.0.1:${port}/api`, this.name, this.file];
    this.startedAtMs = Date.now();
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'pipe'] });
    child.stderr.on('data', (data) => (this.errors += data));
    this.exited = new Promise((resolve) => child.on('close', resolve));
    this.child = child;
  }

  stop(signal: NodeJS.Signals): Promise<number | null> {
    this.child?.kill(signal);
    return this.exited;
  }

  get file(): string {
    return join(folder, `${this.name}.json`);
  }

  /** Fails until the bot has written them since its last start: then it obeys signals. */
  async books(): Promise<Books> {
    expect((await stat(this.file)).mtimeMs).toBeGreaterThan(this.startedAtMs);
    return JSON.parse(await readFile(this.file, 'utf8'));
  }
}

const bots = [new Bot('market-maker'), new Bot('taker')];

async function startExchange(): Promise<void> {
  server = ChildServer.spawn({
    DATA_FOLDER: join(folder, 'data'),
    PORT: `${port}`,
    ASSETS: 'BTC,ETH',
    FEED_SPEED: `${SPEED}`,
    LOG_LEVEL: 'warn',
  });
  await (await server.listening()).close();
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Kills at a random moment: everything, at first, and then also the exchange or a bot alone. */
async function kill(isFirst: boolean): Promise<void> {
  await sleep(random.whole(500, 4_000));
  const picked = random.pick(['everything', 'everything', 'exchange', 'bot'] as const);
  const what = isFirst ? 'everything' : picked;
  const killed = what === 'everything' ? bots : what === 'bot' ? [random.pick(bots)] : [];
  const kills: Promise<unknown>[] = killed.map((bot) => bot.stop('SIGKILL'));
  if (what !== 'bot') kills.push(server.stop('SIGKILL'));
  await Promise.all(kills);
  // A bot that begins without an exchange gives up.
  if (what !== 'bot') await startExchange();
  for (const bot of killed) bot.start();
}

/** The books of a bot that has ended, beside what the exchange says. */
async function reconcile(bot: Bot): Promise<Books> {
  const api = new Api({ url: `http://127.0.0.1:${port}/api` });
  const signedIn = await client.login(api, { username: bot.name, password: PASSWORD });
  api.token = signedIn.token;
  const { userId } = signedIn;
  const books = await bot.books();
  expect(books.isFinished, bot.errors).toBe(true);
  const { available, held } = await client.balance(api, userId);
  const { availableMicros, heldMicros } = books.account!;
  expect([availableMicros, heldMicros]).toEqual([
    client.toMicros(available),
    client.toMicros(held),
  ]);
  expect(heldMicros).toBe(0);
  expect((await client.orders(api, userId)).orders).toEqual([]);
  expect((await client.positions(api, userId)).positions).toEqual([]);
  const entries = client.pages((paging) => client.ledger(api, userId, paging), 'entries');
  // Newest first: each balance is the one after it, without the change.
  const stated = { available: availableMicros, held: heldMicros };
  for await (const entry of entries) {
    const { balance, sequence } = entry;
    const after = {
      available: client.toMicros(balance.available),
      held: client.toMicros(balance.held),
    };
    expect(after, `the statement at sequence ${sequence}`).toEqual(stated);
    stated.available -= client.toMicros(entry.available);
    stated.held -= client.toMicros(entry.held);
  }
  expect(stated).toEqual({ available: 0, held: 0 });
  // Nothing was missed, over all kills: the events since the first add up to the balance.
  expect(books.gaps).toBe(0);
  const sum = Object.values(books.byCause).reduce((total, micros) => total + micros, 0);
  expect(sum).toBe(availableMicros);
  const fills = { taker: 0, maker: 0, feesMicros: 0 };
  const trades = client.pages((paging) => client.userTrades(api, userId, paging), 'trades');
  for await (const { role, fee } of trades) {
    fills[role]++;
    fills.feesMicros += client.toMicros(fee);
  }
  const { counts, feesMicros } = books;
  const own = { taker: counts['fill as taker'] ?? 0, maker: counts['fill as maker'] ?? 0 };
  expect({ ...own, feesMicros }).toEqual(fills);
  return books;
}

test(`end with the books of the exchange after ${KILLS} kills, SEED=${SEED}`, {
  timeout: LIMIT_MS,
}, async () => {
  await startExchange();
  for (const bot of bots) bot.start();
  for (let killed = 0; killed < KILLS; killed++) await kill(killed === 0);
  await eventually(async () => {
    const [maker, taker] = [await bots[0]!.books(), await bots[1]!.books()];
    expect(maker.counts['fill as maker']).toBeGreaterThan(0);
    expect(taker.counts['fill as taker']).toBeGreaterThan(0);
    expect((maker.counts['claimed'] ?? 0) + (taker.counts['claimed'] ?? 0)).toBeGreaterThan(0);
  }, 90_000);
  for (const bot of bots) expect(await bot.stop('SIGTERM'), bot.errors).toBe(0);
  const [maker, taker] = [await reconcile(bots[0]!), await reconcile(bots[1]!)];
  const shown = [maker, taker].map(({ counts, byCause }) => ({ counts, byCause }));
  process.stdout.write(`${KILLS} kills: ${JSON.stringify(shown)}\n`);
  await eventually(() => !/"level":"(error|fatal)"/.test(server.stderr));
});
