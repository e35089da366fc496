/**
 * A year of an exchange in minutes: every window of an asset, with its history in a part a day,
 * pruned after 60 days, and its journal's segments archived every month. After each month the
 * history and the built exchange start on the folder, and what they take is measured. It must be
 * level, or grow by what is stated in {@link SLOPES}.
 */
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { marketIdOf, WINDOW_MS } from '../../../engine/interface/domain.js';
import { cataloguePath, partsFolder } from '../../../persistence/history/parts/catalogue.js';
import type { HistoryRequest } from '../../../persistence/history/requests.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import { eventually } from '../../support/eventually.js';
import { extent, SEED } from '../../support/extent.js';
import { operate } from '../../support/folders/operations.js';
import {
  finishHere,
  startFollower,
  type TestFollower,
  writeCommands,
} from '../../support/follower-fixture.js';
import { folderBytes, inFolder, removeFolder } from '../../support/processes/machine.js';
import { startExchange } from '../exchange.js';
import { DAY_MS, YEAR_START_MS, YearPlan } from './plan.js';

const MONTHS = 12;
const MONTH_DAYS = 30;
const MONTH_MARKETS = MONTH_DAYS * (DAY_MS / WINDOW_MS);
const ORDERS_A_WINDOW = extent(60);
const HISTORY_DAYS = 60;
const SEGMENT_BYTES = 4_000_000;
const SNAPSHOT_COMMANDS = 50_000;
const PATIENCE_MS = 600_000;
const MB = 1e6;
const NEVER = Number.MAX_SAFE_INTEGER;

/**
 * How much the last quarter of the year may exceed the second quarter: as a share, and in addition.
 * Times are those of a shared machine.
 */
const SLOPES: Readonly<Record<string, readonly [share: number, more: number]>> = {
  'open after ms': [1, 3_000],
  'history after ms': [1, 1_000],
  'slowest read ms': [1, 200],
  'resident MB': [0.1, 40],
  descriptors: [0, 8],
  'journal MB': [0.2, 4],
  'snapshot bytes an account': [0.2, 200],
  'catalogue bytes a market': [0.1, 500],
  'history bytes a command': [0.1, 2],
  // Withdrawals begin after two months, and are remembered for three.
  transfers: [0.1, 0],
  openOrders: [0.5, 200],
  positions: [0.5, 1_000],
};
type Month = Record<string, number>;

/** The follower of the year, which is closed and started again after each month. */
function follow(data: string, sequence: number): TestFollower {
  const snapshots = { everyCommands: SNAPSHOT_COMMANDS, everyMs: NEVER };
  const place = { folder: data };
  return startFollower(data, sequence, snapshots, finishHere, place, 0, undefined, HISTORY_DAYS);
}

/** Reads that span the whole year, and the expected first entries. */
const READS: readonly HistoryRequest[] = [
  { kind: 'userTrades', userId: 1, limit: 200, cursor: null },
  { kind: 'userTrades', userId: 1, limit: 200, cursor: 300 },
  {
    kind: 'ledger',
    userId: 1,
    limit: 200,
    cursor: null,
    fromMs: null,
    toMs: null,
    marketId: null,
    cause: null,
  },
  { kind: 'userTrades', userId: 2, limit: 200, cursor: null },
  { kind: 'marketText', marketId: marketIdOf(0, YEAR_START_MS), withPrices: true },
  { kind: 'marketTrades', marketId: marketIdOf(0, YEAR_START_MS), limit: 200, cursor: null },
  { kind: 'pastMarkets', asset: null, limit: 50, cursor: null },
  { kind: 'userOrder', userId: 1, orderId: 1 },
];

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return Math.round(performance.now() - startedMs);
}

/** Links files that never change, because they take most of the room; copies the others. */
function copyFolder(data: string, copy: string): void {
  for (const name of readdirSync(data, { recursive: true, encoding: 'utf8' })) {
    const [from, to] = [join(data, name), join(copy, name)];
    if (!statSync(from).isFile()) continue;
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    const isFixed = (statSync(from).mode & 0o200) === 0 || /\/\d{8}(\.pruned)?\.db$/.test(from);
    if (isFixed) linkSync(from, to);
    else if (!name.endsWith('-shm')) copyFileSync(from, to);
  }
}

