/**
 * Each file of a data folder missing, or with one bit flipped, or cut, in many places, before each
 * of its readers. A start is refused and changes nothing, or has every command; `verify` finds
 * whatever a start refuses, and otherwise names the file or proves the same state; the follower's
 * answers are right, and damage that it met is in its log. SEED repeats the places of a trial.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { vouchForSnapshots } from '../../bench/journal/vouch.js';
import { Random } from '../../bench/workload/random.js';
import { Engine } from '../../engine/engine.js';
import { JournalError } from '../../persistence/journal/errors.js';
import { HeadMark } from '../../persistence/journal/head-mark.js';
import { DataFolder, openJournal } from '../../persistence/recovery/data-folder.js';
import { listSnapshots } from '../../persistence/recovery/snapshot/folder.js';
import { extent, SEED } from '../support/extent.js';
import { journalOf, Log, startFollower, writeCommands } from '../support/follower-fixture.js';
import { dayOfCommands } from '../support/history-oracle.js';
import { Folders, readAll, replay, tamper } from '../support/journal-fixture.js';
import { replayTool, traceOf } from '../support/replay-tool.js';

const COMMANDS = 1_500;
const USERS = 40;
const folders = new Folders();
/** As a kill leaves it: a history, vouched snapshots, and commands in the write-ahead log. */
let killed: string;
let engine: Engine;
let answers: unknown[];

beforeAll(async () => {
  const folder = folders.make();
  const commands = dayOfCommands();
  await journalOf(folder, commands.slice(0, COMMANDS));
  const follower = startFollower(folder, COMMANDS, { everyCommands: 400, everyMs: 1e15 });
  await answersOf(follower);
  await follower.close();
  const sequence = await vouchForSnapshots(folder);
  engine = new Engine();
  await replay(folder, engine);
  const journal = await openJournal({ folder });
  const { nowMs } = engine;
  const more = commands.slice(COMMANDS, COMMANDS + 200);
  await writeCommands(
    journal,
    engine,
    more.map(({ command, atMs }) => ({ command, atMs: Math.max(atMs, nowMs) })),
  );
  expect(engine.sequence).toBe(sequence + 200);
  killed = folders.copy(folder);
  await journal.close();
  const whole = startFollower(folder, engine.sequence);
  answers = await answersOf(whole);
  await whole.close();
});
afterAll(() => folders.removeAll());

/** From every list of users. */
async function answersOf(follower: ReturnType<typeof startFollower>): Promise<unknown[]> {
  const page = { limit: 1e6, cursor: null };
  const found: unknown[] = [];
  for (let userId = 1; userId <= USERS; userId++) {
    for (const kind of ['userTrades', 'pointsCredits', 'closedPositions'] as const)
      found.push(await follower.read({ kind, userId, ...page }));
    const filter = { fromMs: null, toMs: null, marketId: null, cause: null };
    found.push(await follower.read({ kind: 'ledger', userId, ...page, ...filter }));
  }
  return found;
}

/** A place below 0 counts from the end, a fraction is a share of the file. */
const flip = (place: number) => (bytes: Buffer) => {
  const from = place > 0 && place < 1 ? Math.floor(place * bytes.length) : place;
  bytes[from < 0 ? bytes.length + from : from]! ^= 4;
  return bytes;
};
const cut = (share: number) => (bytes: Buffer) => bytes.subarray(0, share * bytes.length);
/** Outside of a trial, one damage of so many. */
const SAMPLE = 5;
/** The first are in the fields of a header. */
const PLACES = [
  3, 8, 16, 18, 20, 25, 40, 60, 70, 81, 88, 0.03, 0.2, 0.4, 0.6, 0.8, 0.97, -33, -5, -1,
];
const random = new Random(`${SEED}:places`);
const RANDOM_PLACES = Array.from({ length: extent(40, 0) }, () => random.whole(1, 9_999) / 10_000);
const DAMAGES = [
  ...[...PLACES, ...RANDOM_PLACES].map((place) => [`bit at ${place}`, flip(place)] as const),
  ...[0, 0.001, 0.5, 0.999].map((share) => [`cut to ${share}`, cut(share)] as const),
].filter((_, i) => extent(1, 0) > 0 || i % SAMPLE === 0);

/** What a start that is refused says, or null; its log. */
async function start(folder: string): Promise<{ refusal: string | null; log: Log }> {
  const log = new Log();
  const before = traceOf(folder).slice(1);
  try {
    const data = await DataFolder.lock({ folder });
    const recovering = data.recover({ log, elapsedMs: () => 0 });
    const recovered = await recovering.finally(() => data.release());
    expect([recovered.sequence, recovered.digest()]).toEqual([engine.sequence, engine.digest()]);
    return { refusal: null, log };
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    expect(error.message.length).toBeGreaterThan(80);
    expect(traceOf(folder).slice(1)).toEqual(before);
    return { refusal: error.message, log };
  }
}

