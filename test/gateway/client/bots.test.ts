/**
 * The example bots: they trade over several markets against the house and each other, are killed
 * and started again at random together with the exchange, and end with books that equal the
 * exchange's to the micro-dollar.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { extent, SEED } from '../../support/extent.js';
import { Bot } from '../../support/load/bots.js';
import { ChildServer, freePort } from '../../support/programs.js';
import { Random } from '../../support/workload/random.js';

const OPERATOR_KEY = 'operator-key-of-the-bots';
const KILLS = extent(20, 1);
/** A market lasts 7.5 s, and an idempotency key 30 s: longer than any downtime here. */
const SPEED = 120;
const LIMIT_MS = 120_000 + KILLS * 15_000;

const random = new Random(SEED);
let server: ChildServer;
const folder = await mkdtemp(join(tmpdir(), 'exchange-bots-'));
/** Bots connect to the same address again, so the exchange keeps it. */
const port = await freePort();
const operationsPort = await freePort();
const url = `http://127.0.0.1:${port}/api`;
const bots = [new Bot('market-maker', folder, url), new Bot('taker', folder, url)];
afterAll(async () => {
  for (const bot of bots) await bot.stop('SIGKILL');
  await server?.stop('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

async function startExchange(): Promise<void> {
  server = ChildServer.spawn({
    DATA_FOLDER: join(folder, 'data'),
    PORT: `${port}`,
    ASSETS: 'BTC,ETH',
    FEED_SPEED: `${SPEED}`,
    LOG_LEVEL: 'warn',
    OPERATIONS_PORT: `${operationsPort}`,
    OPERATOR_KEYS: `olga:${createHash('sha256').update(OPERATOR_KEY).digest('hex')}`,
  });
  await (await server.listening()).close();
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** No order is accepted for a while, which ends no bot. */
async function pause(): Promise<void> {
  for (const verb of ['pause', 'resume']) {
    const answer = await fetch(`http://127.0.0.1:${operationsPort}/api/operator/${verb}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${OPERATOR_KEY}`, 'content-type': 'application/json' },
      body: '{"reason":"a test"}',
    });
    expect(answer.status).toBe(200);
    await sleep(1_000);
  }
}

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
  await pause();
  for (const bot of bots) expect(await bot.stop('SIGTERM'), bot.errors).toBe(0);
  const [maker, taker] = [await bots[0]!.reconciled(), await bots[1]!.reconciled()];
  const shown = [maker, taker].map(({ counts, byCause }) => ({ counts, byCause }));
  process.stdout.write(`${KILLS} kills: ${JSON.stringify(shown)}\n`);
  await eventually(() => !/"level":"(error|fatal)"/.test(server.stderr));
});
