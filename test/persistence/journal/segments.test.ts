/**
 * A journal of several segments: cut while it is written and read, sealed in the background, killed
 * while it is cut, and without its first segments. damage.test.ts covers damaged segments.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import sqlite3 from 'sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { unsealedIn } from '../../../persistence/journal/sealing.js';
import { archivedMark, listSegments, segmentAt } from '../../../persistence/journal/segments.js';
import type { JournalBatch } from '../../../persistence/journal/store.js';
import { DataFolder, openJournal } from '../../../persistence/recovery/data-folder.js';
import { closeDatabase, execute, openDatabase } from '../../../persistence/storage/sqlite.js';
import { eventually } from '../../support/eventually.js';
import { followAdvice } from '../../support/folders/advice.js';
import { fill, mounted } from '../../support/folders/full-disk.js';
import { operate } from '../../support/folders/operations.js';
import { isVouchedFor } from '../../support/folders/vouched.js';
import {
  Folders,
  journalErrorOf,
  readAll,
  recovered,
  SILENT,
  start,
  write,
  writeSegments,
} from '../../support/journal-fixture.js';
import { replayJson, replayTool } from '../../support/replay-tool.js';

const folders = new Folders();
const originals = new Folders();
/** A stopped journal of several sealed segments and an open one, with a snapshot in the fourth. */
let original: string;
let batches: JournalBatch[];

beforeAll(async () => {
  original = originals.make();
  await writeSegments(original);
  batches = await readAll(original);
  expect(listSegments(original).length).toBeGreaterThan(5);
});
afterEach(() => folders.removeAll());
afterAll(() => originals.removeAll());

/** The first sequence of a segment. */
async function firstOf(folder: string, number: number): Promise<number> {
  const reader = await openJournalReader(folder);
  const found = reader.segments.find(({ segment }) => segment.number === number)!;
  await reader.close();
  return found.start.sequence + 1;
}

const lastDigest = () => batches.at(-1)!.digest;

describe('segments', () => {
  it('are one chain: every batch, every position, the end', async () => {
    expect(batches.map(({ firstSequence }) => firstSequence)).toEqual(
      [1, ...batches.map(({ lastSequence }) => lastSequence + 1)].slice(0, -1),
    );
    const reader = await openJournalReader(original);
    for (const { lastSequence, hash } of batches.filter((_, i) => i % 5 === 0))
      expect((await reader.positionAt(lastSequence))!.hash).toEqual(hash);
    expect((await reader.end()).hash).toEqual(batches.at(-1)!.hash);
    expect((await reader.provenEnd()).hash).toEqual(batches.at(-1)!.hash);
    await reader.close();
    for (let i = 0; i < batches.length; i += 83) {
      const { lastSequence: sequence, hash, digest } = batches[i]!;
      expect(await readAll(original, { sequence, hash, digest })).toEqual(batches.slice(i + 1));
    }
  });

  it('are sealed: read-only, and without a log', () => {
    for (const { path } of listSegments(original).slice(0, -1)) {
      expect(statSync(path).mode & 0o777).toBe(0o400);
      expect(existsSync(`${path}-wal`)).toBe(false);
    }
  });

  it('are sealed while one is read for long: that is logged, bounded in files, and made up for', async () => {
    const folder = folders.make();
    const said: { file?: string; remedy?: string }[] = [];
    const log = {
      info: (fields: object) => said.push(fields),
      error: (fields: object) => said.push(fields),
    };
    const journal = await openJournal({ folder, segmentBytes: 20_000, log });
    const engine = new Engine();
    await write(journal, engine, { batchCount: 1, batchSize: 10 });
    const { path } = segmentAt(folder, 1);
    const reader = await openDatabase(path, sqlite3.OPEN_READONLY | sqlite3.OPEN_FULLMUTEX);
    await execute(reader, 'BEGIN; SELECT count(*) FROM batch');
    await write(journal, engine, { batchCount: 150, batchSize: 7 });
    expect(listSegments(folder).length).toBeGreaterThan(6);
    await eventually(() => expect(unsealedIn(folder).map((each) => each.path)).toEqual([path]));
    const open = readdirSync('/proc/self/fd').map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return '';
      }
    });
    // The files of the segment being written and of the one being read, journal.head and the lock.
    expect(open.filter((file) => file.startsWith(folder)).length).toBeLessThan(13);
    await eventually(() => expect(said).toHaveLength(1));
    expect(said[0]).toMatchObject({ file: path, remedy: expect.stringContaining('fuser -v') });
    expect((await operate('doctor', '--data', folder)).out).toContain(
      `${path} is full and not sealed`,
    );
    await execute(reader, 'COMMIT');
    await closeDatabase(reader);
    await eventually(() => expect(unsealedIn(folder)).toEqual([]));
    await eventually(() => expect(said).toHaveLength(2));
    await journal.close();
  });

  it('are followed by a reader while they are cut', async () => {
    const folder = folders.make();
    const engine = new Engine();
    const journal = await openJournal({ folder, segmentBytes: 20_000 });
    const written = await write(journal, engine, { batchCount: 1, batchSize: 10 });
    const reader = await openJournalReader(folder);
    const seen: JournalBatch[] = [];
    for (let round = 0; round < 30; round++) {
      written.push(...(await write(journal, engine, { batchCount: 9, batchSize: 7 })));
      const last = seen.at(-1);
      const after = last && { sequence: last.lastSequence, hash: last.hash, digest: last.digest };
      for await (const batch of reader.batches(after)) seen.push(batch);
      expect((await reader.end()).sequence).toBe(engine.sequence);
    }
    await reader.close();
    await journal.close();
    expect(seen).toEqual(written);
    expect(listSegments(folder).length).toBeGreaterThan(5);
  });

  it('are replayed and verified as a whole', async () => {
    const folder = folders.copy(original);
    const { engine, end } = await start(folder);
    expect(engine.digest()).toBe(end.digest);
    expect(await recovered(folder)).toMatchObject({ notice: null, digest: lastDigest() });
    expect((await replayJson(folder, 'verify')).good).toBe(true);
    const to = folders.make();
    expect((await operate('backup', '--data', folder, '--to', to)).status).toBe(0);
    expect(await readAll(to)).toEqual(batches);
    // The backup has the snapshot that its journal proves, and an exchange starts on it.
    expect(await isVouchedFor(to)).toBe(true);
    expect((await recovered(to)).digest).toBe(lastDigest());
  });
});

