/**
 * A start on a damaged data folder. The exchange refuses the folder and changes nothing in it, or
 * it starts with everything that was ever acknowledged. `verify` reports the same as the start.
 *
 * SEED repeats the random flips and cuts.
 */
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { Random } from '../../bench/workload/random.js';
import { RecordBuffer } from '../../engine/interface/records.js';
import { sessionSecrets } from '../../gateway/auth/secret.js';
import { Sessions } from '../../gateway/auth/sessions.js';
import { bytesOf } from '../../persistence/journal/format.js';
import { HeadMark } from '../../persistence/journal/head-mark.js';
import { openJournalReader } from '../../persistence/journal/reader.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { listSnapshots } from '../../persistence/recovery/snapshot/folder.js';
import { eventually } from '../support/eventually.js';
import { extent, SEED } from '../support/extent.js';
import { isVouchedFor } from '../support/folders/vouched.js';
import { append, flip, readAll, tamper } from '../support/journal-fixture.js';
import { ReplayExchange } from '../support/replay-exchange.js';
import { replayTool, traceOf } from '../support/replay-tool.js';
import { TestServer } from '../support/server.js';

const DAMAGES = extent(200, 6);
const SNAPSHOTS = 3;

/** What an exchange answered from the intact folder. */
interface Told {
  /** Answers by path. */
  answers: Map<string, string>;
  sequence: number;
  hash: Buffer;
  atMs: number;
}

const made: string[] = [];
/**
 * Folders of an exchange that was killed, with three snapshots and a write-ahead log, and of one
 * that was stopped.
 */
let killed: string;
let stopped: string;
let told: Told;

beforeAll(async () => {
  const folder = newFolder();
  const exchange = await ReplayExchange.open(folder, `${SEED}:exchange`);
  await exchange.run(700);
  await exchange.sequencer.close();
  const server = await TestServer.start({ snapshotEveryCommands: 20 }, folder, exchange.nowMs);
  while (listSnapshots(folder).length < SNAPSHOTS) {
    const before = listSnapshots(folder).length;
    await command(server, 25);
    await eventually(() => listSnapshots(folder).length > before && isVouchedFor(folder));
  }
  await command(server, 12);
  // Once more if the journal vouched for another snapshot meanwhile.
  await eventually(async () => {
    killed = copyOf(folder);
    told = await toldBy(server, killed, exchange.nowMs);
  });
  await server.close();
  // The follower only reads and closes last, so the write-ahead log still exists: move it all to
  // journal.db.
  await (await openJournal({ folder })).close();
  stopped = folder;
});
afterEach(() => {
  for (const each of made.splice(0)) if (each !== killed && each !== stopped) remove(each);
});
afterAll(() => {
  for (const each of [killed, stopped]) if (each !== undefined) remove(each);
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'exchange-damage-'));
  made.push(folder);
  return folder;
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Copies the folder as a kill at this moment would leave it. */
function copyOf(folder: string): string {
  const copy = newFolder();
  cpSync(folder, copy, { recursive: true });
  return copy;
}

/** Sends that many commands, each in its own batch. */
async function command(server: TestServer, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    server.submit({ kind: 'advanceTime' });
    await server.durable();
  }
  await server.followed();
}

const PATHS = [
  '/leaderboard?metric=profit&period=all',
  '/leaderboard?metric=points&period=all',
  '/markets/15m/history?limit=50',
  '/vaults',
  ...[1, 2, 3, 5, 8].flatMap((id) =>
    ['balance', 'positions', 'orders?limit=100', 'trades?limit=100', 'points?limit=100'].map(
      (what) => `/users/u${id}/${what}`,
    ),
  ),
];

/** The answers, without the exchange's current position. Sessions use the folder's own secret. */
async function answersOf(server: TestServer, atMs: number): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  const sessions = new Sessions(sessionSecrets(server.folder));
  const { engine } = server.exchange.sequencer;
  for (const path of PATHS) {
    const userId = Number(/u(\d+)/.exec(path)?.[1] ?? 1);
    const token = await sessions.issue(userId, engine.credentialVersion(userId), atMs);
    const { status, json } = await server.api.read(path, token);
    expect(status, path).toBe(200);
    const isPlace = (name: string) => name === 'sequence' || name === 'nextCursor';
    answers.set(
      path,
      JSON.stringify(json, (name, value) => (isPlace(name) ? undefined : value)),
    );
  }
  return answers;
}

async function toldBy(server: TestServer, folder: string, atMs: number): Promise<Told> {
  const answers = await answersOf(server, atMs);
  const reader = await openJournalReader(copyOf(folder));
  const { sequence, hash } = await reader.end();
  await reader.close();
  expect(sequence).toBe(server.exchange.sequencer.durableSequence);
  return { answers, sequence, hash, atMs };
}

const startOn = (folder: string) => TestServer.start({}, folder, told.atMs);

