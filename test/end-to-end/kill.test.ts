/**
 * The built program, killed with SIGKILL repeatedly while clients trade on many connections, and
 * restarted on the same folder. Every acknowledged command is in the journal exactly once, and its
 * answer has the same bytes; a key returns its first answer; an executed number (Client-Sequence)
 * is refused permanently; and every digest shown is the journal's. Snapshots and history are
 * intact, although every third kill interrupts a snapshot. SEED repeats the choices and, as far as
 * a clock allows, the times of the kills.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.js';
import { extent, SEED } from '../support/extent.js';
import { replayJournal } from '../support/journal-fixture.js';
import { Executions, judge, NO_PROBLEM } from '../support/load/judge.js';
import { Load } from '../support/load/load.js';
import { type ChildServer, Exchanges, programLines } from '../support/programs.js';
import { ofType } from '../support/replay-tool.js';
import type { ApiClient } from '../support/server.js';
import { Random } from '../support/workload/random.js';

const KILLS = extent(100, 2);
const CLIENTS = 24;
/**
 * At this speed a market lasts 15 s and a key 60 s, which is enough for a slow machine to repeat a
 * command.
 */
const SPEED = 60;
const LIMIT_MS = 120_000 + KILLS * 40_000;
const SNAPSHOT_WAIT_MS = 2_000;

const exchanges = new Exchanges({
  ASSETS: 'BTC',
  FEED_SPEED: `${SPEED}`,
  SNAPSHOT_EVERY_COMMANDS: '1000',
  LOG_LEVEL: 'warn',
});
const { folder } = exchanges;
const random = new Random(SEED);
const digests = new Map<number, string>();
let server: ChildServer;
let api: ApiClient;

afterAll(() => exchanges.end());

async function start(): Promise<void> {
  server = exchanges.spawn();
  api = await exchanges.listening(server);
  await look();
}

async function look(): Promise<void> {
  const { status, json } = await api.get('/status');
  if (status === 200) digests.set(json.sequence, json.digest);
}

/** Files of snapshots that were unfinished at the time of the kill. */
function unfinishedSnapshots(): string[] {
  const snapshots = join(folder, 'snapshots');
  const all = existsSync(snapshots) ? readdirSync(snapshots) : [];
  return all.filter((name) => name.endsWith('.tmp'));
}

/** Resolves when a snapshot is being written, or after a while if none is. */
async function whileSnapshotIsWritten(): Promise<void> {
  const from = performance.now();
  while (unfinishedSnapshots().length === 0 && performance.now() - from < SNAPSHOT_WAIT_MS)
    await sleep(1);
}

test(`loses nothing that was acknowledged and executes nothing twice, SEED=${SEED}`, {
  timeout: LIMIT_MS,
}, async ({ annotate }) => {
  await start();
  const load = new Load({ urls: () => [`${api.url}/api`], random, clients: CLIENTS, pauseMs: 5 });
  await load.start();
  let unfinished = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const before = load.acknowledged.length;
    await eventually(() => load.acknowledged.length - before > 6 * CLIENTS);
    await look();
    await (kill % 3 === 0 ? whileSnapshotIsWritten() : sleep(random.whole(20, 900)));
    // Sometimes the exchange is about to stop by itself.
    if (random.chance(0.15)) {
      server.child.kill('SIGTERM');
      await sleep(random.whole(0, 20));
    }
    await server.stop('SIGKILL');
    expect(server.stderr).not.toMatch(/"level":"(error|fatal)"/);
    await api.close();
    unfinished += unfinishedSnapshots().length;
    if (kill % 5 === 4) {
      const starting = exchanges.spawn();
      await sleep(random.whole(0, 600));
      await starting.stop('SIGKILL');
    }
    await start();
  }
  await load.stop();
  await look();
  const { sequence } = (await api.read('/leaderboard?metric=volume&period=all')).json;
  expect(await server.stop()).toBe(0);

  // Whatever the kills interrupted, history and snapshots match the journal, entry by entry and
  // byte by byte.
  const verified = await programLines(folder, 'verify');
  expect(verified.at(-1)).toMatchObject({ type: 'verify', good: true });
  // The exchange keeps three snapshots. A kill after the fourth is written and before the oldest is
  // removed leaves four.
  const snapshots = ofType(verified, 'snapshot');
  expect(snapshots.length).toBeLessThan(5);
  expect(ofType(verified, 'history')[0]!.sequence).toBeGreaterThanOrEqual(sequence);
  expect(unfinishedSnapshots()).toEqual([]);

  expect(digests.size).toBeGreaterThan(KILLS);
  const executions = new Executions();
  const engine = await replayJournal(folder, (engine, command) => {
    executions.take(engine, command);
    const shown = digests.get(engine.sequence);
    if (shown !== undefined) expect(engine.digest()).toBe(shown);
    digests.delete(engine.sequence);
  });
  engine.checkInvariants();
  expect([...digests.keys()], 'sequences that were shown but are missing').toEqual([]);
  expect(judge(executions, load)).toEqual(NO_PROBLEM);

  const { acknowledged, retries, refused, sent } = load;
  const counts = {
    sent: sent.size,
    acknowledged: acknowledged.length,
    retries,
    replays: acknowledged.filter(({ isReplayed }) => isReplayed).length,
    stale: acknowledged.filter(({ isStale }) => isStale).length,
    unknown: sent.size - new Set(acknowledged.map(({ name }) => name)).size,
  };
  await annotate(
    `${KILLS} kills, ${unfinished} while a snapshot was written; ${engine.sequence} commands; ` +
      `${JSON.stringify(counts)}; ${JSON.stringify(Object.fromEntries(refused))}`,
  );
  expect(acknowledged.length).toBeGreaterThan(KILLS * CLIENTS);
  expect(Math.min(counts.replays, counts.stale, retries)).toBeGreaterThan(0);
  // Which cases a few kills reach is chance; a hundred kills reach all of them.
  if (KILLS < 100) return;
  expect(snapshots.length).toBeGreaterThan(2);
  expect(unfinished, 'kills during a snapshot').toBeGreaterThan(0);
  expect(counts.unknown).toBeGreaterThan(0);
});
