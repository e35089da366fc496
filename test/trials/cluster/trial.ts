/**
 * `npm run cluster` as a stranger uses it: the cluster starts, trades through both replicas, loses
 * its leader, which comes back as a standby, and stops.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { ApiClient } from '../../support/server.js';
import { ROOT } from '../../support/sources.js';
import { Random } from '../../support/workload/random.js';
import { activeMarket, nextCommand, registerTraders, type Sent, send } from '../disk/scenario.js';

let child: ChildProcess | null = null;
const clients: ApiClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  if (child?.exitCode === null) child.kill('SIGINT');
  await eventually(() => child!.exitCode !== null, 60_000);
});

function clientOf(output: string, name: string): ApiClient {
  const url = new RegExp(`${name} +(http://\\S+)/api`).exec(output)![1]!;
  const client = new ApiClient(url);
  clients.push(client);
  return client;
}

/** The statuses of /ready: 200 from the leader, 503 from a waiting exchange. */
function readiness(exchanges: readonly ApiClient[]): Promise<number[]> {
  return Promise.all(exchanges.map(async (api) => (await api.get('/ready')).status));
}

test('the cluster trades, survives its leader, and leaves nothing behind', async () => {
  let output = '';
  const main = join(ROOT, 'dist/test/support/cluster/main.js');
  child = spawn(process.execPath, [main, '--speed', '4'], { stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (bytes) => (output += bytes));
  await eventually(() => output.includes('Ctrl-C') || child!.exitCode !== null, 120_000);
  expect(output).toContain('The cluster is open.');

  const first = clientOf(output, 'replica-1');
  const second = clientOf(output, 'replica-2');
  const exchanges = ['exchange-1', 'exchange-2'].map((name) => clientOf(output, name));
  expect(await readiness(exchanges)).toEqual([200, 503]);
  const traders = await registerTraders(first);
  const ada = traders[0]!;
  const order = nextCommand([ada], await activeMarket(first), 'first', new Random('cluster'));
  order.answer = await send(first, order);
  expect(order.answer.status, order.answer.text).toBe(200);
  expect((await first.get('/status')).json.journal).toBe('replicated');

  // The other replica answers with a state that includes this order.
  const { sequence } = JSON.parse(order.answer.text);
  const read = await second.send('GET', `/users/${ada.userId}/balance`, undefined, {
    token: ada.token,
    headers: { 'min-sequence': `${sequence}` },
  });
  expect(read.status, read.text).toBe(200);
  expect(read.json.sequence).toBeGreaterThanOrEqual(sequence);
  expect(read.json.available).toBeLessThan(10_000);

  // test/gateway/edge/replicas.test.ts shows what clients notice.
  process.kill(Number(/exchange-1 .*pid (\d+)/.exec(output)![1]), 'SIGKILL');
  const stake: Sent = {
    path: '/vaults/flex/stake',
    body: { amount: 1 },
    token: ada.token,
    key: 'stake',
    answer: null,
  };
  await eventually(async () => {
    stake.answer = await send(first, stake);
    expect(stake.answer.status, stake.answer.text).toBe(201);
  }, 60_000);
  // The same session and key give the same answer, also at the other replica.
  for (const sent of [order, stake])
    for (const api of [first, second]) expect(await send(api, sent)).toEqual(sent.answer);

  // The killed exchange has come back as a standby, perhaps in time to lead again.
  await eventually(
    async () => expect((await readiness(exchanges)).sort()).toEqual([200, 503]),
    60_000,
  );
  const [, key, operators] = /Bearer (\w+)' (\S+\/operator)\/status/.exec(output)!;
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const isFirst = (await readiness(exchanges))[0] === 200;
  const leader = exchanges[isFirst ? 0 : 1]!.url;
  // Both exchanges name the leader, a standby once it has recovered, and so does the cluster.
  await eventually(async () => {
    const asked = await fetch(`${operators}/status`, { headers });
    expect(asked.status).toBe(isFirst ? 200 : 503);
    const answer = (await asked.json()) as { error: { details: object } };
    expect(isFirst ? answer : answer.error.details).toMatchObject({ leader });
  }, 60_000);
  if (!isFirst) await eventually(() => output.includes(`exchange-2 leads now: ${leader}/api`));
  expect(output).toContain('exchange-1 was killed (SIGKILL), and is being started again.');
  // The standby can take over as the printed command says.
  expect(output).toMatch(/--journal postgres:\/\/\S+/);

  const folder = /Logs are in (\S+)\./.exec(output)![1]!;
  expect(existsSync(folder)).toBe(true);
  child.kill('SIGINT');
  await eventually(() => child!.exitCode !== null, 60_000);
  expect(child.exitCode, output).toBe(0);
  expect(existsSync(folder)).toBe(false);
  await expect(first.get('/status')).rejects.toThrow();
});
