/**
 * WebSocket frames of every kind, size and rate, and streams that resume and do not read. A probe
 * beside each attack is answered as fast as before.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import { Client } from '../../../bench/http/load/client.js';
import { HOST, requestText } from '../../../bench/http/load/messages.js';
import { eventually } from '../../support/eventually.js';
import { extent } from '../../support/extent.js';
import type { Stage, User } from './stage.js';

/** Real time of each attack. */
const ATTACK_MS = extent(20_000, 3_000);
const SOCKETS = 4;
/** Not that of the probe. */
const ATTACKER = '127.0.0.2';
const PROBE_EVERY_MS = 10;
/** Or twice what it is without the attack, on a machine that has other work. */
const PROBE_P99_MS = 100;
const QUIET_MS = 2_000;
const WRITE_BYTES = 64 * 1024;

const MASK = '00000000';
const hex = (text: string) => Buffer.from(text, 'hex');
const long = (first: string, bytes: number) =>
  Buffer.concat([
    hex(`${first}fe${bytes.toString(16).padStart(4, '0')}${MASK}`),
    Buffer.alloc(bytes, '1'),
  ]);

/** What a client writes again and again, after what it writes first. */
interface Flood {
  first?: Buffer;
  again: Buffer;
  /** Between two writes of {@link WRITE_BYTES}. */
  pauseMs?: number;
}

const FLOODS: Readonly<Record<string, Flood>> = {
  'empty pongs': { again: hex(`8a80${MASK}`) },
  'empty pongs, slowly': { again: hex(`8a80${MASK}`), pauseMs: 100 },
  'pongs of 125 bytes': { again: hex(`8afd${MASK}${'61'.repeat(125)}`) },
  'empty pings': { again: hex(`8980${MASK}`) },
  'pings of 125 bytes': { again: hex(`89fd${MASK}${'61'.repeat(125)}`) },
  'empty messages': { again: hex(`8180${MASK}`) },
  'binary messages of 60,000 bytes': { again: long('82', 60_000) },
  'texts of 60,000 digits': { again: long('81', 60_000) },
  'messages in two fragments': { again: hex(`0181${MASK}318080${MASK}`) },
  'empty fragments without an end': { first: hex(`0180${MASK}`), again: hex(`0080${MASK}`) },
  'fragments of one byte without an end': {
    first: hex(`0181${MASK}31`),
    again: hex(`0081${MASK}31`),
  },
  'fragments with pongs between them': {
    first: hex(`0180${MASK}`),
    again: hex(`0080${MASK}8a80${MASK}`),
  },
  'a head of 60,000 bytes and nothing more': { first: hex(`81feea60${MASK}`), again: hex('') },
  'closes with every code': {
    again: Buffer.concat(
      [1000, 1001, 1005, 1006, 3000, 65_535].map((code) =>
        hex(`8882${MASK}${code.toString(16).padStart(4, '0')}`),
      ),
    ),
  },
  'frames of kinds that do not exist': { again: hex(`8380${MASK}`) },
  'frames without a mask': { again: hex('8100') },
};

const HANDSHAKE = requestText({
  path: '/stream',
  headers: {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'MDEyMzQ1Njc4OWFiY2RlZg==',
  },
});

/** Asks again and again for what costs next to nothing, and notes how long each answer takes. */
class Probe {
  private readonly times: number[] = [];
  private isOver = false;
  private readonly run: Promise<void>;

  constructor(stage: Stage) {
    this.run = this.ask(new Client(stage));
  }

  async result(): Promise<{ p50: number; p99: number }> {
    this.isOver = true;
    await this.run;
    this.times.sort((a, b) => a - b);
    const at = (part: number) => this.times[Math.floor(this.times.length * part)] ?? 0;
    return { p50: at(0.5), p99: at(0.99) };
  }

  private async ask(client: Client): Promise<void> {
    while (!this.isOver) {
      const startMs = performance.now();
      await client.ask({ path: '/time' });
      this.times.push(performance.now() - startMs);
      await sleep(PROBE_EVERY_MS);
    }
    client.close();
  }
}

/** Connects, writes, and connects again when it was closed, until the time is over. */
async function flood(
  { port }: Stage,
  { first = hex(''), again, pauseMs = 0 }: Flood,
  untilMs: number,
): Promise<{ opened: number; bytes: number }> {
  const each = Math.max(1, Math.floor(WRITE_BYTES / Math.max(1, again.length)));
  const block = Buffer.concat(Array.from({ length: each }, () => again));
  const counts = { opened: 0, bytes: 0 };
  while (performance.now() < untilMs) {
    const socket = connect({ host: HOST, port, localAddress: ATTACKER });
    let isClosed = false;
    socket.on('error', () => {});
    const closing = new Promise<void>((resolve) =>
      socket.on('close', () => {
        isClosed = true;
        resolve();
      }),
    );
    socket.resume();
    socket.write(HANDSHAKE);
    await sleep(5);
    socket.write(first);
    counts.opened++;
    while (!isClosed && performance.now() < untilMs) {
      await Promise.race([written(socket, block), closing]);
      counts.bytes += block.length;
      await sleep(block.length === 0 ? 100 : pauseMs);
    }
    socket.destroy();
  }
  return counts;
}

