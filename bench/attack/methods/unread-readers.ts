/**
 * The attack of clients that ask for large answers and never read: what it does to the memory of an
 * exchange, and to trading.
 *
 * One process of its own holds the clients, which come from several loopback addresses, so that no
 * limit by address keeps them out, and come again when they are dropped. Another one buys at a
 * fixed rate, first without them and then with them. Linux only: memory is read from /proc.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import type { LoadResult } from '../../http/load.js';
import { requestBytes } from '../../http/messages.js';
import { LoadGenerator } from '../../http/processes.js';
import type { SilentCounts, SilentTask } from './silent-clients.js';

export interface UnreadReadersOptions {
  /**
   * Such as http://127.0.0.1:3000: an exchange on a loopback address whose first market stays open
   * for as long as this takes.
   */
  address: string;
  /** Of the exchange's process. */
  pid: number;
  readers?: number;
  /** For how long trading is measured, without readers and with them. */
  usualSeconds?: number;
  attackSeconds?: number;
  buysPerSecond?: number;
  /** What the exchange is configured to: UNSENT_BYTES. */
  unsentBytes?: number;
}

export interface UnreadReadersFigures {
  readers: number;
  seconds: number;
  /** The most that were connected at a time, and all connections that they made. */
  openMost: number;
  connected: number;
  /** Why their connections ended, by the code of the system. */
  ends: Record<string, number>;
  /**
   * Resident memory of the exchange: before, the most, and the bound, which is what was before,
   * UNSENT_BYTES, and a part for each reader.
   */
  residentBeforeBytes: number;
  residentMostBytes: number;
  residentBoundBytes: number;
  /** The most that the operating system kept for all TCP connections of the machine. */
  systemTcpMostBytes: number;
  /** Of buys, from when they were due. */
  usualP50Ms: number;
  usualP99Ms: number;
  attackP50Ms: number;
  attackP99Ms: number;
  /** Answers to the buys under attack, by status. */
  byStatus: Record<string, number>;
  /**
   * Share (0 to 1) of the time of all cores in which the machine had nothing to do, before the
   * attack.
   */
  usualIdleShare: number;
  isWithinBound: boolean;
  isWithinTwiceUsual: boolean;
}

/** What uWebSockets.js may keep for a connection, and objects. */
const BYTES_PER_READER = 20 * 1024;
/** The heap of the exchange goes up and down by as much under any load. */
const HEAP_BYTES = 64 * 2 ** 20;
const READERS_PER_ADDRESS = 1_000;
const PATHS = ['/api/docs/swagger-ui-bundle.js', '/api/openapi.json', '/api/docs/swagger-ui.css'];
const CONNECTIONS = 16;
/** Fewer than may rest at a time. */
const ORDERS_PER_USER = 900;
const WARM_UP_MS = 2_000;
const SAMPLE_EVERY_MS = 250;

/** @throws Error when the readers or the buys cannot do their work. */
export async function attackWithUnreadReaders(
  options: UnreadReadersOptions,
): Promise<UnreadReadersFigures> {
  const { address, pid, readers = 5_000, usualSeconds = 30, attackSeconds = 60 } = options;
  const { unsentBytes = 67_108_864, buysPerSecond = 200 } = options;
  const { hostname, port } = new URL(address);
  const requests = await buysOf(address, usualSeconds + attackSeconds + 30, buysPerSecond);
  const load = new LoadGenerator();
  const buy = (seconds: number) =>
    load.run({
      pace: { kind: 'open', perSecond: buysPerSecond, seed: 'unread readers' },
      host: hostname,
      port: Number(port),
      connections: CONNECTIONS,
      requests,
      warmUpMs: WARM_UP_MS,
      measureMs: seconds * 1_000,
    });
  try {
    const usual = await buy(usualSeconds);
    const residentBeforeBytes = residentBytes(pid);
    const attack = await underAttack(
      { host: hostname, port: Number(port), clients: readers },
      pid,
      () => buy(attackSeconds),
    );
    const residentBoundBytes =
      residentBeforeBytes + unsentBytes + readers * BYTES_PER_READER + HEAP_BYTES;
    return {
      readers,
      seconds: attackSeconds,
      openMost: attack.openMost,
      connected: attack.counts.connected,
      ends: attack.counts.ends,
      residentBeforeBytes,
      residentMostBytes: attack.residentMostBytes,
      residentBoundBytes,
      systemTcpMostBytes: attack.systemTcpMostBytes,
      usualP50Ms: usual.latencyP50Ms,
      usualP99Ms: usual.latencyP99Ms,
      attackP50Ms: attack.load.latencyP50Ms,
      attackP99Ms: attack.load.latencyP99Ms,
      byStatus: attack.load.byStatus,
      usualIdleShare: usual.idleShare,
      isWithinBound: attack.residentMostBytes <= residentBoundBytes,
      isWithinTwiceUsual: attack.load.latencyP99Ms <= 2 * usual.latencyP99Ms,
    };
  } finally {
    await load.stop();
  }
}

