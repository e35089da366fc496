/**
 * Rejections of the engine over real HTTP. The journal has the command with the code that the
 * client got, and no account has changed.
 */
import { expect, test } from 'vitest';
import type { ErrorCode } from '../../../gateway/commands/errors.js';
import { codeOf, PASSWORD, type Verb, WINDOW_START_MS } from '../../support/server.js';
import { ACTIVE, buy, ENDED, sell, withTwoTraders } from './refusals.js';

const { asAda, rejected, api, ada, bob } = await withTwoTraders();

const UP = { outcome: 'UP' };
const orders = `/markets/15m/${ACTIVE}/orders`;
test.each<[Verb, string, object | undefined, number, ErrorCode]>([
  ['POST', '/markets/15m/btc-15m-1763800200/buy', { ...UP, amount: 1 }, 404, 'market_not_found'],
  ['POST', `/markets/15m/${ENDED}/buy`, { ...UP, amount: 1 }, 409, 'market_not_active'],
  ['POST', `/markets/15m/${ENDED}/sell`, { ...UP, shares: 1 }, 409, 'market_not_active'],
  ['POST', `/markets/15m/${ENDED}/claim`, undefined, 409, 'market_not_resolved'],
  ['POST', `/markets/15m/${ACTIVE}/claim`, {}, 409, 'market_not_resolved'],
  ['POST', buy, { ...UP, amount: 10_000 }, 422, 'insufficient_balance'],
  ['POST', sell, { ...UP, shares: 11 }, 422, 'insufficient_shares'],
  ['POST', buy, { ...UP, amount: 5, price: 0.3 }, 409, 'insufficient_liquidity'],
  // Less than a lot.
  ['POST', buy, { ...UP, amount: 0.0001 }, 400, 'amount_too_small'],
  ['POST', buy, { ...UP, amount: 9_000, timeInForce: 'FOK', price: 0.6 }, 409, 'price_not_met'],
  [
    'POST',
    buy,
    { ...UP, shares: 1, price: 0.9, timeInForce: 'GTC', postOnly: true },
    409,
    'post_only_would_trade',
  ],
  ['POST', buy, { ...UP, amount: 1, validUntilMs: WINDOW_START_MS }, 409, 'deadline_passed'],
  ['DELETE', `${orders}/o77`, undefined, 404, 'order_not_found'],
  // Another user's.
  ['DELETE', `${orders}/o3`, undefined, 404, 'order_not_found'],
  ['POST', '/vaults/deposits/d77/unstake', undefined, 404, 'deposit_not_found'],
  // Its yield is zero.
  ['POST', '/vaults/deposits/d1/claim', undefined, 409, 'nothing_to_claim'],
  ['POST', '/vaults/flex/stake', { amount: 99_999 }, 422, 'insufficient_balance'],
])('%s %s %j: %i %s', async (method, path, body, status, code) => {
  await rejected({ method, path, body, options: asAda, status, code });
});

test("another user's vault deposit is not found", async () => {
  for (const verb of ['unstake', 'claim']) {
    const path = `/vaults/deposits/d1/${verb}`;
    await rejected({
      method: 'POST',
      path,
      options: { token: bob.token },
      status: 404,
      code: 'deposit_not_found',
    });
  }
});

test('a referral code that is taken, and one that is unknown', async () => {
  const { code } = (await api.get(`/users/${bob.userId}/referral`)).json;
  const path = `/users/${ada.userId}/referral/code`;
  await rejected({
    method: 'PUT',
    path,
    body: { code: code.toLowerCase() },
    options: asAda,
    status: 409,
    code: 'referral_code_taken',
  });
  const someone = { username: 'someone', password: PASSWORD, referralCode: 'LEADS-NOWHERE' };
  await rejected({
    method: 'POST',
    path: '/auth/register',
    body: someone,
    status: 400,
    code: 'invalid_request',
    field: 'referralCode',
  });
});

test('a shortage states the required and the available amount, in exact decimals', async () => {
  const { available } = (await api.get(`/users/${ada.userId}/balance`, ada.token)).json;
  const money = await api.post(buy, { outcome: 'UP', amount: 9_999.999999 }, ada.token);
  // The fee on 9,999.999999 is 50 dollars, rounded up to a micro-dollar.
  expect(money.json.error.details).toEqual({ required: 10_049.999999, available });
  expect(money.json.error.message).toContain('$10049.999999');
  const shares = await api.post(sell, { outcome: 'UP', shares: 10.001 }, ada.token);
  expect(shares.json.error.details).toEqual({ required: 10.001, available: 10 });
});

