/**
 * The report of `doctor` on a whole folder, a damaged one, and one whose start needs the archive.
 * fault-table.test.ts follows its advice, for every file and damage.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openJournal } from '../../../../persistence/recovery/data-folder.js';
import { roomProblem } from '../../../../persistence/storage/room.js';
import { diagnose } from '../../../../persistence/tools/operations/doctor.js';
import { followAdvice } from '../../../support/folders/advice.js';
import { operate } from '../../../support/folders/operations.js';
import { Folders, tamper } from '../../../support/journal-fixture.js';
import { ReplayExchange } from '../../../support/replay-exchange.js';
import { traceOf } from '../../../support/replay-tool.js';

const SECRET = `${'A'.repeat(43)}\n`;
const folders = new Folders();
let data: string;
let end: number;
/** A backup of the first half. */
let backup: string;
let backupEnd: number;

beforeAll(async () => {
  [data, backup] = [folders.make(), folders.make()];
  const exchange = await ReplayExchange.open(data, 'doctor');
  await exchange.run(200);
  backupEnd = exchange.sequencer.durableSequence;
  await operate('backup', '--data', data, '--to', backup);
  for (let i = 0; i < 50; i++) exchange.trade();
  await exchange.settle();
  await exchange.sequencer.close();
  end = exchange.engine.sequence;
});
afterAll(() => folders.removeAll());

it('a whole folder: how to start, and what the backup lacks', async () => {
  const before = traceOf(data);
  const { status, out } = await operate('doctor', '--data', data, '--backup', backup);
  expect(status).toBe(0);
  expect(out).toContain(`good up to sequence ${end}, of 20`);
  expect(out).toContain(
    `start it with the same variables as before, and with DATA_FOLDER=${data}\n`,
  );
  // It cannot say that nothing is lost: commands may have been left out when the folder was made.
  expect(out).toContain('nothing in the folder shows that a command is lost');
  expect(out).toContain(`lacks the last ${end - backupEnd} commands`);
  expect(traceOf(data)).toEqual(before);
});

it('a damaged folder: what can be kept, beginning with what keeps the most', async () => {
  const folder = folders.copy(data);
  const bad = backupEnd - 10;
  await tamper(
    folder,
    `UPDATE batch SET records = zeroblob(length(records)) WHERE firstSequence = (SELECT max(firstSequence) FROM batch WHERE firstSequence <= ${bad})`,
  );
  const { status, out, err } = await operate('doctor', '--data', folder, '--backup', backup);
  expect(status).toBe(1);
  expect(err).toContain('no exchange can start');
  const [, good] = /good up to sequence (\d+)/.exec(out)!.map(Number);
  expect(good).toBeLessThan(bad);
  const keeps = [...out.matchAll(/keeps everything up to (\d+)/g)].map(([, n]) => Number(n));
  expect(keeps).toEqual([backupEnd, good]);
  expect(out).toContain(`up to ${end - backupEnd} acknowledged commands are lost`);
});

it('a history whose catalogue is damaged: under its heading, and what mends it', async () => {
  const folder = folders.copy(data);
  mkdirSync(join(folder, 'history'));
  writeFileSync(join(folder, 'history', 'catalogue.db'), 'no database, but long enough to be read');
  const { status, out } = await operate('doctor', '--data', folder);
  expect(status).toBe(1);
  expect(out).toMatch(/\nThe history: 0 parts.*\n {2}problem: .*catalogue\.db is damaged/);
});

it('a disk that is full: no exchange starts, and older segments can be moved', async () => {
  const request = { data, backup: null };
  const { starts, text } = await diagnose(request, (folder) => roomProblem(folder, 4_096));
  expect(starts).toBe(false);
  expect(text).toMatch(/problem: .* has no room: the journal needs 8 MiB to start.*4 KiB are free/);
  expect(text).toContain(`npm run archive -- --data ${data} --to`);
});

it('a folder that is gone is refused, and its backup can be brought there', async () => {
  const gone = join(data, 'gone');
  const { status, err } = await operate('doctor', '--data', gone, '--backup', backup);
  expect([status, err]).toEqual([2, expect.stringContaining('do not start it')]);
  expect(err).toContain(`npm run restore -- --data ${backup} --to ${gone}`);
});

it('a mark put back from a copy does not say what had been acknowledged', async () => {
  const folder = folders.copy(data);
  copyFileSync(join(backup, 'journal.head'), join(folder, 'journal.head'));
  await tamper(folder, `UPDATE batch SET digest = 'x' WHERE firstSequence > ${backupEnd}`);
  const { out } = await operate('doctor', '--data', folder);
  expect(out).not.toContain('no acknowledged command is lost');
});

it.each(['', 'session-secret', 'last-backup', 'journal.db.archived'])(
  'an emptied folder with the file "%s" is no new exchange beside its backup',
  async (left) => {
    const folder = folders.make();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (left !== '') writeFileSync(join(folder, left), SECRET, { mode: 0o600 });
    const { status, out } = await operate('doctor', '--data', folder, '--backup', backup);
    expect(status).toBe(1);
    const to = folders.make();
    expect(await followAdvice(out, to)).toMatchObject({ keeps: backupEnd, folder: to });
    const alone = await operate('doctor', '--data', folder);
    const showsOne = left === 'last-backup' || left === 'journal.db.archived';
    expect(alone.status).toBe(showsOne ? 1 : 0);
    if (showsOne) await expect(openJournal({ folder })).rejects.toThrow(`${left} shows that`);
    else expect(alone.out).toContain('startup creates a new, empty exchange');
  },
);

it('a session secret that is missing or damaged: what a start does, and where a copy is', async () => {
  const [folder, kept] = [folders.copy(data), folders.copy(backup)];
  const [path, copy] = [folder, kept].map((one) => join(one, 'session-secret'));
  writeFileSync(copy!, SECRET, { mode: 0o600 });
  const ask = () => operate('doctor', '--data', folder, '--backup', kept);
  const missing = await ask();
  expect(missing.status).toBe(0);
  expect(missing.out).toMatch(/no session-secret: .*all sessions\s+and named tokens end/s);
  expect(missing.out).toContain(`cp -p ${copy} ${path}`);
  writeFileSync(path!, 'damaged\n', { mode: 0o600 });
  const damaged = await ask();
  expect(damaged.status).toBe(1);
  expect(damaged.out).toContain(`cp -p ${copy} ${path}`);
  copyFileSync(copy!, path!);
  expect(await ask()).toMatchObject({ status: 0, out: expect.not.stringContaining('session') });
});

it('a folder of the wrong kind is named, and a backup that is not there yet', async () => {
  const archive = folders.make();
  mkdirSync(archive, { recursive: true });
  writeFileSync(join(archive, 'journal.db.gz'), '');
  const wrong = await operate('doctor', '--data', data, '--backup', archive);
  expect([wrong.status, wrong.err]).toEqual([2, expect.stringContaining('is an archive')]);
  const none = await operate('doctor', '--data', data, '--backup', join(archive, 'none'));
  expect([none.status, none.out]).toEqual([0, expect.stringContaining('There is no backup')]);
});

it('a backup with its folders swapped says so', async () => {
  const { status, err } = await operate('backup', '--data', backup, '--to', folders.copy(data));
  expect([status, err]).toEqual([2, expect.stringContaining('swapped')]);
});
