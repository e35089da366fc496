/** Requests that no honest client sends, and that must cost the exchange nothing but an answer. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MARKET, TestServer, type Trader } from '../../support/server.js';

let server: TestServer;
let trader: Trader;

beforeAll(async () => {
  server = await TestServer.withMarket();
  trader = await server.register('mallory');
});
afterAll(() => server.stop());

const MINUS_ZERO = [
  ['a deadline of a buy', `/markets/15m/${MARKET}/buy`, '{"outcome":"UP","amount":1,"validUntilMs":-0}'],
  ['a deadline of a sell', `/markets/15m/${MARKET}/sell`, '{"outcome":"UP","shares":1,"validUntilMs":-0.0}'],
  [
    'a tiny negative deadline',
    `/markets/15m/${MARKET}/buy`,
    '{"outcome":"UP","amount":1,"validUntilMs":-1e-400}',
  ],
  ['an amount', `/markets/15m/${MARKET}/buy`, '{"outcome":"UP","amount":-0}'],
  ['a price', `/markets/15m/${MARKET}/buy`, '{"outcome":"UP","amount":1,"price":-0}'],
  ['a stake', '/vaults/flex/stake', '{"amount":-0}'],
] as const;

test.each(MINUS_ZERO)('-0 as %s is 400 and changes nothing', async (_what, path, body) => {
  const { sequence } = server.exchange.sequencer.engine;
  const response = await fetch(`${server.exchange.address}/api${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user-token': trader.token },
    body,
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: 'invalid_request' } });
  expect(server.exchange.sequencer.engine.sequence).toBe(sequence);
});

test('-0 in an operation of a batch is 400', async () => {
  const operation = `{"op":"buy","marketId":"${MARKET}","outcome":"UP","amount":1,"validUntilMs":-0}`;
  const response = await fetch(`${server.exchange.address}/api/batch`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user-token': trader.token },
    body: `{"operations":[${operation}]}`,
  });
  expect(response.status).toBe(400);
});

/** Sends a body in pieces of one byte and returns the start of the answer. */
function sendInBytes(body: string): Promise<string> {
  const pieces = [...body].map((byte) => `1\r\n${byte}\r\n`).join('');
  const head =
    'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
  return new Promise((resolve, reject) => {
    const socket = connect(server.exchange.port, '127.0.0.1', () =>
      socket.write(`${head}${pieces}0\r\n\r\n`),
    );
    socket.once('data', (data) => {
      resolve(data.toString('latin1'));
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

test('a body in pieces of one byte is read, up to a number of pieces', async () => {
  const login = '{"username":"mallory","password":"not the password"}';
  expect(await sendInBytes(login)).toContain('401 Unauthorized');
  expect(await sendInBytes(login.padEnd(20_000, ' '))).toContain('413 Content Too Large');
  expect((await server.api.get('/health')).status).toBe(200);
});
