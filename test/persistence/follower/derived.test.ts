/**
 * No fault in a part that is derived from the journal stops a change. The journal is still followed
 * to its end and its digests are compared; the failing part is named with a remedy; its reads are
 * refused; and a fixed program continues the part where it ends. The errors are thrown in this
 * thread's copies of the parts.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { StateWriter } from '../../../engine/storage/archive.js';
import { TROUBLES_FILE } from '../../../persistence/follower/troubles.js';
import { AccountEntries } from '../../../persistence/history/account/entries.js';
import { listDayFiles } from '../../../persistence/history/day-files.js';
import { RankedUsers } from '../../../persistence/history/leaderboard/order.js';
import { PendingLists } from '../../../persistence/history/lists.js';
import { Markets } from '../../../persistence/history/markets.js';
import { HistoryReads } from '../../../persistence/history/reads.js';
import { LISTS, type ListLayout } from '../../../persistence/history/runs/format.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import { diagnose } from '../../../persistence/tools/operations/doctor.js';
import { eventually } from '../../support/eventually.js';
import {
  finishHere,
  journalOf,
  startFollower,
  type TestFollower,
  writeCommands,
} from '../../support/follower-fixture.js';
import { dayOfCommands, type TimedCommand } from '../../support/history-oracle.js';
import { Folders } from '../../support/journal-fixture.js';
import { replayTool } from '../../support/replay-tool.js';

const folders = new Folders();
const followers: TestFollower[] = [];
let all: TimedCommand[];
/** The commands of most journals of this file. */
let commands: TimedCommand[];
beforeAll(() => {
  all = dayOfCommands();
  commands = all.slice(0, -200);
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const follower of followers.splice(0)) await follower.close();
  folders.removeAll();
});

const TRADES = { kind: 'userTrades', userId: 1, limit: 1, cursor: null } as const;
const BOARD = {
  kind: 'leaderboard',
  metric: 'profit',
  period: 'all',
  limit: 5,
  cursor: null,
} as const;

function follow(folder: string, snapshots = { everyCommands: 1_000_000, everyMs: 1e15 }) {
  const follower = startFollower(folder, commands.length, snapshots);
  followers.push(follower);
  return follower;
}

async function folderWithJournal(): Promise<string> {
  const folder = folders.make();
  await journalOf(folder, commands);
  return folder;
}

/** Makes the method throw at each call that `isIt` selects. */
function breaks<Part extends object>(
  prototype: Part,
  method: keyof Part & string,
  isIt: (part: Part) => boolean = () => true,
): void {
  const methods = prototype as unknown as Record<string, (...values: unknown[]) => unknown>;
  const works = methods[method]!;
  vi.spyOn(methods, method).mockImplementation(function (this: Part, ...values: unknown[]) {
    if (isIt(this)) throw new TypeError('injected');
    return works.apply(this, values);
  });
}

const isListOf = (layout: ListLayout) => (lists: object) =>
  (lists as PendingLists).layout === layout;

const FAULTS: [string, () => void][] = [
  ['the markets', () => breaks(Markets.prototype, 'advance')],
  ['the accounts', () => breaks(AccountEntries.prototype, 'end')],
  ['what a transaction writes', () => breaks(Markets.prototype, 'drain')],
  ...LISTS.map((layout): [string, () => void] => [
    `the list ${layout.name}`,
    () => breaks(PendingLists.prototype, 'add', isListOf(layout)),
  ]),
];

describe.each(FAULTS)('a fault in the projection of %s', (_, inject) => {
  it('stops no change, is named as the history’s, and is healed by the fixed program', async () => {
    const folder = await folderWithJournal();
    inject();
    const follower = follow(folder);
    await eventually(() => expect(follower.troubles.length).toBe(1));
    expect(follower.troubles[0]).toEqual([
      'history',
      expect.stringMatching(
        /^the history cannot be made from the command at sequence \d+: injected/,
      ),
    ]);
    // The journal is still followed to its end.
    await eventually(() => expect(follower.board.get('applied')).toBe(commands.length));
    expect(follower.disagreements).toEqual([]);
    expect(await follower.reply(TRADES, 0)).toMatchObject({ status: 'unavailable' });
    const { fields } = follower.log.of('error')[0]!;
    expect(fields).toMatchObject({ part: 'history', remedy: expect.stringContaining('verify') });
    await follower.close();
    const { text, starts, isComplete } = await diagnose({ data: folder, backup: null });
    expect([starts, isComplete, text]).toEqual([
      true,
      false,
      expect.stringContaining('The history cannot be made: '),
    ]);

    vi.restoreAllMocks();
    const fixed = follow(folder);
    expect((await fixed.read(TRADES)).entries.length).toBe(1);
    await eventually(() => expect(fixed.troubles).toEqual([['history', null]]));
    expect(existsSync(join(folder, TROUBLES_FILE))).toBe(false);
  });
});

