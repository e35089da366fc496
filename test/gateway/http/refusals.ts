/**
 * For tests of what is refused over real HTTP: an exchange with two traders, and the checks that
 * every refusal has in common: its status and code, a message for a person, details that name the
 * field, and that nothing has changed.
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
  /** The field that the details name. */
  field?: string;
}

/**
 * One market that has ended and is not resolved, one that is active and has a bid by ada and an
 * offer by bob, each of whom owns shares; a vault deposit of ada's.
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

  /** Everything that the API shows of the two traders and the book. */
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
  // A sentence that begins like one, is not about internals, and names the field if there is one.
  expect(message).toMatch(/^[A-Z].*\.$/);
  expect(message).not.toMatch(/undefined|null|NaN|zod|expected|\[object/i);
  if (field === undefined) return;
  expect(Object.keys(details)).toContain(field);
  expect(message).toContain(field);
}

/** Starts {@link TwoTraders} before the tests of a file and stops it after them. */
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

  return {
    /** Once the tests run. */
    traders: () => traders,
    asAda: () => ({ token: traders.ada.token }),
    refused,
    rejected,
  };
}

export const asPartner = () => ({ headers: { authorization: `Bearer ${PARTNER_KEY}` } });
export const buy = `/markets/15m/${ACTIVE}/buy`;
export const sell = `/markets/15m/${ACTIVE}/sell`;
