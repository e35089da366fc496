/**
 * Clients that are slow, silent, gone, or hang up early. They may lose their connections, but they
 * do not delay others, and their requests are executed at most once, and only if complete.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import { eventually } from '../../support/eventually.js';
import { HOST, type RequestFields, requestText } from '../../support/http/messages.js';
import { PASSWORD } from '../../support/server.js';
import type { Stage, User } from './stage.js';

const PATIENCE_MS = 8_000;
const HEADERS = Array.from({ length: 100 }, (_, i) => `X-${i}: a\r\n`).join('');

/** A TCP connection that can send half a request, stay silent, or reset. */
class RawSocket {
  /** All received bytes, as Latin-1. */
  received = '';
  isClosed = false;
  readonly socket: Socket;

  constructor(port: number, localAddress = HOST) {
    this.socket = connect({ host: HOST, port, localAddress, noDelay: true, allowHalfOpen: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => {
      this.received += text;
    });
    this.socket.on('end', () => this.socket.end());
    // The close event follows.
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.isClosed = true;
    });
  }

  get isAnswered(): boolean {
    return this.isClosed || this.received.includes('\r\n\r\n');
  }

  write(text: string): void {
    if (!this.isClosed) this.socket.write(text, 'latin1');
  }
}

/** Opens `count` connections, a hundred at a time, and resets them when `work` is done. */
async function withSockets(
  { port }: Stage,
  count: number,
  work: (sockets: readonly RawSocket[]) => Promise<void>,
): Promise<string> {
  const sockets: RawSocket[] = [];
  try {
    while (sockets.length < count) {
      const more = Array.from({ length: Math.min(100, count - sockets.length) }, (_, i) => {
        // The connections are spread over twenty addresses.
        return new RawSocket(port, `127.0.0.${2 + (i % 20)}`);
      });
      sockets.push(...more);
      await eventually(() => more.every(({ socket, isClosed }) => isClosed || !socket.connecting));
    }
    await work(sockets);
    return `${sockets.filter(({ isClosed }) => isClosed).length} of ${count} were closed`;
  } finally {
    for (const { socket } of sockets) socket.resetAndDestroy();
  }
}

/** Sends the text to every connection, a byte at a time. */
async function drip(sockets: readonly RawSocket[], text: string): Promise<void> {
  const startMs = performance.now();
  for (let i = 0; performance.now() - startMs < PATIENCE_MS; i++) {
    for (const socket of sockets) socket.write(text[i % text.length]!);
    await sleep(200);
  }
}

const signed = ({ token }: User, fields: RequestFields) =>
  requestText({ ...fields, headers: { 'x-user-token': token, ...fields.headers } });
const stakeOf = (key: string): RequestFields => ({
  method: 'POST',
  path: '/vaults/flex/stake',
  headers: { 'Idempotency-Key': key },
  body: '{"amount":1}',
});

const HANG_UPS = 4_000;
const AT_ONCE = 100;
/** Longer than most answers take. */
const HANG_UP_MS_MAX = 60;
const READERS = 5_000;
const READERS_MS = 30_000;

/** One request for each way of writing an answer. */
function answersOf(user: User): string[] {
  const stake = signed(user, stakeOf('hang-up'));
  const [head, body] = stake.split('\r\n\r\n') as [string, string];
  const coding = head.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked');
  const cancel = { op: 'cancel', marketId: 'btc-15m-0' };
  const operations = Array.from({ length: 100 }, (_, i) => ({ ...cancel, orderId: `o${i}` }));
  const login = { username: user.username, password: PASSWORD };
  return [
    stake,
    `${coding}\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    `${coding}\r\nContent-Length: 5\r\n\r\n${body}`,
    signed(user, { method: 'POST', path: '/batch', body: { operations } }),
    requestText({ method: 'POST', path: '/auth/login', body: login }),
    requestText({ method: 'POST', path: '/auth/logout', body: {} }),
    signed(user, { path: `/users/${user.userId}/trades?limit=200` }),
    requestText({ path: '/docs/swagger-ui-bundle.js' }),
    requestText({ path: '/health' }).replace('GET', 'HEAD'),
    requestText({ path: '/nowhere' }),
  ];
}

export const slow: readonly { name: string; attack(stage: Stage): Promise<string> }[] = [
  {
    name: '500 connections send their headers slowly, byte by byte',
    attack: (stage) =>
      withSockets(stage, 500, (sockets) => drip(sockets, `GET /api/health HTTP/1.1\r\n${HEADERS}`)),
  },
  {
    name: '500 connections send a stake of 60 KiB slowly, byte by byte',
    attack: async (stage) => {
      const user = await stage.register();
      const before = await stage.availableOf(user);
      const text = signed(user, { ...stakeOf('slow'), body: ' '.repeat(60_000) });
      const told = await withSockets(stage, 500, async (sockets) => {
        for (const socket of sockets) socket.write(`${text.trimEnd()}\r\n\r\n`);
        await drip(sockets, '{"amount":1}   ');
      });
      expect(await stage.availableOf(user)).toBe(before);
      return told;
    },
  },
  {
    name: '3,000 connections say nothing',
    attack: (stage) => withSockets(stage, 3_000, () => sleep(3_000)),
  },
  {
    name: '500 clients end their side after the request and wait for the answer',
    attack: (stage) =>
      withSockets(stage, 500, async (sockets) => {
        for (const each of sockets) {
          each.write(requestText({ path: '/markets' }));
          each.socket.end();
        }
        await eventually(() => sockets.every(({ isAnswered }) => isAnswered), PATIENCE_MS);
      }),
  },
  {
    name: `${HANG_UPS} connections ask for answers of every kind and reset at random moments`,
    attack: async (stage) => {
      const { port, random } = stage;
      const texts = answersOf(await stage.register());
      let [begun, answered] = [0, 0];
      const hangUp = async () => {
        while (begun++ < HANG_UPS) {
          const socket = new RawSocket(port);
          socket.write(random.pick(texts));
          if (random.chance(0.2)) socket.write(random.pick(texts));
          await sleep(random.whole(0, HANG_UP_MS_MAX));
          if (socket.received !== '') answered++;
          socket.socket.resetAndDestroy();
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, hangUp));
      return `${answered} of ${HANG_UPS} received something`;
    },
  },
  {
    name: `${READERS} clients ask for large answers and read nothing`,
    attack: (stage) =>
      withSockets(stage, READERS, async (sockets) => {
        const paths = ['/docs/swagger-ui-bundle.js', '/openapi.json', '/docs/swagger-ui.css'];
        for (const [i, each] of sockets.entries()) {
          each.socket.pause();
          each.write(requestText({ path: paths[i % paths.length]! }));
        }
        await sleep(READERS_MS);
      }),
  },
  {
    name: '200 streams subscribe again and again and read nothing',
    attack: async (stage) => {
      const marketId = await stage.openMarket(5_000);
      const channels = ['markets', `book:${marketId}`, `trades:${marketId}`, 'prices:BTC'];
      const streams = Array.from({ length: 200 }, () => {
        const stream = new WebSocket(`ws://${HOST}:${stage.port}/api/stream`);
        stream.on('error', () => {});
        stream.on('open', () => stream.pause());
        return stream;
      });
      await eventually(() => streams.every(({ readyState }) => readyState === WebSocket.OPEN));
      for (let round = 0; round < 20; round++) {
        for (const op of ['subscribe', 'unsubscribe'])
          for (const stream of streams) stream.send(JSON.stringify({ op, channels }));
        await sleep(200);
      }
      for (const stream of streams) stream.terminate();
      return '20 rounds';
    },
  },
];
