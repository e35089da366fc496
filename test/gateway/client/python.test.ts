/**
 * The Python client: its account and book equal the exchange's, and a change is executed once even
 * if answers are lost. With the package websockets it streams; without it, it polls. For its bots,
 * see bots.test.ts and bots-ends.test.ts.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { credentialOf } from '../../../gateway/access/sign-in-codes.js';
import { findPython, pythonIn } from '../../support/load/bots.js';
import { MARKET, TestServer } from '../../support/server.js';
import { ROOT } from '../../support/sources.js';
import { streamLimits } from '../stream/support.js';
import { Relay } from './relay.js';

const run = promisify(execFile);

const python = await findPython();
if (python === null) process.stderr.write('There is no python3: its client is not tested.\n');
else if (python.modes.length === 1)
  process.stderr.write('There is no package websockets for python3: only polling is tested.\n');

const folder = await mkdtemp(join(tmpdir(), 'python-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.skipIf(python === null)('against an exchange whose time stands still', () => {
  let server: TestServer;
  /** Forwards each connection's requests, and loses the answer to every other order. */
  const lossy = createServer((from) => {
    const to = connect(server.exchange.port, '127.0.0.1');
    for (const socket of [from, to]) socket.on('error', () => from.destroy());
    let isLost = false;
    from.on('data', (data) => {
      if (`${data}`.includes('/buy')) isLost = ++orders % 2 === 1;
      to.write(data);
    });
    to.on('data', (data) => (isLost ? from.destroy() : from.write(data)));
    from.on('close', () => to.destroy());
  });
  let orders = 0;
  beforeAll(async () => {
    server = await TestServer.withMarket(streamLimits({ heartbeatMs: 100 }));
    await new Promise<void>((resolve) => lossy.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    lossy.close();
    await server.stop();
  });

  test.each(python?.modes ?? [])(
    '%s: equals the exchange, and changes are executed once',
    async (mode) => {
      const { port } = lossy.address() as AddressInfo;
      const addresses = [server.api.url, `http://127.0.0.1:${port}`];
      const { userId } = await server.register(`forgot-${mode}`);
      const credential = credentialOf('a code', server.clock.nowMs() + 1_000);
      const action = { operator: 'olga', reason: 'forgotten' };
      const owner = Number(userId.slice(1));
      server.submit({ kind: 'resetCredential', userId: owner, credential, ...action });
      const args = [join(ROOT, 'test/gateway/client/checks.py'), ...addresses, MARKET, mode];
      const { stdout } = await run(python!.program, args, { env: pythonIn(folder, mode) });
      expect(stdout).toBe(`checked ${mode}\n`);
    },
  );

  test.each(python?.modes ?? [])('%s: no refusal, loss or end is silent', async (mode) => {
    const relay = await Relay.to(server.exchange.port);
    let isLost = false;
    relay.loses = (text) => {
      if (!text.includes('"delta"') || !text.includes('"lost-')) return false;
      const isAgain = isLost && text.includes('"lost-once-');
      isLost = true;
      return !isAgain;
    };
    const args = [join(ROOT, 'test/gateway/client/ends.py'), relay.url, MARKET, mode];
    const { stdout } = await run(python!.program, args, { env: pythonIn(folder, mode) });
    relay.stop();
    expect(stdout).toBe(`checked ${mode}\n`);
  });

  test('runs the example of the README', async () => {
    const text = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const [, example] = /```python\n([\s\S]*?)```/.exec(text)!;
    const { token } = await server.register('offers');
    const offer = { outcome: 'DOWN', shares: 100, price: 0.5, timeInForce: 'GTC' };
    await server.api.post(`/markets/15m/${MARKET}/buy`, offer, token);
    const code = example!.replace('http://127.0.0.1:3000', server.api.url);
    const env = pythonIn(folder, python!.modes[0]!);
    const { stdout } = await run(python!.program, ['-c', code], { env });
    expect(stdout).toContain('filled [');
  });
});
