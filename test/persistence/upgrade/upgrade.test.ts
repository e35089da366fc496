/**
 * Folders that real programs have written, one of each version: `version-0` by the last one before
 * the first release, `version-1` by this one (`npm run golden` makes it anew). Older ones are
 * upgraded first. An exchange that starts on them answers as the one that wrote them did. Who
 * changes what recorded commands lead to changes this on purpose, or not at all.
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { openJournal } from '../../../persistence/data-folder.js';
import { FORMAT_VERSION } from '../../../persistence/journal/format.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { listSegments } from '../../../persistence/journal/segments.js';
import { type FolderVersion, VERSIONS } from '../../../persistence/journal/versions.js';
import { append } from '../../../persistence/operations/copy-journal.js';
import { fileHash } from '../../../persistence/storage/files.js';
import {
  closeDatabase,
  execute,
  openDatabase,
  query,
} from '../../../persistence/storage/sqlite.js';
import { operate } from '../../support/folders/operations.js';
import { Folders, readAll } from '../../support/journal-fixture.js';
import { replayJson, replayTool, traceOf } from '../../support/replay-tool.js';
import { PARTNER_KEYS, TestServer } from '../../support/server.js';
import { expectAnswers, KEPT, kept, upgraded } from './kept.js';

const folders = new Folders();
afterEach(() => folders.removeAll());

it('there is a folder of every version', () => {
  const names = VERSIONS.map(({ version }) => `version-${version}`);
  expect(readdirSync(KEPT).sort()).toEqual(names);
});

describe.each(VERSIONS)('a folder of version $version', ({ version }) => {
  it('leads to the digest and the answers of the program that wrote it', async () => {
    const { folder, answers } = kept(folders, version);
    const { journal, good } = await replayJson(folder, 'verify');
    expect(good).toBe(true);
    expect([journal.sequence, journal.digest]).toEqual([answers.sequence, answers.digest]);

    const present = version === FORMAT_VERSION ? folder : (await upgraded(folders, folder)).to;
    const server = await TestServer.start({ partnerKeys: PARTNER_KEYS }, present, answers.atMs);
    try {
      await expectAnswers(server, answers, version);
    } finally {
      await server.close();
    }
  });
});

describe('an upgrade', () => {
  it('leaves the old folder as it is, and the new one says where it comes from', async () => {
    const { folder, answers } = kept(folders, 0);
    const before = traceOf(folder);
    const { to, out } = await upgraded(folders, folder);
    expect(traceOf(folder)).toEqual(before);
    expect(out).toMatch(/from version 0 to 1\..*the balances of \d+ users, \d+ positions/);
    const [, positions, orders, receipts] =
      /(\d+) positions, (\d+) resting orders and (\d+) receipts/.exec(out)!.map(Number);
    expect(receipts).toBe(answers.keyed.length);
    expect([positions! > 2, orders! > 2]).toEqual([true, true]);

    expect(out).toContain('The state was taken from its newest snapshot');
    const old = await readAll(folder);
    expect((await readAll(to)).slice(0, old.length)).toEqual(old);
    const reader = await openJournalReader(to);
    const [first, second] = reader.outline();
    await reader.close();
    expect(second!.firstSequence).toBe(answers.sequence + 1);
    expect(first!.fileHash).not.toBeNull();
    expect(existsSync(join(to, 'history.db'))).toBe(false);

    const verified = await replayJson(to, 'verify');
    expect(verified).toMatchObject({
      good: true,
      journal: { sequence: answers.sequence + 2 },
      upgrades: [{ sequence: answers.sequence + 1, fromVersion: 0, toVersion: 1 }],
    });
    expect(verified.snapshots.map((one: { vouched: boolean }) => one.vouched)).toEqual([
      true,
      true,
    ]);
    const { out: explained } = await replayTool(to, 'explain', '--user', 'u1');
    expect(explained).toMatch(/upgrade .*recordUpgrade from version 0 to 1/);
  });

  it('is needed before a start, and refused where there is nothing to upgrade', async () => {
    const { folder } = kept(folders, 0);
    const before = traceOf(folder);
    await expect(TestServer.start({}, folder)).rejects.toThrow(
      /of before the first release; this program writes version 1.*npm run upgrade/,
    );
    const backup = await operate('backup', '--data', folder, '--to', folders.make());
    expect([backup.status, backup.err]).toEqual([2, expect.stringContaining('older version')]);
    expect(traceOf(folder)).toEqual(before);
    const { to } = await upgraded(folders, folder);
    const again = await operate('upgrade', '--data', to, '--to', folders.make());
    expect([again.status, again.err]).toEqual([2, expect.stringContaining('version 1 already')]);
    const onto = await operate('upgrade', '--data', folder, '--to', to);
    expect([onto.status, onto.err]).toEqual([2, expect.stringContaining('is not empty')]);
  });

  it('that fails leaves nothing, and no exchange starts on one that was interrupted', async () => {
    const { folder } = kept(folders, 0);
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
    const again = await operate('upgrade', '--data', to, '--to', folders.make());
    expect([again.status, again.err]).toEqual([1, expect.stringContaining('was interrupted')]);
  });

  it('is needed before a copy, too', async () => {
    const { folder } = kept(folders, 0);
    const before = traceOf(folder);
    const to = folders.make();
    const copy = await operate('copy', '--from', folder, '--to', to);
    expect([copy.status, copy.err]).toEqual([
      2,
      expect.stringContaining('is of an older version: copy it with the program that wrote it'),
    ]);
    expect([traceOf(folder), existsSync(to)]).toEqual([before, false]);
  });
});

describe('a folder of version 0 without its first segments', () => {
  it('is upgraded from its snapshot; what is in the archive comes back into the new one', async () => {
    const { folder, answers } = kept(folders, 0);
    const parts = await inSegments(folder);
    const whole = await readAll(parts);
    const archive = folders.make();
    const moved = await operate('archive', '--data', parts, '--to', archive);
    expect(moved).toMatchObject({ status: 0, err: '' });
    const [oldest] = listSegments(parts);
    expect(oldest!.number).toBeGreaterThan(2);
    const before = traceOf(parts);

    const { to, out } = await upgraded(folders, parts);
    expect(traceOf(parts)).toEqual(before);
    expect(out).toContain('from the oldest snapshot, without what is archived');
    expect(out).toContain(`${answers.keyed.length} receipts by idempotency key are equal`);
    const server = await TestServer.start({ partnerKeys: PARTNER_KEYS }, to, answers.atMs);
    await server.close();
    const verified = await replayTool(to, 'verify');
    expect([verified.status, verified.out]).toEqual([0, expect.stringContaining('not read')]);

    const back = await operate('archive', '--restore', '--data', to, '--to', archive);
    expect(back).toMatchObject({ status: 0, err: '' });
    expect((await replayJson(to, 'verify')).good).toBe(true);
    expect((await readAll(to)).slice(0, whole.length)).toEqual(whole);
    const again = await TestServer.start({ partnerKeys: PARTNER_KEYS }, to, answers.atMs);
    try {
      await expectAnswers(again, answers, 0);
    } finally {
      await again.close();
    }
  });

  it('is refused without a snapshot after them, in words', async () => {
    const parts = await inSegments(kept(folders, 0).folder);
    await operate('archive', '--data', parts, '--to', folders.make());
    rmSync(join(parts, 'snapshots'), { recursive: true });
    const before = traceOf(parts);
    const to = folders.make();
    const { status, err } = await operate('upgrade', '--data', parts, '--to', to);
    expect([status, err]).toEqual([1, expect.stringMatching(/not in the folder.*--restore/)]);
    expect([traceOf(parts), existsSync(to)]).toEqual([before, false]);
  });
});

/** The same batches in several segments of version 0, with the snapshot and the secret. */
async function inSegments(folder: string): Promise<string> {
  const to = folders.make();
  const journal = await openJournal({ folder: to, segmentBytes: 14_000 });
  for (const batch of await readAll(folder)) await append(journal, batch);
  await journal.sealed();
  await journal.close();
  const [{ applicationId, userVersion }] = VERSIONS as [FolderVersion];
  let hash: Buffer | null = null;
  for (const { path } of listSegments(to)) {
    chmodSync(path, 0o600);
    const database = await openDatabase(path, sqlite3.OPEN_READWRITE);
    await execute(
      database,
      `PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${userVersion}`,
    );
    if (hash !== null) await query(database, 'UPDATE head SET previousFile = ?', [hash]);
    await closeDatabase(database);
    hash = fileHash(path);
  }
  for (const name of ['snapshots', 'session-secret'])
    cpSync(join(folder, name), join(to, name), { recursive: true });
  return to;
}
