/**
 * For tests of refusals over real HTTP: an exchange with two traders, and the checks common to
 * every refusal: status, code, a readable message, details that name the field, and that nothing
 * has changed.
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

/**
 * An ended, unresolved market, and an active one with a bid by Ada and an offer by Bob, who both
 * own shares; and a vault deposit of Ada's.
 */
class TwoTraders {
  private constructor(
    readonly server: TestServer,
    readonly ada: Trader,
    readonly bob: Trader,
  ) {}

  static async start(): Promise<TwoTraders> {
    const server = await TestServer.withMarket({ partnerKeys: PARTNER_KEYS });
    const ada = await server.register('ada');
    const bob = await server.register('bob');
    await server.passTime(WINDOW_START_MS + WINDOW_MS, 100_000);
    const rest = { timeInForce: 'GTC' };
    for (const [trader, body] of [
      [ada, { outcome: 'UP', shares: 20, price: 0.4, ...rest }],
      [bob, { outcome: 'DOWN', amount: 6 }],
      [bob, { outcome: 'DOWN', shares: 5, price: 0.5, ...rest }],
    ] as const) {
      const { status } = await server.api.post(`/markets/15m/${ACTIVE}/buy`, body, trader.token);
      expect(status).toBe(200);
    }
    const { status } = await server.api.post('/vaults/flex/stake', { amount: 5 }, ada.token);
    expect(status).toBe(201);
    return new TwoTraders(server, ada, bob);
  }

  get api(): ApiClient {
    return this.server.api;
  }

  /** Everything the API shows of the two traders and the book. */
  async accounts(): Promise<unknown[]> {
    const paths = ['balance', 'orders', 'positions', 'referral', 'vaults', ''].flatMap((part) =>
      [this.ada, this.bob].map(
        (trader) =>
          [`/users/${trader.userId}${part === '' ? '' : `/${part}`}`, trader.token] as const,
      ),
    );
    const answers = await Promise.all([
      ...paths.map(([path, token]) => this.api.read(path, token)),
      this.api.get(`/markets/15m/${ACTIVE}/orderbook`),
      this.api.get('/vaults'),
    ]);
    return answers.map(({ status, json }) => {
      expect(status).toBe(200);
      return { ...json, sequence: 0 };
    });
  }
}

function check(answer: Answer, { status, code, field }: Refusal): void {
  expect({ status: answer.status, code: answer.json.error.code, body: answer.text }).toMatchObject({
    status,
    code,
  });
  const { message, details } = answer.json.error;
  // A sentence that starts with a capital, does not mention internals, and names the field if there
  // is one.
  expect(message).toMatch(/^[A-Z].*\.$/);
  expect(message).not.toMatch(/undefined|null|NaN|zod|expected|\[object/i);
  if (field === undefined) return;
  expect(Object.keys(details)).toContain(field);
  expect(message).toContain(field);
}

/** Starts {@link TwoTraders} before a file's tests and stops it after them. */
export function withTwoTraders() {
  let traders: TwoTraders;
  beforeAll(async () => {
    traders = await TwoTraders.start();
  });
  afterAll(() => traders.server.stop());

  async function send(refusal: Refusal): Promise<void> {
    const { method, path, body, options } = refusal;
    check(await traders.api.send(method, path, body, options), refusal);
  }

  /** Refused before the engine: the journal did not grow. */
  async function refused(refusal: Refusal): Promise<void> {
    const before = await traders.server.state();
    await send(refusal);
    expect(await traders.server.state()).toEqual(before);
  }

  /** Rejected by the engine: sequenced, but no account changed. */
  async function rejected(refusal: Refusal): Promise<void> {
    const before = await traders.accounts();
    const { sequence } = await traders.server.state();
    await send(refusal);
    expect((await traders.server.state()).sequence).toBe(sequence + 1);
    expect(await traders.accounts()).toEqual(before);
  }

  const invalid = (refusal: Omit<Refusal, 'status' | 'code'>) =>
    refused({ ...refusal, status: 400, code: 'invalid_request' });

  return {
    /** Available once the tests run. */
    traders: () => traders,
    asAda: () => ({ token: traders.ada.token }),
    refused,
    invalid,
    rejected,
  };
}

export const asPartner = () => ({ headers: { authorization: `Bearer ${PARTNER_KEY}` } });
export const buy = `/markets/15m/${ACTIVE}/buy`;
export const sell = `/markets/15m/${ACTIVE}/sell`;