describe('a kill', () => {
  it('while the next file is created leaves one that is not a segment yet', async () => {
    const folder = folders.copy(original);
    const next = segmentAt(folder, listSegments(folder).length + 1);
    writeFileSync(next.path, '');
    expect((await recovered(folder)).digest).toBe(lastDigest());
    const { engine } = await start(folder);
    const journal = await openJournal({ folder });
    await write(journal, engine, { batchCount: 3, batchSize: 5 });
    await journal.close();
    expect((await readAll(folder)).length).toBe(batches.length + 3);
  });

  it('before a segment is sealed: the next start seals it', async () => {
    const folder = folders.copy(original);
    const paths = [2, listSegments(folder).length - 1].map((n) => segmentAt(folder, n).path);
    for (const path of paths) chmodSync(path, 0o600);
    await (await openJournal({ folder })).close();
    for (const path of paths) expect(statSync(path).mode & 0o777).toBe(0o400);
  });
});

it('an older segment that a start does not read: doctor does not advise to restore', async () => {
  const folder = folders.copy(original);
  const { path } = segmentAt(folder, 2);
  chmodSync(path, 0o600);
  const file = openSync(path, 'r+');
  writeSync(file, 'xxx', Math.floor(statSync(path).size / 2));
  closeSync(file);
  const { status, out } = await operate('doctor', '--data', folder);
  expect(status, out).toBe(0);
  expect(out).toContain(`The exchange continues at sequence ${batches.at(-1)!.lastSequence}`);
  expect(out).not.toContain('npm run restore');
});

