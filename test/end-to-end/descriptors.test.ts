/**
 * The built program without free file descriptors. It cannot accept connections or open files, but
 * trading continues; when descriptors are free again, everything works and nothing is missing.
 * Connections never take the descriptors that the journal needs.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import sqlite3 from 'sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openPath } from '../../persistence/history/parts/catalogue.js';
import { USER_PAYMENT } from '../../persistence/history/runs/format.js';
import { closeDatabase, execute, openDatabase } from '../../persistence/storage/sqlite.js';
import { DAY_FILE } from '../data/day-file.js';
import { eventually } from '../support/eventually.js';
import { type ChildServer, Exchanges } from '../support/programs.js';
import { type ApiClient, PASSWORD } from '../support/server.js';

const WARM_UP_STAKES = 10;
const HEARTBEAT_MS = 1_000;

let exchanges: Exchanges;
let server: ChildServer;
let api: ApiClient;
let token: string;
let userId: string;
const sockets: Socket[] = [];

beforeEach(() => {
  exchanges = new Exchanges({ ASSETS: 'BTC', PRICE_FEED: `file:${DAY_FILE}` });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await exchanges.end();
});

async function start(limits?: string[]): Promise<void> {
  server = exchanges.spawn({}, limits);
  api = await exchanges.listening(server, { connections: 1 });
  ({ token, userId } = (
    await api.post('/auth/register', { username: 'ada', password: PASSWORD })
  ).json);
  // The client opens its only connection now, while descriptors are free.
  for (let i = 0; i < WARM_UP_STAKES; i++) await stake();
}

/** Takes all free descriptors of a process. The result gives them back. */
function starveOfDescriptors(pid: number): { relieve(): void } {
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  const [, soft, hard] = /^Max open files +(\w+) +(\w+)/m.exec(limits)!;
  const set = (value: string) =>
    execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${value}:${hard}`]);
  set('0');
  return { relieve: () => set(soft!) };
}

async function stake(): Promise<void> {
  expect((await api.post('/vaults/flex/stake', { amount: 1 }, token)).status).toBe(201);
}

test('without free descriptors, trading continues, the follower retries, and nothing is missing afterwards', async ({
  onTestFinished,
}) => {
  await start();
  await api.read(`/users/${userId}/ledger`, token);
  expect((await api.get('/ready')).json).toEqual({ status: 'ready' });
  const starvation = starveOfDescriptors(server.child.pid!);
  // The exchange closes a silent connection, and could not accept another one.
  const heartbeat = setInterval(() => void api.get('/health').catch(() => {}), HEARTBEAT_MS);
  onTestFinished(() => clearInterval(heartbeat));
  // The history is damaged, so the follower reopens all of its files: history, journal, snapshots.
  await damageHistory();
  await eventually(async () => 'warning' in (await api.get('/ready')).json);
  for (let i = 0; i < 20; i++) await stake();
  expect((await api.get('/ready')).status).toBe(200);
  expect((await api.get('/metrics')).text).toMatch(
    /^exchange_follower_retrying\{part="history"\} 1$/m,
  );
  expect((await api.get('/metrics')).text).toMatch(/^exchange_halted 0$/m);
  // A connection that cannot be accepted now waits and disturbs nothing.
  sockets.push(connect(Number(new URL(api.url).port), '127.0.0.1').on('error', () => {}));
  await stake();

  clearInterval(heartbeat);
  starvation.relieve();
  await eventually(async () => expect((await api.get('/ready')).json).toEqual({ status: 'ready' }));
  expect((await api.read(`/users/${userId}/ledger`, token)).status).toBe(200);
  expect((await api.get(`/users/${userId}/vaults`, token)).json.deposits).toHaveLength(
    WARM_UP_STAKES + 21,
  );
  expect((await api.get('/metrics')).text).toMatch(
    /^exchange_follower_retrying\{part="history"\} 0$/m,
  );
  expect(await server.stop()).toBe(0);
  expect(server.stderr).not.toContain('trading is halted');
});

/** Returns once a read has met the damage. */
async function damageHistory(): Promise<void> {
  await eventually(async () => {
    const path = openPath(exchanges.folder, 1);
    const history = await openDatabase(path, sqlite3.OPEN_READWRITE);
    history.configure('busyTimeout', 30_000);
    await execute(
      history,
      `UPDATE run SET checksum = checksum + 1 WHERE list = ${USER_PAYMENT.list}`,
    );
    await closeDatabase(history);
    return (await api.get(`/users/${userId}/ledger`, token)).status === 503;
  });
}

test("a flood of connections does not take the journal's descriptors", async () => {
  await start(['--nofile=256:256']);
  await api.read(`/users/${userId}/ledger`, token);
  let [connected, closed] = [0, 0];
  for (let i = 0; i < 400; i++) {
    const port = Number(new URL(api.url).port);
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    socket.on('error', () => {}).on('connect', () => connected++);
    socket.on('close', () => closed++);
    sockets.push(socket);
  }
  await eventually(() => connected === 400);
  // The follower closes all its files and reopens them, while the flood waits for the freed
  // descriptors.
  await damageHistory();
  // One address may use a fifth of the remaining 128, at most twice.
  await eventually(() => closed >= 400 - 2 * 25);
  for (let i = 0; i < 20; i++) await stake();
  await eventually(async () => expect((await api.get('/ready')).json).toEqual({ status: 'ready' }));
  expect((await api.read(`/users/${userId}/ledger`, token)).status).toBe(200);
  expect(server.stderr).not.toMatch(/EMFILE|trading is halted/);
});
