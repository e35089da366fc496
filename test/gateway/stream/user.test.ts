/**
 * The audience of the `user` channel and of public trades. test/gateway/client/stream.test.ts
 * checks that a client's account equals the routes from its first order to its last payout.
 */
import { afterAll, expect, test } from 'vitest';
import { TestServer } from '../../support/server.js';
import { StreamClient } from './support.js';

const server = await TestServer.withMarket();
afterAll(() => server.stop());

test("hides other users' accounts, and public trades name nobody", async () => {
  const eve = await server.register('eve');
  const dan = await server.register('dan');
  const client = await StreamClient.connect(server.exchange.port, { 'x-user-token': eve.token });
  const market = (await server.api.get('/markets/15m?asset=BTC')).json.markets[0].id;
  await client.subscribe('user', `trades:${market}`);
  const order = { outcome: 'UP', shares: 10, price: 0.4, timeInForce: 'GTC' };
  await server.buy(dan, order, market);
  await server.buy(dan, { outcome: 'DOWN', amount: 3 }, market);
  const cyn = await server.register('cyn2');
  await server.buy(dan, order, market);
  await server.buy(cyn, { outcome: 'DOWN', amount: 3 }, market);
  const trades = await client.next(
    (message) => message.type === 'delta' && message.channel.startsWith('trades'),
  );
  expect(trades.data.trades).toMatchObject([
    { outcome: 'DOWN', side: 'BUY', price: 0.6, shares: 5 },
  ]);
  expect(JSON.stringify(trades)).not.toMatch(/"[uo]\d+"|userId|orderId/);
  await client.caughtUp();
  expect(client.of('user')).toHaveLength(1);
  await client.close();
});
