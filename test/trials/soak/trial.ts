/**
 * A day of exchange time, 60 times as fast, with everything on: mixed load over HTTP and the stream
 * at edge threads, bots that keep their own books, commands of operators, backups, an archive that
 * takes the journal's segments, and two upgrades of copies. Every acknowledged command is in the
 * journal with the same bytes, the bots' books equal the exchange's, and memory, descriptors, the
 * journal and the lag of the follower stay level.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { FORMAT_VERSION } from '../../../persistence/journal/format.js';
import { compiledFile } from '../../../persistence/storage/program-folder.js';
import { extent, SEED } from '../../support/extent.js';
import { setVersion } from '../../support/folders/version.js';
import { Client } from '../../support/http/client.js';
import { HOST } from '../../support/http/messages.js';
import { replayJournal } from '../../support/journal-fixture.js';
import { Bot } from '../../support/load/bots.js';
import { Executions, judge, NO_PROBLEM } from '../../support/load/judge.js';
import { Load } from '../../support/load/load.js';
import { freePort } from '../../support/processes/free-port.js';
import { inFolder } from '../../support/processes/machine.js';
import { replayProblems } from '../../support/processes/replay-tool.js';
import { metricIn } from '../../support/server.js';
import { Random } from '../../support/workload/random.js';
import { errorsIn, startExchange } from '../exchange.js';
import { judgeLevel, KINDS, type Kind, type Sample } from './level.js';

const MINUTES = extent(24);
/** In a shorter run, the warm-up is longer than the rest. */
const JUDGED_FROM_MINUTES = 10;
const SPEED = 60;
const CLIENTS = 32;
const PAUSE_MS = 100;
const READS = 0.5;
const STREAMS = 12;
/** One in four streams reads nothing. */
const SLOW_EVERY = 4;
const OPERATOR_EVERY_MS = 5_000;
const COPY_EVERY_MS = 60_000;
const OPERATOR_KEY = 'operator-key-of-the-soak';
const ASSETS = 'BTC,ETH,SOL';
const VARIABLES = {
  EDGE_THREADS: '2',
  ASSETS,
  SEGMENT_MEGABYTES: '4',
  SNAPSHOT_EVERY_SECONDS: '1800',
  OPERATOR_KEYS: `olga:${createHash('sha256').update(OPERATOR_KEY).digest('hex')}`,
};

/** Subscribes to channels and hangs up at a random moment, repeatedly. */
async function stream(port: number, load: Load, index: number, random: Random): Promise<number> {
  let messages = 0;
  while (!load.isOver) {
    const socket = new WebSocket(`ws://${HOST}:${port}/api/stream`);
    socket.on('error', () => {});
    socket.on('message', () => messages++);
    socket.on('open', () => {
      const ofMarket = ['book', 'trades'].map((name) => `${name}:${load.marketId}`);
      const channels = ['markets', 'prices:BTC', ...(load.marketId === '' ? [] : ofMarket)];
      socket.send(JSON.stringify({ op: 'subscribe', channels }));
      if (index % SLOW_EVERY === 0) socket.pause();
    });
    await sleep(random.whole(500, 15_000));
    socket.terminate();
  }
  return messages;
}

/**
 * Acts as an operator, one action after another, each of which is then undone. Returns how often.
 */