/** The start fails and changes nothing; returns its message. */
async function refusalOf(folder: string): Promise<string> {
  const before = traceOf(folder);
  const outcome = await startOn(folder).then(
    (server) => server,
    (error: Error) => error,
  );
  if (outcome instanceof TestServer) {
    await outcome.close();
    throw new Error('it opened');
  }
  expect(traceOf(folder)).toEqual(before);
  expect(outcome.message.length).toBeGreaterThan(80);
  return outcome.message;
}

/**
 * The exchange starts, still has everything it told before, and acknowledges a new command, which
 * is in the journal.
 */
async function expectHarmless(server: TestServer, folder: string): Promise<void> {
  try {
    server.submit({ kind: 'advanceTime' });
    await server.followed();
    expect(await answersOf(server, told.atMs)).toEqual(told.answers);
    expect(server.exchange.sequencer.halted).toBeNull();
  } finally {
    await server.close();
  }
  const reader = await openJournalReader(folder);
  const { sequence, hash } = told;
  expect(await reader.positionAt(sequence)).toMatchObject({ sequence, hash });
  await reader.close();
}

describe('the journal before the newest snapshot', () => {
  it.each(['records', 'digest', 'hash', 'a missing row'])(
    'damage of %s loses nothing; without the snapshots it is refused, and verify finds it',
    async (what) => {
      const newest = listSnapshots(stopped)[0]!.sequence;
      const rows = await firstSequences(stopped);
      const older = rows.filter((first) => first < newest);
      expect(older.length).toBeGreaterThan(60);
      for (const first of [older[0]!, older[older.length >> 1]!]) {
        const folder = copyOf(stopped);
        if (what !== 'a missing row') await flip(folder, first, what);
        else await tamper(folder, `DELETE FROM batch WHERE firstSequence = ${first}`);
        const started = copyOf(folder);
        await expectHarmless(await startOn(started), started);
        rmSync(join(folder, 'snapshots'), { recursive: true });
        const message = await refusalOf(folder);
        expect(message).toContain(`the batch at sequence ${first} is`);
        await expectVerifySays(folder, message);
      }
    },
  );
});

it('damage before the snapshots, and no history.db: the exchange trades without a history', async () => {
  const folder = copyOf(stopped);
  await flip(folder, (await firstSequences(folder))[5]!, 'records');
  for (const name of ['history.db', 'history.db-wal', 'history.db-shm'])
    rmSync(join(folder, name), { force: true });
  const server = await startOn(folder);
  try {
    await eventually(async () =>
      expect((await server.api.get('/ready')).text).toContain('there may be no history'),
    );
    server.submit({ kind: 'advanceTime' });
    await server.durable();
    expect((await server.api.get('/markets/15m/history?limit=50')).status).toBe(503);
    expect(server.exchange.sequencer.halted).toBeNull();
  } finally {
    await server.close();
  }
});

it('a journal.head of another journal is refused, also where it marks what a start does not need', async () => {
  const folder = copyOf(stopped);
  const newest = listSnapshots(folder)[0]!.sequence;
  const { lastSequence: sequence } = (await readAll(copyOf(folder))).findLast(
    (batch) => batch.lastSequence < newest,
  )!;
  await new HeadMark(join(folder, 'journal.head'), { sequence, hash: Buffer.alloc(32) }).close();
  expect(await refusalOf(folder)).toContain('is not the one that journal.head marks');
});

async function firstSequences(folder: string): Promise<number[]> {
  const reader = await openJournalReader(copyOf(folder));
  const firsts: number[] = [];
  for await (const { firstSequence } of reader.batches()) firsts.push(firstSequence);
  await reader.close();
  return firsts;
}

/** `verify` reports damage in the same words as the start. */
async function expectVerifySays(folder: string, message: string): Promise<void> {
  const before = traceOf(folder);
  const run = await replayTool(folder, 'verify');
  expect(traceOf(folder)).toEqual(before);
  expect(run.status).toBe(1);
  // Sentence by sentence, because the problem and the remedy are on different lines.
  for (const sentence of message.split(/(?<=\.) /)) expect(run.err).toContain(sentence);
}

describe('a missing journal', () => {
  const JOURNAL = ['journal.db', 'journal.db-wal', 'journal.db-shm', 'journal.head'];

  it.each([
    ['snapshots', ['history.db', 'history.db-wal', 'history.db-shm']],
    ['a history', ['snapshots']],
  ])('next to %s is refused, and nothing is created', async (what, without) => {
    const folder = copyOf(killed);
    for (const name of [...JOURNAL, ...without])
      rmSync(join(folder, name), { recursive: true, force: true });
    const message = await refusalOf(folder);
    expect(message).toContain(what === 'snapshots' ? 'snapshots/snapshot-' : 'history.db');
    expect(readdirSync(folder)).not.toContain('journal.db');
    await expectVerifySays(folder, message);
  });
});

