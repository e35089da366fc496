/** `npm run cluster` as a stranger uses it: starts, trades, loses its leader, and stops. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { Random } from '../../bench/workload/random.js';
import { activeMarket, nextCommand, registerTraders, send } from '../support/disk/scenario.js';
import { eventually } from '../support/eventually.js';
import { ApiClient } from '../support/server.js';
import { ROOT } from '../support/sources.js';

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

test('the cluster trades, survives its leader, and leaves nothing behind', async () => {
  let output = '';
  const main = join(ROOT, 'dist/bench/cluster/main.js');
  child = spawn(process.execPath, [main, '--speed', '60'], { stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (bytes) => (output += bytes));
  await eventually(() => output.includes('Ctrl-C') || child!.exitCode !== null, 90_000);
  expect(output).toContain('The cluster is open.');

  const api = clientOf(output, 'leader');
  const traders = await registerTraders(api);
  const sent = nextCommand(traders, await activeMarket(api), 'first', new Random('cluster'));
  sent.answer = await send(api, sent);
  expect(sent.answer.status, sent.answer.text).toBe(200);
  expect((await api.get('/status')).json.journal).toBe('replicated');

  process.kill(Number(/leader .*pid (\d+)/.exec(output)![1]), 'SIGKILL');
  const other = clientOf(output, 'standby');
  await eventually(async () => (await other.get('/ready')).status === 200, 60_000);
  // The same session, the same key, the same answer.
  expect(await send(other, sent)).toEqual(sent.answer);

  const folder = /Logs are in (\S+)\./.exec(output)![1]!;
  expect(existsSync(folder)).toBe(true);
  child.kill('SIGINT');
  await eventually(() => child!.exitCode !== null, 60_000);
  expect(child.exitCode, output).toBe(0);
  expect(existsSync(folder)).toBe(false);
  await expect(other.get('/status')).rejects.toThrow();
});
