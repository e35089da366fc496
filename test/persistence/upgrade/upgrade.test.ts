/**
 * The golden folder, which an earlier build has written (CONTRIBUTING.md says how to regenerate
 * it): an exchange that starts on it gives the recorded answers. A change to the effect of recorded
 * commands must regenerate the folder, on purpose. Also the upgrade to the next version, tried with
 * an invented version that differs only in its number.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { lockFolder } from '../../../persistence/journal/folder-lock.js';
import { FORMAT_VERSION } from '../../../persistence/journal/format.js';
import { upgrade } from '../../../persistence/tools/operations/upgrade.js';
import { eventually } from '../../support/eventually.js';
import { operate } from '../../support/folders/operations.js';
import { setVersion } from '../../support/folders/version.js';
import { isVouchedFor } from '../../support/folders/vouched.js';
import { Folders, readAll } from '../../support/journal-fixture.js';
import { replayJson, replayTool, traceOf } from '../../support/replay-tool.js';
import { TestServer } from '../../support/server.js';
import { expectAnswers, kept } from './kept.js';

/** The version before the present one, and the version after it. */
const [BEFORE, AFTER] = [FORMAT_VERSION - 1, FORMAT_VERSION + 1];

const folders = new Folders();
afterEach(() => folders.removeAll());

it('the kept folder leads to the digest and the answers of the program that wrote it', async () => {
  const { folder, answers } = kept(folders);
  const { sequence, digest } = answers;
  expect(await replayJson(folder, 'verify')).toMatchObject({ good: true, sequence, digest });
  await expectAnswers(folder, answers);
});

describe('an upgrade', () => {
  it('leaves the old folder as it is, and the new one says where it comes from', async () => {
    const { folder, answers } = await keptAs(BEFORE);
    const before = traceOf(folder);
    const to = folders.make();
    const { status, out, err } = await operate('upgrade', '--data', folder, '--to', to);
    expect([status, err]).toEqual([0, '']);
    expect(traceOf(folder)).toEqual(before);
    expect(out).toContain(`at sequence ${answers.sequence}, digest ${answers.digest}`);
    const old = await readAll(kept(folders).folder);
    const all = await readAll(to);
    expect(all.slice(0, -2)).toEqual(old);
    expect(await isVouchedFor(to)).toBe(true);
    const chainHash = old.at(-1)!.hash.toString('hex');
    const { out: explained } = await replayTool(to, 'explain', '--user', 'u1');
    expect(explained).toContain(
      `kind recordUpgrade, fromVersion 0, toVersion 1, chainHash ${chainHash}`,
    );
    const sequence = answers.sequence + 2;
    expect(await replayJson(to, 'verify')).toMatchObject({ good: true, sequence });
    await expectAnswers(to, answers);
  });

  it('of an exchange that trades follows it until it is stopped', async () => {
    const { folder, answers } = await keptAs(BEFORE);
    const lock = await lockFolder(folder);
    const to = folders.make();
    const said: string[] = [];
    const done = upgrade({ from: folder, to, say: (text) => void said.push(text) });
    await eventually(() => said.join('').includes('Stop the exchange now'));
    expect(said.join('')).toContain(`At sequence ${answers.sequence}`);
    await lock.release();
    expect((await done).sequence).toBe(answers.sequence);
    expect(await isVouchedFor(to)).toBe(true);
    await expectAnswers(to, answers);
  });

  it('of a journal without its end is refused, and nothing is left of one that fails', async () => {
    const { folder } = await keptAs(BEFORE);
    const to = folders.make();
    const head = join(folder, 'journal.head');
    renameSync(head, `${head}.away`);
    const { status, err } = await operate('upgrade', '--data', folder, '--to', to);
    expect([status, existsSync(to)]).toEqual([1, false]);
    expect(err).toContain('journal.head is missing');
    renameSync(`${head}.away`, head);
    const secret = join(folder, 'session-secret');
    rmSync(secret);
    mkdirSync(secret);
    const failed = await operate('upgrade', '--data', folder, '--to', to);
    expect([failed.status, existsSync(to)]).toEqual([2, false]);
  });
});

it.each([BEFORE, AFTER])('a folder of version %i is refused, and unchanged', async (version) => {
  const { folder } = await keptAs(version);
  const before = traceOf(folder);
  const refusal = refusalOf(version, 'this program reads and writes', FORMAT_VERSION);
  await expect(TestServer.start({}, folder)).rejects.toThrow(refusal);
  for (const args of [
    ['backup', '--data'],
    ['copy', '--from'],
  ]) {
    const to = folders.make();
    const { status, err } = await operate(...args, folder, '--to', to);
    expect([status, err, existsSync(to)]).toEqual([1, expect.stringMatching(refusal), false]);
  }
  expect((await replayTool(folder, 'verify')).err).toMatch(refusal);
  expect(traceOf(folder)).toEqual(before);
});

it.each([FORMAT_VERSION, AFTER])('a folder of version %i is not upgraded', async (version) => {
  const { folder } = await keptAs(version);
  const to = folders.make();
  const { status, err } = await operate('upgrade', '--data', folder, '--to', to);
  const refusal = refusalOf(version, 'npm run upgrade reads', BEFORE);
  expect([status, err, existsSync(to)]).toEqual([1, expect.stringMatching(refusal), false]);
});

const refusalOf = (version: number, who: string, read: number) =>
  new RegExp(
    `is a journal of version ${version}; ${who} version ${read}\\..*Nothing was changed`,
    's',
  );

async function keptAs(version: number): Promise<ReturnType<typeof kept>> {
  const made = kept(folders);
  await setVersion(made.folder, version);
  return made;
}
