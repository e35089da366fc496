/**
 * Clients that are slow, silent, gone, or in a hurry. They may lose their connections, but they do
 * not delay others, and what they send is executed at most once, if it was complete.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { Client, PASSWORD } from '../../../../bench/http/load/client.js';
import { HOST, requestText } from '../../../../bench/http/load/messages.js';
import { metricOf } from '../../soak/watch.js';
import type { Attack, AttackClass } from '../attack.js';
import { openMarket, stakeOf, type Trader } from '../methods/client.js';
import { openMany, RawSocket } from '../methods/raw-socket.js';
import { eventually, mustHold } from '../promises.js';
import { SPEED, type Stage } from '../stage.js';

const PATIENCE_MS = 8_000;
/** What the memory of the exchange may grow by while it is attacked. */
const ALLOWED_BYTES = 256 * 2 ** 20;

async function residentBytes(stage: Stage): Promise<number> {
  const client = new Client(stage.exchange);
  const { text } = await client.mustAsk({ path: '/metrics' });
  client.close();
  return metricOf(text, 'exchange_memory_bytes{kind="rss"}');
}

/** How much memory has grown. @throws BrokenPromise when it is too much. */
async function mustBeSmall(stage: Stage, beforeBytes: number): Promise<string> {
  const grown = (await residentBytes(stage)) - beforeBytes;
  const text = `${Math.round(grown / 2 ** 20)} MiB more memory`;
  mustHold(grown < ALLOWED_BYTES, text);
  return text;
}

