/**
 * The parts of the HTTP benchmark that its comparisons rest on: the plain design trades and is
 * durable, wrk sends the requests as they are, and CPU time is counted where it is spent.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hasWrk, resultIn, runWrk } from '../../bench/http/wrk.js';
import { threadCpu, totalMs } from '../../bench/measure/thread-cpu.js';
import { PlainExchange } from '../../bench/plain/exchange.js';
import { eventually } from '../support/eventually.js';
import { requestBytes } from '../support/http/messages.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'http-bench-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the plain design', () => {
  const setup = { tokens: ['anna', 'ben'], marketId: 'm', sample: { side: 'BUY' } };
  const moneyIn = ({ database }: PlainExchange) =>
    database.prepare('SELECT sum(availableMicros) AS micros FROM users').get()!['micros'];

  test('a buy takes the best offer, moves the money and is in the file', () => {
    const file = join(folder, 'plain.db');
    const exchange = new PlainExchange(file, setup);
    const before = Number(moneyIn(exchange));
    expect(exchange.buy('ben', 'm', { outcome: 'UP', amount: 1 })).toMatchObject({
      side: 'BUY',
      userId: 'u2',
      shares: 1.996,
      averagePrice: 0.501,
      spent: 0.999996,
      fee: 0.005,
      fills: [{ tradeId: 't1', price: 0.501, shares: 1.996 }],
      balance: { available: 999_998.995004, held: 0 },
      position: { UP: 1.996, DOWN: 0 },
    });
    // Only the fee has left.
    expect(Number(moneyIn(exchange))).toBe(before - 5_000);
    exchange.database.close();
    const again = new PlainExchange(join(folder, 'other.db'), setup);
    again.database.exec(`ATTACH '${file}' AS kept`);
    expect({ ...again.database.prepare('SELECT * FROM kept.trades').get() }).toEqual({
      id: 1,
      orderId: 1,
      makerId: 3,
      priceTicks: 501,
      lots: 1_996,
    });
    again.database.close();
  });

  test('a buy of nobody, or of more than there is, changes nothing', () => {
    const exchange = new PlainExchange(join(folder, 'plain.db'), setup);
    const before = moneyIn(exchange);
    expect(exchange.buy('carl', 'm', { outcome: 'UP', amount: 1 })).toBeNull();
    expect(exchange.buy('ben', 'm', { outcome: 'UP', amount: 1_000_000 })).toBeNull();
    expect(moneyIn(exchange)).toBe(before);
    expect(exchange.database.prepare('SELECT count(*) AS n FROM orders').get()!['n']).toBe(0);
    exchange.database.close();
  });
});

const isInstalled = await hasWrk();

describe('wrk', () => {
  test('its result is read from what it prints', () => {
    const result = { requests: 7, seconds: 1.5, p50Ms: 1, p99Ms: 2, p999Ms: 3, errors: 0 };
    expect(resultIn(`Running\n\nRESULT ${JSON.stringify(result)}\n`)).toEqual(result);
    expect(() => resultIn('unable to connect')).toThrow('printed no result');
  });

  test.skipIf(!isInstalled)('sends the requests in turn, to the byte', async () => {
    const requests = ['UP', 'DOWN'].map((outcome) =>
      requestBytes({ method: 'POST', path: '/markets/15m/m/buy', body: { outcome, note: 'ü"\\' } }),
    );
    const seen = new Set<string>();
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        seen.add(bytes.toString('hex'));
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const result = await runWrk({ port, connections: 2, seconds: 1, requests, folder });
    server.close();
    expect(result.requests).toBeGreaterThan(1);
    expect(result.errors).toBe(0);
    expect(seen).toEqual(new Set(requests.map((bytes) => bytes.toString('hex'))));
  });
});

test.skipIf(process.platform !== 'linux')(
  'CPU time is that of the thread that uses it',
  async () => {
    expect(threadCpu(2 ** 30)).toBeNull();
    const script = `new (require('node:worker_threads').Worker)('for (;;);', { eval: true })`;
    const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' });
    try {
      await eventually(() => totalMs(threadCpu(child.pid!)!.workers) > 500);
      const { main, pool, workers } = threadCpu(child.pid!)!;
      expect(totalMs(main)).toBeLessThan(totalMs(workers));
      expect(totalMs(pool)).toBeLessThan(totalMs(workers));
    } finally {
      child.kill('SIGKILL');
    }
  },
);