test('a refused FOK order says how much was there, and no other order does', async () => {
  const fok = { outcome: 'UP', timeInForce: 'FOK' };
  const ask = (body: object) => api.post(buy, body, ada.token);
  const { json: book } = await api.get(`/markets/15m/${ACTIVE}/orderbook?depth=999`);
  const others = book.UP.asks as { price: number; shares: number }[];
  const at = (limit: number) => others.filter(({ price }) => price <= limit);
  const sharesOf = (levels: typeof others) => levels.reduce((sum, { shares }) => sum + shares, 0);
  const limit = others[0]!.price;
  const wanted = sharesOf(at(limit)) + 1;
  const limited = await ask({ ...fok, shares: wanted, price: limit });
  expect(codeOf(limited)).toBe('409 price_not_met');
  expect(limited.json.error.details).toEqual({
    availableShares: wanted - 1,
    availableValue: (wanted - 1) * limit,
  });
  expect(limited.json.error.message).toContain(`${wanted - 1} shares could be filled`);
  const nothing = await ask({ outcome: 'UP', amount: 5, price: 0.001 });
  expect(codeOf(nothing)).toBe('409 insufficient_liquidity');
  expect(nothing.json.error.details).toEqual({ availableShares: 0, availableValue: 0 });
  const anyPrice = await ask({ ...fok, amount: 9_000 });
  expect(codeOf(anyPrice)).toBe('409 insufficient_liquidity');
  expect(anyPrice.json.error.details.availableShares).toBe(sharesOf(others));
});

test('a quote of an empty side fills nothing, as the order', async () => {
  const quote = `/markets/15m/${ACTIVE}/quote?outcome=UP&amount=5&price=0.001`;
  const { status, json } = await api.get(quote);
  expect([status, json.filled, json.shares, json.spent, json.fee]).toEqual([200, 0, 0, 0, 0]);
  expect([json.unspent, json.averagePrice, json.worstPrice]).toEqual([5, null, null]);
});

test('every missing field is named, also those that depend on others', async () => {
  const required = 'is required';
  const size = 'is required (or shares, with a price)';
  const cases: [string, object, Record<string, string>][] = [
    [buy, {}, { outcome: required, amount: size }],
    [buy, { postOnly: 1, shares: 2 }, { price: 'is required with shares' }],
    [buy, { amount: 1, timeInForce: 'GTC' }, { price: 'is required with timeInForce GTC' }],
    [sell, { timeInForce: 'GTC' }, { shares: required, price: 'is required with timeInForce GTC' }],
    ['/batch', {}, { operations: required }],
    [
      '/batch',
      { operations: [{ op: 'buy', outcome: 'UP' }] },
      { 'operations.0.marketId': required, 'operations.0.amount': size },
    ],
    [
      '/batch',
      { operations: [{ op: 'sell', outcome: 'UP' }] },
      { 'operations.0.marketId': required, 'operations.0.shares': required },
    ],
    [
      '/batch',
      { operations: [{ op: 'cancel' }] },
      {
        'operations.0.marketId': required,
        'operations.0.orderId': 'is required (or clientOrderId)',
      },
    ],
    ['/batch', { operations: [{}] }, { 'operations.0.marketId': required }],
    ['/auth/register', {}, { username: required, password: required }],
    ['/vaults/flex/stake', {}, { amount: required }],
  ];
  for (const [path, body, missing] of cases) {
    const { status, json } = await api.post(path, body, ada.token);
    expect([status, json.error.code], path).toEqual([400, 'invalid_request']);
    expect(json.error.details, path).toMatchObject(missing);
  }
  const quote = await api.get(`/markets/15m/${ACTIVE}/quote`);
  expect(Object.keys(quote.json.error.details).sort()).toEqual(['amount', 'outcome']);
  const sale = await api.get(`/markets/15m/${ACTIVE}/quote?side=SELL`);
  expect(Object.keys(sale.json.error.details).sort()).toEqual(['outcome', 'shares']);
});
