/**
 * The example bots, in TypeScript and Python: they trade over several markets against the house and
 * each other, are killed and restarted at random together with the exchange, and end with books
 * that equal the exchange's to the micro-dollar. In Python they stream and poll.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { extent, SEED } from '../../support/extent.js';
import { Bot, findPython } from '../../support/load/bots.js';
import { freePort } from '../../support/processes/free-port.js';
import { ChildServer } from '../../support/programs.js';
import { Random } from '../../support/workload/random.js';

const OPERATOR_KEY = 'operator-key-of-the-bots';
const KILLS = extent(20, 1);
/** Markets last 15 s. An idempotency key lasts a minute, longer than any downtime here. */
const SPEED = 60;
/** Generous, because a bot's markets and wins depend on luck, and machines may be slow. */
const LUCK_MS = 240_000;

const random = new Random(SEED);
let server: ChildServer;
const folder = await mkdtemp(join(tmpdir(), 'exchange-bots-'));
/** Bots reconnect to the same address, so the exchange keeps its port. */
const port = await freePort();
const operationsPort = await freePort();
const python = await findPython();
if (python === null) process.stderr.write('There is no python3: its bots are not tested.\n');
const pairs = [null, ...(python?.modes ?? []).map((mode) => ({ program: python!.program, mode }))];
const bots = pairs.flatMap((each) =>
  (['market-maker', 'taker'] as const).map(
    (name) => new Bot(name, folder, `http://127.0.0.1:${port}`, each),
  ),
);
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

/** Refuses orders for a while, which must not stop any bot. */
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

/** Kills at a random moment: at first everything, later the exchange or a bot at times. */
async function kill(isFirst: boolean): Promise<void> {
  await sleep(random.whole(500, 4_000));
  const picked = random.pick(['everything', 'everything', 'exchange', 'bot'] as const);
  const what = isFirst ? 'everything' : picked;
  const killed = what === 'everything' ? bots : what === 'bot' ? [random.pick(bots)] : [];
  const kills: Promise<unknown>[] = killed.map((bot) => bot.stop('SIGKILL'));
  if (what !== 'bot') kills.push(server.stop('SIGKILL'));
  await Promise.all(kills);
  // A bot that starts without an exchange gives up.
  if (what !== 'bot') await startExchange();
  for (const bot of killed) bot.start();
}

/** Waits until each pair has a bot with such a change. Luck decides which one. */
function have(cause: RegExp): Promise<void> {
  return eventually(() => {
    const did = (bot: Bot) =>
      Object.entries(bot.causes()).some(([name, micros]) => micros !== 0 && cause.test(name));
    for (let pair = 0; pair < bots.length; pair += 2)
      expect(bots.slice(pair, pair + 2).some(did), bots.map(({ errors }) => errors).join('')).toBe(
        true,
      );
  }, LUCK_MS);
}

test(`end with the books of the exchange after ${KILLS} kills, SEED=${SEED}`, {
  timeout: 3 * LUCK_MS + KILLS * 15_000,
}, async () => {
  await startExchange();
  for (const bot of bots) bot.start();
  await have(/fill/);
  for (let killed = 0; killed < KILLS; killed++) await kill(killed === 0);
  await have(/claim/);
  await pause();
  for (const bot of bots) expect(await bot.stop('SIGTERM'), bot.errors).toBe(0);
  for (const bot of bots) {
    await bot.reconciled();
    process.stdout.write(`${KILLS} kills, ${bot.name}: ${JSON.stringify(bot.causes())}\n`);
  }
  await eventually(() => !/"level":"(error|fatal)"/.test(server.stderr));
});
