/** The ticket's orders and refusals. Tests the model without a browser. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Market, Position, RestingOrder } from '../../../../gateway/client/index.js';
import type { Level } from '../../../../gateway/client/stream/book.js';
import { openPage } from './page.js';

const bodies: Record<string, unknown>[] = [];
const keys = new Set<string | null>();
/** Answers to the next requests. Further requests get an empty answer. */
const answers: (() => object)[] = [];

openPage((_address, body, headers) => {
  if (body !== undefined) bodies.push(JSON.parse(body));
  keys.add(headers.get('idempotency-key'));
  return answers.shift()?.() ?? {};
});
const { connection } = await import('../../../../gateway/site/app/model/exchange.js');
const account = await import('../../../../gateway/site/app/model/account.js');
const { received } = await import('../../../../gateway/site/app/model/book.js');
const { chooseWindow, market, remember, setListed } = await import(
  '../../../../gateway/site/app/model/markets.js'
);
const ticket = await import('../../../../gateway/site/app/model/ticket.js');
const { ask, summary } = await import('../../../../gateway/site/app/ticket/confirm.js');
const { firstProblem, refusal } = await import('../../../../gateway/site/app/ticket/refusal.js');
const { isRolling, send } = await import('../../../../gateway/site/app/ticket/send.js');
const MARKET = 'btc-15m-1763700300';

/** UP is offered at `asks`, and bid for at `bids`. */
function setBook(asks: Level[], bids: Level[] = []): void {
  const levels = (outcome: 'UP' | 'DOWN', side: 'bids' | 'asks') =>
    outcome === 'DOWN' ? [] : side === 'asks' ? asks : bids;
  received.value = { marketId: MARKET, levels };
}

beforeEach(() => {
  bodies.length = 0;
  keys.clear();
  setListed([{ id: MARKET, asset: 'BTC', feeRate: 0.005 } as Market]);
  account.balance.value = { availableMicros: 1_000_000_000, heldMicros: 0 };
  account.positions.value = [{ marketId: MARKET, outcome: 'UP', shares: 20 } as Position];
  ticket.side.value = 'BUY';
  ticket.outcome.value = 'UP';
  ticket.isLimit.value = false;
  ticket.unit.value = 'dollars';
  ticket.tolerance.value = '20';
  refusal.value = null;
});

test('a market order has the worst price of the quote and the tolerance as its limit', async () => {
  setBook([
    { priceTicks: 500, lots: 20_000 },
    { priceTicks: 510, lots: 90_000 },
  ]);
  ticket.size.value = '30';
  await send();
  setBook([], [{ priceTicks: 15, lots: 20_000 }]);
  ticket.side.value = 'SELL';
  ticket.size.value = '20';
  await send();
  ticket.tolerance.value = '0';
  await send();
  expect(bodies).toMatchObject([
    { amount: 30, price: 0.53, timeInForce: 'IOC' },
    { shares: 20, price: 0.001, timeInForce: 'IOC' },
    { shares: 20, price: 0.015, timeInForce: 'IOC' },
  ]);
});

test('a confirmation names the amount, keeps its limit, and is asked for again past it', async () => {
  setBook([{ priceTicks: 787, lots: 90_000 }]);
  ticket.size.value = '30';
  ask();
  expect(summary()).toBe('$30.15 for 38.119 UP');
  setBook([{ priceTicks: 800, lots: 90_000 }]);
  expect(ticket.order.value?.limitTicks).toBe(807);
  expect(summary()).toBe('$30.15 for 37.5 UP');
  setBook([{ priceTicks: 839, lots: 90_000 }]);
  expect(ticket.asked.value).toBe(null);
  expect(refusal.value?.sentence).toBe('The price moved from 78.7¢ to 83.9¢. Nothing was sent.');
  ask();
  setBook([{ priceTicks: 830, lots: 90_000 }]);
  await send();
  expect(bodies).toMatchObject([{ amount: 30, price: 0.85 }]);
});

