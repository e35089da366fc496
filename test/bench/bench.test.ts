/**
 * The benchmarks' own parts. An irreproducible plan, a changed command, or a load generator that
 * loses answers would make every figure worthless.
 */
import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type LoadPace, runLoad } from '../../bench/http/load/load.js';
import { AnswerReader, requestBytes } from '../support/http/messages.js';
import { Samples } from '../support/processes/samples.js';
import {
  planWorkload,
  prepareEngine,
  STANDARD,
  type WorkloadOptions,
} from '../support/workload/workload.js';

const SMALL: WorkloadOptions = {
  ...STANDARD,
  seed: 'test',
  commands: 20_000,
  users: 300,
  assets: 2,
  windows: 2,
  restingTarget: 100,
  batchable: 0,
};

describe('the workload', () => {
  const workload = planWorkload(SMALL);

  test("an engine that runs the commands ends in the plan's state, with its invariants intact", () => {
    const engine = prepareEngine(workload.setup);
    for (let i = 0; i < workload.commands.length; i++)
      engine.apply(workload.commands.read(i), workload.commands.atMs(i));
    expect(engine.digest()).toBe(workload.digest);
    engine.checkInvariants();
  });

  test('the same seed gives the same plan, another seed another one', () => {
    expect(planWorkload(SMALL).digest).toBe(workload.digest);
    expect(planWorkload({ ...SMALL, seed: 'other' }).digest).not.toBe(workload.digest);
  });

  test('resembles a market: orders cross in every kind of match, rest, are cancelled and claimed', () => {
    const { statistics } = workload;
    expect(statistics.crossing / statistics.orders).toBeGreaterThan(0.2);
    expect(statistics.crossing / statistics.orders).toBeLessThan(0.8);
    for (const count of statistics.events.matches) expect(count).toBeGreaterThan(100);
    for (const kind of [
      'buy IOC',
      'buy FOK',
      'buy GTC',
      'buy GTC post-only',
      'sell GTC',
      'sell IOC',
      'cancel',
      'claim',
      'observePrice',
    ])
      expect(statistics.byKind.get(kind)?.get('ok') ?? 0, kind).toBeGreaterThan(50);
    expect(statistics.events.byEvent.get('marketResolved')).toBe(SMALL.assets * SMALL.windows);
  });

  test('has no malformed commands', () => {
    for (const codes of workload.statistics.byKind.values()) {
      for (const code of [
        'invalid_command',
        'user_not_found',
        'market_not_found',
        'market_not_active',
      ])
        expect(codes.get(code) ?? 0).toBe(0);
    }
  });
});

test('percentiles use the nearest rank, whatever the order of arrival', () => {
  const samples = new Samples(2);
  for (let i = 0; i < 1_000; i++) samples.add(((i * 7) % 1_000) + 1);
  expect(samples.percentile(0.5)).toBe(500);
  expect(samples.percentile(0.99)).toBe(990);
  expect(samples.percentile(0.999)).toBe(999);
  expect(samples.max()).toBe(1_000);
  samples.add(5_000);
  expect(samples.max()).toBe(5_000);
});

describe('the load', () => {
  let server: Server | null = null;

  afterEach(
    () =>
      new Promise<void>((resolve) => (server === null ? resolve() : server.close(() => resolve()))),
  );

  async function listen(listening: Server): Promise<number> {
    server = listening;
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
    return (listening.address() as { port: number }).port;
  }

  /** Answers each request with the next of these, in the given pieces. */
  async function serve(
    answers: readonly (readonly string[])[],
  ): Promise<{ port: number; requests: () => number }> {
    let requests = 0;
    const listening = createServer((socket) => {
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('data', () => {
        const pieces = answers[requests++ % answers.length]!;
        const sendFrom = (i: number): void => {
          if (i === pieces.length) return;
          socket.write(pieces[i]!, () => setImmediate(() => sendFrom(i + 1)));
        };
        sendFrom(0);
      });
    });
    return { port: await listen(listening), requests: () => requests };
  }

  const load = (port: number, pace: LoadPace = { kind: 'closed' }) =>
    runLoad({
      pace,
      port,
      connections: 3,
      requests: [requestBytes({ method: 'POST', path: '/', body: { a: 1 } })],
      warmUpMs: 20,
      measureMs: 200,
    });

  test('counts every answer by its status, whole or in pieces', async () => {
    const { port, requests } = await serve([
      ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'],
      ['HTTP/1.1 409 Conf', 'lict\r\ncontent-length: 4\r\n', '\r\nno', 'pe'],
    ]);
    const result = await load(port);
    expect(result.byStatus['200']! + result.byStatus['409']!).toBe(requests());
    expect(result.byStatus['409']).toBeGreaterThan(0);
    expect(result.measured).toBeLessThanOrEqual(requests());
  });

  test('fails on an answer that is not HTTP', async () => {
    const { port } = await serve([['HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n']]);
    await expect(load(port)).rejects.toThrow(/not understood/);
  });

  test('fails when the server hangs up', async () => {
    const port = await listen(createServer((socket) => socket.destroy()));
    await expect(load(port)).rejects.toThrow(/closed a connection|ECONNRESET|EPIPE/);
  });

  test('on a schedule, latency counts from the time at which a request should have been sent', async () => {
    const held: (() => void)[] = [];
    let isOpen = false;
    const listening = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', () => {
        const answer = () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        if (isOpen) answer();
        else held.push(answer);
      });
    });
    const port = await listen(listening);
    // Nothing is answered until the maximum is outstanding and another half a second has passed.
    const stall = setInterval(() => {
      if (held.length < 3) return;
      clearInterval(stall);
      setTimeout(() => {
        isOpen = true;
        for (const answer of held) answer();
      }, 500);
    }, 1);
    const result = await load(port, { kind: 'open', perSecond: 1_000, seed: '1' });
    expect(result.measured).toBeGreaterThan(100);
    // All but the three held ones were sent after the stall, at least 280 ms late.
    expect(result.latencyP50Ms).toBeGreaterThan(250);
    expect(result.byStatus).toEqual({ 200: expect.any(Number) });
  });

  test('distinguishes a whole answer from a partial one and from two', () => {
    const whole = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
    for (const [keepsBodies, body] of [
      [false, ''],
      [true, 'ok'],
    ] as const) {
      const reader = new AnswerReader(keepsBodies);
      for (let cut = 1; cut < whole.length; cut++) {
        expect(reader.read(Buffer.from(whole.slice(0, cut)))).toBe(null);
        const answer = reader.read(Buffer.from(whole.slice(cut)));
        expect(answer).toMatchObject({ status: 200, body: Buffer.from(body) });
      }
      expect(() => reader.read(Buffer.from(whole + whole))).toThrow(/more came/);
    }
    const lengthless = Buffer.from('HTTP/1.1 200 OK\r\n\r\n');
    expect(() => new AnswerReader(false).read(lengthless)).toThrow(/not understood/);
  });

  test('an answer without a length ends with its connection if the client keeps bodies', () => {
    const reader = new AnswerReader(true);
    const refusal = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n<h1>Bad';
    expect(reader.read(Buffer.from(refusal))).toBe(null);
    expect(reader.read(Buffer.from(' Request'))).toBe(null);
    expect(reader.end()).toMatchObject({ status: 400, body: Buffer.from('<h1>Bad Request') });
    expect(reader.read(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n'))).toBe(null);
    expect(reader.end()).toBe(null);
  });
});