it('verify says that the history cannot be made, and that the journal is good', async () => {
  const folder = await folderWithJournal();
  const follower = follow(folder);
  await follower.read(TRADES);
  await follower.close();
  breaks(AccountEntries.prototype, 'end');
  const { status, out, err } = await replayTool(folder, 'verify');
  expect(status).toBe(1);
  expect(out).toMatch(/^ {2}whole true$/m);
  expect(out).toMatch(/^history\n {2}sequence \d+\n {2}good false$/m);
  expect(err).toContain('the history cannot be made from the command at sequence 1: injected');
});

it('a fault of the leaderboards refuses their reads alone, and the next request makes them anew', async () => {
  const folder = await folderWithJournal();
  const journal = await openJournal({ folder });
  const engine = new Engine();
  for (const { command, atMs } of commands) engine.apply(command, atMs);
  const follower = follow(folder);
  expect((await follower.read(BOARD)).entries.length).toBeGreaterThan(0);
  breaks(RankedUsers.prototype, 'set');
  await writeCommands(journal, engine, all.slice(commands.length));
  follower.committed(engine.sequence);
  expect(await follower.reply(BOARD, engine.sequence)).toEqual({
    status: 'unavailable',
    reason: 'injected',
  });
  expect((await follower.read(TRADES)).entries.length).toBe(1);
  expect(follower.troubles).toContainEqual(['leaderboards', 'injected']);
  expect(follower.disagreements).toEqual([]);
  vi.restoreAllMocks();
  expect((await follower.read(BOARD)).entries.length).toBeGreaterThan(0);
  expect(follower.troubles.at(-1)).toEqual(['leaderboards', null]);
  await journal.close();
});

it('a fault of one read refuses that read alone', async () => {
  const follower = follow(await folderWithJournal());
  await follower.read(TRADES);
  breaks(HistoryReads.prototype, 'marketTrades');
  const marketTrades = { kind: 'marketTrades', marketId: 1, limit: 1, cursor: null } as const;
  expect(await follower.reply(marketTrades, 0)).toMatchObject({ status: 'unavailable' });
  expect((await follower.read(TRADES)).entries.length).toBe(1);
  expect(follower.troubles).toEqual([]);
});

it('a fault of the day files stops no change, and they are made once it is fixed', async () => {
  const folder = folders.make();
  const nextDayMs = commands.at(-1)!.atMs + 86_400_000;
  const price = { kind: 'observePrice', asset: 0, priceMicros: 9e10 } as const;
  const days = [0, 1].map((day) => {
    const atMs = nextDayMs + day * 900_000;
    return { command: { ...price, observedAtMs: atMs }, atMs };
  });
  await journalOf(folder, [...commands, ...days]);
  const end = commands.length + days.length;
  const started = () => {
    const schedule = { everyCommands: 1_000_000, everyMs: 1e15 };
    const follower = startFollower(folder, end, schedule, finishHere, { folder }, 30);
    followers.push(follower);
    return follower;
  };
  breaks(HistoryReads.prototype, 'pastMarkets');
  const follower = started();
  await eventually(() => expect(follower.troubles).toEqual([['dayFiles', 'injected']]));
  expect((await follower.read(TRADES)).entries.length).toBe(1);
  expect(follower.board.get('applied')).toBe(end);
  expect(follower.disagreements).toEqual([]);
  await follower.close();

  vi.restoreAllMocks();
  const fixed = started();
  await fixed.read(TRADES);
  const journal = await openJournal({ folder });
  const engine = new Engine();
  for (const { command, atMs } of [...commands, ...days]) engine.apply(command, atMs);
  const atMs = nextDayMs + 1_800_000;
  await writeCommands(journal, engine, [{ command: { ...price, observedAtMs: atMs }, atMs }]);
  fixed.committed(engine.sequence);
  await eventually(() => expect(fixed.troubles).toContainEqual(['dayFiles', null]));
  expect((await listDayFiles(folder)).length).toBeGreaterThan(0);
  await journal.close();
});

describe('a snapshot that cannot be', () => {
  const often = { everyCommands: 2_000, everyMs: 1e15 };

  it('taken is left out, and nothing else fails', async () => {
    breaks(StateWriter.prototype, 'finish');
    const follower = follow(await folderWithJournal(), often);
    expect((await follower.read(TRADES)).entries.length).toBe(1);
    expect(follower.troubles).toEqual([['snapshots', 'injected']]);
    expect(follower.disagreements).toEqual([]);
  });

  it('written, because its folder is none, is left out, also at a start', async () => {
    const folder = await folderWithJournal();
    writeFileSync(join(folder, 'snapshots'), 'a file');
    for (let start = 0; start < 2; start++) {
      const follower = follow(folder, often);
      expect((await follower.read(TRADES)).entries.length).toBe(1);
      expect(follower.troubles[0]).toEqual(['snapshots', expect.stringMatching(/EEXIST|ENOTDIR/)]);
      expect(follower.disagreements).toEqual([]);
      await follower.close();
    }
  });
});
