/**
 * The journal: every committed command reads back unchanged, in every way of reading and by every
 * reader.
 */
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { type JournalError, JournalUnavailable } from '../../../persistence/journal/errors.js';
import {
  FORMAT_VERSION,
  GENESIS,
  GENESIS_HASH,
  type JournalPosition,
  MAX_ROW_BYTES,
} from '../../../persistence/journal/format.js';
import { configure } from '../../../persistence/journal/open-segment.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { rowProblem } from '../../../persistence/journal/row.js';
import { logBytes } from '../../../persistence/journal/segments.js';
import { DataFolder, openJournal } from '../../../persistence/recovery/data-folder.js';
import { JournalFollower } from '../../../persistence/recovery/recovery.js';
import { closeDatabase, openDatabase, query } from '../../../persistence/storage/sqlite.js';
import { eventually } from '../../support/eventually.js';
import {
  append,
  Folders,
  journalErrorOf,
  readAll,
  replay,
  start,
  tamper,
  write,
  writeJournal,
} from '../../support/journal-fixture.js';

const folders = new Folders();
afterEach(() => folders.removeAll());

const DIGEST = '0123456789abcdef';

describe('a connection that commits', () => {
  it.each([
    ['full', 2, 1],
    ['normal', 1, 0],
    ['off', 0, 0],
  ] as const)('with durability %s', async (durability, synchronous, fullfsync) => {
    const folder = folders.make();
    await writeJournal(folder);
    const database = await openDatabase(join(folder, 'journal.db'), sqlite3.OPEN_READWRITE);
    await configure(database, durability);
    const pragma = async (name: string) =>
      Object.values((await query<object>(database, `PRAGMA ${name}`))[0]!)[0];
    expect(await pragma('journal_mode')).toBe('wal');
    expect(await pragma('synchronous')).toBe(synchronous);
    // On macOS, a sync without these pragmas reaches only the disk's cache. SQLite accepts them on
    // every platform.
    expect(await pragma('fullfsync')).toBe(fullfsync);
    expect(await pragma('checkpoint_fullfsync')).toBe(fullfsync);
    await closeDatabase(database);
  });
});

describe('a journal', () => {
  it('starts empty, in a folder and files that only the owner can read', async () => {
    const folder = folders.make();
    const journal = await openJournal({ folder });
    expect(journal.end).toEqual({ sequence: 0, hash: GENESIS_HASH, digest: null });
    await write(journal, new Engine(), { batchCount: 1, batchSize: 1 });
    const modes = ['', 'journal.db', 'journal.db-wal', 'journal.head', 'journal.lock'].map(
      (name) => statSync(join(folder, name)).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600, 0o600, 0o600, 0o600]);
    await journal.close();
    expect(await readAll(folder)).toHaveLength(1);
  });

  it('that a kill left before it had its name is made by the start', async () => {
    const folder = folders.make();
    await writeJournal(folder, { batchCount: 1, batchSize: 1 });
    for (const name of readdirSync(folder)) if (name !== 'journal.lock') rmSync(join(folder, name));
    writeFileSync(join(folder, 'journal.db.new'), 'half');
    writeFileSync(join(folder, 'journal.db.new-wal'), 'half');
    await (await openJournal({ folder })).close();
    expect(readdirSync(folder).sort()).toEqual(['journal.db', 'journal.head', 'journal.lock']);
  });

  it('does not take a digest of another type, as SQLite returns it when a bit of the row is flipped', async () => {
    const folder = folders.make();
    await writeJournal(folder);
    const [first] = await readAll(folder);
    expect(rowProblem(first!, GENESIS)).toBeNull();
    const digest = Buffer.from(first!.digest) as unknown as string;
    expect(rowProblem({ ...first!, digest }, GENESIS)).toMatch(/^is not what was written/);
  });

  it('supports sequences beyond 32 bits', async () => {
    const folder = folders.make();
    const journal = await openJournal({ folder });
    const lastSequence = 5_000_000_000;
    await append(journal, {
      firstSequence: 1,
      lastSequence,
      records: Buffer.from([1]),
      digest: DIGEST,
    });
    const batch = {
      firstSequence: lastSequence + 1,
      lastSequence: 2 ** 50,
      records: Buffer.from([2]),
      digest: DIGEST,
    };
    await append(journal, batch);
    await journal.close();
    const again = await openJournal({ folder });
    expect(again.end.sequence).toBe(2 ** 50);
    await again.close();
    expect((await readAll(folder))[1]).toMatchObject(batch);
  });

  it('refuses a batch that is too large, or comes while another is written', async () => {
    const folder = folders.make();
    const journal = await openJournal({ folder });
    const records = Buffer.alloc(3);
    const batch = { firstSequence: 1, lastSequence: 2, records, digest: DIGEST };
    const refuse = (change: object) => () => journal.append({ ...batch, ...change }, () => {});
    expect(refuse({ records: Buffer.alloc(MAX_ROW_BYTES + 1) })).toThrow(RangeError);
    const done = append(journal, batch);
    expect(refuse({ firstSequence: 3, lastSequence: 3 })).toThrow('still being written');
    await expect(journal.close()).rejects.toThrow('being written');
    await done;
    await journal.close();
    expect(await readAll(folder)).toHaveLength(1);
  });
});