async function operate(operationsPort: number, load: Load, users: number): Promise<number> {
  const ask = async (path: string, body: object) => {
    const answer = await fetch(`http://${HOST}:${operationsPort}/api/operator/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${OPERATOR_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ reason: 'soak', ...body }),
    });
    const text = await answer.text();
    // A market may have ended since it was read.
    if (![200, 409].includes(answer.status)) throw new Error(`${path}: ${answer.status} ${text}`);
  };
  let count = 0;
  const random = new Random(SEED);
  for (; !load.isOver; count++) {
    const user = `users/u${random.whole(users - CLIENTS + 1, users)}`;
    const asset = random.pick(['BTC', 'ETH', 'SOL']);
    const rules = { ruleSet: 2, feeRate: random.whole(20, 60) / 10_000 };
    switch (count % 5) {
      case 0:
        await ask('pause', { asset });
        await sleep(500);
        await ask('resume', { asset });
        break;
      case 1:
        await ask(`${user}/freeze`, {});
        await sleep(500);
        await ask(`${user}/unfreeze`, {});
        break;
      case 2:
        await ask(`${user}/cancel-orders`, {});
        break;
      case 3:
        await ask('rules', rules);
        break;
      default:
        if (load.marketId !== '') await ask(`markets/${load.marketId}/void`, {});
    }
    await sleep(OPERATOR_EVERY_MS);
  }
  return count;
}

async function operations(command: string, ...args: string[]): Promise<string> {
  const program = compiledFile('persistence/tools/operations/main.js');
  return (await promisify(execFile)(process.execPath, [program, command, ...args])).stdout;
}

/**
 * Upgrades a copy to the next version and back, and starts each version's program on it. The
 * versions differ only in their number, so this program stands for both.
 */
async function upgrade(backup: string, folder: string): Promise<void> {
  const [before, after] = ['before', 'after'].map((name) => join(folder, name));
  const [from, to] = [join(before!, 'data'), join(after!, 'data')];
  cpSync(backup, from, { recursive: true });
  await setVersion(from, FORMAT_VERSION - 1);
  await operations('upgrade', '--data', from, '--to', to);
  await setVersion(from, FORMAT_VERSION);
  for (const each of [after!, before!]) {
    const started = await startExchange(each, SPEED, { ASSETS, HOUSE: 'off' });
    await started.process.mustStop();
    expect(errorsIn(started.process.log)).toEqual([]);
    expect(await replayProblems(started.data)).toEqual([]);
  }
  rmSync(folder, { recursive: true });
}

interface Copies {
  archived: number;
  upgrades: number;
}

/** Makes backups in `folder`, archives older segments, and upgrades two copies, repeatedly. */
async function copy(data: string, folder: string, load: Load): Promise<Copies> {
  const [backup, archive] = [join(folder, 'backup'), join(folder, 'archive')];
  const copies = { archived: 0, upgrades: 0 };
  const beganAtMs = performance.now();
  const upgradesAtMinutes = [MINUTES / 3, (2 * MINUTES) / 3, Number.POSITIVE_INFINITY];
  while (!load.isOver) {
    await operations('backup', '--data', data, '--to', backup);
    const said = await operations('archive', '--data', data, '--to', archive);
    copies.archived += said.match(/journal[\w.-]*\.db/g)?.length ?? 0;
    const minutes = (performance.now() - beganAtMs) / 60_000;
    if (minutes >= upgradesAtMinutes[copies.upgrades]!)
      await upgrade(backup, join(folder, `upgrade-${++copies.upgrades}`));
    for (let waited = 0; waited < COPY_EVERY_MS && !load.isOver; waited += 500) await sleep(500);
  }
  return copies;
}

function bytesIn(folder: string, pattern: RegExp): number {
  const files = readdirSync(folder).filter((name) => pattern.test(name));
  // The exchange and the archive remove files during the walk.
  const sizes = files.map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size);
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}

/** A text for the table, which breaks lines at spaces. */
function shown(figures: Readonly<Record<string, unknown>>): string {
  const rounded = (value: unknown) => (typeof value === 'number' ? Math.round(value) : value);
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${rounded(value)}`)
    .join(', ');
}

interface Watched {
  load: Load;
  operationsPort: number;
  data: string;
  pid: number;
}

/** Takes samples every second until the load is over. */
async function watch({ load, operationsPort, data, pid }: Watched) {
  const samples = Object.fromEntries(KINDS.map((kind) => [kind, [] as Sample[]]));
  const client = new Client({ port: operationsPort });
  while (!load.isOver) {
    const { text } = await client.mustAsk({ path: '/metrics' });
    const memory = (kind: string) => metricIn(text, `exchange_memory_bytes{kind="${kind}"}`);
    const values: Record<Kind, number> = {
      resident: memory('rss'),
      heap: memory('heapUsed'),
      external: memory('external'),
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      journal: bytesIn(data, /^journal.*\.db$/),
      lagSeconds: metricIn(text, 'exchange_follower_lag_seconds'),
    };
    const atMs = performance.now();
    for (const kind of KINDS) samples[kind]!.push({ atMs, value: values[kind] });
    await sleep(1_000);
  }
  client.close();
  return samples as Record<Kind, Sample[]>;
}

test('nothing acknowledged is lost or doubled, books agree, and nothing grows', ({ annotate }) =>
  inFolder(tmpdir(), async (folder) => {
    const operationsPort = await freePort();
    const variables = { ...VARIABLES, OPERATIONS_PORT: `${operationsPort}` };
    const { process: exchange, data, url } = await startExchange(folder, SPEED, variables);
    const bots = (['market-maker', 'taker'] as const).map(
      (name) => new Bot(name, folder, url.replace(/\/api$/, '')),
    );
    try {
      for (const bot of bots) bot.start();
      await expect.poll(() => Promise.all(bots.map((bot) => bot.books()))).toBeTruthy();
      const random = new Random(SEED);
      const options = { urls: () => [url], random, clients: CLIENTS, pauseMs: PAUSE_MS };
      const load = new Load({ ...options, reads: READS });
      await load.start();
      const streams = Array.from({ length: STREAMS }, (_, i) =>
        stream(exchange.port, load, i, random),
      );
      // The house and the bots were registered before the clients.
      const operated = operate(operationsPort, load, CLIENTS + bots.length + 1);
      const copied = copy(data, folder, load);
      const watched = watch({ load, operationsPort, data, pid: exchange.pid });
      const others = Promise.all([operated, copied, watched, ...streams]);
      await Promise.race([sleep(MINUTES * 60_000), others]);
      await load.stop();
      const [actions, { archived, upgrades }, samples, ...heard] = await others;
      for (const bot of bots) expect(await bot.stop('SIGTERM'), bot.errors).toBe(0);
      const trades = (await Promise.all(bots.map((bot) => bot.reconciled()))).map(
        ({ counts }) => (counts['fill as maker'] ?? 0) + (counts['fill as taker'] ?? 0),
      );
      await exchange.mustStop();
      expect(errorsIn(exchange.log)).toEqual([]);

      const [backup, archive] = ['backup', 'archive'].map((name) => join(folder, name));
      if (archived > 0) await operations('archive', '--data', data, '--to', archive!, '--restore');
      const executions = new Executions();
      await replayJournal(data, (engine, command) => {
        const isOfBot = 'userId' in command && command.userId <= bots.length + 1;
        if (!isOfBot) executions.take(engine, command);
      });
      expect(judge(executions, load)).toEqual(NO_PROBLEM);
      for (const each of [data, backup!]) expect(await replayProblems(each)).toEqual([]);
      const { acknowledged, retries, refused } = load;
      const messages = heard.reduce((sum, each) => sum + each, 0);
      const kept = bytesIn(data, /^history\.db$/) + bytesIn(data, /^journal/);
      const work = {
        acknowledged: acknowledged.length,
        retries,
        messages,
        actions,
        archived,
        upgrades,
      };
      await annotate(shown({ ...work, ...Object.fromEntries(refused) }));
      await annotate(
        shown({ 'fills of the bots': trades.join(' and '), 'bytes of the folder': kept }),
      );
      const isWhole = MINUTES >= JUDGED_FROM_MINUTES;
      if (isWhole) expect(upgrades).toBe(2);
      for (const kind of KINDS) {
        const level = judgeLevel(kind, samples[kind]);
        await annotate(`${kind}: ${level === null ? 'too few samples' : shown({ ...level })}`);
        if (isWhole) expect(level, kind).toMatchObject({ isLevel: true });
      }
    } finally {
      for (const bot of bots) await bot.stop('SIGKILL');
      await exchange.stop('SIGKILL');
    }
  }));
