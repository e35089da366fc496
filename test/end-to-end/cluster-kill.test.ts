/**
 * A short form of the trial `cluster-kill`: the primary is paused, comes back, and believes that it
 * leads (takeover.test.ts pauses a leader). And the judge, which must see what would be wrong.
 */
import { describe, expect, test } from 'vitest';
import { SEED } from '../support/extent.js';
import { type Execution, type JournalContent, judge } from '../trials/cluster-kill/judge.js';
import type { Acknowledgement } from '../trials/cluster-kill/load.js';
import { killRounds } from '../trials/cluster-kill/run.js';

test('a primary is paused under load: nothing is lost, doubled or led twice', async () => {
  const faults = ['primary paused'];
  const { lost, doubled, different, twoLeaders, rounds, ...counts } = await killRounds({
    faults,
    seed: SEED,
    report: () => {},
  });
  const nothing = { lost: [], doubled: [], different: [], twoLeaders: [] };
  expect({ lost, doubled, different, twoLeaders }).toEqual(nothing);
  expect(rounds.map(({ fault }) => fault)).toEqual(faults);
  expect(counts.acknowledged).toBeGreaterThan(50);
  expect(counts.retries).toBeGreaterThan(0);
  expect(counts.epochs).toBeGreaterThanOrEqual(2);
});

describe('the judge', () => {
  const answer = { status: 200, text: '{}' };
  const acknowledgement = (key: string, sentMs: number): Acknowledgement => ({
    userId: 1,
    key,
    ...answer,
    isReplayed: false,
    sentMs,
    receivedMs: sentMs + 5,
  });
  /** Keys a and b in epoch 1, c in epoch 2. */
  const content = (changes: Record<string, Partial<Execution>> = {}): JournalContent => {
    const keys = ['a', 'b', 'c'].map((key, i) => {
      const execution = { times: 1, sequence: i + 1, answer, ...changes[key] };
      return [`key ${key} of u1`, execution] as const;
    });
    const rows = [
      { lastSequence: 2, epoch: 1 },
      { lastSequence: 3, epoch: 2 },
    ];
    return { commands: 3, executions: new Map(keys), rows };
  };
  const inOrder = ['a', 'b', 'c'].map((key, i) => acknowledgement(key, 10 * i));

  test('finds nothing where there is nothing', () => {
    const nothing = { lost: [], doubled: [], different: [], twoLeaders: [] };
    expect(judge(content(), inOrder)).toEqual({ commands: 3, epochs: 2, ...nothing });
  });

  test('finds what was lost, doubled, or answered otherwise', () => {
    const other = { ...acknowledgement('a', 50), text: '{"other":1}' };
    const judgement = judge(content({ b: { times: 2 } }), [other, acknowledgement('d', 60)]);
    expect(judgement.lost).toEqual(['key d of u1 was acknowledged: {}']);
    expect(judgement.doubled).toEqual(['key b of u1 was executed 2 times']);
    expect(judgement.different).toHaveLength(1);
  });

  test('finds an older leader that acknowledges after a younger one', () => {
    const late = acknowledgement('b', 40);
    const all = [inOrder[0]!, inOrder[2]!, late];
    expect(judge(content(), all).twoLeaders).toEqual([
      'key b of u1: epoch 1 after 2 had acknowledged',
    ]);
    // The answer of an earlier execution says nothing about who leads.
    const repeated = { ...late, isReplayed: true };
    expect(judge(content(), [...all.slice(0, 2), repeated]).twoLeaders).toEqual([]);
  });
});
