/**
 * Clients that trade while their exchange's disk is watched or fails. Every command has a key and
 * is kept with its answer, so that a test can repeat it after a restart.
 */
import { expect } from 'vitest';
import { eventually, NO_MARKET_MS } from '../../support/eventually.js';
import { type ApiClient, PASSWORD, type Trader } from '../../support/server.js';
import type { Random } from '../../support/workload/random.js';

/** A command and its answer, which is null if none came. */
export interface Sent {
  path: string;
  body: object;
  token: string;
  key: string;
  answer: { status: number; text: string } | null;
}

const TRADERS = 4;

export async function registerTraders(api: ApiClient): Promise<Trader[]> {
  const traders: Trader[] = [];
  for (let i = 0; i < TRADERS; i++) {
    const body = { username: `trader-${i}`, password: PASSWORD };
    const { status, json, text } = await api.post('/auth/register', body);
    expect(status, text).toBe(201);
    traders.push({ userId: json.userId, token: json.token, username: json.username });
  }
  return traders;
}

/** Waits for an active market and returns its id. */
export async function activeMarket(api: ApiClient): Promise<string> {
  let market: string | undefined;
  await eventually(async () => {
    market = (await api.get('/markets/15m?asset=BTC')).json.markets[0]?.id;
    return market !== undefined;
  }, NO_MARKET_MS);
  return market!;
}

/** A command of a random trader: an order that rests or trades, a cancel, or a batch. */
export function nextCommand(
  traders: readonly Trader[],
  marketId: string,
  key: string,
  random: Random,
): Sent {
  const { userId, token } = random.pick(traders);
  const price = random.whole(400, 600) / 1_000;
  const outcome = random.pick(['UP', 'DOWN']);
  const limit = { outcome, amount: random.whole(5, 20), price, timeInForce: 'GTC' };
  const path = `/markets/15m/${marketId}/buy`;
  const what = random.whole(0, 9);
  if (what === 0) {
    const body = { userId, operations: [{ op: 'buy', marketId, ...limit }] };
    return { path: '/batch', body, token, key, answer: null };
  }
  if (what < 3) return { path, body: { userId, outcome, amount: 10 }, token, key, answer: null };
  return { path, body: { userId, ...limit }, token, key, answer: null };
}

/** Sends it under its key, and returns the answer. */
export async function send(api: ApiClient, sent: Sent): Promise<{ status: number; text: string }> {
  const headers = { 'idempotency-key': sent.key };
  const { status, text } = await api.send('POST', sent.path, sent.body, {
    token: sent.token,
    headers,
  });
  return { status, text };
}

/** Sends `commands` commands, one after the other; their keys begin with `keys`. */
export async function tradeOn(
  api: ApiClient,
  traders: readonly Trader[],
  options: { commands: number; keys: string; random: Random },
): Promise<Sent[]> {
  const { commands, keys, random } = options;
  const all: Sent[] = [];
  for (let i = 0; i < commands; i++) {
    const sent = nextCommand(traders, await activeMarket(api), `${keys}-${i}`, random);
    sent.answer = await send(api, sent);
    all.push(sent);
  }
  return all;
}

/**
 * Checks that repeating each command gives the same answer, byte for byte. After a restart the
 * answer comes from the history, and is 503 until the history has been opened.
 */
export async function expectAll(api: ApiClient, all: readonly Sent[]): Promise<void> {
  for (const sent of all)
    await eventually(async () => expect(await send(api, sent)).toEqual(sent.answer));
}

/** Registers traders and sends `commands` commands, one after the other. */
export async function trade(api: ApiClient, commands: number, random: Random): Promise<Sent[]> {
  const traders = await registerTraders(api);
  const all = await tradeOn(api, traders, { commands, keys: 'key', random });
  for (const { answer } of all) expect(answer!.status, answer!.text).not.toBe(400);
  const filled = all.filter(({ answer }) => answer?.status === 200);
  expect(filled.length).toBeGreaterThan(commands / 2);
  return all;
}
