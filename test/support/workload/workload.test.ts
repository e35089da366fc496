/**
 * What benchmarks and trials share: the planned workload, percentiles, and the reader of answers.
 * An irreproducible plan or a lost answer would make every figure worthless.
 */
import { describe, expect, test } from 'vitest';
import { AnswerReader } from '../http/messages.js';
import { Samples } from '../processes/samples.js';
import { planWorkload, prepareEngine, STANDARD, type WorkloadOptions } from './workload.js';

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

describe('answers to the load', () => {
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