/** Runs `work`, closes the connections, and returns by how much memory grew. */
async function withSockets(
  stage: Stage,
  count: number,
  work: (sockets: RawSocket[]) => Promise<void>,
): Promise<string> {
  const before = await residentBytes(stage);
  const sockets = await openMany(stage.exchange, count);
  try {
    await work(sockets);
    const grown = await mustBeSmall(stage, before);
    const closed = sockets.filter(({ isClosed }) => isClosed).length;
    return `${closed} of ${count} were closed, ${grown}`;
  } finally {
    for (const socket of sockets) socket.reset();
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

/** So that the pieces are read one by one. */
const SPLIT_MS = 50;
const HEADERS = Array.from({ length: 100 }, (_, i) => `X-${i}: a\r\n`).join('');

const slowHeaders: Attack = {
  name: 'slow headers',
  done: '500 connections send their headers slowly, byte by byte',
  run: (stage) =>
    withSockets(stage, 500, async (sockets) => {
      await drip(sockets, `GET /api/health HTTP/1.1\r\n${HEADERS}`);
    }),
};

const splitLines: Attack = {
  name: 'request lines in two pieces',
  done: 'a stake is sent in two pieces, split behind each byte of its first line',
  run: async (stage) => {
    const trader = await stage.register();
    const text = (i: number) => requestText(trader.signed(stakeOf(1, `split:${i}`)));
    const length = text(0).indexOf('\r\n');
    let served = 0;
    const figure = await withSockets(stage, length, async (sockets) => {
      for (const [i, socket] of sockets.entries()) socket.write(text(i).slice(0, i + 1));
      await sleep(SPLIT_MS);
      for (const [i, socket] of sockets.entries()) socket.write(text(i).slice(i + 1));
      const isOver = ({ isClosed, received }: RawSocket) =>
        isClosed || received.includes('\r\n\r\n');
      await eventually('each is answered or closed', PATIENCE_MS, () => sockets.every(isOver));
      for (const { received } of sockets) {
        const isServed = received.startsWith('HTTP/1.1 201');
        mustHold(isServed || received.startsWith('HTTP/1.1 505'), `the answer ${received}`);
        if (isServed) served++;
      }
    });
    await trader.mustHaveSpent(served);
    return `${served} of ${length} were served, the others refused with 505; ${figure}`;
  },
};

const slowBodies: Attack = {
  name: 'slow bodies',
  done: '500 connections send a stake of 60 KiB slowly, byte by byte',
  run: async (stage) => {
    const trader = await stage.register();
    const stake = { ...stakeOf(1, 'slow'), body: ' '.repeat(60_000) };
    const head = requestText(trader.signed(stake)).trimEnd();
    const figure = await withSockets(stage, 500, async (sockets) => {
      for (const socket of sockets) socket.write(`${head}\r\n\r\n`);
      await drip(sockets, '{"amount":1}   ');
    });
    await trader.mustHaveSpent(0);
    return figure;
  },
};

const silent: Attack = {
  name: 'silent connections',
  done: '3,000 connections say nothing',
  run: (stage) => withSockets(stage, 3_000, () => sleep(3_000)),
};

const halfClosed: Attack = {
  name: 'half-closed connections',
  done: '500 clients end their side after the request and wait for the answer',
  run: (stage) =>
    withSockets(stage, 500, async (sockets) => {
      for (const socket of sockets) {
        socket.write(requestText({ path: '/markets' }));
        socket.endWriting();
      }
      const settled = ({ isClosed, received }: RawSocket) =>
        isClosed || received.includes('\r\n\r\n');
      await eventually('each is answered or closed', PATIENCE_MS, () => sockets.every(settled));
    }),
};

const resets: Attack = {
  name: 'resets in the middle of an answer',
  done: '1,000 clients ask for a long answer and reset when it begins',
  run: (stage) =>
    withSockets(stage, 1_000, async (sockets) => {
      for (const socket of sockets) socket.write(requestText({ path: '/openapi.json' }));
      await eventually('each answer begins', PATIENCE_MS, () => {
        for (const socket of sockets) if (socket.received !== '') socket.reset();
        return sockets.every(({ isClosed, received }) => isClosed || received !== '');
      });
    }),
};

const HANG_UPS = 4_000;
const AT_ONCE = 100;
/** Longer than most answers take. */
const HANG_UP_MS_MAX = 60;
/** Half of the clients wait so long for the first bytes, and reset right after them. */
const FIRST_BYTES_MS_MAX = 1_000;
const BEHIND_FIRST_MS_MAX = 5;

/** One request for each way in which an answer is written. */
function answersOf(trader: Trader): string[] {
  const user = `/users/${trader.userId}`;
  const stake = requestText(trader.signed(stakeOf(1, 'hang-up')));
  const [head, body] = stake.split('\r\n\r\n') as [string, string];
  const coding = head.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked');
  const chunked = `${coding}\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const cancel = { op: 'cancel', marketId: 'btc-15m-0' };
  const operations = Array.from({ length: 100 }, (_, i) => ({ ...cancel, orderId: `o${i}` }));
  const login = { username: trader.username, password: PASSWORD };
  return [
    stake,
    chunked,
    `${coding}\r\nContent-Length: 5\r\n\r\n${body}`,
    requestText(trader.signed({ method: 'POST', path: '/batch', body: { operations } })),
    requestText({ method: 'POST', path: '/auth/login', body: login }),
    requestText({ method: 'POST', path: '/auth/logout', body: {} }),
    requestText(trader.signed({ path: `${user}/trades?limit=200` })),
    requestText(trader.signed({ path: `${user}/balance` })),
    requestText({ path: '/docs/swagger-ui-bundle.js' }),
    requestText({ path: '/openapi.json' }),
    requestText({ path: '/health' }).replace('GET', 'HEAD'),
    requestText({ path: '/nowhere' }),
  ];
}

const hangUps: Attack = {
  name: 'hang-ups',
  done: `${HANG_UPS} connections ask for answers of every kind, some for a second one, and reset at random moments`,
  run: async (stage) => {
    const { exchange, random } = stage;
    const trader = await stage.register();
    const texts = answersOf(trader);
    let begun = 0;
    let answered = 0;
    const hangUp = async () => {
      while (begun < HANG_UPS && exchange.isRunning) {
        begun++;
        const socket = new RawSocket(exchange);
        socket.write(random.pick(texts));
        if (random.chance(0.2)) socket.write(random.pick(texts));
        if (random.chance(0.5)) await sleep(random.whole(0, HANG_UP_MS_MAX));
        else {
          await firstBytes(socket);
          await sleep(random.whole(0, BEHIND_FIRST_MS_MAX));
        }
        if (socket.received !== '') answered++;
        socket.reset();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, hangUp));
    return `${answered} of ${begun} received something`;
  },
};

async function firstBytes(socket: RawSocket): Promise<void> {
  const untilMs = performance.now() + FIRST_BYTES_MS_MAX;
  while (socket.received === '' && !socket.isClosed && performance.now() < untilMs) await sleep(1);
}

const pipelined: Attack = {
  name: 'pipelining',
  done: '200 connections send three stakes each in one piece',
  run: async (stage) => {
    const trader = await stage.register();
    const before = await trader.availableMicros();
    const key = (i: number, nth: number) => `pipelined:${i}:${nth}`;
    let answered = 0;
    const figure = await withSockets(stage, 200, async (sockets) => {
      for (const [i, socket] of sockets.entries()) {
        const stakes = [0, 1, 2].map((nth) => requestText(trader.signed(stakeOf(1, key(i, nth)))));
        socket.write(stakes.join(''));
      }
      const isOver = ({ isClosed, received }: RawSocket) =>
        isClosed || received.split('HTTP/1.1 ').length > 3;
      await eventually('each is answered or closed', 2 * PATIENCE_MS, () => sockets.every(isOver));
      for (const { received } of sockets) answered += received.split('HTTP/1.1 201').length - 1;
    });
    const executed = (before - (await trader.availableMicros())) / 1_000_000;
    const isOnce = executed >= answered && executed <= 600;
    mustHold(isOnce, `${answered} stakes were acknowledged, and ${executed} executed, of 600`);
    return `${answered} answered, ${executed} executed; ${figure}`;
  },
};

const unreadStreams: Attack = {
  name: 'streams that never read',
  done: '200 streams subscribe again and again and read nothing',
  run: async (stage) => {
    const trader = await stage.register();
    const marketId = await openMarket(trader, 5_000 * SPEED);
    const channels = ['markets', `book:${marketId}`, `trades:${marketId}`, 'prices:BTC'];
    const before = await residentBytes(stage);
    const url = `ws://${HOST}:${stage.exchange.port}/api/stream`;
    const streams = await Promise.all(Array.from({ length: 200 }, () => unreadStream(url)));
    try {
      for (let round = 0; round < 20; round++) {
        for (const stream of streams) stream.send(JSON.stringify({ op: 'subscribe', channels }));
        for (const stream of streams) stream.send(JSON.stringify({ op: 'unsubscribe', channels }));
        await sleep(200);
      }
      return await mustBeSmall(stage, before);
    } finally {
      for (const stream of streams) stream.terminate();
    }
  },
};

async function unreadStream(url: string): Promise<WebSocket> {
  const stream = new WebSocket(url);
  stream.on('error', () => {});
  await once(stream, 'open');
  stream.pause();
  return stream;
}

export const slow: AttackClass = {
  name: 'slow',
  attacks: [
    slowHeaders,
    splitLines,
    slowBodies,
    silent,
    halfClosed,
    resets,
    hangUps,
    pipelined,
    unreadStreams,
  ],
};
