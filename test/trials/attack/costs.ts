/**
 * Requests that cost more than they are: long bodies of unknown keys, refused batches, pages of
 * long lists, orders that look at many others and trade with none, paths that nothing serves. The
 * senders are at an address of their own and never wait. Beside each, a probe asks for the time.
 *
 * Always holds: the probe is answered within {@link PROBE_P99_MS} nearly always, and an attacker
 * that goes on is refused, or loses the connection.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Agent, request } from 'undici';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import { HOST } from '../../../bench/http/load/messages.js';
import { mainThreadCpuMsOf } from '../../../bench/measure/process-cpu.js';
import { extent } from '../../support/extent.js';
import type { Stage, User } from './stage.js';

/** Or twice what it is without the attack, on a machine that has other work. */
const PROBE_P99_MS = 100;
const QUIET_MS = 2_000;
const ATTACKER = '127.0.0.9';
const CONNECTIONS = 24;
const ATTACK_MS = extent(10_000, 5_000);
/** Real time that an attack needs its market for. */
const MARKET_MS = 13_000;

interface Sent {
  method?: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: string;
  token?: string;
}

const keysOf = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 0])));

/** Sends on every connection, one after the other, until time is up. */
async function flood({ port }: Stage, untilMs: number, next: (i: number) => Sent) {
  const statuses: Record<string, number> = {};
  const one = async (i: number) => {
    const dispatcher = new Agent({ connect: { localAddress: ATTACKER }, connections: 1 });
    while (performance.now() < untilMs) {
      const { method = 'GET', path, body = null, token } = next(i);
      const headers: Record<string, string> = { 'content-type': 'application/json' };
      if (token !== undefined) headers['x-user-token'] = token;
      const url = `http://${HOST}:${port}/api${path}`;
      const told = await request(url, { method, headers, body, dispatcher })
        .then(async ({ statusCode, body }) => {
          await body.dump();
          return `${statusCode}`;
        })
        .catch(() => 'closed');
      statuses[told] = (statuses[told] ?? 0) + 1;
    }
    await dispatcher.destroy();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => one(i)));
  return statuses;
}

/** Streams that send the message again and again; a closed one is opened again. */
async function streams({ port }: Stage, untilMs: number, token: string, message: object) {
  const told = { errors: 0, closed: 0 };
  const text = JSON.stringify(message);
  const one = async () => {
    while (performance.now() < untilMs) {
      const headers = { 'x-user-token': token };
      const options = { headers, localAddress: ATTACKER };
      const stream = new WebSocket(`ws://${HOST}:${port}/api/stream`, options);
      stream.on('error', () => {});
      stream.on('message', () => told.errors++);
      stream.on('close', () => told.closed++);
      stream.on('open', async () => {
        while (stream.readyState === WebSocket.OPEN && performance.now() < untilMs) {
          stream.send(text);
          await sleep(50);
        }
        stream.close();
      });
      await new Promise((resolve) => stream.once('close', resolve));
    }
  };
  await Promise.all(Array.from({ length: 10 }, one));
  return told;
}

/** Asks for the time until told to stop, in a thread of its own: attackers keep this one busy. */
const PROBE = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { Agent, get } = require('node:http');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const waits = [];
  let over = false;
  parentPort.once('message', () => { over = true; });
  const ask = () => {
    if (over) { parentPort.postMessage(waits); parentPort.close(); agent.destroy(); return; }
    const startMs = performance.now();
    get({ agent, host: workerData.host, port: workerData.port, path: '/api/time' }, (answer) => {
      answer.resume();
      answer.on('end', () => {
        waits.push(answer.statusCode === 200 ? performance.now() - startMs : Infinity);
        setTimeout(ask, 20);
      });
    });
  };
  ask();
