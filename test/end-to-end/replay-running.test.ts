/**
 * The replay tool on a running exchange: two processes on one folder. While clients trade, markets
 * end, and snapshots and history are written, every command finds no problem, prints what HTTP
 * says, and delays nothing.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.js';
import { type ChildServer, Exchanges, programJson } from '../support/programs.js';
import { replayJson, replayLines } from '../support/replay-tool.js';
import { type ApiClient, PASSWORD } from '../support/server.js';

const CLIENTS = 8;

interface Told {
  userId: string;
  sequence: number;
  available: number;
  held: number;
}

const exchanges = new Exchanges({
  ASSETS: 'BTC,ETH',
  // A market lasts ten seconds.
  FEED_SPEED: '90',
  SNAPSHOT_EVERY_COMMANDS: '1000',
  LOG_LEVEL: 'warn',
});
const { folder } = exchanges;
let server: ChildServer;
let api: ApiClient;
let tokens: { userId: string; token: string }[];
/** Balances from receipts. */
const told: Told[] = [];
let trading = true;

beforeAll(async () => {
  server = exchanges.spawn();
  api = await exchanges.listening(server);
  const registering = Array.from({ length: CLIENTS }, async (_, i) => {
    const { json } = await api.post('/auth/register', {
      username: `client-${i}`,
      password: PASSWORD,
    });
    return { userId: json.userId, token: json.token };
  });
  tokens = await Promise.all(registering);
});
afterAll(async () => {
  trading = false;
  await exchanges.end();
});

async function trade({ userId, token }: { userId: string; token: string }): Promise<void> {
  for (let i = 0; trading; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    const { json } = await api.get('/markets/15m');
    const market = json.markets[i % Math.max(1, json.markets.length)];
    if (market === undefined) continue;
    const outcome = i % 3 === 0 ? 'DOWN' : 'UP';
    const answer = await api.post(
      `/markets/15m/${market.id}/buy`,
      { outcome, amount: 1 + (i % 5) },
      token,
    );
    if (answer.status !== 200) continue;
    const { sequence, balance } = answer.json;
    told.push({ userId, sequence, ...balance });
  }
}

test('every command finds no problem while the exchange writes, and delays nothing', {
  timeout: 240_000,
}, async () => {
  const traffic = Promise.all(tokens.map(trade));
  const { userId } = tokens[0]!;
  const snapshots = () =>
    readdirSync(join(folder, 'snapshots')).filter((name) => name.endsWith('.bin'));
  await eventually(() => told.length > 200 && snapshots().length === 3);
  const before = told.length;
  const { sequence } = told.at(-1)!;
  const report = await programJson(folder, 'verify');
  expect(report).toMatchObject({ good: true, findings: [] });
  expect(report.journal.sequence).toBeGreaterThanOrEqual(sequence);
  expect(report.history.entries).toBeGreaterThan(0);

  const audited = await replayJson(folder, 'audit');
  expect(audited).toMatchObject({ good: true, findings: [] });
  expect(audited.sequence).toBeGreaterThanOrEqual(report.journal.sequence);
  const state = await replayJson(folder, 'state', '--user', userId);
  expect(state.sequence).toBeGreaterThanOrEqual(audited.sequence);
  const events = await replayLines(folder, 'events', '--from', `${sequence}`);
  expect(events.length).toBeGreaterThan(0);
  await explainTold(userId);
  // Orders were executed and acknowledged meanwhile.
  expect(told.length).toBeGreaterThan(before + 20);
  // The tool needs no lock and takes none.
  expect(await exchanges.spawn().end()).not.toBe(0);
  trading = false;
  await traffic;
  expect(await server.stop()).toBe(0);
  expect(server.stderr).not.toMatch(/"level":"(error|fatal)"/);
  const { good, snapshots: compared } = await replayJson(folder, 'verify');
  expect(good).toBe(true);
  // The newest three, and the newest that the journal vouches for, if that is an older one.
  expect([3, 4]).toContain(compared.length);
});

/** `explain` for a user after a command equals the receipt of that command. */
async function explainTold(userId: string): Promise<void> {
  const lines = await replayLines(folder, 'explain', '--user', userId);
  const { addsUp, sequence: end } = lines.pop();
  expect(addsUp).toBe(true);
  // A receipt shows the state after the command's last change.
  const after = new Map(
    lines.map(({ sequence, availableAfter, heldAfter }) => [sequence, [availableAfter, heldAfter]]),
  );
  const known = told.filter((each) => each.userId === userId && each.sequence <= end);
  expect(known.length).toBeGreaterThan(20);
  for (const { sequence, available, held } of known)
    expect(after.get(sequence)).toEqual([available, held]);
}
