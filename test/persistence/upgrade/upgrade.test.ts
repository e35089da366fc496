/**
 * A folder that this program has written, kept in the repository (CONTRIBUTING.md says how to make
 * it anew). An exchange that starts on it answers as the one that wrote it did. Who changes what
 * recorded commands lead to changes this on purpose, or not at all.
 *
 * And the way to the next version, tried with a made-up version that differs from this one in its
 * number alone.
 */
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FORMAT_VERSION, OLDER_VERSIONS } from '../../../persistence/journal/format.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { listSegments } from '../../../persistence/journal/segments.js';
import { closeDatabase, execute, openDatabase } from '../../../persistence/storage/sqlite.js';
import { operate } from '../../support/folders/operations.js';
import { Folders, readAll } from '../../support/journal-fixture.js';
import { replayJson, replayTool, traceOf } from '../../support/replay-tool.js';
import { PARTNER_KEYS, TestServer } from '../../support/server.js';
import { expectAnswers, kept } from './kept.js';

/** One before the present version, and one after it. */
const [BEFORE, AFTER] = [FORMAT_VERSION - 1, FORMAT_VERSION + 1];

const folders = new Folders();
beforeEach(() => void OLDER_VERSIONS.add(BEFORE));
afterEach(() => {
  OLDER_VERSIONS.clear();
  folders.removeAll();
});

it('the kept folder leads to the digest and the answers of the program that wrote it', async () => {
  const { folder, answers } = kept(folders);
  const { journal, good } = await replayJson(folder, 'verify');
  expect(good).toBe(true);
  expect([journal.sequence, journal.digest]).toEqual([answers.sequence, answers.digest]);
  const server = await TestServer.start({ partnerKeys: PARTNER_KEYS }, folder, answers.atMs);
  try {
    await expectAnswers(server, answers);
  } finally {
    await server.close();
  }
});

describe('an upgrade', () => {
  it('leaves the old folder as it is, and the new one says where it comes from', async () => {
    const { folder, answers } = await keptAs(BEFORE);
    const before = traceOf(folder);
    const to = folders.make();
    const { status, out, err } = await operate('upgrade', '--data', folder, '--to', to);
    expect([status, err]).toEqual([0, '']);
    expect(traceOf(folder)).toEqual(before);
    expect(out).toMatch(/from version 0 to 1\..*replayed to its end at sequence \d+/);
    const old = await readAll(folder);
    expect((await readAll(to)).slice(0, old.length)).toEqual(old);
    const reader = await openJournalReader(to);
    const [first, second] = reader.outline();
    await reader.close();
    expect(second!.firstSequence).toBe(answers.sequence + 1);
    expect(first!.fileHash).not.toBeNull();

    expect(await replayJson(to, 'verify')).toMatchObject({
      good: true,
      journal: { sequence: answers.sequence + 2 },
      upgrades: [{ sequence: answers.sequence + 1, fromVersion: BEFORE, toVersion: 1 }],
      snapshots: [{ vouched: true }],
    });
    const { out: explained } = await replayTool(to, 'explain', '--user', 'u1');
    expect(explained).toMatch(/upgrade .*recordUpgrade from version 0 to 1/);
  });

  it('is needed before a start and a copy, and refused where there is nothing to do', async () => {
    const { folder } = await keptAs(BEFORE);
    const before = traceOf(folder);
    await expect(TestServer.start({}, folder)).rejects.toThrow(
      /of version 0; this program writes version 1.*npm run upgrade/,
    );
    for (const args of [
      ['backup', '--data'],
      ['copy', '--from'],
    ]) {
      const to = folders.make();
      const { status, err } = await operate(...args, folder, '--to', to);
      expect([status, err]).toEqual([2, expect.stringContaining('upgrade it first')]);
      expect(existsSync(to)).toBe(false);
    }
    expect(traceOf(folder)).toEqual(before);
    const again = await operate('upgrade', '--data', kept(folders).folder, '--to', folders.make());
    expect([again.status, again.err]).toEqual([2, expect.stringContaining('version 1 already')]);
  });

  it('that fails leaves nothing, and no exchange starts on one that was interrupted', async () => {
    const { folder } = await keptAs(BEFORE);
    const secret = join(folder, 'session-secret');
    rmSync(secret);
    mkdirSync(secret);
    const to = folders.make();
    const { status } = await operate('upgrade', '--data', folder, '--to', to);
    expect([status, existsSync(to)]).toEqual([2, false]);
    rmSync(secret, { recursive: true });
    expect((await operate('upgrade', '--data', folder, '--to', to)).status).toBe(0);
    writeFileSync(join(to, 'unfinished-upgrade'), '');
    await expect(TestServer.start({}, to)).rejects.toThrow('is an upgrade that was interrupted');
  });
});

it('a folder of a version that this program does not know is refused, and unchanged', async () => {
  const { folder } = await keptAs(AFTER);
  const before = traceOf(folder);
  const refusal = /of version 2; this program reads and writes version 1.*Nothing was changed/;
  await expect(TestServer.start({}, folder)).rejects.toThrow(refusal);
  const to = folders.make();
  const { status, err } = await operate('upgrade', '--data', folder, '--to', to);
  expect([status, err, existsSync(to)]).toEqual([1, expect.stringMatching(refusal), false]);
  expect(traceOf(folder)).toEqual(before);
});

/** The kept folder with another version in its journal's header. */
async function keptAs(version: number): Promise<ReturnType<typeof kept>> {
  const made = kept(folders);
  const { path } = listSegments(made.folder).at(-1)!;
  chmodSync(path, 0o600);
  const database = await openDatabase(path, sqlite3.OPEN_READWRITE);
  await execute(database, `PRAGMA user_version = ${version}`);
  await closeDatabase(database);
  return made;
}