/** Starts the built exchange on a copy, because its own commands are not part of the plan. */
async function measureStart(folder: string, data: string): Promise<Month> {
  const start = join(folder, 'start');
  copyFolder(data, join(start, 'data'));
  const startedMs = performance.now();
  const { process, url } = await startExchange(start, 1, {
    ACCEPT_CLOCK: 'on',
    ACCEPT_DEMO: 'on',
    ASSETS: 'BTC',
    HOUSE: 'off',
    HISTORY_DAYS: `${HISTORY_DAYS}`,
  });
  const openMs = Math.round(performance.now() - startedMs);
  await eventually(
    async () => (await fetch(`${url}/markets/15m/history?limit=20`)).status === 200,
    PATIENCE_MS,
  );
  const status = readFileSync(`/proc/${process.pid}/status`, 'utf8');
  const found = {
    'open after ms': openMs,
    'resident MB': Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1_000),
    descriptors: readdirSync(`/proc/${process.pid}/fd`).length,
  };
  await process.mustStop();
  removeFolder(start);
  return found;
}

test('a year: starts, reads, memory, descriptors, disk and limits are level or linear', ({
  annotate,
}) =>
  inFolder(process.cwd(), async (folder) => {
    const [data, archive] = [join(folder, 'data'), join(folder, 'archive')];
    mkdirSync(data, { mode: 0o700 });
    const engine = new Engine();
    const plan = new YearPlan(engine, ORDERS_A_WINDOW, SEED);
    await (await openJournal({ folder: data })).close();
    let follower = follow(data, 0);
    const months: Month[] = [];
    for (let month = 1; month <= MONTHS; month++) {
      const journal = await openJournal({
        folder: data,
        durability: 'off',
        segmentBytes: SEGMENT_BYTES,
      });
      let vouched = follower.written.length;
      for (let day = (month - 1) * MONTH_DAYS; day < month * MONTH_DAYS; day++) {
        await writeCommands(journal, engine, plan.dayOf(day));
        follower.committed(engine.sequence);
        await follower.read({ kind: 'marketTicks', marketId: marketIdOf(0, YEAR_START_MS) });
        for (; vouched < follower.written.length; vouched++) {
          const { sequence: snapshotSequence, hash: snapshotHash } = follower.written[vouched]!;
          const command = { kind: 'vouchForSnapshot', snapshotSequence, snapshotHash } as const;
          await writeCommands(journal, engine, [{ command, atMs: engine.nowMs }]);
        }
      }
      await journal.close();
      follower.committed(engine.sequence);
      await follower.read({ kind: 'marketTicks', marketId: marketIdOf(0, YEAR_START_MS) });
      expect(follower.log.of('error')).toEqual([]);
      expect(follower.disagreements).toEqual([]);
      await follower.close();
      const { status, err } = await operate('archive', '--data', data, '--to', archive);
      expect(status, err).toBe(0);
      const started = await measureStart(folder, data);
      const startedMs = performance.now();
      follower = follow(data, engine.sequence);
      await follower.read(READS[0]!);
      const historyMs = Math.round(performance.now() - startedMs);
      let slowestMs = 0;
      for (const request of READS)
        slowestMs = Math.max(
          slowestMs,
          await timed(async () => {
            const { status: how } = await follower.reply(request, engine.sequence);
            expect(how === 'ok' || (how === 'pruned' && request.kind === 'userOrder'), how).toBe(
              true,
            );
          }),
        );
      const history = folderBytes(partsFolder(data));
      const snapshots = folderBytes(join(data, 'snapshots'));
      const found = {
        commands: engine.sequence,
        'history after ms': historyMs,
        'slowest read ms': slowestMs,
        'journal MB': (folderBytes(data) / MB) | 0,
        'snapshot bytes an account': (snapshots / engine.userCount) | 0,
        'archive MB': existsSync(archive) ? (folderBytes(archive) / MB) | 0 : 0,
        'catalogue bytes a market':
          (statSync(cataloguePath(data)).size / (month * MONTH_MARKETS)) | 0,
        'history MB': (history / MB) | 0,
        'history bytes a command': Math.round(history / engine.sequence),
        parts: readdirSync(partsFolder(data)).filter((name) => name.endsWith('.db')).length - 1,
        ...started,
        ...Object.fromEntries(engine.limitUses().map(({ limit, used }) => [limit, used])),
      };
      months.push(found);
      await annotate(`month ${month}: ${JSON.stringify(found)}`);
    }
    await follower.close();
    const meanOf = (name: string, from: number) =>
      months.slice(from, from + 3).reduce((sum, found) => sum + found[name]!, 0) / 3;
    for (const [name, [share, more]] of Object.entries(SLOPES)) {
      const [before, after] = [meanOf(name, 3), meanOf(name, MONTHS - 3)];
      await annotate(`${name}: ${Math.round(before)}, then ${Math.round(after)}`);
      expect.soft(after, name).toBeLessThanOrEqual(before * (1 + share) + more);
    }
  }));
