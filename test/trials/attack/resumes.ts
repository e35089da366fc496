/**
 * Streams that `resume` an account's channel from far back, whose messages then come from the
 * journal: many streams that read everything, slowly, or nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import { eventually } from '../../support/eventually.js';
import { HOST } from '../../support/http/messages.js';
import { ATTACK_MS, ATTACKER, besideProbe } from './probe.js';
import type { Stage, User } from './stage.js';

const BATCH = 100;
/** The most orders and cancels of one account: about 10 MB of messages. */
const MANY_ORDERS = 16_000;
/** Enough that memory does not hold all messages. */
const ORDERS = 3_000;
/** The time within which another user's resume must begin. */
const ANSWERED_MS = 15_000;
const SLOW_BYTES_PER_SECOND = 1_500_000;

interface Busy {
  user: User;
  /** The sequence before the account's messages. */
  after: number;
}

/** An account with messages of many orders and cancels. */
async function busyAccount(stage: Stage, orders: number): Promise<Busy> {
  const user = await stage.register();
  const after = (await stage.api.get('/time')).json.sequence;
  for (let done = 0; done < orders; done += BATCH) {
    const marketId = await stage.openMarket(1_000);
    const terms = { outcome: 'UP', price: 0.001, shares: 1_000, timeInForce: 'GTC' };
    const operations = Array.from({ length: BATCH }, () => ({ op: 'buy', marketId, ...terms }));
    await stage.api.post('/batch', { operations }, user.token);
    const cancel = { operations: [{ op: 'cancelAll', marketId }] };
    await stage.api.post('/batch', cancel, user.token);
  }
  return { user, after };
}

/** How fast a stream is read; null if as fast as messages come. */
type Rate = number | null;

class ResumingStream {
  bytes = 0;
  answerMs = 0;
  isReplayed = false;
  closeCode = 0;
  readonly socket: WebSocket;

  constructor({ port }: Stage, { user, after }: Busy, rate: Rate, localAddress = ATTACKER) {
    const headers = { 'x-user-token': user.token };
    this.socket = new WebSocket(`ws://${HOST}:${port}/api/stream`, { headers, localAddress });
    let startMs = 0;
    this.socket.on('error', () => {});
    this.socket.on('open', () => {
      startMs = performance.now();
      this.socket.send(JSON.stringify({ op: 'resume', channel: 'user', after }));
      if (rate === 0) this.socket.pause();
    });
    this.socket.on('message', (data: Buffer) => {
      this.bytes += data.length;
      const elapsedMs = performance.now() - startMs;
      const type = data.subarray(0, 20).toString();
      if (type.startsWith('{"type":"resumed"')) this.answerMs = elapsedMs;
      if (type.startsWith('{"type":"replayed"')) this.isReplayed = true;
      const aheadMs = rate === null ? 0 : (this.bytes / rate) * 1_000 - elapsedMs;
      if (aheadMs < 10) return;
      this.socket.pause();
      setTimeout(() => this.socket.resume(), aheadMs);
    });
    this.socket.on('close', (code) => (this.closeCode = code));
  }

  get isOver(): boolean {
    return this.isReplayed || this.closeCode !== 0;
  }
}

interface Attack {
  accounts: number;
  orders: number;
  /** The number of streams of each account. */
  streams: number;
  rate: Rate;
}

/** Resumes all streams. `meanwhile`: an action while they resume. */
async function resuming(
  stage: Stage,
  { accounts, orders, streams, rate }: Attack,
  meanwhile: () => Promise<string> = async () => '',
): Promise<string> {
  const busy: Busy[] = [];
  for (let i = 0; i < accounts; i++) busy.push(await busyAccount(stage, orders));
  return besideProbe(stage, async () => {
    const startMs = performance.now();
    const all = busy.flatMap((each) =>
      Array.from({ length: streams }, () => new ResumingStream(stage, each, rate)),
    );
    const pongs = setInterval(() => {
      for (const { socket } of all) if (socket.readyState === WebSocket.OPEN) socket.pong();
    }, 3_000);
    const told = await meanwhile();
    if (rate === 0) await sleep(ATTACK_MS);
    else await eventually(() => all.every(({ isOver }) => isOver), 10 * 60_000);
    clearInterval(pongs);
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(1);
    const closes = all.filter(({ closeCode }) => closeCode !== 0).map(({ closeCode }) => closeCode);
    for (const { socket } of all) socket.terminate();
    const replayed = all.filter(({ isReplayed }) => isReplayed).length;
    const mib = all.reduce((sum, { bytes }) => sum + bytes, 0) / 2 ** 20;
    const report = `${replayed} of ${all.length} resumed in ${seconds} s, ${mib.toFixed(0)} MiB read, closed ${closes.length} ${told}`;
    if (rate !== 0) expect([replayed, closes], report).toEqual([all.length, []]);
    return report;
  });
}

export const resumes: readonly { name: string; attack(stage: Stage): Promise<string> }[] = [
  {
    name: '64 streams of one account resume from far back, and read',
    attack: (stage) =>
      resuming(stage, { accounts: 1, orders: MANY_ORDERS, streams: 64, rate: null }),
  },
  {
    name: 'a stream that is read at 1.5 MB/s resumes to the end',
    attack: (stage) =>
      resuming(stage, {
        accounts: 1,
        orders: MANY_ORDERS,
        streams: 1,
        rate: SLOW_BYTES_PER_SECOND,
      }),
  },
  {
    name: '96 streams of three accounts resume from far back, and read nothing',
    attack: (stage) => resuming(stage, { accounts: 3, orders: MANY_ORDERS, streams: 32, rate: 0 }),
  },
  {
    name: '1,000 streams of ten accounts resume and read nothing: somebody else resumes',
    attack: async (stage) => {
      const other = await busyAccount(stage, ORDERS);
      return resuming(stage, { accounts: 10, orders: ORDERS, streams: 100, rate: 0 }, async () => {
        await sleep(1_000);
        const stream = new ResumingStream(stage, other, null, HOST);
        await eventually(() => stream.isOver, ANSWERED_MS);
        stream.socket.terminate();
        expect(stream.isReplayed, `closed ${stream.closeCode}`).toBe(true);
        return `; somebody else was answered after ${stream.answerMs.toFixed(0)} ms`;
      });
    },
  },
];
