/** Messages of more than 256 KiB travel in parts that clients with small limits can receive. */
import { afterEach, expect, test } from 'vitest';
import { TimeInForce } from '../../../engine/interface/domain.js';
import { OUTGOING_BYTES_MAX, partsOf } from '../../../gateway/stream/parts.js';
import { batch, buy } from '../../support/engine-support.js';
import { MARKET, TestServer } from '../../support/server.js';
import { clientsOf } from './support.js';

test.each([
  ['plain', 'a'.repeat(600_000), 8],
  ['of characters that are escaped', '"'.repeat(600_000), 8],
  ['of characters of three bytes', '€'.repeat(200_000), 3],
  ['of characters of two units', `a${'😀'.repeat(200_000)}`, 5],
])('a text %s is cut into parts that join to it', (_name, text, count) => {
  const parts = partsOf(text);
  expect(parts).toHaveLength(count);
  const read = parts.map((part) => {
    expect(Buffer.byteLength(part)).toBeLessThanOrEqual(OUTGOING_BYTES_MAX);
    const message = JSON.parse(part);
    // No part splits a character, because some languages could not join the halves.
    expect(Buffer.from(message.text).toString()).toBe(message.text);
    return message;
  });
  expect(read.map(({ part, parts }) => [part, parts])).toEqual(read.map((_, i) => [i + 1, count]));
  expect(read.map((part) => part.text).join('')).toBe(text);
  expect(partsOf(Buffer.from(text)).join('')).toBe(parts.join(''));
});

test('a text of exactly 256 KiB is sent whole', () => {
  const text = 'a'.repeat(OUTGOING_BYTES_MAX);
  expect(partsOf(text)).toEqual([text]);
  expect(partsOf(`${text}a`)).toHaveLength(4);
});

let server: TestServer | undefined;
const { connectAs } = clientsOf(() => server!);
afterEach(() => server?.stop());

test('what a purchase from 2,000 makers does to an account, and to the tape', async () => {
  server = await TestServer.withMarket();
  const makers = [await server.register('ada'), await server.register('cyn')];
  const bob = await server.register('bob');
  const { engine } = server.exchange.sequencer;
  const marketId = engine.activeMarket(0);
  for (const maker of makers) {
    const userId = Number(maker.userId.slice(1));
    const terms = { userId, marketId, sizeLots: 2, priceTicks: 500, timeInForce: TimeInForce.GTC };
    const operations = Array.from({ length: 100 }, () => buy(terms));
    for (let i = 0; i < 10; i++) server.submit(batch(userId, operations));
  }
  await server.durable();
  const client = await connectAs(bob);
  await client.subscribe('user', `trades:${MARKET}`);
  await server.buy(bob, { outcome: 'DOWN', shares: 4, price: 0.5 });
  await client.caughtUp();
  const deltas = client.answers.filter(({ type }) => type === 'delta');
  expect(deltas.map(({ channel }) => channel).sort()).toEqual([`trades:${MARKET}`, 'user']);
  for (const { data } of deltas) expect((data.events ?? data.trades).length).toBe(2_000);
});
