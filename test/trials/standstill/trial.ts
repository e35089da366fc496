/**
 * The built exchange with millions of users, while clients trade, markets settle, snapshots are
 * taken and the day's leaderboards roll over. No thread that answers clients computes for longer
 * than {@link ALLOWED_MS} without a pause. The machine may delay a thread further, so only the
 * thread's own CPU time counts. The thread that writes a snapshot does nothing else, so it is
 * exempt.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Command } from '../../../engine/interface/commands.js';
import { extent } from '../../support/extent.js';
import { HOST } from '../../support/http/messages.js';
import { Load } from '../../support/load/load.js';
import { ExchangeProcess } from '../../support/processes/exchange-process.js';
import { makeFolder, removeFolder } from '../../support/processes/machine.js';
import { LARGE_AT_MS, largeExchange } from '../../support/workload/large-exchange.js';
import { WINDOW_START_MS } from '../../support/workload/open-market.js';
import { Random } from '../../support/workload/random.js';
import { writeFolder } from '../write-folder.js';
import type { StandStill } from './probe.js';

const ALLOWED_MS = 100;
const CLIENTS = 8;
const SHOWN = 5;
const PRICE_EVERY_MS = 10_000;
const START_MS_MAX = 600_000;
const UNLIMITED = '1000000/1000000';
const SNAPSHOT_WRITER = 'snapshot/';
/** The file imports no other file of this project, so Node.js runs it directly. */
const PROBE = join(import.meta.dirname, 'probe.ts');
const SPEED = 300;
const TRADERS = 100_000;
/** As many users as an exchange takes, minus a few for the clients. */
const USERS = extent(3_999_900);
const SECONDS = extent(300);

test('no thread computes for long without a pause', async ({ annotate }) => {
  const folder = makeFolder(process.cwd());
  try {
    const judged = await measure(folder, annotate);
    expect(judged.filter(({ cpuMs }) => cpuMs > ALLOWED_MS)).toEqual([]);
  } finally {
    removeFolder(folder);
  }
});

function* large(): Generator<[Command, number]> {
  for (const command of largeExchange({ users: USERS, traders: TRADERS }))
    yield [command, LARGE_AT_MS];
}

type Annotate = (text: string) => Promise<unknown>;

/** Returns the stand-stills that count. */
async function measure(folder: string, annotate: Annotate): Promise<StandStill[]> {
  const dataFolder = join(folder, 'data');
  await writeFolder(dataFolder, large());
  const startedMs = performance.now();
  const standStills = join(folder, 'standstill.ndjson');
  const exchange = await ExchangeProcess.start(
    {
      environment: { ...environment(folder, dataFolder), STANDSTILL_FILE: standStills },
      logFile: join(folder, 'log.ndjson'),
      nodeOptions: ['--enable-source-maps', '--import', PROBE],
    },
    START_MS_MAX,
  );
  try {
    const openMs = Date.now();
    await annotate(`${USERS} users, started in ${Math.round(performance.now() - startedMs)} ms`);
    const commands = await trade(exchange.port);
    await annotate(`${commands} commands were answered; its log: ${countedMessages(exchange.log)}`);
    return await judgedOf(standStills, openMs, annotate);
  } finally {
    await exchange.stop('SIGKILL');
  }
}

function environment(folder: string, dataFolder: string) {
  return {
    PORT: '0',
    DATA_FOLDER: dataFolder,
    ASSETS: 'BTC',
    PRICE_FEED: `file:${writePrices(folder)}`,
    FEED_SPEED: `${SPEED}`,
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

function writePrices(folder: string): string {
  const path = join(folder, 'prices.csv');
  const random = new Random('standstill');
  const lines = ['observedAtMs,asset,price'];
  const fromMs = WINDOW_START_MS + 2_000;
  const lastMs = fromMs + (SECONDS + 600) * 1_000 * SPEED;
  for (let atMs = fromMs, price = 90_000; atMs < lastMs; atMs += PRICE_EVERY_MS) {
    price += random.whole(-20, 20);
    lines.push(`${atMs},BTC,${price}`);
  }
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

/** Returns the number of commands that were answered. */
async function trade(port: number): Promise<number> {
  const url = `http://${HOST}:${port}/api`;
  const random = new Random('standstill');
  const load = new Load({ urls: () => [url], random, clients: CLIENTS, pauseMs: 4, reads: 0.1 });
  await load.start();
  await sleep(SECONDS * 1_000);
  await load.stop();
  return load.acknowledged.length;
}

function countedMessages(log: string): string {
  const counts = new Map<string, number>();
  for (const line of log.split('\n')) {
    if (!line.startsWith('{')) continue;
    const { msg } = JSON.parse(line);
    counts.set(msg, (counts.get(msg) ?? 0) + 1);
  }
  return [...counts].map(([message, count]) => `${count} × ${message}`).join(', ');
}

/** Reports the longest stand-stills of each thread while the exchange was open. */
async function judgedOf(file: string, openMs: number, annotate: Annotate): Promise<StandStill[]> {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const all = text
    .split('\n')
    .filter(Boolean)
    .map((line): StandStill => JSON.parse(line))
    .filter(({ atMs }) => atMs >= openMs);
  for (const thread of new Set(all.map((each) => each.thread))) {
    const own = all.filter((each) => each.thread === thread);
    own.sort((a, b) => b.cpuMs - a.cpuMs);
    const longest = own
      .slice(0, SHOWN)
      .map(({ cpuMs, waitMs }) => `${cpuMs.toFixed(0)} (${waitMs.toFixed(0)})`);
    await annotate(
      `${thread}: ${own.length} stand-stills; ms computed (waited): ${longest.join(', ')}`,
    );
  }
  return all.filter(({ thread }) => !thread.startsWith(SNAPSHOT_WRITER));
}