it('a log that grew beside a long reader shrinks when that has gone', async () => {
  const folder = folders.make();
  const journal = await openJournal({ folder, durability: 'off' });
  const engine = new Engine();
  const path = join(folder, 'journal.db');
  const reader = await openDatabase(path, sqlite3.OPEN_READONLY);
  await query(reader, 'BEGIN');
  await query(reader, 'SELECT count(*) FROM batch');
  while (logBytes(folder)! < 24 * 1024 * 1024)
    await write(journal, engine, { batchCount: 20, batchSize: 2_000 });
  await query(reader, 'COMMIT');
  await closeDatabase(reader);
  for (let i = 0; i < 50 && logBytes(folder)! > 16 * 1024 * 1024; i++)
    await write(journal, engine, { batchCount: 1, batchSize: 2_000 });
  expect(logBytes(folder)).toBeLessThanOrEqual(16 * 1024 * 1024);
  await journal.close();
});

describe('files that somebody removes', () => {
  it.each(['journal.db', 'journal.db-wal', 'journal.head'])(
    '%s: it says so, also when nothing is committed, and no commit counts any more',
    async (name) => {
      const folder = folders.make();
      const lost: JournalError[] = [];
      const journal = await openJournal({ folder, onLost: (error) => lost.push(error) });
      const engine = new Engine();
      await write(journal, engine, { batchCount: 1, batchSize: 1 });
      renameSync(join(folder, name), join(folder, 'elsewhere'));
      await eventually(() => lost.length > 0);
      const more = write(journal, engine, { batchCount: 1, batchSize: 1 });
      await expect(more).rejects.toThrow(lost[0]);
      expect(lost[0]!.message).toMatch(new RegExp(`${name} was removed, moved or replaced`));
      await journal.close();
    },
  );
});

it('a folder that others may change is noticed', async () => {
  const folder = folders.make();
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o777);
  const data = await DataFolder.lock({ folder });
  expect(data.notice).toMatch(/others than its owner may change.*chmod 700/);
  chmodSync(folder, 0o700);
  expect([data.notice, data.isNew]).toEqual([null, true]);
  await data.release();
});