describe('an archive', () => {
  const archive = (folder: string, to: string, ...more: string[]) =>
    operate('archive', '--data', folder, '--to', to, '--without-history', ...more);

  it('takes the sealed segments before the snapshots, a start says what it cannot prove, and they come back', async () => {
    const folder = folders.copy(original);
    const to = folders.make();
    const before = readFileSync(segmentAt(folder, 2).path);
    const moved = await archive(folder, to);
    expect([moved.status, moved.err]).toEqual([0, '']);
    expect(listSegments(folder)[0]!.number).toBe(4);
    const { notice, remark, digest } = await recovered(folder);
    expect(digest).toBe(lastDigest());
    expect(notice).toBeNull();
    expect(remark).toMatch(/segments \(journal\.db to journal-000003\.db\) are in the archive/);
    // Segments that the operator has moved away are not damage.
    const verified = await replayTool(folder, 'verify');
    expect([verified.status, verified.err]).toEqual([0, '']);
    expect(verified.out).toMatch(/unread .the segments before the snapshot at sequence \d+/);

    // Trading continues without them.
    const data = await DataFolder.lock({ folder });
    const engine = await data.recover({ log: SILENT, elapsedMs: () => 0 });
    const journal = await data.openJournal();
    await write(journal, engine, { batchCount: 5, batchSize: 5 });
    const back = await archive(folder, to, '--restore');
    expect([back.status, back.err]).toEqual([0, '']);
    await journal.close();
    expect(readFileSync(segmentAt(folder, 2).path)).toEqual(before);
    expect(await replayJson(folder, 'verify')).toMatchObject({
      good: true,
      beganAt: 0,
      batches: batches.length + 5,
    });
    expect((await readAll(folder)).length).toBe(batches.length + 5);
  });

  it('leaves what the history has not been made from, and one that is not sealed: exit status 1', async () => {
    const folder = folders.copy(original);
    const run = await operate('archive', '--data', folder, '--to', folders.make());
    expect(run).toMatchObject({ status: 1, out: expect.stringContaining('No segment was moved') });
    expect(run.err).toMatch(
      /history contains the commands up to sequence 0 only.*--without-history/,
    );
    const { path } = segmentAt(folder, 2);
    chmodSync(path, 0o600);
    const one = await archive(folder, folders.make());
    expect(one).toMatchObject({
      status: 1,
      out: expect.stringMatching(/moved to \S+: journal\.db\n/),
    });
    expect(one.err).toContain(`${path} is full and not sealed`);
  });

  it('takes segments from a full disk, which then has room', async ({ skip }) => {
    const folder = folders.make();
    mkdirSync(folder, { recursive: true });
    skip(!mounted(folder), 'this user cannot mount a small disk');
    try {
      cpSync(original, folder, { recursive: true });
      fill(folder);
      const to = folders.make();
      expect(await archive(folder, to)).toMatchObject({ status: 0, err: '' });
      expect(readFileSync(archivedMark(segmentAt(folder, 2).path), 'utf8')).toMatch(/^\d+\n$/);
      rmSync(join(folder, 'filler'));
      expect(await archive(folder, to, '--restore')).toMatchObject({ status: 0, err: '' });
      expect(await readAll(folder)).toEqual(batches);
    } finally {
      execFileSync('umount', [folder]);
    }
  });

  it('of more than a backup has: the backup goes on when it is back', async () => {
    const folder = folders.copy(original);
    const [to, old, fresh] = [folders.make(), folders.make(), folders.make()];
    const early = String(batches[5]!.lastSequence);
    await operate('restore', '--data', folder, '--to', old, '--at', early);
    await archive(folder, to);
    const { out } = await operate('doctor', '--data', folder, '--backup', old);
    expect(out).toContain(`lacks the commands from ${Number(early) + 1} to`);
    expect(out).not.toContain('to another exchange');
    const into = (backup: string) => operate('backup', '--data', folder, '--to', backup);
    for (const backup of [old, fresh]) {
      const refused = await into(backup);
      expect([refused.status, refused.err]).toEqual([2, expect.stringContaining('--restore')]);
    }
    await archive(folder, to, '--restore');
    for (const backup of [old, fresh]) {
      expect((await into(backup)).status).toBe(0);
      expect(await readAll(backup)).toEqual(batches);
    }
  });

  it('without a snapshot after them a start is refused, and says what to bring back', async () => {
    const [folder, to] = [folders.copy(original), folders.make()];
    await archive(folder, to);
    rmSync(join(folder, 'snapshots'), { recursive: true });
    const error = await journalErrorOf(recovered(folder));
    expect(error.message).toMatch(/\(journal\.db to journal-000003\.db\), .* --restore/);
    const { out } = await operate('doctor', '--data', folder);
    expect(out).toMatch(/Bring the segments back.*: .* --restore$/m);
  });

  it('of a newer folder: what the folder cannot prove is left there', async () => {
    const [newer, older, to] = [folders.copy(original), folders.copy(original), folders.make()];
    await archive(newer, to);
    for (const { number, path } of listSegments(older)) if (number > 2) rmSync(path);
    rmSync(join(older, 'snapshots'), { recursive: true });
    const beginning = folders.make();
    await followAdvice((await operate('doctor', '--data', older)).out, beginning);
    expect((await readAll(beginning)).at(-1)!.lastSequence).toBe((await firstOf(original, 3)) - 1);
    rmSync(segmentAt(older, 1).path);
    const back = await archive(older, to, '--restore');
    expect(back.out).toBe(
      `Segments brought back from ${to}: journal.db\n` +
        `Segments left in the archive, because the segment after each is missing in ${older}, so nothing proves that they are right: journal-000003.db\n`,
    );
  });

  it('moves nothing without a snapshot for which the journal vouches', async () => {
    const folder = folders.copy(original);
    rmSync(join(folder, 'snapshots'), { recursive: true });
    const run = await archive(folder, folders.make());
    expect(run.status).toBe(0);
    expect(run.out).toMatch(/No segment was moved.*\(sequence none\)/);
    expect(listSegments(folder)[0]!.number).toBe(1);
  });

  it('of another exchange, or of this one from before a restore, is not overwritten', async () => {
    const [folder, other, to] = [folders.copy(original), folders.copy(original), folders.make()];
    await archive(folder, to);
    const kept = readFileSync(join(to, 'journal-000002.db.gz'));
    for (const name of ['journal.db.gz', 'journal-000003.db.gz']) rmSync(join(to, name));
    writeFileSync(join(to, 'journal-000002.db.gz'), gzipSync('another'));
    const run = await archive(other, to);
    expect([run.status, run.err]).toEqual([
      2,
      expect.stringMatching(/journal-000002\.db\.gz already exists/),
    ]);
    expect(listSegments(other)).toHaveLength(listSegments(original).length);
    expect(existsSync(join(to, 'journal.db.gz'))).toBe(false);
    writeFileSync(join(to, 'journal-000002.db.gz'), kept);
    expect((await archive(other, to)).status).toBe(0);
  });

  it('is a folder of its own', async () => {
    const folder = folders.copy(original);
    const link = folders.make();
    symlinkSync(folder, link);
    for (const to of [folder, join(folder, 'archive'), link]) {
      const run = await archive(folder, to);
      expect([run.status, run.err]).toEqual([
        2,
        expect.stringContaining('contains the other, or they are the same folder'),
      ]);
    }
    const run = await archive(folder, original);
    expect([run.status, run.err]).toEqual([2, expect.stringContaining('is a data folder')]);
    expect(listSegments(folder)).toHaveLength(listSegments(original).length);
  });

  it('puts what is in the way of a segment aside', async () => {
    const [moved, folder, to] = [folders.copy(original), folders.copy(original), folders.make()];
    await archive(moved, to);
    const { path } = segmentAt(folder, 2);
    const before = readFileSync(path);
    rmSync(path);
    writeFileSync(path, 'x');
    const back = await archive(folder, to, '--restore');
    expect(back.out).toBe(`Segments brought back from ${to}: journal-000002.db\n`);
    expect(readFileSync(path)).toEqual(before);
    expect(readFileSync(`${path}.changed-1`, 'utf8')).toBe('x');
  });

  it('that is damaged is named as the damaged file, and stops no start', async () => {
    const [folder, to, backup] = [folders.copy(original), folders.make(), folders.make()];
    await operate('backup', '--data', folder, '--to', backup);
    await archive(folder, to);
    writeFileSync(join(to, 'journal-000002.db.gz'), gzipSync('another'));
    const back = await archive(folder, to, '--restore');
    expect(back.err).toMatch(
      /journal-000002.db.gz is not the segment.*An exchange starts without it/,
    );
    rmSync(join(folder, 'journal-000002.db.archived'));
    const { status, out } = await operate('doctor', '--data', folder, '--backup', backup);
    expect([status, out]).toEqual([0, expect.stringContaining(`${backup} has the commands of`)]);
  });

  it('is not trusted: no link is followed, and no more is unpacked than the segment had', async () => {
    const folder = folders.copy(original);
    const archive = folders.make();
    mkdirSync(archive);
    const precious = join(folders.make(), 'precious');
    mkdirSync(dirname(precious), { recursive: true });
    writeFileSync(precious, 'precious');
    symlinkSync(precious, join(archive, 'journal.db.gz.tmp'));
    const request = ['--data', folder, '--to', archive, '--without-history'];
    const { status } = await operate('archive', ...request);
    expect([status, readFileSync(precious, 'utf8')]).toEqual([0, 'precious']);

    const packed = join(archive, 'journal.db.gz');
    const zeros = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    writeFileSync(packed, zeros);
    symlinkSync(precious, join(folder, 'journal.db.tmp'));
    const before = process.resourceUsage().fsWrite;
    const back = await operate('archive', '--restore', '--data', folder, '--to', archive);
    expect([back.status, back.err]).toEqual([1, expect.stringContaining('is not the segment')]);
    // In blocks of 512 bytes: a few blocks, not 64 MiB.
    expect(process.resourceUsage().fsWrite - before).toBeLessThan(65_536);
    expect(readFileSync(precious, 'utf8')).toBe('precious');
    expect(existsSync(join(folder, 'journal.db.tmp'))).toBe(false);
  });
});