afterEach(() => {
  vi.useRealTimers();
  connection.value = 'live';
});

test.each([
  { side: 'BUY', first: 453, better: 320, limits: [473, 340, 473] },
  { side: 'SELL', first: 510, better: 700, limits: [490, 680, 490] },
] as const)('while it is confirmed, the limit of a $side follows a better price', (of) => {
  const levels = (priceTicks: number) => [{ priceTicks, lots: 90_000 }];
  ticket.side.value = of.side;
  ticket.size.value = '15';
  setBook(levels(of.first), levels(of.first));
  ask();
  const limits = [of.first, of.better, of.first].map((ticks) => {
    setBook(levels(ticks), levels(ticks));
    return ticket.order.value?.limitTicks;
  });
  expect(limits).toEqual(of.limits);
});

test('a confirmation ends after 10 s, and when the connection is lost', () => {
  vi.useFakeTimers();
  setBook([{ priceTicks: 500, lots: 90_000 }]);
  ticket.size.value = '30';
  ask();
  vi.advanceTimersByTime(9_999);
  expect(ticket.asked.value).not.toBe(null);
  vi.advanceTimersByTime(1);
  expect(ticket.asked.value).toBe(null);
  expect(refusal.value?.sentence).toBe('You did not confirm within 10 seconds. Nothing was sent.');
  ask();
  connection.value = 'lost';
  expect(ticket.asked.value).toBe(null);
  expect(refusal.value?.sentence).toContain('The connection was lost before you confirmed.');
});

test.each([
  { field: 'size', before: '30', after: '31' },
  { field: 'tolerance', before: '20', after: '50' },
  { field: 'outcome', before: 'UP', after: 'DOWN' },
] as const)('a confirmation ends silently when the $field changes', ({ field, before, after }) => {
  vi.useFakeTimers();
  setBook([{ priceTicks: 500, lots: 90_000 }]);
  ticket.size.value = '30';
  ask();
  for (const value of [after, before]) ticket[field].value = value as never;
  expect(ticket.asked.value).toBe(null);
  vi.advanceTimersByTime(10_000);
  expect(refusal.value).toBe(null);
});

test('an amount is of one market, and the button is deaf for a second after a roll', () => {
  vi.useFakeTimers();
  ticket.size.value = '10';
  ticket.price.value = '50';
  setListed([]);
  expect([ticket.size.value, ticket.price.value]).toEqual(['', '']);
  ticket.size.value = '20';
  setListed([{ id: 'btc-15m-1763701200', asset: 'BTC', feeRate: 0.005 } as Market]);
  expect([ticket.size.value, isRolling.value]).toEqual(['20', true]);
  vi.advanceTimersByTime(1_000);
  expect(isRolling.value).toBe(false);
});

test('between two markets the next one is shown, and nothing changes as it opens', () => {
  vi.useFakeTimers();
  const next = { id: 'btc-15m-1763701200', asset: 'BTC', startsAtMs: 1, startPrice: null };
  const later = { ...next, id: 'btc-15m-1763702100', startsAtMs: 2 };
  setListed([], [later, next] as Market[]);
  expect(market.value?.id).toBe(next.id);
  vi.advanceTimersByTime(1_000);
  ticket.size.value = '20';
  setListed([{ ...next, startPrice: 100 } as Market], [later] as Market[]);
  expect([market.value?.id, ticket.size.value, isRolling.value]).toEqual([next.id, '20', false]);
  chooseWindow(later.id);
  expect([market.value?.id, ticket.size.value, isRolling.value]).toEqual([later.id, '', true]);
  chooseWindow('');
});