/** Resolves when the operating system has taken the bytes. */
function written(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    socket.write(bytes, () => resolve());
  });
}

async function besideProbe(stage: Stage, attack: () => Promise<string>): Promise<string> {
  const quiet = new Probe(stage);
  await sleep(QUIET_MS);
  const { p99: quietMs } = await quiet.result();
  const probe = new Probe(stage);
  const before = await stage.residentBytes();
  const told = await attack();
  const { p50, p99 } = await probe.result();
  const grownMb = ((await stage.residentBytes()) - before) / 2 ** 20;
  const report = `${told}; probe p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, without the attack ${quietMs.toFixed(1)}; ${grownMb.toFixed(0)} MiB`;
  expect(p99, report).toBeLessThan(Math.max(PROBE_P99_MS, 2 * quietMs));
  return report;
}

const ORDERS = extent(20_000, 2_000);
const BATCH = 100;

/** An account with messages of many orders and cancels. Returns the sequence before them. */
async function busyAccount(stage: Stage): Promise<{ user: User; after: number }> {
  const user = await stage.register();
  const after = (await stage.api.get('/time')).json.sequence;
  for (let done = 0; done < ORDERS; done += BATCH) {
    const marketId = await stage.openMarket(1_000);
    const terms = { outcome: 'UP', price: 0.001, shares: 1_000, timeInForce: 'GTC' };
    const operations = Array.from({ length: BATCH }, () => ({ op: 'buy', marketId, ...terms }));
    await stage.api.post('/batch', { operations }, user.token);
    const cancel = { operations: [{ op: 'cancelAll', marketId }] };
    await stage.api.post('/batch', cancel, user.token);
  }
  return { user, after };
}

async function resuming(stage: Stage, accounts: number, streams: number, reads: boolean) {
  const busy = await Promise.all(Array.from({ length: accounts }, () => busyAccount(stage)));
  return besideProbe(stage, async () => {
    const closes: Record<number, number> = {};
    let [bytes, replayed] = [0, 0];
    const sockets = busy.flatMap(({ user, after }) =>
      Array.from({ length: streams }, () => {
        const socket = new WebSocket(`ws://${HOST}:${stage.port}/api/stream`, {
          headers: { 'x-user-token': user.token },
          localAddress: ATTACKER,
        });
        socket.on('error', () => {});
        socket.on('open', () => {
          socket.send(JSON.stringify({ op: 'resume', channel: 'user', after }));
          if (!reads) socket.pause();
        });
        socket.on('message', (data: Buffer) => {
          bytes += data.length;
          if (data.subarray(0, 19).toString() === '{"type":"replayed",') replayed++;
        });
        socket.on('close', (code) => (closes[code] = (closes[code] ?? 0) + 1));
        return socket;
      }),
    );
    const pongs = setInterval(() => {
      for (const socket of sockets) if (socket.readyState === WebSocket.OPEN) socket.pong();
    }, 3_000);
    if (reads) await eventually(() => replayed + closed(closes) >= sockets.length, 10 * ATTACK_MS);
    else await sleep(ATTACK_MS);
    clearInterval(pongs);
    for (const socket of sockets) socket.terminate();
    const mb = (bytes / 2 ** 20).toFixed(0);
    return `${replayed} of ${sockets.length} resumed, ${mb} MiB read, closed ${JSON.stringify(closes)}`;
  });
}

function closed(closes: Record<number, number>): number {
  return Object.values(closes).reduce((sum, count) => sum + count, 0);
}

export const frames: readonly { name: string; attack(stage: Stage): Promise<string> }[] = [
  ...Object.entries(FLOODS).map(([name, each]) => ({
    name: `${SOCKETS} clients send ${name}`,
    attack: (stage: Stage) =>
      besideProbe(stage, async () => {
        const untilMs = performance.now() + ATTACK_MS;
        const floods = Array.from({ length: SOCKETS }, () => flood(stage, each, untilMs));
        const counts = await Promise.all(floods);
        const [opened, bytes] = [
          counts.reduce((sum, count) => sum + count.opened, 0),
          counts.reduce((sum, count) => sum + count.bytes, 0),
        ];
        return `${opened} connections, ${(bytes / 2 ** 20).toFixed(1)} MiB`;
      }),
  })),
  {
    name: '64 streams of one account resume from far back, and read',
    attack: (stage) => resuming(stage, 1, 64, true),
  },
  {
    name: '96 streams of three accounts resume from far back, and read nothing',
    attack: (stage) => resuming(stage, 3, 32, false),
  },
];
