/**
 * A short form of `npm run cluster-kill`: the two faults after which an older process comes back
 * and believes that it leads. And the judge, which must see what would be wrong.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type Execution, type JournalContent, judge } from '../../bench/cluster/kill/judge.js';
import type { Acknowledgement } from '../../bench/cluster/kill/load.js';
import { ROOT } from '../support/sources.js';

test('a leader and a primary are paused under load: nothing is lost, doubled or led twice', async () => {
  const main = join(ROOT, 'dist/bench/cluster/kill/main.js');
  const faults = ['--rounds', '2', '--only', 'leader paused,primary paused'];
  // The status is 1 if anything was wrong.
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...faults]);
  expect(stdout).toMatch(/lost: 0\ndoubled: 0\ndifferent: 0\ntwoLeaders: 0\n/);
  const [, acknowledged, retries] = /(\d+) commands acknowledged after (\d+) retries/.exec(stdout)!;
  expect(Number(acknowledged)).toBeGreaterThan(50);
  expect(Number(retries)).toBeGreaterThan(0);
  expect(stdout).toMatch(/of [3-9] epochs/);
  for (const fault of ['leader paused', 'primary paused'])
    expect(stdout).toContain(`${fault}: 1 rounds`);
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
