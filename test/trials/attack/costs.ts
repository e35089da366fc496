/**
 * Requests that cost more than they seem: long bodies of unknown keys, refused batches, pages of
 * long lists, orders that pass many others without a trade, unknown paths. The senders have an
 * address of their own and never wait, so they are refused or lose connections.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import { HOST } from '../../support/http/messages.js';
import { ATTACK_MS, ATTACKER, besideProbe } from './probe.js';
import type { Stage, User } from './stage.js';

const CONNECTIONS = 24;
/** Real time that an attack needs its market for, limited by the life of a market. */
const MARKET_MS = Math.min(ATTACK_MS + 3_000, 13_000);

interface Sent {
  method?: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: string;
  token?: string;
}

const keysOf = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 0])));

/** Sends on every connection, one request after the other, until time is up. */
async function flood({ port }: Stage, untilMs: number, next: (i: number) => Sent) {
  const statuses: Record<string, number> = {};
  const one = async (i: number) => {
    const dispatcher = new Agent({ localAddress: ATTACKER, connections: 1 });
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

/** Sends the message on streams again and again; a closed stream is reopened. */
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

async function readToken({ api }: Stage, { token }: User): Promise<string> {
  const body = { name: 'reader', scope: 'read' };
  return (await api.post('/auth/tokens', body, token)).json.token;
}

/** Rests 1,000 bids for 100 dollars of UP in total. */
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
      return besideProbe(stage, (untilMs) => flood(stage, untilMs, () => sent));
    },
  },
  {
    name: 'bodies of 64 KB of unknown keys, with one',
    attack: async (stage) => {
      const { token } = await stage.register();
      const sent: Sent = { method: 'POST', path: '/batch', body: keysOf(6_500), token };
      return besideProbe(stage, (untilMs) => flood(stage, untilMs, () => sent));
    },
  },
  {
    name: 'batches of 100 with a token that only reads, on ten streams',
    attack: async (stage) => {
      const token = await readToken(stage, await stage.register());
      const marketId = await stage.openMarket(MARKET_MS);
      const message = { op: 'batch', id: 'a', operations: batchOf(marketId) };
      return besideProbe(stage, (untilMs) => streams(stage, untilMs, token, message));
    },
  },
  {
    name: 'the same over HTTP',
    attack: async (stage) => {
      const token = await readToken(stage, await stage.register());
      const marketId = await stage.openMarket(MARKET_MS);
      const body = JSON.stringify({ operations: batchOf(marketId) });
      const sent: Sent = { method: 'POST', path: '/batch', body, token };
      return besideProbe(stage, (untilMs) => flood(stage, untilMs, () => sent));
    },
  },
  {
    name: 'pages of one of 1,000 orders',
    attack: async (stage) => {
      const user = await stage.register();
      await rest(stage, user, await stage.openMarket(MARKET_MS));
      const sent = { path: '/users/me/orders?limit=1', token: user.token };
      return besideProbe(stage, (untilMs) => flood(stage, untilMs, () => sent));
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
      return besideProbe(stage, (untilMs) =>
        flood(stage, untilMs, (i) => (i % 2 === 0 ? { ...fok, token } : quote)),
      );
    },
  },
  {
    name: 'paths and methods that nothing serves',
    attack: (stage) =>
      besideProbe(stage, (untilMs) =>
        flood(stage, untilMs, (i) =>
          i % 2 === 0 ? { path: '/nowhere' } : { method: 'DELETE', path: '/time' },
        ),
      ),
  },
];
