/**
 * kill -9 of a process with a follower loses and duplicates nothing, at any moment. The process
 * runs the build in dist/ (`npm test` makes it).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readCommand, timeOf } from '../../../engine/interface/command-record.js';
import { checkRecord } from '../../../engine/interface/record-check.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { recoverFromSnapshot } from '../../../persistence/recovery/recovery.js';
import { eventually } from '../../support/eventually.js';
import { extent } from '../../support/extent.js';
import { jsonOf, Log, startFollower } from '../../support/follower-fixture.js';
import { expectedHistory, shownMarket, type TimedCommand } from '../../support/history-oracle.js';
import { Folders, readAll, START_MS } from '../../support/journal-fixture.js';

const BUILT = new URL('../../../dist/persistence/', import.meta.url).href;

const KILLS = extent(80, 6);
const folders = new Folders();
const children: ChildProcess[] = [];
const closers: (() => Promise<void>)[] = [];

beforeAll(() => {
  if (!existsSync(fileURLToPath(`${BUILT}follower/worker.js`)))
    throw new Error('dist/ is missing: npm run build');
});
afterEach(async () => {
  for (const child of children.splice(0)) await kill(child);
  for (const close of closers.splice(0).reverse()) await close();
  folders.removeAll();
});

/**
 * An exchange that trades without end, with windows of a few seconds of real time and continuous
 * snapshots.
 */
const PROGRAM = `
  import { writeSync } from 'node:fs';
  const { openJournal } = await import('${BUILT}recovery/data-folder.js');
  const { openJournalReader } = await import('${BUILT}journal/reader.js');
  const { recoverFromSnapshot } = await import('${BUILT}recovery/recovery.js');
  const { Sequencer } = await import('${BUILT}sequencer.js');
  const { Follower } = await import('${BUILT}follower/follower.js');
  const folder = process.argv[2];
  const say = (what) => writeSync(1, JSON.stringify(what) + '\\n');
  const stop = (problem) => { say({ problem: String(problem) }); process.exit(3); };
  const log = {
    info: (fields, message) => say({ ...fields, message }),
    warn: (fields, message) => say({ ...fields, message }),
    error: (fields, message) => stop(message + JSON.stringify(fields)),
  };
  const elapsedMs = () => performance.now();
  const journal = await openJournal({ folder });
  const reader = await openJournalReader(folder);
  const { engine } = await recoverFromSnapshot({ folder, reader, log, elapsedMs });
  await reader.close();
  const follower = new Follower({
    folder, durableSequence: engine.sequence, snapshotEveryCommands: 100, log, elapsedMs,
    onSnapshot: (snapshotSequence, snapshotHash) => {
      sequencer.submit({ kind: 'vouchForSnapshot', snapshotSequence, snapshotHash });
      sequencer.releaseAt(engine.sequence, { release: () => say({ vouchedFor: snapshotSequence }) });
    },
    onDisagreement: (sequence, message) => stop(message), onFailure: stop,
  });
  const told = {
    get end() { return journal.end; },
    append: (batch, done) => {
      const { lastSequence } = batch;
      journal.append(batch, (error) => { if (error === null) follower.committed(lastSequence); done(error); });
    },
    close: () => journal.close(),
  };
  const now = () => Math.max(engine.nowMs, ${START_MS}) + 600;
  const sequencer = new Sequencer({ engine, journal: told, now, onFatal: stop });
  const command = () => {
    const at = engine.sequence;
    if (at === 0) return { kind: 'listAsset', symbol: 'BTC' };
    if (at <= 20) return { kind: 'register', username: 'user-' + at, credential: 'x'.repeat(500),
      referralCode: at > 1 ? 'Q000001' : '', grantMicros: 10_000_000_000, partner: null };
    const marketId = engine.activeMarket(0);
    if (at % 40 === 21 || marketId === 0) return { kind: 'observePrice', asset: 0,
      priceMicros: 90_000_000_000 + ((at * 7919) % 1000) * 1000, observedAtMs: engine.nowMs };
    const makes = at % 2 === 0;
    return { kind: 'buy', userId: 1 + (at * 7 % 20), idempotencyKey: null, marketId, outcome: makes ? 0 : 1,
      budgetMicros: 5_000_000, sizeLots: 10_000, priceTicks: 500, timeInForce: makes ? 2 : 0, postOnly: false,
      validUntilMs: 8_640_000_000_000 };
  };
  const submitSome = () => {
    for (let i = 0; i < 15; i++) sequencer.submit(command());
    const { sequence } = engine;
    sequencer.releaseAt(sequence, { release: () => say({ acknowledged: sequence }) });
    setTimeout(submitSome, 5);
  };
  submitSome();
`;

interface Line {
  problem?: string;
  acknowledged?: number;
  vouchedFor?: number;
  message?: string;
  sequence?: number;
  snapshotSequence?: number;
  historySequence?: number;
}

/**
 * Runs the program until its first acknowledgement and then until `moment`; kills it and returns
 * its output.
 */
