/** WebSocket frames of every kind, size and rate, from clients without a session. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { HOST, requestText } from '../../support/http/messages.js';
import { ATTACKER, besideProbe } from './probe.js';
import type { Stage } from './stage.js';

const SOCKETS = 4;
const WRITE_BYTES = 64 * 1024;

const MASK = '00000000';
const hex = (text: string) => Buffer.from(text, 'hex');
const long = (first: string, bytes: number) =>
  Buffer.concat([
    hex(`${first}fe${bytes.toString(16).padStart(4, '0')}${MASK}`),
    Buffer.alloc(bytes, '1'),
  ]);

/** The bytes that a client writes repeatedly, after its first bytes. */
interface Flood {
  first?: Buffer;
  again: Buffer;
  /** The pause between two writes of {@link WRITE_BYTES}. */
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

/** Connects, writes, and reconnects after a close, until time is up. */
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

export const frames = Object.entries(FLOODS).map(([name, each]) => ({
  name: `${SOCKETS} clients send ${name}`,
  attack: (stage: Stage) =>
    besideProbe(stage, async (untilMs) => {
      const floods = Array.from({ length: SOCKETS }, () => flood(stage, each, untilMs));
      const counts = await Promise.all(floods);
      const [opened, bytes] = [
        counts.reduce((sum, count) => sum + count.opened, 0),
        counts.reduce((sum, count) => sum + count.bytes, 0),
      ];
      return `${opened} connections, ${(bytes / 2 ** 20).toFixed(1)} MiB`;
    }),
}));
