/**
 * Clients that ask for large answers and never read them: memory stays within a bound, and trading
 * goes on.
 *
 * One process holds these clients (silent-clients.ts). They use several loopback addresses, so that
 * no limit by address refuses them. Another buys at a fixed rate, without them and then with them.
 * Linux only: memory is read from /proc.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../../../../bench/http/load/client.js';
import type { LoadResult } from '../../../../bench/http/load/load.js';
import { HOST, requestBytes } from '../../../../bench/http/load/messages.js';
import { LoadGenerator, messageFrom } from '../../../../bench/http/processes.js';
import { type ExchangeProcess, endOf } from '../../../../bench/measure/exchange-process.js';
import type { Attack, AttackClass } from '../attack.js';
import type { SilentCounts, SilentTask } from '../methods/silent-clients.js';
import { CannotRun, mustBeLinux, mustHold } from '../promises.js';

const READERS = 5_000;
const READERS_PER_ADDRESS = 1_000;
const PATHS = ['/api/docs/swagger-ui-bundle.js', '/api/openapi.json', '/api/docs/swagger-ui.css'];
const ATTACK_SECONDS = 60;
const USUAL_SECONDS = 15;
const BUYS_PER_SECOND = 200;
const CONNECTIONS = 16;
const WARM_UP_MS = 2_000;
/** Fewer than may rest at a time. */
const ORDERS_PER_USER = 900;
const SAMPLE_EVERY_MS = 250;

/** The default of UNSENT_BYTES. */
const UNSENT_BYTES = 67_108_864;
/** What uWebSockets.js may keep for a connection, and objects. */
const BYTES_PER_READER = 20 * 1024;
/** The heap of the exchange goes up and down by as much under any load. */
const HEAP_BYTES = 64 * 2 ** 20;
/** If the machine is busier before the attack, delays say nothing about the exchange. */
const LEAST_IDLE_SHARE = 0.6;

/** It imports no other file of this project, so Node.js runs it as it is. */
const SILENT_CLIENTS = join(import.meta.dirname, '../methods/silent-clients.ts');

const mebibytes = (bytes: number) => Math.round(bytes / 2 ** 20);

async function unreadAnswers({ exchange }: { exchange: ExchangeProcess }): Promise<string> {
  mustBeLinux('the memory of a process in /proc');
  const { pid, port } = exchange;
  const pace = { kind: 'open', perSecond: BUYS_PER_SECOND, seed: 'unread readers' } as const;
  const requests = await buysOf(exchange, USUAL_SECONDS + ATTACK_SECONDS + 30);
  const common = { pace, port, connections: CONNECTIONS, requests, warmUpMs: WARM_UP_MS };
  const generator = new LoadGenerator();
  const buy = (seconds: number) => generator.run({ ...common, measureMs: seconds * 1_000 });
  try {
    const usual = await buy(USUAL_SECONDS);
    const beforeBytes = residentBytes(pid);
    const attack = await underAttack(exchange, () => buy(ATTACK_SECONDS));
    return judge(usual, beforeBytes, attack);
  } finally {
    await generator.stop();
  }
}

function judge(usual: LoadResult, beforeBytes: number, attack: UnderAttack): string {
  const { load, openMost, residentMostBytes } = attack;
  const boundBytes = beforeBytes + UNSENT_BYTES + READERS * BYTES_PER_READER + HEAP_BYTES;
  const [usualMs, attackMs] = [usual.latencyP99Ms, load.latencyP99Ms];
  const figure =
    `${openMost} open; memory ${mebibytes(beforeBytes)} to ${mebibytes(residentMostBytes)} MiB ` +
    `(bound ${mebibytes(boundBytes)}); p99 of buys ${usualMs.toFixed(1)} to ${attackMs.toFixed(1)} ms`;
  mustHold(residentMostBytes <= boundBytes, `too much memory: ${figure}`);
  const { byStatus } = load;
  mustHold(Object.keys(byStatus).join() === '200', `${JSON.stringify(byStatus)}: ${figure}`);
  const isSlow = attackMs > 2 * usualMs;
  if (isSlow && usual.idleShare < LEAST_IDLE_SHARE) {
    const idle = `${Math.round(100 * usual.idleShare)}% idle`;
    throw new CannotRun(`too busy a machine to judge delays (${idle}); ${figure}`);
  }
  mustHold(!isSlow, `too slow: ${figure}`);
  return figure;
}

interface UnderAttack {
  load: LoadResult;
  openMost: number;
  residentMostBytes: number;
}

async function underAttack(
  { pid, port }: ExchangeProcess,
  work: () => Promise<LoadResult>,
): Promise<UnderAttack> {
  const child = fork(SILENT_CLIENTS, [], { env: {} });
  let [openMost, residentMostBytes] = [0, 0];
  let isOver = false;
  const watch = async () => {
    while (!isOver) {
      openMost = Math.max(openMost, (await countsOf(child)).open);
      residentMostBytes = Math.max(residentMostBytes, residentBytes(pid));
      await sleep(SAMPLE_EVERY_MS);
    }
  };
  try {
    const addresses = Math.ceil(READERS / READERS_PER_ADDRESS);
    const localAddresses = Array.from({ length: addresses }, (_, i) => `127.0.0.${i + 2}`);
    const task = { host: HOST, port, clients: READERS, localAddresses, paths: PATHS };
    child.send(task satisfies SilentTask);
    const working = work().finally(() => {
      isOver = true;
    });
    const [load] = await Promise.all([working, watch()]);
    return { load, openMost, residentMostBytes };
  } finally {
    isOver = true;
    await endOf(child, 'SIGKILL');
  }
}

function countsOf(child: ChildProcess): Promise<SilentCounts> {
  const counts = messageFrom<SilentCounts>(child);
  child.send('counts');
  return counts;
}

/** Resting buys of so many users that none reaches its limit, in a market that stays open. */
async function buysOf(exchange: ExchangeProcess, seconds: number): Promise<Buffer[]> {
  const client = new Client(exchange);
  const { markets, serverTimeMs } = (await client.mustAsk({ path: '/markets/15m' })).json;
  const market = markets.find(
    ({ endsAtMs }: { endsAtMs: number }) => endsAtMs - serverTimeMs > seconds * 1_000,
  );
  mustHold(market !== undefined, `no market stays open for ${seconds} seconds`);
  const path = `/markets/15m/${market.id}/buy`;
  const body = { outcome: 'UP', shares: 1_000, price: 0.001, timeInForce: 'GTC' };
  const requests: Buffer[] = [];
  for (let i = 0; i < Math.ceil((seconds * BUYS_PER_SECOND) / ORDERS_PER_USER); i++) {
    const { token } = await client.register(`buyer-${i}`);
    requests.push(requestBytes({ method: 'POST', path, headers: { 'x-user-token': token }, body }));
  }
  client.close();
  return requests;
}

function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) * 1_024;
}

const largeAnswers: Attack = {
  name: `${READERS} readers`,
  done: `${READERS} clients ask for files and never read, for ${ATTACK_SECONDS} s, while another buys`,
  run: unreadAnswers,
};

export const unread: AttackClass = {
  name: 'unread',
  isolated: true,
  // In real time a market stays open for long enough.
  variables: { FEED_SPEED: '1' },
  attacks: [largeAnswers],
};