async function runAndKill(
  folder: string,
  moment: (lines: readonly Line[]) => Promise<void>,
): Promise<Line[]> {
  const program = `${folder}.mjs`;
  writeFileSync(program, PROGRAM);
  const child = spawn(process.execPath, [program, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const lines: Line[] = [];
  let closed = false;
  const reader = createInterface({ input: child.stdout! });
  reader.on('line', (line) => lines.push(JSON.parse(line) as Line));
  const ended = once(reader, 'close').then(() => (closed = true));
  await eventually(
    () => expect(closed || lines.some((line) => line.acknowledged)).toBe(true),
    60_000,
  );
  await moment(lines);
  await kill(child);
  await ended;
  return lines;
}

/** A kill may come between a snapshot and the command that vouches for it: it is not used then. */
function isProblem({ problem }: Line): boolean {
  return problem !== undefined && !problem.startsWith('the journal does not vouch for it');
}

/** The names of unfinished snapshots. */
function unfinished(folder: string): string[] {
  const snapshots = join(folder, 'snapshots');
  return existsSync(snapshots)
    ? readdirSync(snapshots).filter((name) => name.endsWith('.tmp'))
    : [];
}

/** Resolves when a snapshot is being written, or after a while if none is. */
async function whileSnapshotIsWritten(folder: string): Promise<void> {
  for (let looks = 0; looks < 100_000 && unfinished(folder).length === 0; looks++) await nextTurn();
}

/** In rotation: during a snapshot, after a random time, and when a start can use a snapshot. */
function momentOf(
  turn: number,
  waitMs: number,
  folder: string,
): (lines: readonly Line[]) => Promise<void> {
  switch (turn % 3) {
    case 0:
      return () => whileSnapshotIsWritten(folder);
    case 1:
      return () => delay(waitMs);
    default:
      return async (lines) => {
        const isVouchedFor = () => lines.some(({ vouchedFor }) => vouchedFor !== undefined);
        await eventually(() => expect(isVouchedFor()).toBe(true), 60_000);
        await delay(waitMs);
      };
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function commandsIn(folder: string): Promise<TimedCommand[]> {
  const records = new RecordBuffer();
  const commands: TimedCommand[] = [];
  for (const batch of await readAll(folder)) {
    records.load(batch.records);
    for (let at = 0; at < records.length; at = checkRecord(records, at)) {
      commands.push({ command: readCommand(records, at), atMs: timeOf(records, at) });
    }
  }
  return commands;
}

describe('kill -9', () => {
  it(
    `at ${KILLS} random moments: it restarts, and history is complete without duplicates`,
    async () => {
      const folder = folders.make();
      const found = { kills: 0, unfinishedSnapshots: 0, historiesBehind: 0, fromSnapshot: 0 };
      let acknowledged = 0;
      let seed = 1;
      while (found.kills < KILLS) {
        seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
        const lines = await runAndKill(folder, momentOf(found.kills, seed % 300, folder));
        found.kills++;
        expect(lines.filter(isProblem)).toEqual([]);
        const recovered = lines.find(({ message }) => message?.startsWith('recovered'))!;
        expect(recovered.sequence).toBeGreaterThanOrEqual(acknowledged);
        if (recovered.snapshotSequence! > 0) found.fromSnapshot++;
        const started = lines.find(({ message }) => message === 'the follower starts');
        if (started !== undefined && started.historySequence! < recovered.sequence!)
          found.historiesBehind++;
        acknowledged = Math.max(acknowledged, ...lines.map((line) => line.acknowledged ?? 0));
        if (unfinished(folder).length > 0) found.unfinishedSnapshots++;
      }
      // Each third run is killed when a snapshot is vouched for, so the next start uses one.
      expect(found.fromSnapshot).toBeGreaterThanOrEqual(Math.floor((KILLS - 1) / 3));
      // So many hit both a snapshot that is written and a history that is behind.
      if (KILLS >= 60) {
        expect(found.unfinishedSnapshots).toBeGreaterThan(0);
        expect(found.historiesBehind).toBeGreaterThan(0);
      }
      await expectComplete(folder, acknowledged);
    },
    300_000 + KILLS * 15_000,
  );

  async function expectComplete(folder: string, acknowledged: number): Promise<void> {
    const commands = await commandsIn(folder);
    expect(commands.length).toBeGreaterThanOrEqual(acknowledged);
    const expected = expectedHistory(commands);
    const follower = startFollower(folder, commands.length);
    closers.push(() => follower.close());
    for (const kind of ['userTrades', 'pointsCredits', 'closedPositions'] as const) {
      let rows = 0;
      for (let userId = 1; userId <= 20; userId++) {
        const limit = 1e6;
        const { entries } = await follower.read({ kind, userId, limit, cursor: null });
        expect(entries).toEqual((expected[kind].get(userId) ?? []).toReversed());
        rows += entries.length;
      }
      expect(rows, kind).toBeGreaterThan(Math.min(100, 5 * KILLS));
    }
    for (const market of expected.markets) {
      const text = await follower.read({ kind: 'marketText', marketId: market.marketId });
      const points = expected.points.get(market.marketId)!;
      expect(jsonOf(text!.bytes)).toMatchObject(shownMarket(market, points));
    }
    expect(follower.log.of('error')).toEqual([]);
    const reader = await openJournalReader(folder);
    const recovery = await recoverFromSnapshot({
      folder,
      reader,
      log: new Log(),
      elapsedMs: () => 0,
    });
    await reader.close();
    expect(recovery.engine.digest()).toBe(expected.engine.digest());
  }
});
