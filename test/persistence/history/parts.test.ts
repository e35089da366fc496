/**
 * A history in many parts: the same answers as in one, across restarts, and while a part that is
 * damaged or lost is rebuilt.
 */
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { openPath, partsFolder, sealedPath } from '../../../persistence/history/parts/catalogue.js';
import type { HistoryRequest } from '../../../persistence/history/requests.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import { eventually } from '../../support/eventually.js';
import {
  journalOf,
  startFollower,
  type TestFollower,
  writeCommands,
  writeSnapshotHere,
} from '../../support/follower-fixture.js';
import { dayOfCommands, expectedHistory, type TimedCommand } from '../../support/history-oracle.js';
import { Folders } from '../../support/journal-fixture.js';

const PART_COMMANDS = 400;
const folders = new Folders();
const originals = new Folders();
const followers: TestFollower[] = [];
let commands: TimedCommand[];
let requests: HistoryRequest[];
/** A journal with a history in parts; the answers from a history in one part. */
let inParts: string;
let answers: unknown[];

beforeAll(async () => {
  commands = dayOfCommands();
  const original = originals.make();
  await journalOf(original, commands);
  requests = requestsOf(expectedHistory(commands));
  const one = startFollower(originals.copy(original), commands.length);
  answers = await answersOf(one);
  await one.close();
  inParts = originals.make();
  const journal = await openJournal({ folder: inParts });
  const engine = new Engine();
  const follower = start(inParts, 0);
  const sealed = () => follower.log.of('info').filter(({ message }) => /sealed/.test(message));
  for (let from = 0; from < commands.length; from += 500) {
    await writeCommands(journal, engine, commands.slice(from, from + 500));
    follower.committed(engine.sequence);
    await follower.read({ kind: 'userTrades', userId: 1, limit: 1, cursor: null });
    await eventually(() => expect(sealed().length).toBeGreaterThanOrEqual(from / 500 - 1));
  }
  await journal.close();
  await follower.close();
  return () => originals.removeAll();
});
afterEach(async () => {
  for (const follower of followers.splice(0)) await follower.close();
  folders.removeAll();
});

function start(folder: string, durable = commands.length): TestFollower {
  const schedule = { everyCommands: 1_000_000, everyMs: 1e15 };
  const place = { folder };
  const follower = startFollower(
    folder,
    durable,
    schedule,
    writeSnapshotHere,
    place,
    0,
    PART_COMMANDS,
  );
  followers.push(follower);
  return follower;
}

function requestsOf({ engine, markets }: ReturnType<typeof expectedHistory>): HistoryRequest[] {
  const page = { limit: 40, cursor: null };
  const all = { fromMs: null, toMs: null, marketId: null };
  const found: HistoryRequest[] = [];
  for (let userId = 1; userId <= engine.userCount; userId += 12) {
    for (const kind of ['userTrades', 'pointsCredits', 'closedPositions'] as const)
      found.push({ kind, userId, ...page });
    found.push({ kind: 'ledger', userId, ...page, ...all, cause: null });
    const order = { kind: 'userOrders', userId, ...page, clientOrderId: null, ...all } as const;
    found.push({ ...order, status: 'all' }, { ...order, status: 'closed' });
  }
  for (const { marketId } of markets) {
    found.push({ kind: 'marketTrades', marketId, ...page });
    found.push({ kind: 'marketEvents', marketId, limit: 200, cursor: null });
    found.push({ kind: 'marketTicks', marketId }, { kind: 'marketText', marketId });
  }
  return [...found, { kind: 'pastMarkets', asset: null, ...page }];
}

/** All pages of all lists. */
async function answersOf(follower: TestFollower): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const request of requests) {
    for (let cursor: unknown = null; ; ) {
      const asked = 'cursor' in request ? { ...request, cursor } : request;
      const answer = (await follower.read(asked as HistoryRequest)) as { nextCursor?: unknown };
      found.push(answer);
      cursor = answer?.nextCursor ?? null;
      if (cursor === null) break;
    }
  }
  return found;
}

function isPartOf(folder: string, descriptor: string): boolean {
  try {
    const path = readlinkSync(`/proc/self/fd/${descriptor}`);
    return path.startsWith(folder) && /\/\d{8}\.db$/.test(path);
  } catch {
    // It was that of the list of descriptors.
    return false;
  }
}

describe('a history in parts', () => {
  it('answers as one in one part, to the byte, also after a restart', async () => {
    const folder = folders.copy(inParts);
    expect(readdirSync(partsFolder(folder)).length).toBeGreaterThan(10);
    expect(await answersOf(start(folder))).toEqual(answers);
  });

  it('has at most 16 parts open, and opens none for a list that is not in it', async () => {
    const folder = folders.copy(inParts);
    const opened = () =>
      readdirSync('/proc/self/fd').filter((name) => isPartOf(folder, name)).length;
    const follower = start(folder);
    await follower.read({ kind: 'userTrades', userId: 9_999, limit: 200, cursor: null });
    expect(opened()).toBeLessThanOrEqual(1);
    await answersOf(follower);
    expect(opened()).toBeLessThanOrEqual(17);
  });
});

describe('a part', () => {
  it.each([
    ['lost', (path: string) => rmSync(path)],
    ['cut', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 40_000))],
    [
      'changed',
      (path: string) => {
        const bytes = readFileSync(path);
        bytes.fill(0x55, bytes.length / 2, bytes.length / 2 + 4_096);
        writeFileSync(path, bytes);
      },
    ],
  ])('that is %s is made anew alone, to the byte', async (_how, damage) => {
    const folder = folders.copy(inParts);
    const path = sealedPath(folder, 4);
    const before = readFileSync(path);
    damage(path);
    const others = [3, 5].map((part) => readFileSync(sealedPath(folder, part)));
    const follower = start(folder);
    await eventually(() => expect(follower.log.of('error')).toHaveLength(1));
    expect(follower.log.of('error')[0]!.fields).toMatchObject({ historyPart: 4 });
    await eventually(() => expect(follower.troubles.at(-1)).toEqual(['history', null]));
    expect(await answersOf(follower)).toEqual(answers);
    expect(readFileSync(path).equals(before)).toBe(true);
    expect([3, 5].map((part) => readFileSync(sealedPath(folder, part)))).toEqual(others);
    expect(follower.disagreements).toEqual([]);
  });

  it('that is open and lost is made anew from its beginning', async () => {
    const folder = folders.copy(inParts);
    const open = readdirSync(partsFolder(folder)).find((name) => name.endsWith('.open.db'))!;
    const part = Number.parseInt(open, 10);
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(openPath(folder, part) + suffix, { force: true });
    const follower = start(folder);
    expect(await answersOf(follower)).toEqual(answers);
    expect(existsSync(openPath(folder, part))).toBe(true);
    expect(follower.log.of('error')).toEqual([]);
  });
});
