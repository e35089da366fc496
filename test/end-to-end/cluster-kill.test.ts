/**
 * A short form of the trial `cluster-kill`: the exchange that leads is paused, comes back, and
 * believes that it leads. And the judge, which must see what would be wrong.
 */
import { describe, expect, test } from 'vitest';
import { SEED } from '../support/extent.js';
import { type Execution, Executions, judge, NO_PROBLEM } from '../support/load/judge.js';
import { type Acknowledgement, keyName } from '../support/load/load.js';
import type { Observation } from '../support/load/observation.js';
import { killRounds } from '../trials/cluster-kill/run.js';

test('who leads is paused under load: nothing is lost, doubled or led twice', async () => {
  const faults = ['leader paused'];
  const { judgement, rounds, counts } = await killRounds({ faults, seed: SEED, report: () => {} });
  expect(judgement).toEqual(NO_PROBLEM);
  expect(rounds.map(({ fault }) => fault)).toEqual(faults);
  expect(counts.acknowledged).toBeGreaterThan(50);
  expect(counts.retries).toBeGreaterThan(0);
  expect(counts.epochs).toBeGreaterThanOrEqual(2);
});

describe('the judge', () => {
  const answer = { status: 200, text: '{}' };
  const acknowledgement = (key: string, calledMs: number): Acknowledgement => ({
    name: keyName(1, key),
    ...answer,
    isReplayed: false,
    isStale: false,
    calledMs,
    receivedMs: calledMs + 5,
  });
  const judged = (
    acknowledged: Acknowledgement[],
    changes: Record<string, Partial<Execution>> = {},
    keys = ['a', 'b', 'c'],
    observed: Observation[] = [],
  ) => {
    const executions = new Executions();
    for (const [i, key] of keys.entries())
      executions.set(keyName(1, key), { times: 1, sequence: i + 1, answer, ...changes[key] });
    const sent = new Set(['a', 'b', 'c', 'd'].map((key) => keyName(1, key)));
    return judge(executions, { acknowledged, sent, observed });
  };
  const inOrder = ['a', 'b', 'c'].map((key, i) => acknowledgement(key, 10 * i));

  test('finds nothing where there is nothing', () => {
    const again = { ...inOrder[0]!, isReplayed: true, receivedMs: 45 };
    const stale = { ...inOrder[1]!, text: '{"stale":1}', isStale: true };
    expect(judged([...inOrder, again, stale])).toEqual(NO_PROBLEM);
  });

  test('finds what was lost, doubled, answered otherwise, or never sent', () => {
    const other = { ...acknowledgement('a', 50), text: '{"other":1}' };
    const all = [other, acknowledgement('d', 60), inOrder[2]!, inOrder[2]!];
    const judgement = judged(all, { b: { times: 2 } }, ['a', 'b', 'c', 'e']);
    expect(judgement.lost).toEqual(['key d of u1 was acknowledged: {}']);
    expect(judgement.doubled).toEqual([
      'key b of u1 was executed 2 times',
      'key c of u1 was answered twice as if executed',
    ]);
    expect(judgement.different).toHaveLength(1);
    expect(judgement.unsent).toEqual(['key e of u1']);
  });

  test('finds what has an earlier sequence than what was known before', () => {
    const [, b, c] = inOrder.map(({ name }) => name);
    const all = [inOrder[0]!, inOrder[2]!];
    expect(judged([...all, acknowledgement('b', 40)]).outOfOrder).toEqual([
      `${b}: sequence 2 after 3 was known`,
    ]);
    expect(judged([...all, acknowledgement('b', 24)]).outOfOrder).toEqual([]);
    const seen = { what: 'u1', value: '', sequence: 2, calledMs: 40, receivedMs: 45 };
    const withSeen = (...observed: Observation[]) =>
      judged(inOrder, {}, undefined, observed).outOfOrder;
    expect(withSeen(seen)).toEqual(['u1: sequence 2 after 3 was known']);
    expect(withSeen({ ...seen, calledMs: -Infinity })).toEqual([]);
    // What was seen of c before c was sent.
    expect(withSeen({ ...seen, sequence: 3, calledMs: 2, receivedMs: 9 })).toEqual([
      `${b}: sequence 2 after 3 was known`,
      `${c}: sequence 3 after 3 was known`,
    ]);
  });
});
