/** Requests that no honest client sends. The exchange answers them and is not harmed. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestServer } from '../../support/server.js';

let server: TestServer;

beforeAll(async () => {
  server = await TestServer.withMarket();
  await server.register('mallory');
});
afterAll(() => server.stop());

/** Sends a body in one-byte pieces and returns the start of the answer. */
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

test('reads a body in one-byte pieces, up to a maximum number of pieces', async () => {
  const login = '{"username":"mallory","password":"not the password"}';
  expect(await sendInBytes(login)).toContain('401 Unauthorized');
  expect(await sendInBytes(login.padEnd(20_000, ' '))).toContain('413 Content Too Large');
  expect((await server.api.get('/health')).status).toBe(200);
});
