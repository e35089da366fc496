/**
 * `npm run cluster` as a stranger uses it: starts, trades through both replicas, loses its leader,
 * which comes back as a standby, and stops.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.js';
import { ApiClient, type Trader } from '../support/server.js';
import { ROOT } from '../support/sources.js';
import { Random } from '../support/workload/random.js';
import {
  activeMarket,
  nextCommand,
  registerTraders,
  type Sent,
  send,
} from '../trials/disk/scenario.js';

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

const PAUSE_MS = 20;
const STAKE = { path: '/vaults/flex/stake', body: { amount: 1 } };

/** Clients that stake, one at each replica; what each sends is executed, and answered. */
class Stakers {
  /** Of each, with keys. */
  readonly sent: Sent[][];
  private isOver = false;
  private readonly ends: Promise<void>[];

  constructor(apis: readonly ApiClient[], traders: readonly Trader[]) {
    this.sent = apis.map(() => []);
    this.ends = apis.map((api, i) => this.run(api, traders[i]!.token, i));
    // A failure is seen by whoever waits for the end.
    for (const end of this.ends) end.catch(() => {});
  }

  /** Returns when each has had further answers. */
  async goOn(): Promise<void> {
    const before = this.sent.map(({ length }) => length);
    const goesOn = () => this.sent.every(({ length }, i) => length > before[i]! + 2);
    await Promise.race([eventually(goesOn, 60_000), ...this.ends]);
  }

  async stop(): Promise<Sent[]> {
    this.isOver = true;
    await Promise.all(this.ends);
    return this.sent.flat();
  }

  private async run(api: ApiClient, token: string, place: number): Promise<void> {
    for (let i = 0; !this.isOver; i++) {
      const sent: Sent = { ...STAKE, token, key: `stake-${place}-${i}`, answer: null };
      sent.answer = await send(api, sent);
      expect(sent.answer.status, sent.answer.text).toBe(201);
      this.sent[place]!.push(sent);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/** Statuses: 200 of the one that leads, 503 of one that waits. */
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

  // At the other replica, the state after the answer of this one.
  const { sequence } = JSON.parse(order.answer.text);
  const read = await second.send('GET', `/users/${ada.userId}/balance`, undefined, {
    token: ada.token,
    headers: { 'min-sequence': `${sequence}` },
  });
  expect(read.status, read.text).toBe(200);
  expect(read.json.sequence).toBeGreaterThanOrEqual(sequence);
  expect(read.json.available).toBeLessThan(10_000);

  // While the leader is killed, clients with keys see a delay.
  const stakers = new Stakers([first, second], traders);
  await stakers.goOn();
  process.kill(Number(/exchange-1 .*pid (\d+)/.exec(output)![1]), 'SIGKILL');
  await stakers.goOn();
  const all = [order, ...(await stakers.stop())];
  // The same session, the same key, the same answer, also at the other replica.
  for (const sent of all.slice(0, 20)) {
    for (const api of [first, second]) expect(await send(api, sent)).toEqual(sent.answer);
  }

  // What was killed has come back as a standby, perhaps soon enough to lead again.
  await eventually(
    async () => expect((await readiness(exchanges)).sort()).toEqual([200, 503]),
    60_000,
  );
  const [, key, operators] = /Bearer (\w+)' (\S+\/operator)\/status/.exec(output)!;
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const isFirst = (await readiness(exchanges))[0] === 200;
  const leader = exchanges[isFirst ? 0 : 1]!.url;
  const asked = await fetch(`${operators}/status`, { headers });
  expect(asked.status).toBe(isFirst ? 200 : 503);
  // Both say who leads, and so does the cluster.
  const answer = (await asked.json()) as { error: { details: object } };
  expect(isFirst ? answer : answer.error.details).toMatchObject({ leader });
  if (!isFirst) await eventually(() => output.includes(`exchange-2 leads now: ${leader}/api`));
  expect(output).toContain('exchange-1 was killed (SIGKILL), and is being started again.');
  // It can take over by plan, as the cluster says.
  expect(output).toMatch(/--journal postgres:\/\/\S+/);

  const folder = /Logs are in (\S+)\./.exec(output)![1]!;
  expect(existsSync(folder)).toBe(true);
  child.kill('SIGINT');
  await eventually(() => child!.exitCode !== null, 60_000);
  expect(child.exitCode, output).toBe(0);
  expect(existsSync(folder)).toBe(false);
  await expect(first.get('/status')).rejects.toThrow();
});
