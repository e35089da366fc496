/**
 * A journal on PostgreSQL is upgraded as a folder: copied out by the older program, upgraded, and
 * copied into an empty database. What the older program copies out is the folder of version 0 that
 * is in the repository.
 */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { PostgresCluster } from '../../../bench/cluster/postgres.js';
import { operate } from '../../support/folders/operations.js';
import { Folders, readAll } from '../../support/journal-fixture.js';
import { replayJson } from '../../support/replay-tool.js';
import { PARTNER_KEYS, TestServer } from '../../support/server.js';
import { expectAnswers, kept, upgraded } from '../upgrade/kept.js';

const folders = new Folders();
let cluster: PostgresCluster;
beforeAll(async () => {
  cluster = await PostgresCluster.start(1);
}, 120_000);
beforeEach(async () => {
  await cluster.query(cluster.nodes[0]!, 'DROP TABLE IF EXISTS writer, batch, standby');
});
afterAll(async () => {
  await cluster?.stop();
  folders.removeAll();
});

const copy = (from: string, to: string) =>
  operate('copy', '--from', from, '--to', to, '--unreplicated');

test('an exchange on the upgraded database answers as the one that wrote it', async () => {
  const { folder, answers } = kept(folders, 0);
  const early = await copy(folder, cluster.url);
  expect([early.status, early.err]).toEqual([2, expect.stringContaining('upgrade it first')]);
  const { to } = await upgraded(folders, folder);
  expect(await copy(to, cluster.url)).toMatchObject({ status: 0, err: '' });

  const own = folders.make();
  mkdirSync(own, { mode: 0o700 });
  copyFileSync(join(to, 'session-secret'), join(own, 'session-secret'));
  const journal = { url: cluster.url, passwordFile: '', authorityFile: '', isUnreplicated: true };
  const config = { journal, partnerKeys: PARTNER_KEYS };
  const server = await TestServer.start(config, own, answers.atMs);
  try {
    await expectAnswers(server, answers, 0);
  } finally {
    await server.close();
  }

  const out = folders.make();
  expect(await copy(cluster.url, out)).toMatchObject({ status: 0, err: '' });
  const { length } = await readAll(to);
  expect((await readAll(out)).slice(0, length)).toEqual(await readAll(to));
  const { good, upgrades } = await replayJson(out, 'verify');
  expect([good, upgrades]).toMatchObject([true, [{ fromVersion: 0, toVersion: 1 }]]);
});

test('a database of another version is refused in words', async () => {
  await copy((await upgraded(folders, kept(folders, 0).folder)).to, cluster.url);
  await cluster.query(cluster.nodes[0]!, 'UPDATE writer SET version = 0');
  const { status, err } = await copy(cluster.url, folders.make());
  expect([status, err]).toEqual([
    1,
    expect.stringMatching(
      /of version 0; this program reads and writes version 1.*Nothing was changed/,
    ),
  ]);
});
