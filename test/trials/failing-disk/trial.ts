/**
 * Failing disks. The built program trades while one operation on one of its files fails: the n-th
 * open, read, write or sync of the journal, its log, its mark, a snapshot or the history, with EIO,
 * ENOSPC or EDQUOT, or half done. The program continues, or ends with a message. Restarted on a
 * good disk, it gives every acknowledged command the same answer and contains no command twice.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { extent, SEED } from '../../support/extent.js';
import { ChildServer, programLines } from '../../support/programs.js';
import type { ApiClient } from '../../support/server.js';
import { Random } from '../../support/workload/random.js';
import { type Entry, readDiskLog } from '../disk/disk-log.js';
import { DiskLayer, type Fault, textOf, whyNoLayer } from '../disk/layer.js';
import { activeMarket, nextCommand, registerTraders, type Sent, send } from '../disk/scenario.js';

const FAULTS = extent(60);
const SLOW_SECONDS = 30;
const COMMANDS = 60;
const FILES = ['journal.db-wal', 'journal.db', 'journal.head', 'history/', 'snapshots/'];
const ERRORS = ['EIO', 'ENOSPC', 'EDQUOT', 'short'] as const;
/** Statuses of answers to commands that were not executed. */
const NOT_EXECUTED = [429, 503];

const without = whyNoLayer();
beforeEach(({ skip }) => skip(without !== null, without ?? ''));
let layer: DiskLayer;
beforeAll(() => {
  if (without === null) layer = new DiskLayer();
});
const work = mkdtempSync(join(tmpdir(), 'exchange-fault-'));
afterAll(() => {
  layer?.remove();
  rmSync(work, { recursive: true, force: true });
});

function spawn(folder: string, layered: Record<string, string>): ChildServer {
  return ChildServer.spawn({
    ...layered,
    DATA_FOLDER: folder,
    HOUSE: 'off',
    ASSETS: 'BTC',
    FEED_SPEED: '60',
    SNAPSHOT_EVERY_COMMANDS: '1000',
    LOG_LEVEL: 'fatal',
  });
}

/** Sends commands until all are sent or the exchange stops answering. */
async function tradeOn(api: ApiClient, random: Random): Promise<Sent[]> {
  const all: Sent[] = [];
  try {
    const traders = await registerTraders(api);
    for (let i = 0; i < COMMANDS; i++) {
      const sent = nextCommand(traders, await activeMarket(api), `key-${i}`, random);
      all.push(sent);
      sent.answer = await send(api, sent);
    }
  } catch (error) {
    // The exchange has ended, or refuses everything because it is ending. Without an answer there
    // is no promise.
    expect(all.length, String(error)).toBeLessThanOrEqual(COMMANDS);
  }
  return all;
}

/** Runs on a disk with this fault. Returns the sent commands, and whether the fault happened. */
async function runWith(folder: string, fault: Fault, random: Random) {
  const server = spawn(folder, layer.variables(folder, { fault }));
  let sent: Sent[] = [];
  const api = await server.listening().catch(() => null);
  if (api !== null) {
    sent = await tradeOn(api, random);
    await api.close();
  }
  const code = await server.stop();
  // The exchange reports why it ends; it never dies of a signal or without a message.
  expect(code, server.stderr).not.toBeNull();
  if (code !== 0)
    expect(server.stderr.replaceAll('disk: the fault has happened\n', '')).not.toBe('');
  return { sent, happened: server.stderr.includes('disk: the fault has happened') };
}

/**
 * Restarts on a good disk: acknowledged commands have their answers, the others are now executed
 * once.
 */
async function expectNothingLost(folder: string, all: readonly Sent[]): Promise<void> {
  const server = spawn(folder, {});
  const api = await server.listening();
  try {
    for (const sent of all) {
      const again = await send(api, sent);
      const { answer } = sent;
      if (answer !== null && !NOT_EXECUTED.includes(answer.status))
        expect(again, JSON.stringify(sent)).toEqual(answer);
      expect(await send(api, sent)).toEqual(again);
    }
  } finally {
    await api.close();
    expect(await server.stop(), server.stderr).toBe(0);
  }
  await programLines(folder, 'verify');
  await programLines(folder, 'audit');
}

/** How often each operation happens on each file in a run without faults. */
async function countOperations(): Promise<Map<string, number>> {
  const folder = join(work, 'counted');
  const log = join(work, 'log');
  const server = spawn(folder, layer.variables(folder, { log }));
  const api = await server.listening();
  await tradeOn(api, new Random(`${SEED}:trade`));
  await api.close();
  expect(await server.stop(), server.stderr).toBe(0);
  const counts = new Map<string, number>();
  const names = new Map<number, string>();
  for (const entry of readDiskLog(log)) count(entry, names, counts);
  return counts;
}

function count(entry: Entry, names: Map<number, string>, counts: Map<string, number>): void {
  const { kind, file, payload } = entry;
  if (kind === 'open') names.set(file, payload.toString('latin1'));
  const operation = kind === 'syncStart' ? 'sync' : kind;
  if (!['open', 'read', 'write', 'sync'].includes(operation)) return;
  const name = names.get(file) ?? '';
  for (const path of FILES) {
    if (!name.includes(path)) continue;
    const key = `${operation}:${path}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
}

/** A random choice; each operation on each file is equally likely. */
function chosenFaults(counts: Map<string, number>, random: Random): Fault[] {
  const places = [...counts].map(([key, operations]) => {
    const [kind, path] = key.split(':') as [Fault['kind'], string];
    return { kind, path, operations };
  });
  return Array.from({ length: FAULTS }, () => {
    const { kind, path, operations } = random.pick(places);
    const n = random.whole(1, operations);
    return { kind, path, n, isLasting: random.chance(0.5), what: random.pick(ERRORS) };
  });
}

test('one operation of the disk fails', async () => {
  const random = new Random(`${SEED}:faults`);
  const faults = chosenFaults(await countOperations(), random);
  let happenings = 0;
  for (const [i, fault] of faults.entries()) {
    const folder = join(work, `fault-${i}`);
    try {
      const { sent, happened } = await runWith(folder, fault, random);
      if (happened) happenings++;
      await expectNothingLost(folder, sent);
    } catch (error) {
      const { message } = error as Error;
      throw new Error(`${textOf(fault)}, seed ${SEED}: ${message}`, { cause: error });
    }
    rmSync(folder, { recursive: true, force: true });
  }
  expect(happenings).toBeGreaterThan(faults.length / 3);
}, 7_200_000);

test('a disk that stands still for seconds delays answers and loses nothing', async () => {
  const folder = join(work, 'slow');
  const fault: Fault = {
    kind: 'sync',
    path: 'journal.db-wal',
    n: 60,
    what: `${SLOW_SECONDS}s`,
  };
  const { sent, happened } = await runWith(folder, fault, new Random(`${SEED}:slow`));
  expect(happened).toBe(true);
  expect(sent).toHaveLength(COMMANDS);
  await expectNothingLost(folder, sent);
}, 300_000);
