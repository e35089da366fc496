/**
 * The built program with its journal on a real cluster of PostgreSQL: everything is rebuilt on
 * another machine, another exchange takes over from one that was paused, and the older one can
 * acknowledge nothing any more. One that is killed is in gateways.test.ts.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Random } from '../../../bench/workload/random.js';
import { readConfig } from '../../../gateway/config.js';
import { readAddress } from '../../../persistence/replication/postgres/address.js';
import { type Message, StreamClient } from '../../gateway/stream/support.js';
import { eventually } from '../../support/eventually.js';
import type { ChildServer } from '../../support/programs.js';
import type { ApiClient, Trader } from '../../support/server.js';
import {
  expectAll,
  registerTraders,
  type Sent,
  send,
  tradeOn,
} from '../../trials/disk/scenario.js';
import { Machines } from './machines.js';

const COMMANDS = 40;
let machines: Machines;
beforeAll(async () => {
  machines = await Machines.start();
}, 120_000);
beforeEach(() => machines.cluster.dropJournal());
afterEach(() => machines.kill());
afterAll(() => machines?.end());

/** An exchange on another machine: with an empty folder of its own. */
const spawn = (variables: Record<string, string> = {}) => machines.spawn(variables);
const listening = (server: ChildServer) => machines.listening(server);
const trade = (api: ApiClient, traders: Trader[]) =>
  tradeOn(api, traders, { commands: COMMANDS, keys: 'key', random: new Random('replicated') });

/** Sessions are signed by a secret of the folder, so a user signs in again elsewhere. */
async function signIn(api: ApiClient, all: Sent[], traders: Trader[]): Promise<void> {
  const tokens = new Map<string, string>();
  for (const { username, token } of traders) {
    const { json } = await api.post('/auth/login', { username, password: 'correct horse battery' });
    tokens.set(token, json.token);
  }
  for (const sent of all) sent.token = tokens.get(sent.token)!;
}

test('another machine has everything, from the journal alone', async () => {
  const first = spawn();
  const api = await listening(first);
  const traders = await registerTraders(api);
  const all = await trade(api, traders);
  expect((await api.get('/status')).json.journal).toBe('replicated');
  expect(await first.stop()).toBe(0);
  const other = await listening(spawn());
  await signIn(other, all, traders);
  await expectAll(other, all);
  const client = await StreamClient.connect(Number(new URL(other.url).port), {
    'x-user-token': all[0]!.token,
  });
  client.send({ op: 'resume', channel: 'user', afterSequence: 0 });
  const resumed = await client.next(({ type }: Message) => type === 'resumed' || type === 'error');
  expect(resumed).toMatchObject({ type: 'resumed', after: 0 });
  await client.next('delta');
  client.socket.terminate();
});

test('a folder with a journal of its own is refused, also if its beginning is in an archive', async () => {
  for (const name of ['journal.db', 'journal-000002.db']) {
    const folder = machines.newFolder();
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(join(folder, name), '');
    const server = spawn({ DATA_FOLDER: folder });
    expect(await server.end()).toBe(1);
    expect(server.stderr).toContain('has a journal of its own');
  }
});

test('one that was paused acknowledges nothing after another took over, and ends', async () => {
  const first = spawn();
  const api = await listening(first);
  const traders = await registerTraders(api);
  const all = await trade(api, traders);
  const second = spawn();
  await eventually(() => second.stderr.includes('another exchange leads'));
  first.child.kill('SIGSTOP');
  const other = await listening(second);
  await signIn(other, all, traders);
  const late = { ...all[0]!, key: 'late' };
  const answer = send(api, { ...late, token: traders[0]!.token }).catch(() => null);
  first.child.kill('SIGCONT');
  expect(await first.end()).toBe(1);
  expect((await answer)?.status ?? 503).toBeGreaterThanOrEqual(400);
  expect(first.stderr).toMatch(/another exchange has taken over|connection to the journal is lost/);
  await expectAll(other, all);
});

test('a JOURNAL that cannot be used is refused in words', async () => {
  const server = spawn({ JOURNAL: 'postgres://postgres@127.0.0.1:1/postgres' });
  const refusal = (url: string) => () =>
    readAddress(url, { passwordFile: null, authorityFile: null });
  expect(refusal('postgres://nobody')).toThrow('must look like postgres://user@host:port');
  expect(refusal('postgres://postgres@10.1.2.3/postgres')).toThrow('JOURNAL_CA_FILE');
  const JOURNAL = 'mysql://root@127.0.0.1/exchange';
  expect(() => readConfig({ JOURNAL })).toThrow('must begin with postgres://');
  expect(await server.end()).toBe(1);
  expect(server.stderr).toContain('no node of');
});