async function expectAnswers(folder: string, isHistory: boolean): Promise<void> {
  const follower = startFollower(folder, engine.sequence);
  try {
    expect(await answersOf(follower)).toEqual(answers);
    expect(follower.disagreements).toEqual([]);
    const errors = follower.log.of('error');
    if (!isHistory) expect(errors).toEqual([]);
    for (const { fields } of errors) expect(fields.table).toBeTypeOf('string');
  } finally {
    await follower.close();
  }
}

/** The least of the damages that `verify` finds: the rest is where no reader looks. */
const FILES: [name: string, foundShare: number][] = [
  ['journal.db', 0.15],
  ['journal.db-wal', 0.5],
  ['journal.head', 0.05],
  ['history.db', 0.4],
  ['newest snapshot', 1],
];

it.each(FILES)('%s', async (file, foundShare) => {
  let found = 0;
  for (const [what, damage] of DAMAGES) {
    const folder = folders.copy(killed);
    const isSnapshot = file === 'newest snapshot';
    const path = isSnapshot ? listSnapshots(folder)[0]!.path : join(folder, file);
    writeFileSync(path, damage(readFileSync(path)));
    const { status, out, err } = await replayTool(folder, 'verify', '--json');
    found += status;
    const { refusal, log } = await start(folder);
    if (refusal !== null) expect(status, what).toBe(1);
    else await expectAnswers(folder, file === 'history.db');
    if (isSnapshot) expect(log.of('warn')[0]!.message, what).toContain(basename(path));
    // Where there is no journal, there is no report.
    const { journal, good } = out === '' ? { journal: null, good: false } : JSON.parse(out);
    expect(good).toBe(status === 0);
    if (good) expect([journal.whole, journal.digest]).toEqual([true, engine.digest()]);
    else expect(err, what).toMatch(isSnapshot ? basename(path) : file.slice(0, 7));
    expect(err).not.toContain('    at ');
  }
  expect(found).toBeGreaterThanOrEqual(foundShare * DAMAGES.length);
});

/** A start is refused, and `verify` says the same: problem and remedy are on lines of their own. */
async function expectRefused(folder: string, words: string): Promise<void> {
  const { refusal } = await start(folder);
  expect(refusal).toContain(words);
  const { status, err } = await replayTool(folder, 'verify');
  expect(status).toBe(1);
  for (const sentence of refusal!.split(/(?<=\.) /)) expect(err).toContain(sentence);
}

const remove = (folder: string, ...names: string[]) => {
  for (const name of names) rmSync(join(folder, name), { recursive: true, force: true });
};
const HISTORY = ['history.db', 'history.db-wal'];

it('a journal that SQLite would open read-only is refused', async () => {
  const folder = folders.copy(killed);
  const path = join(folder, 'journal.db');
  writeFileSync(path, flip(18)(readFileSync(path)));
  await expectRefused(folder, 'journal.db');
});

it.each([
  ['snapshots', HISTORY, 'snapshots/snapshot-'],
  ['a history', ['snapshots'], 'history.db'],
])('a missing journal next to %s is refused', async (_what, without, words) => {
  const folder = folders.copy(killed);
  remove(folder, 'journal.db', 'journal.db-wal', 'journal.head', ...without);
  await expectRefused(folder, words);
});

it('with an unreadable journal.head and missing rows, the missing part is named', async () => {
  for (const without of [[], ['snapshots']]) {
    const folder = folders.copy(killed);
    writeFileSync(join(folder, 'journal.head'), Buffer.alloc(8192));
    await tamper(folder, 'DELETE FROM batch WHERE firstSequence > 1000');
    remove(folder, ...without);
    await expectRefused(folder, 'acknowledged commands are missing from the journal');
  }
});

it('a journal.head of another journal is refused, also where it marks what a start does not need', async () => {
  const folder = folders.copy(killed);
  const newest = listSnapshots(folder)[0]!.sequence;
  const batches = await readAll(folders.copy(killed));
  const { lastSequence: sequence } = batches.findLast((batch) => batch.lastSequence < newest)!;
  await new HeadMark(join(folder, 'journal.head'), { sequence, hash: Buffer.alloc(32) }).close();
  expect((await start(folder)).refusal).toContain('is not the one that journal.head marks');
});
