/**
 * For tests of what is refused over real HTTP: an exchange with two traders, and the checks that every refusal has in
 * common: its status and code, a message for a person, details that name the field, and that nothing has changed.
 */
import { afterAll, beforeAll, expect } from 'vitest';
import type { ErrorCode } from '../../../gateway/http/errors.js';
import {
  type Answer,
  type ApiClient,
  PARTNER_KEY,
  PARTNER_KEYS,
  type RequestOptions,
  TestServer,
  type Trader,
  type Verb,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';

export const ENDED = 'btc-15m-1763700300';
export const ACTIVE = 'btc-15m-1763701200';

export let server: TestServer;
export let api: ApiClient;
export let ada: Trader;
export let bob: Trader;

/**
 * One market that has ended and is not resolved, one that is active and has a bid by ada and an offer by bob, each of
 * whom owns shares; a vault deposit of ada's.
 */
export function withTwoTraders(): void {
  beforeAll(async () => {
    server = await TestServer.withMarket({ partnerKeys: PARTNER_KEYS });
    api = server.api;
    ada = await server.register('ada');
    bob = await server.register('bob');
    await server.passTime(WINDOW_START_MS + WINDOW_MS, 100_000);
    const rest = { timeInForce: 'GTC' };
    for (const [trader, body] of [
      [ada, { outcome: 'UP', shares: 20, price: 0.4, ...rest }],
      [bob, { outcome: 'DOWN', amount: 6 }],
      [bob, { outcome: 'DOWN', shares: 5, price: 0.5, ...rest }],
    ] as const) {
      const { status } = await api.post(`/markets/15m/${ACTIVE}/buy`, body, trader.token);
      expect(status).toBe(200);
    }
    const { status } = await api.post('/vaults/flex/stake', { amount: 5 }, ada.token);
    expect(status).toBe(201);
  });
  afterAll(() => server.stop());
}

/** All that the API shows of the two traders and the book. */
async function accounts(): Promise<unknown[]> {
  const paths = ['balance', 'orders', 'positions', 'referral', 'vaults', ''].flatMap((part) =>
    [ada, bob].map(
      (trader) => [`/users/${trader.userId}${part === '' ? '' : `/${part}`}`, trader.token] as const,
    ),
  );
  const answers = await Promise.all([
    ...paths.map(([path, token]) => api.read(path, token)),
    api.get(`/markets/15m/${ACTIVE}/orderbook`),
    api.get('/vaults'),
  ]);
  return answers.map(({ status, json }) => {
    expect(status).toBe(200);
    return { ...json, sequence: 0 };
  });
}

interface Refusal {
  method: Verb;
  path: string;
  body?: unknown;
  options?: RequestOptions;
  status: number;
  code: ErrorCode;
  /** The field that the details name. */
  field?: string;
}

function check(answer: Answer, { status, code, field }: Refusal): void {
  expect({ status: answer.status, code: answer.json.error.code, body: answer.text }).toMatchObject({
    status,
    code,
  });
  const { message, details } = answer.json.error;
  // A sentence that begins like one, is not about internals, and names the field if there is one.
  expect(message).toMatch(/^[A-Z].*\.$/);
  expect(message).not.toMatch(/undefined|null|NaN|zod|expected|\[object/i);
  if (field === undefined) return;
  expect(Object.keys(details)).toContain(field);
  expect(message).toContain(field);
}

/** Refused before the engine: the journal did not grow. */
export async function refused(refusal: Refusal): Promise<void> {
  const before = await server.state();
  const { method, path, body, options } = refusal;
  check(await api.send(method, path, body, options), refusal);
  expect(await server.state()).toEqual(before);
}

/** Rejected by the engine: sequenced, but no account changed. */
export async function rejected(refusal: Refusal): Promise<void> {
  const before = await accounts();
  const { sequence } = await server.state();
  const { method, path, body, options } = refusal;
  check(await api.send(method, path, body, options), refusal);
  expect((await server.state()).sequence).toBe(sequence + 1);
  expect(await accounts()).toEqual(before);
}

export const asAda = () => ({ token: ada.token });
export const asPartner = () => ({ headers: { authorization: `Bearer ${PARTNER_KEY}` } });
export const buy = `/markets/15m/${ACTIVE}/buy`;
export const sell = `/markets/15m/${ACTIVE}/sell`;
