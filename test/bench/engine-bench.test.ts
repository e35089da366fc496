/**
 * What the engine is compared with. A ladder or a peer that made other trades, or commands with
 * keys that did something else, would make every ratio worthless.
 */
import { describe, expect, test } from 'vitest';
import { Ladder, ladderStart } from '../../bench/engine/ladder.js';
import { peerStart } from '../../bench/engine/peer.js';
import { race, type Start } from '../../bench/measure/race.js';
import { asClientsSend } from '../../bench/workload/client-commands.js';
import { OrderTape } from '../../bench/workload/order-tape.js';
import { BATCH, planWorkload, prepareEngine, STANDARD } from '../../bench/workload/workload.js';
import type { Batch } from '../../engine/interface/commands.js';
import { Outcome, Side } from '../../engine/interface/domain.js';

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

  test('takes the best price first, then the oldest order, and rests what is left', () => {
    const tape = new OrderTape();
    const order = (side: Side, outcome: Outcome, priceTicks: number, lots: number) =>
      tape.order({ marketId: 7, side, outcome, priceTicks, lots, rests: true });
    order(Side.BUY, Outcome.UP, 400, 5);
    order(Side.BUY, Outcome.UP, 400, 5);
    order(Side.SELL, Outcome.DOWN, 590, 5); // A bid of UP at 410.
    order(Side.SELL, Outcome.UP, 400, 7); // Takes the third order, and 2 lots of the first.
    tape.cancel(1);
    tape.cancel(3); // Too late.
    order(Side.BUY, Outcome.DOWN, 600, 9); // An ask of UP at 400: takes the second order.
    Object.assign(tape, { trades: 3, restingLots: 4 });
    const run = startOf(tape)();
    run.advance(0, tape.length);
    run.finish();
  });
});

test('a row of the ladder serves one order after another', () => {
  const tape = new OrderTape();
  const ladder = new Ladder({ orders: 100, ladders: 2 });
  for (let i = 1; i <= 100; i++) {
    const order = { marketId: 1, side: Side.BUY, outcome: Outcome.UP, lots: i, rests: true };
    tape.order({ ...order, priceTicks: 1 + ((i * 37) % 999) });
    if (i > 10) tape.cancel(i - 10);
  }
  ladder.run(tape, 0, tape.length);
  expect(ladder.restingLots).toBe(91 + 92 + 93 + 94 + 95 + 96 + 97 + 98 + 99 + 100);
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

  test('without the runs of one user the workload has no batches', () => {
    const { options } = workload;
    const plain = planWorkload({ ...options, commands: 2_000, batchable: 0 });
    expect(plain.batchStarts.size).toBe(0);
    expect(asClientsSend(plain, 0).digest).toBe(plain.digest);
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