interface Attack {
  load: LoadResult;
  counts: SilentCounts;
  openMost: number;
  residentMostBytes: number;
  systemTcpMostBytes: number;
}

/** Does the work while the clients are there, and watches. */
async function underAttack(
  task: Pick<SilentTask, 'host' | 'port' | 'clients'>,
  pid: number,
  work: () => Promise<LoadResult>,
): Promise<Attack> {
  const child = fork(fileURLToPath(new URL('./silent-clients.js', import.meta.url)), [], {
    env: {},
  });
  let [openMost, residentMostBytes, systemTcpMostBytes] = [0, 0, 0];
  let isOver = false;
  try {
    const addresses = Math.ceil(task.clients / READERS_PER_ADDRESS);
    const localAddresses = Array.from({ length: addresses }, (_, i) => `127.0.0.${i + 2}`);
    child.send({ ...task, localAddresses, paths: PATHS } satisfies SilentTask);
    const watching = (async () => {
      while (!isOver) {
        openMost = Math.max(openMost, (await countsOf(child)).open);
        residentMostBytes = Math.max(residentMostBytes, residentBytes(pid));
        systemTcpMostBytes = Math.max(systemTcpMostBytes, systemTcpBytes());
        await sleep(SAMPLE_EVERY_MS);
      }
    })();
    const working = work().finally(() => {
      isOver = true;
    });
    const [load] = await Promise.all([working, watching]);
    const counts = await countsOf(child);
    return { load, counts, openMost, residentMostBytes, systemTcpMostBytes };
  } finally {
    isOver = true;
    await endOf(child);
  }
}

async function countsOf(child: ChildProcess): Promise<SilentCounts> {
  const answer = once(child, 'message', { signal: AbortSignal.timeout(30_000) });
  child.send('counts');
  const [counts] = await answer;
  return counts as SilentCounts;
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/**
 * Buys of the least size that rest, of so many users that none reaches the limit on resting orders,
 * in a market that stays open for so long.
 */
async function buysOf(address: string, seconds: number, buysPerSecond: number): Promise<Buffer[]> {
  const marketId = await marketOf(address, seconds);
  const users = Math.ceil((seconds * buysPerSecond) / ORDERS_PER_USER);
  const { host } = new URL(address);
  const path = `/api/markets/15m/${marketId}/buy`;
  const body = { outcome: 'UP', shares: 0.001, price: 0.001, timeInForce: 'GTC' };
  const run = process.hrtime.bigint() % 1_000_000_000n;
  const requests: Buffer[] = [];
  for (let i = 0; i < users; i++) {
    const token = await register(address, `buyer-${run}-${i}`);
    requests.push(
      requestBytes({ method: 'POST', path, host, headers: { 'x-user-token': token }, body }),
    );
  }
  return requests;
}

async function marketOf(address: string, seconds: number): Promise<string> {
  const answer = await request(`${address}/api/markets/15m`);
  const list = (await answer.body.json()) as {
    markets: { id: string; endsAtMs: number }[];
    serverTimeMs: number;
  };
  const market = list.markets.find(
    ({ endsAtMs }) => endsAtMs - list.serverTimeMs > seconds * 1_000,
  );
  if (market === undefined) throw new Error(`no market stays open for ${seconds} seconds`);
  return market.id;
}

async function register(address: string, username: string): Promise<string> {
  const answer = await request(`${address}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password: 'correct horse battery' }),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 201)
    throw new Error(`${username} cannot register: ${answer.statusCode} ${text}`);
  return (JSON.parse(text) as { token: string }).token;
}

function residentBytes(pid: number): number {
  const pages = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(pages)![1]) * 1_024;
}

/** In /proc/net/sockstat as pages of 4 KiB. */
function systemTcpBytes(): number {
  const text = readFileSync('/proc/net/sockstat', 'utf8');
  return Number(/^TCP: .* mem (\d+)$/m.exec(text)![1]) * 4_096;
}