describe('where verify and the start must agree', () => {
  it('an unreadable journal.head', async () => {
    const folder = copyOf(killed);
    writeFileSync(join(folder, 'journal.head'), Buffer.alloc(8192));
    const message = await refusalOf(folder);
    expect(message).toContain('journal.head is unreadable');
    await expectVerifySays(folder, message);
  });

  it('an unreadable journal.head and a missing write-ahead log: the missing part is named', async () => {
    for (const without of [[], ['snapshots']]) {
      const folder = copyOf(killed);
      writeFileSync(join(folder, 'journal.head'), Buffer.alloc(8192));
      for (const name of ['journal.db-wal', 'journal.db-shm', ...without])
        rmSync(join(folder, name), { recursive: true });
      const message = await refusalOf(folder);
      expect(message).toContain('acknowledged commands are missing from the journal');
      await expectVerifySays(folder, message);
      expect((await replayTool(folder, 'verify')).err).not.toMatch(
        /nothing is lost|remove history/i,
      );
    }
  });

  it('damage that only a replay finds', async () => {
    const folder = copyOf(stopped);
    await replaceDigest(folder);
    const message = await refusalOf(folder);
    expect(message).toContain("the engine's digest is");
    await expectVerifySays(folder, message);
  });

  it('a file that SQLite would open read-only', async () => {
    const folder = copyOf(killed);
    flipByte(join(folder, 'journal.db'), 18, 1);
    const message = await refusalOf(folder);
    await expectVerifySays(folder, message);
  });

  it('damaged page pointers in journal.db that nothing reads', async () => {
    const folder = copyOf(stopped);
    // The largest root page: with it SQLite manages its pages differently.
    flipByte(join(folder, 'journal.db'), 55, 1);
    const message = await refusalOf(folder);
    expect(message).toContain('structure');
    await expectVerifySays(folder, message);
  });
});

it('a damaged session secret is refused before anything is written', async () => {
  const folder = copyOf(killed);
  truncateSync(join(folder, 'session-secret'), 20);
  expect(await refusalOf(folder)).toContain('session secret');
});

/** Appends a row with a wrong digest to a valid chain. */
async function replaceDigest(folder: string): Promise<void> {
  const journal = await openJournal({ folder });
  const firstSequence = journal.end.sequence + 1;
  const records = new RecordBuffer();
  records.append({ kind: 'advanceTime' }, told.atMs);
  const digest = '0123456789abcdef';
  await append(journal, {
    firstSequence,
    lastSequence: firstSequence,
    records: bytesOf(records),
    digest,
  });
  await journal.close();
}

function flipByte(path: string, at: number, bits: number): void {
  const bytes = readFileSync(path);
  bytes[at] = bytes[at]! ^ bits;
  writeFileSync(path, bytes);
}

/** The files of a folder that are not empty. */
function filesOf(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((name) => readFileSync(join(folder, name)).length > 0)
    .sort();
}

/** Flips one bit of a file or cuts its end; returns what was done. */
function damage(folder: string, random: Random): string {
  const name = random.pick(filesOf(folder));
  const path = join(folder, name);
  const { length } = readFileSync(path);
  if (random.chance(0.25)) {
    const left = random.whole(0, length - 1);
    truncateSync(path, left);
    return `${name} cut to ${left} of ${length} bytes`;
  }
  const at = random.whole(0, length - 1);
  const bit = random.whole(0, 7);
  flipByte(path, at, 1 << bit);
  return `${name}: bit ${bit} of byte ${at} of ${length}`;
}

test(`random damage is refused without changes, or harmless, SEED=${SEED}`, {
  timeout: 30_000 + DAMAGES * 10_000,
}, async () => {
  const random = new Random(`${SEED}:damage`);
  const counts = new Map<string, number>();
  for (let i = 0; i < DAMAGES; i++) {
    const folder = copyOf(random.chance(0.7) ? killed : stopped);
    const what = damage(folder, random);
    const before = traceOf(folder);
    const outcome = await startOn(folder).then(
      (server) => server,
      (error: Error) => error,
    );
    if (outcome instanceof TestServer) await expectHarmless(outcome, folder).catch(failing(what));
    else {
      expect(traceOf(folder), what).toEqual(before);
      // `verify` does not check the session secret.
      const isJournals = !what.startsWith('session-secret');
      if (isJournals) expect((await replayTool(folder, 'verify')).status, what).toBe(1);
    }
    const file = what.split(/[ :]/)[0]!.replace(/-\d+/, '');
    const kind = `${file} ${outcome instanceof TestServer ? 'harmless' : 'refused'}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    remove(folder);
  }
  const table = [...counts].sort().map(([kind, count]) => `${kind} ${count}`);
  process.stdout.write(`${DAMAGES} damages, SEED=${SEED}: ${table.join(', ')}\n`);
});

function failing(what: string): (error: Error) => never {
  return (error) => {
    throw new Error(`${what}: ${error.message}`, { cause: error });
  };
}
