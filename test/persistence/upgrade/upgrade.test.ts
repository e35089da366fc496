/**
 * Folders that real programs have written, one of each version: `version-0` by the last one before
 * the first release, `version-1` by this one (`npm run golden` makes it anew). Older ones are
 * upgraded first. An exchange that starts on them answers as the one that wrote them did. Who
 * changes what recorded commands lead to changes this on purpose, or not at all.
 */
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { FORMAT_VERSION } from '../../../persistence/journal/format.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { VERSIONS } from '../../../persistence/journal/versions.js';
import { operate } from '../../support/folders/operations.js';
import { Folders, readAll } from '../../support/journal-fixture.js';
import { replayJson, replayTool, traceOf } from '../../support/replay-tool.js';
import { PARTNER_KEYS, TestServer } from '../../support/server.js';
import type { Answers } from './golden-run.js';

const KEPT = join(import.meta.dirname, 'folders');
const folders = new Folders();
afterEach(() => folders.removeAll());

/** A copy, with the modes that the exchange gave its files. */
function kept(version: number): { folder: string; answers: Answers } {
  const from = join(KEPT, `version-${version}`);
  const folder = folders.make();
  cpSync(join(from, 'data'), folder, { recursive: true });
  chmodSync(folder, 0o700);
  for (const name of readdirSync(folder))
    if (name !== 'snapshots') chmodSync(join(folder, name), 0o600);
  return { folder, answers: JSON.parse(readFileSync(join(from, 'answers.json'), 'utf8')) };
}

async function upgraded(folder: string): Promise<{ to: string; out: string }> {
  const to = folders.make();
  const { status, out, err } = await operate('upgrade', '--data', folder, '--to', to);
  expect([status, err]).toEqual([0, '']);
  return { to, out };
}

/** The sequence grows with the commands of an upgrade and of a start. */
function withoutSequence(json: unknown): object {
  return JSON.parse(JSON.stringify(json), (name, value) =>
    name === 'sequence' || name === 'atSequence' ? undefined : value,
  );
}

/**
 * What an older program knew. It did not know what is null, and an order that rests was `resting`
 * for version 0, even if a part of it was filled.
 */
function asKnownThen(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json), (_name, value) =>
    value === null || value === 'resting' ? undefined : value,
  );
}

it('there is a folder of every version', () => {
  const names = VERSIONS.map(({ version }) => `version-${version}`);
  expect(readdirSync(KEPT).sort()).toEqual(names);
});

describe.each(VERSIONS)('a folder of version $version', ({ version }) => {
  it('leads to the digest and the answers of the program that wrote it', async () => {
    const { folder, answers } = kept(version);
    const { journal, good } = await replayJson(folder, 'verify');
    expect(good).toBe(true);
    expect([journal.sequence, journal.digest]).toEqual([answers.sequence, answers.digest]);

    const present = version === FORMAT_VERSION ? folder : (await upgraded(folder)).to;
    const server = await TestServer.start({ partnerKeys: PARTNER_KEYS }, present, answers.atMs);
    try {
      await server.followed();
      for (const { path, user, json } of answers.reads) {
        const answer = await server.api.read(path, answers.tokens[user ?? '']);
        const expected = version === FORMAT_VERSION ? json : asKnownThen(json);
        expect(withoutSequence(answer.json), path).toMatchObject(withoutSequence(expected));
      }
      expect(answers.keyed.length).toBeGreaterThan(50);
      for (const { path, user, key, body, status, text } of answers.keyed) {
        const headers = { 'idempotency-key': key };
        const options = { token: answers.tokens[user], headers };
        const again = await server.api.send('POST', path, body, options);
        expect([again.status, again.text], key).toEqual([status, text]);
        expect(again.headers['idempotency-replayed']).toBe('true');
      }
    } finally {
      await server.close();
    }
  });
});

describe('an upgrade', () => {
  it('leaves the old folder as it is, and the new one says where it comes from', async () => {
    const { folder, answers } = kept(0);
    const before = traceOf(folder);
    const { to, out } = await upgraded(folder);
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
    const { folder } = kept(0);
    const before = traceOf(folder);
    await expect(TestServer.start({}, folder)).rejects.toThrow(
      /of before the first release; this program writes version 1.*npm run upgrade/,
    );
    const backup = await operate('backup', '--data', folder, '--to', folders.make());
    expect([backup.status, backup.err]).toEqual([2, expect.stringContaining('older version')]);
    expect(traceOf(folder)).toEqual(before);
    const { to } = await upgraded(folder);
    const again = await operate('upgrade', '--data', to, '--to', folders.make());
    expect([again.status, again.err]).toEqual([2, expect.stringContaining('version 1 already')]);
    const onto = await operate('upgrade', '--data', folder, '--to', to);
    expect([onto.status, onto.err]).toEqual([2, expect.stringContaining('is not empty')]);
  });
});