test('shares do not become dollars, nor dollars shares', () => {
  ticket.choose({ side: 'SELL' });
  ticket.size.value = '15.625';
  ticket.choose({ side: 'BUY' });
  expect(ticket.size.value).toBe('');
  ticket.size.value = '10';
  ticket.choose({ unit: 'shares' });
  expect(ticket.size.value).toBe('');
  ticket.size.value = '7';
  ticket.choose({ side: 'SELL' });
  expect(ticket.size.value).toBe('7');
});

test('a confirmation is asked for again when less can fill', () => {
  setBook([{ priceTicks: 500, lots: 90_000 }]);
  ticket.size.value = '30';
  ask();
  setBook([{ priceTicks: 500, lots: 9_000 }]);
  expect(ticket.asked.value).toBe(null);
  expect(refusal.value?.sentence).toBe('Less can fill now than before. Nothing was sent.');
});

test('what the account does not have is not sent', () => {
  setBook([{ priceTicks: 500, lots: 9_000_000 }], [{ priceTicks: 490, lots: 90_000 }]);
  ticket.size.value = '1,000';
  expect(firstProblem()?.sentence).toBe(
    'This needs $1,005.00 with the fee, but $1,000.00 is available.',
  );
  ticket.size.value = '995';
  expect(firstProblem()).toBe(null);
  ticket.side.value = 'SELL';
  ticket.size.value = '20.001';
  expect(firstProblem()?.sentence).toBe('You have 20 UP to sell.');
});

test.each([
  { limit: '', own: null, most: 980.68 },
  { limit: '40', own: null, most: 955.1 },
  { limit: '80', own: null, most: 980.68 },
  { limit: '80', own: 300, most: 948.76 },
])('the most that an account can spend: limit $limit, own offer $own', ({ limit, own, most }) => {
  const offers = [{ priceTicks: 790, lots: 90_000 }];
  if (own !== null) offers.unshift({ priceTicks: own, lots: 1_000 });
  const order = { marketId: MARKET, outcome: 'UP', side: 'SELL', priceTicks: own, lots: 1_000 };
  account.orders.value = own === null ? [] : [order as RestingOrder];
  setListed([{ id: MARKET, asset: 'BTC', feeRate: 0.005, curveFeeRate: 0.07 } as Market]);
  setBook(offers);
  ticket.isLimit.value = limit !== '';
  ticket.price.value = limit;
  expect(ticket.mostMicros.value).toBe(Math.round(most * 1e6));
  ticket.size.value = `${most}`;
  expect(ticket.shortage.value).toBe('');
  ticket.size.value = (most + 0.01).toFixed(2);
  expect(ticket.shortage.value).not.toBe('');
  account.orders.value = [];
});

test('an amount is of one asset', () => {
  ticket.size.value = '10';
  ticket.price.value = '50';
  setListed([{ id: 'eth-15m-1763700300', asset: 'ETH', feeRate: 0.005 } as Market]);
  remember('ETH');
  expect([ticket.size.value, ticket.price.value]).toEqual(['', '']);
  remember('BTC');
});

test('without an offer, a market order has no limit and is not sent', async () => {
  setBook([]);
  ticket.size.value = '10';
  await send();
  expect(refusal.value?.sentence).toContain('no order on the other side');
  received.value = null;
  await send();
  expect(refusal.value?.sentence).toBe('The order book has not loaded yet.');
  expect(bodies).toEqual([]);
});

test('an order without an answer is sent again as it was, with its key, until there is one', async () => {
  const lose = () => {
    throw new TypeError('fetch failed');
  };
  const error = { code: 'deadline_passed', message: 'Too late: nothing was done.', details: {} };
  const refuse = () => Response.json({ error }, { status: 409 });
  answers.push(...Array(5).fill(lose), refuse);
  setBook([{ priceTicks: 500, lots: 90_000 }]);
  ticket.size.value = '10';
  await send();
  expect([bodies.length, keys.size]).toEqual([6, 1]);
  expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
  expect(refusal.value).toMatchObject({ field: 'order', sentence: 'Too late: nothing was done.' });
});
