/**
 * A short form of the trial `cluster-kill`: the leader is paused, resumes, and still believes that
 * it leads. Also tests that the judge finds every kind of fault.
 */
import { expect, test } from 'vitest';
import { SEED } from '../support/extent.js';
import { Executions, judge, NO_PROBLEM } from '../support/load/judge.js';
import { type Acknowledgement, keyName } from '../support/load/load.js';
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

/**
 * The test "a lie is found" in linearizable.test.ts covers observations that are wrong or out of
 * order.
 */
test('the judge finds what was lost, doubled, answered otherwise, or never sent', () => {
  const answer = { status: 200, text: '{}' };
  const acknowledgement = (key: string): Acknowledgement => ({
    name: keyName(1, key),
    ...answer,
    isReplayed: false,
    isStale: false,
    calledMs: 50,
    receivedMs: 55,
  });
  const executions = new Executions();
  for (const [i, key] of ['a', 'b', 'c', 'e'].entries())
    executions.set(keyName(1, key), { times: key === 'b' ? 2 : 1, sequence: i + 1, answer });
  const sent = new Set(['a', 'b', 'c', 'd'].map((key) => keyName(1, key)));
  const other = { ...acknowledgement('a'), text: '{"other":1}' };
  const acknowledged = [other, ...['d', 'c', 'c'].map(acknowledgement)];
  const judgement = judge(executions, { acknowledged, sent, observed: [] });
  expect(judgement.lost).toEqual(['key d of u1 was acknowledged: {}']);
  expect(judgement.doubled).toEqual([
    'key b of u1 was executed 2 times',
    'key c of u1 was answered twice as if executed',
  ]);
  expect(judgement.different).toHaveLength(1);
  expect(judgement.unsent).toEqual(['key e of u1']);
});
