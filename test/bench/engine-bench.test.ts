/**
 * What the engine is compared with. A ladder or a peer that made other trades, or commands with
 * keys that did something else, would make every ratio worthless.
 */
import { describe, expect, test } from 'vitest';
import { ladderStart } from '../../bench/engine/ladder.js';
import { partsOf } from '../../bench/engine/parts.js';
import { peerStart } from '../../bench/engine/peer.js';
import { race, type Start } from '../../bench/measure/race.js';
import { asClientsSend } from '../../bench/workload/client-commands.js';
import type { Batch } from '../../engine/interface/commands.js';
import { marketForMessages, planMessages } from '../support/workload/message-orders.js';
import { messagesOf } from '../support/workload/messages.js';
import { BATCH, planWorkload, prepareEngine, STANDARD } from '../support/workload/workload.js';

const workload = planWorkload({
  ...STANDARD,
  seed: 'test',
  commands: 20_000,
  users: 300,
  assets: 2,
  windows: 2,
  restingTarget: 100,
  batchable: 0.1,
});

describe.each([
  ['ladder', ladderStart],
  ['peer', peerStart],
] as const)('the %s', (_, startOf) => {
  test("makes the plan's trades, through self-trades and ends of markets, in pieces of any size", () => {
    const run = startOf(workload.tape)();
    expect(workload.tape.trades).toBeGreaterThan(5_000);
    for (let from = 0; from < run.length; from += 777)
      run.advance(from, Math.min(run.length, from + 777));
    run.finish();
  });

  test('fails when it made other trades', () => {
    const run = startOf(workload.tape)();
    expect(() => {
      run.advance(100, run.length);
      run.finish();
    }).toThrow();
  });
});

describe('commands as clients send them', () => {
  const { commands, digest } = asClientsSend(workload, 0.3);
  const sent = Array.from({ length: commands.length }, (_, i) => commands.read(i));

  test('a tenth of the commands are in batches of one user, and nothing is lost', () => {
    const batches = sent.filter((command): command is Batch => command.kind === 'batch');
    const batched = batches.flatMap(({ operations }) => operations);
    expect(batched.length).toBe(batches.length * BATCH);
    expect(sent.length - batches.length + batched.length).toBe(workload.commands.length);
    expect(batched.length / workload.commands.length).toBeCloseTo(0.1, 1);
    expect(new Set(batched.map(({ kind }) => kind))).toEqual(new Set(['buy', 'sell', 'cancel']));
  });

  test('three in ten have a key, and no key comes twice', () => {
    const keyable = sent.filter((command) => 'idempotencyKey' in command);
    const keys = keyable.map(({ idempotencyKey }) => idempotencyKey).filter((key) => key !== null);
    expect(keys.length / keyable.length).toBeCloseTo(0.3, 1);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('end in the same state each time', () => {
    const engine = prepareEngine(workload.setup);
    commands.applyTo(engine);
    expect(engine.digest()).toBe(digest);
    engine.checkInvariants();
    expect(asClientsSend(workload, 0.3).digest).toBe(digest);
  });
});

describe('messages', () => {
  const options = { seed: '1', count: 20_000, shape: 'normal', lifetime: 500 } as const;

  test('have the stated shape', () => {
    const messages = [...messagesOf(options)];
    const orders = messages.flatMap((message) => (message.kind === 'new' ? [message] : []));
    const resting = orders.filter(({ rests }) => rests).length;
    const idsOf = (kind: string) =>
      new Set(messages.flatMap((message) => (message.kind === kind ? [message.id] : []))).size;
    expect(1 - resting / orders.length).toBeCloseTo(0.15, 1);
    expect(idsOf('modify') / resting).toBeCloseTo(0.2, 1);
    expect(idsOf('cancel') / resting).toBeCloseTo(0.9, 1);
  });

  test('make the same trades on a ladder, and the parts of their time add up', () => {
    const plan = planMessages(options);
    expect(plan.tape.trades).toBeGreaterThan(1_000);
    const prepare = () => marketForMessages().engine;
    const { table, figures } = partsOf({ ...plan, figure: 'messages', title: '', prepare });
    const nanos = table.rows.map((row) => Number(row[1]));
    const whole = nanos.pop()!;
    expect(nanos.reduce((sum, part) => sum + part, 0)).toBeCloseTo(whole, 3);
    expect(figures['messagesCpuNanos']).toBe(whole);
  });
});

describe('a race', () => {
  const logged =
    (log: string[], name: string, length: number): Start =>
    () => ({
      length,
      advance: (from, to) => log.push(`${name} ${from}-${to}`),
      finish: () => log.push(`${name} ends`),
    });

  test('takes turns, and each contestant does all of its steps once and in order', () => {
    const log: string[] = [];
    const options = { rounds: 1, warmUpRounds: 0, chunks: 2 };
    const times = race([logged(log, 'a', 5), logged(log, 'b', 10)], options);
    expect(log).toEqual(['a 0-2', 'b 0-5', 'b 5-10', 'a 2-5', 'a ends', 'b ends']);
    expect(times.map((rounds) => rounds.map((chunks) => chunks.length))).toEqual([[2], [2]]);
  });
});