`;

/** Begins to ask. Returns how to end that, with what was seen. */
function probeOf({ port }: Stage): () => Promise<{ p50: number; p99: number }> {
  const worker = new Worker(PROBE, { eval: true, workerData: { host: HOST, port } });
  return async () => {
    const seen = new Promise<number[]>((resolve) => worker.once('message', resolve));
    worker.postMessage('stop');
    const waits = (await seen).sort((a, b) => a - b);
    const at = (part: number) => waits[Math.floor(waits.length * part)]!;
    return { p50: at(0.5), p99: at(0.99) };
  };
}

/** Has the probe ask while `attack` runs, and tells what it saw. */
async function probed(stage: Stage, attack: (untilMs: number) => Promise<object>): Promise<string> {
  const quiet = probeOf(stage);
  await sleep(QUIET_MS);
  const without = await quiet();
  const probe = probeOf(stage);
  const cpuMs = mainThreadCpuMsOf(stage.pid);
  const told = await attack(performance.now() + ATTACK_MS);
  const core = ((mainThreadCpuMsOf(stage.pid) - cpuMs) / ATTACK_MS) * 100;
  const { p50, p99 } = await probe();
  const limited = (await stage.api.get('/metrics')).text
    .split('\n')
    .filter((line) => /^exchange_rate_limited_total.* [1-9]/.test(line))
    .map((line) => line.replace(/^\w+/, ''));
  const seen = `probe p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, without the attack ${without.p99.toFixed(1)}`;
  const summary = `${seen}; trading thread ${core.toFixed(0)}%; ${JSON.stringify(told)}; ${limited}`;
  expect(p99, summary).toBeLessThan(Math.max(PROBE_P99_MS, 2 * without.p99));
  return summary;
}

async function readToken({ api }: Stage, { token }: User): Promise<string> {
  const body = { name: 'reader', scope: 'read' };
  return (await api.post('/auth/tokens', body, token)).json.token;
}

/** Rests 1,000 bids that want 100 dollars of UP in all. */
async function rest({ api }: Stage, { token }: User, marketId: string): Promise<void> {
  const terms = { outcome: 'UP', price: 0.1, shares: 10, timeInForce: 'GTC' };
  const operations = Array.from({ length: 100 }, () => ({ op: 'buy', marketId, ...terms }));
  for (let i = 0; i < 10; i++)
    expect((await api.post('/batch', { operations }, token)).status).toBe(200);
}

const batchOf = (marketId: string) =>
  Array.from({ length: 100 }, () => ({ op: 'buy', marketId, outcome: 'UP', amount: 1 }));

export const costs: readonly { name: string; attack(stage: Stage): Promise<string> }[] = [
  {
    name: 'bodies of 64 KB of unknown keys, without a session',
    attack: (stage) => {
      const body = keysOf(6_500);
      const sent: Sent = { method: 'POST', path: '/auth/logout', body };
      return probed(stage, (untilMs) => flood(stage, untilMs, () => sent));
    },
  },
  {
    name: 'bodies of 64 KB of unknown keys, with one',
    attack: async (stage) => {
      const { token } = await stage.register();
      const sent: Sent = { method: 'POST', path: '/batch', body: keysOf(6_500), token };
      return probed(stage, (untilMs) => flood(stage, untilMs, () => sent));
    },
  },
  {
    name: 'batches of 100 with a token that only reads, on ten streams',
    attack: async (stage) => {
      const token = await readToken(stage, await stage.register());
      const marketId = await stage.openMarket(MARKET_MS);
      const message = { op: 'batch', id: 'a', operations: batchOf(marketId) };
      return probed(stage, (untilMs) => streams(stage, untilMs, token, message));
    },
  },
  {
    name: 'the same over HTTP',
    attack: async (stage) => {
      const token = await readToken(stage, await stage.register());
      const marketId = await stage.openMarket(MARKET_MS);
      const body = JSON.stringify({ operations: batchOf(marketId) });
      const sent: Sent = { method: 'POST', path: '/batch', body, token };
      return probed(stage, (untilMs) => flood(stage, untilMs, () => sent));
    },
  },
  {
    name: 'pages of one of 1,000 orders',
    attack: async (stage) => {
      const user = await stage.register();
      await rest(stage, user, await stage.openMarket(MARKET_MS));
      const sent = { path: '/users/me/orders?limit=1', token: user.token };
      return probed(stage, (untilMs) => flood(stage, untilMs, () => sent));
    },
  },
  {
    name: 'FOK orders that 1,000 orders cannot fill, and quotes of them',
    attack: async (stage) => {
      const [maker, taker] = [await stage.register(), await stage.register()];
      const marketId = await stage.openMarket(MARKET_MS);
      await rest(stage, maker, marketId);
      const terms = { outcome: 'DOWN', shares: 900_000, price: 0.9, timeInForce: 'FOK' };
      const path = `/markets/15m/${marketId}`;
      const fok: Sent = { method: 'POST', path: `${path}/buy`, body: JSON.stringify(terms) };
      const quote = { path: `${path}/quote?side=BUY&outcome=DOWN&amount=90000` };
      const { token } = taker;
      return probed(stage, (untilMs) =>
        flood(stage, untilMs, (i) => (i % 2 === 0 ? { ...fok, token } : quote)),
      );
    },
  },
  {
    name: 'paths and methods that nothing serves',
    attack: (stage) =>
      probed(stage, (untilMs) =>
        flood(stage, untilMs, (i) =>
          i % 2 === 0 ? { path: '/nowhere' } : { method: 'DELETE', path: '/time' },
        ),
      ),
  },
];
