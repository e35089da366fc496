/** Messages from Kraken's feed, and the exchange's reading of them. */
import { expect, test } from 'vitest';
import { KRAKEN } from '../../../gateway/inputs/feeds/kraken-messages.js';

const TRADE = {
  symbol: 'BTC/USD',
  side: 'sell',
  price: 95123.4,
  qty: 0.01,
  ord_type: 'market',
  trade_id: 4665906,
  timestamp: '2025-11-21T06:29:59.123456Z',
};
const read = (message: unknown) => KRAKEN.read(JSON.stringify(message));

test('subscribes to the trades of each asset in dollars', () => {
  expect(KRAKEN.productId('BTC')).toBe('BTC/USD');
  expect(JSON.parse(KRAKEN.subscribeMessage(['BTC/USD', 'ETH/USD']))).toEqual({
    method: 'subscribe',
    params: { channel: 'trade', symbol: ['BTC/USD', 'ETH/USD'], snapshot: false },
  });
});

test('reads every trade of a message', () => {
  const later = { ...TRADE, symbol: 'ETH/USD', price: 0.000001, trade_id: 7 };
  expect(read({ channel: 'trade', type: 'update', data: [TRADE, later] })).toEqual([
    {
      type: 'ticker',
      productId: 'BTC/USD',
      sequence: 4665906,
      priceMicros: 95_123_400_000,
      tradedAtMs: Date.UTC(2025, 10, 21, 6, 29, 59, 123),
    },
    expect.objectContaining({ productId: 'ETH/USD', priceMicros: 1, sequence: 7 }),
  ]);
});

test('leaves out a bad trade, and says what is wrong with it', () => {
  const bad = { ...TRADE, price: -1 };
  const messages = read({ channel: 'trade', type: 'update', data: [bad, TRADE] });
  expect(messages).toMatchObject([
    {
      type: 'malformed',
      reason: expect.stringMatching(/trade 1 of the message: .*not a positive price/),
    },
    { type: 'ticker', sequence: 4665906 },
  ]);
});

test('reads what is no price', () => {
  const channel = { channel: 'trade', symbol: 'BTC/USD', snapshot: false };
  expect(read({ method: 'subscribe', result: channel, success: true })).toEqual([
    { type: 'subscriptions', productIds: ['BTC/USD'] },
  ]);
  const refused = { method: 'subscribe', success: false, error: 'Currency pair not supported' };
  expect(read(refused)).toEqual([{ type: 'error', message: 'Currency pair not supported' }]);
  expect(read({ channel: 'heartbeat' })).toEqual([{ type: 'other' }]);
  expect(read({ channel: 'status', type: 'update', data: [{ system: 'online' }] })).toEqual([
    { type: 'other' },
  ]);
});

test.each([
  ['{', undefined],
  ['a text', 'x'],
  ['no price', { channel: 'trade', data: [{ ...TRADE, price: undefined }] }],
  ['a negative price', { channel: 'trade', data: [{ ...TRADE, price: -1 }] }],
  ['a price with an exponent', { channel: 'trade', data: [{ ...TRADE, price: 1e-9 }] }],
  ['a price that is no number', { channel: 'trade', data: [{ ...TRADE, price: '95123.4' }] }],
  ['another time', { channel: 'trade', data: [{ ...TRADE, timestamp: 'yesterday' }] }],
])('malformed: %s', (text, message) => {
  const messages = message === undefined ? KRAKEN.read(text) : read(message);
  expect(messages).toEqual([{ type: 'malformed', reason: expect.any(String) }]);
});
