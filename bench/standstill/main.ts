/**
 * `npm run standstill`: the built exchange with millions of users, while clients trade, markets
 * settle, snapshots are taken and the day's leaderboards roll over. Prints how long each thread
 * stood still at most. Exit status 1: a thread computed for longer than {@link ALLOWED_MS}.
 *
 * A thread that waits for a processor stands still, too, but that is the machine's doing: the
 * verdict is about the time in which the thread itself computed, and about threads that answer
 * somebody: the one that writes a snapshot does nothing else, and ends.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { compiledFile } from '../../persistence/storage/program-folder.js';
import { Client } from '../http/load/client.js';
import { commandLine, wholeNumberFrom } from '../measure/command-line.js';
import { ExchangeProcess } from '../measure/exchange-process.js';
import { makeFolder, removeFolder } from '../measure/machine.js';
import { WINDOW_START_MS } from '../workload/open-market.js';
import { Random } from '../workload/random.js';
import { writeLargeFolder } from './folder.js';
import type { StandStill } from './probe.js';

interface Settings {
  users: number;
  traders: number;
  seconds: number;
  speed: number;
}

const ALLOWED_MS = 100;
const CLIENTS = 8;
const SHOWN = 5;
const PRICE_EVERY_MS = 10_000;
const START_MS_MAX = 600_000;
const UNLIMITED = '1000000/1000000';
const SNAPSHOT_WRITER = 'snapshot/';
const PROBE = compiledFile('bench/standstill/probe.js');

const settings = commandLine('standstill', 'How long threads stand still with millions of users.')
  .option('--users <n>', 'registered users', wholeNumberFrom(1, 3_999_900), 3_999_900)
  .option('--traders <n>', 'of them with a position', wholeNumberFrom(0, 3_999_900), 100_000)
  .option('--seconds <n>', 'how long clients trade', wholeNumberFrom(1, 3_600), 300)
  .option('--speed <n>', 'exchange time as a multiple of real time', wholeNumberFrom(1, 1_000), 300)
  .parse()
  .opts<Settings>();

const folder = makeFolder(process.cwd());
process.exitCode = (await measure(folder)) ? 0 : 1;
removeFolder(folder);

async function measure(folder: string): Promise<boolean> {
  const dataFolder = join(folder, 'data');
  mkdirSync(dataFolder);
  await writeLargeFolder(dataFolder, settings);
  console.log(`${settings.users} users are in the journal`);
  const startedMs = performance.now();
  const standStills = join(folder, 'standstill.ndjson');
  const exchange = await ExchangeProcess.start({
    environment: { ...environment(dataFolder), STANDSTILL_FILE: standStills },
    logFile: join(folder, 'log.ndjson'),
    nodeOptions: ['--enable-source-maps', '--import', PROBE],
    killAfterMs: START_MS_MAX,
  });
  try {
    const openMs = Date.now();
    console.log(`started in ${Math.round(performance.now() - startedMs)} ms`);
    const orders = await trade(exchange.port);
    console.log(`${orders} orders were answered; what its log says:`);
    console.log(countedMessages(exchange.log));
    return report(standStills, openMs);
  } finally {
    await exchange.kill();
  }
}

function environment(dataFolder: string) {
  return {
    PORT: '0',
    DATA_FOLDER: dataFolder,
    ASSETS: 'BTC',
    PRICE_FEED: `file:${writePrices()}`,
    FEED_SPEED: `${settings.speed}`,
    STARTING_BALANCE: '1000000',
    PASSWORD_COST_LOG2: '10',
    SNAPSHOT_EVERY_COMMANDS: '50000',
    ORDERS_PER_USER: UNLIMITED,
    ORDERS_PER_ADDRESS: UNLIMITED,
    READS_PER_USER: UNLIMITED,
    READS_PER_ADDRESS: UNLIMITED,
    SIGN_INS_PER_ADDRESS: UNLIMITED,
    LOG_LEVEL: 'info',
  };
}

function writePrices(): string {
  const path = join(folder, 'prices.csv');
  const random = new Random('standstill');
  const lines = ['observedAtMs,asset,price'];
  const fromMs = WINDOW_START_MS + 2_000;
  const lastMs = fromMs + (settings.seconds + 600) * 1_000 * settings.speed;
  for (let atMs = fromMs, price = 90_000; atMs < lastMs; atMs += PRICE_EVERY_MS) {
    price += random.whole(-20, 20);
    lines.push(`${atMs},BTC,${price}`);
  }
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

/** Returns the number of orders that were answered. */
async function trade(port: number): Promise<number> {
  const endMs = performance.now() + settings.seconds * 1_000;
  const watch = new Client({ port });
  let marketId = '';
  let orders = 0;
  const look = async () => {
    while (performance.now() < endMs) {
      const { json } = await watch.ask({ path: '/markets/15m' });
      marketId = json?.markets?.[0]?.id ?? '';
      await watch.ask({ path: '/leaderboard?metric=volume&period=day' });
      await sleep(100);
    }
  };
  const client = async (index: number) => {
    const connection = new Client({ port });
    const random = new Random(`standstill:${index}`);
    const { token } = await connection.register(`live-${index}`);
    const headers = { 'x-user-token': token };
    while (performance.now() < endMs) {
      await sleep(random.whole(0, 4));
      const price = random.whole(450, 550) / 1_000;
      const outcome = random.pick(['UP', 'DOWN']);
      const timeInForce = random.pick(['GTC', 'IOC']);
      const body = { outcome, price, shares: 1, timeInForce };
      const path = `/markets/15m/${marketId}/buy`;
      const { status } = await connection.ask({ method: 'POST', path, headers, body });
      if (status === 200) orders++;
    }
    connection.close();
  };
  await Promise.all([look(), ...Array.from({ length: CLIENTS }, (_, i) => client(i))]);
  watch.close();
  return orders;
}

function countedMessages(log: string): string {
  const counts = new Map<string, number>();
  for (const line of log.split('\n')) {
    if (!line.startsWith('{')) continue;
    const { msg } = JSON.parse(line);
    counts.set(msg, (counts.get(msg) ?? 0) + 1);
  }
  return [...counts].map(([message, count]) => `  ${count} × ${message}`).join('\n');
}

/** Prints the longest stand-stills of each thread while it was open. */
function report(file: string, openMs: number): boolean {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const all = text
    .split('\n')
    .filter(Boolean)
    .map((line): StandStill => JSON.parse(line))
    .filter(({ atMs }) => atMs >= openMs);
  for (const thread of new Set(all.map((each) => each.thread))) {
    const own = all.filter((each) => each.thread === thread);
    own.sort((a, b) => b.cpuMs - a.cpuMs);
    console.log(`${thread}: ${own.length} stand-stills; the longest by its own computing:`);
    for (const { atMs, lengthMs, cpuMs, waitMs } of own.slice(0, SHOWN))
      console.log(
        `  ${cpuMs.toFixed(0)} ms computed, ${waitMs.toFixed(0)} ms waited for a processor, ${lengthMs.toFixed(0)} ms in all, ${((atMs - openMs) / 1_000).toFixed(1)} s after the start`,
      );
  }
  const judged = all.filter(({ thread }) => !thread.startsWith(SNAPSHOT_WRITER));
  return judged.every(({ cpuMs }) => cpuMs <= ALLOWED_MS);
}