describe('a reader', () => {
  it('reads rows that together exceed one page', async () => {
    const folder = folders.make();
    const journal = await openJournal({ folder, durability: 'off' });
    for (let sequence = 1; sequence <= 5; sequence++) {
      const records = Buffer.alloc(5_000_000, sequence);
      await append(journal, {
        firstSequence: sequence,
        lastSequence: sequence,
        records,
        digest: DIGEST,
      });
    }
    await journal.close();
    const batches = await readAll(folder);
    expect(batches.map(({ records }) => [records.length, records[0]])).toEqual(
      [1, 2, 3, 4, 5].map((value) => [5_000_000, value]),
    );
  });

  it('starts at the end of any batch, and nowhere else', async () => {
    const folder = folders.make();
    const { batches } = await writeJournal(folder);
    const { lastSequence: sequence, hash, digest } = batches[3]!;
    expect(await readAll(folder, { sequence, hash, digest })).toEqual(batches.slice(4));
    const inside = await journalErrorOf(readAll(folder, { sequence: 45, hash, digest }));
    expect(inside.firstBadSequence).toBe(46);
    const otherHash = await journalErrorOf(
      readAll(folder, { sequence, hash: batches[2]!.hash, digest }),
    );
    expect(otherHash.firstBadSequence).toBe(41);
  });

  it('verifies short and long rows to the end, as reading batch by batch does', async () => {
    const folder = folders.make();
    const journal = await openJournal({ folder });
    const sizes = [0, 1, 300, 200_000, 3_000_000, 5, 9_000_000, 16, 40_000, 7];
    let firstSequence = 1;
    for (let i = 0; i < 200; i++) {
      const records = Buffer.alloc(i % 20 === 0 ? sizes[i / 20]! : (i * 37) % 900, i);
      const lastSequence = firstSequence + (i % 3);
      await append(journal, { firstSequence, lastSequence, records, digest: DIGEST });
      firstSequence = lastSequence + 1;
    }
    await journal.close();
    const reader = await openJournalReader(folder);
    expect(await reader.provenEnd()).toEqual(journal.end);
    await reader.close();
  });

  it('reports a missing journal and another kind of database', async () => {
    const folder = folders.make();
    expect((await journalErrorOf(openJournalReader(folder))).message).toContain(
      'there is no journal',
    );
    await writeJournal(folder);
    await tamper(folder, 'PRAGMA user_version = 999');
    for (const open of [() => openJournalReader(folder), () => openJournal({ folder })]) {
      const { message } = await journalErrorOf(open());
      expect(message).toContain(
        `is a journal of version 999; this program reads and writes version ${FORMAT_VERSION}`,
      );
      expect(message).toContain('Use this folder with the program that wrote it');
    }
    await tamper(folder, `PRAGMA user_version = ${FORMAT_VERSION}`, 'CREATE TABLE extra (a)');
    expect((await journalErrorOf(openJournal({ folder }))).message).toContain(
      "does not have a journal's tables",
    );
    await tamper(folder, 'DROP TABLE extra', 'PRAGMA application_id = 7');
    expect((await journalErrorOf(openJournal({ folder }))).message).toContain(
      'not a journal of this exchange',
    );
  });
});

describe('a journal that cannot be read now', () => {
  it('is refused without being called damaged', async () => {
    const folder = folders.make();
    await writeJournal(folder);
    // SQLite needs this name for one of its files.
    mkdirSync(join(folder, 'journal.db-wal'));
    for (const open of [() => openJournal({ folder }), () => openJournalReader(folder)]) {
      const error = await open().catch((error: unknown) => error);
      expect(error).toBeInstanceOf(JournalUnavailable);
      expect((error as Error).message).toContain('cannot be read now: SQLITE_CANTOPEN');
    }
    rmdirSync(join(folder, 'journal.db-wal'));
    expect((await start(folder)).engine.sequence).toBe(100);
  });
});

describe('recovery', () => {
  it("continues only from the engine's own position", async () => {
    const folder = folders.make();
    const { batches, end } = await writeJournal(folder);
    const engine = new Engine();
    const half = batches[4]!;
    const after = { sequence: half.lastSequence, hash: half.hash, digest: half.digest };
    const reader = await openJournalReader(folder);
    const errorAt = (engine: Engine, after: JournalPosition) =>
      journalErrorOf((async () => new JournalFollower(engine, after))());
    expect((await errorAt(engine, after)).firstBadSequence).toBe(51);

    const replayed = new Engine();
    const other = folders.make();
    mkdirSync(other);
    await writeJournal(other, { batchCount: 5, batchSize: 10 });
    await replay(other, replayed);
    const wrong = { ...after, digest: batches[3]!.digest };
    expect((await errorAt(replayed, wrong)).firstBadSequence).toBe(51);
    const follower = new JournalFollower(replayed, after);
    await follower.follow(reader);
    expect(follower.position).toEqual(end);
    expect(replayed.digest()).toBe(end.digest);
    await reader.close();
  });
});
