/**
 * The replay tool and HTTP agree: what a client was told at a sequence is what the tool prints for
 * it, while the exchange runs and after it has stopped.
 */
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { programJson } from '../support/programs.js';
import { replayJson, replayLines } from '../support/replay-tool.js';
import { MARKET, TestServer, type Trader, WINDOW_MS, WINDOW_START_MS } from '../support/server.js';

interface Told {
  userId: string;
  available: number;
  held: number;
  sequence: number;
}

let server: TestServer;
let traders: Trader[];
/** Balances reported over HTTP on the way. */
const told: Told[] = [];

beforeAll(async () => {
  server = await TestServer.withMarket();
  traders = [];
  for (const name of ['ann', 'bob', 'cid']) traders.push(await server.register(name));
});
afterAll(async () => {
  await rm(server.folder, { recursive: true });
});

async function ask(trader: Trader, action: string, body: object): Promise<number> {
  const { status } = await server.api.post(action, body, trader.token);
  const { json } = await server.api.get(`/users/${trader.userId}/balance`, trader.token);
  const { userId, available, held, sequence } = json;
  told.push({ userId, available, held, sequence });
  return status;
}

/** With the built program while the exchange runs, and in this process afterwards. */
async function expectTold(ask: typeof programJson): Promise<void> {
  for (const { userId, available, held, sequence } of told) {
    const { users } = await ask(server.folder, 'state', '--at', `${sequence}`, '--user', userId);
    expect(users).toMatchObject([{ userId, available, held }]);
  }
}

it('shows each account as HTTP did at the same sequence', async () => {
  const [ann, bob, cid] = traders as [Trader, Trader, Trader];
  const market = `/markets/15m/${MARKET}`;
  expect(
    await ask(ann, `${market}/buy`, { outcome: 'UP', shares: 20, price: 0.41, timeInForce: 'GTC' }),
  ).toBe(200);
  expect(
    await ask(ann, `${market}/buy`, {
      outcome: 'DOWN',
      shares: 40,
      price: 0.45,
      timeInForce: 'GTC',
    }),
  ).toBe(200);
  expect(await ask(bob, `${market}/buy`, { outcome: 'DOWN', amount: 7.3 })).toBe(200);
  expect(await ask(cid, `${market}/buy`, { outcome: 'UP', amount: 12.34 })).toBe(200);
  expect(await ask(cid, `${market}/sell`, { outcome: 'UP', shares: 3.5 })).toBe(200);
  expect(await ask(cid, '/vaults/flex/stake', { amount: 250 })).toBe(201);
  expect(await ask(bob, `${market}/sell`, { outcome: 'DOWN', shares: 9_999 })).toBe(422);
  await expectTold(programJson);
  expect((await programJson(server.folder, 'verify')).good).toBe(true);
});

it('explains every account up to its balance over HTTP, claims included', async () => {
  await server.passTime(WINDOW_START_MS + WINDOW_MS + 5_000, 100_500);
  const statuses: number[] = [];
  for (const trader of traders)
    statuses.push(await ask(trader, `/markets/15m/${MARKET}/claim`, {}));
  expect(statuses).toContain(200);
  const last = traders.map(({ userId }) => told.findLast((each) => each.userId === userId)!);
  await server.close();
  const { sequence } = (await replayJson(server.folder, 'verify')).journal;
  for (const { userId, available, held } of last) {
    const lines = await replayLines(server.folder, 'explain', '--user', userId);
    expect(lines.pop()).toMatchObject({
      userId,
      sequence,
      addsUp: true,
      balance: { available, held },
    });
    expect(lines.length).toBeGreaterThan(2);
  }
  await expectTold(replayJson);
  expect(told.length).toBe(10);
});
