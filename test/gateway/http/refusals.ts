/**
 * For tests of refusals over real HTTP: an exchange with two traders, and the common checks of
 * every refusal: status, code, a readable message, details that name the field, and unchanged
 * state.
 */
import { afterAll, expect } from 'vitest';
import type { ErrorCode } from '../../../gateway/commands/errors.js';
import {
  type Answer,
  codeOf,
  PARTNER_KEY,
  PARTNER_KEYS,
  type RequestOptions,
  TestServer,
  type Verb,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';

export const ENDED = 'btc-15m-1763700300';
export const ACTIVE = 'btc-15m-1763701200';

interface Refusal {
  method: Verb;
  path: string;
  body?: unknown;
  options?: RequestOptions;
  status: number;
  code: ErrorCode;
  /** The field named in the details. */
  field?: string;
}

function check(answer: Answer, { status, code, field }: Refusal): void {
  expect(codeOf(answer), answer.text).toBe(`${status} ${code}`);
  const { message, details } = answer.json.error;
  // A sentence that starts with a capital, hides internals, and names the field if there is one.
  expect(message).toMatch(/^[A-Z].*\.$/);
  expect(message).not.toMatch(/undefined|null|NaN|zod|expected|\[object/i);
  if (field === undefined) return;
  expect(Object.keys(details)).toContain(field);
  expect(message).toContain(field);
}

/**
 * An ended, unresolved market, and an active one with a bid by Ada and an offer by Bob, who both
 * own shares; and a vault deposit of Ada's. The exchange is stopped after the tests.
 */
export async function withTwoTraders() {
  const server = await TestServer.withMarket({ partnerKeys: PARTNER_KEYS });
  afterAll(() => server.stop());
  const { api } = server;
  const ada = await server.register('ada');
  const bob = await server.register('bob');
  await server.passTime(WINDOW_START_MS + WINDOW_MS, 100_000);
  const rest = { timeInForce: 'GTC' };
  for (const [trader, body] of [
    [ada, { outcome: 'UP', shares: 20, price: 0.4, ...rest }],
    [bob, { outcome: 'DOWN', amount: 6 }],
    [bob, { outcome: 'DOWN', shares: 5, price: 0.5, ...rest }],
  ] as const)
    expect((await server.buy(trader, body, ACTIVE)).status).toBe(200);
  expect((await api.post('/vaults/flex/stake', { amount: 5 }, ada.token)).status).toBe(201);

  /** The accounts of the two, with their history. */
  const accounts = async () => {
    const profiles = [ada, bob].map(({ userId }) => api.read(`/users/${userId}`));
    const told = (await Promise.all(profiles)).map(({ status, json }) => {
      expect(status).toBe(200);
      return { ...json, sequence: 0 };
    });
    return [...(await server.shown([ada, bob], ACTIVE)), ...told];
  };

  async function send(refusal: Refusal): Promise<void> {
    const { method, path, body, options } = refusal;
    check(await api.send(method, path, body, options), refusal);
  }

  /** Refused before the engine: the journal did not grow. */
  async function refused(refusal: Refusal): Promise<void> {
    const before = await server.state();
    await send(refusal);
    expect(await server.state()).toEqual(before);
  }

  /** Rejected by the engine: sequenced, but no account changed. */
  async function rejected(refusal: Refusal): Promise<void> {
    const before = await accounts();
    const { sequence } = await server.state();
    await send(refusal);
    expect((await server.state()).sequence).toBe(sequence + 1);
    expect(await accounts()).toEqual(before);
  }

  const invalid = (refusal: Omit<Refusal, 'status' | 'code'>) =>
    refused({ ...refusal, status: 400, code: 'invalid_request' });

  const asAda = { token: ada.token };
  return { server, api, ada, bob, asAda, refused, invalid, rejected };
}

export const asPartner = { headers: { authorization: `Bearer ${PARTNER_KEY}` } };
export const buy = `/markets/15m/${ACTIVE}/buy`;
export const sell = `/markets/15m/${ACTIVE}/sell`;
