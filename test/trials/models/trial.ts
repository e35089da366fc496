/**
 * Models of protocols that must be right in every order of events. Each is explored completely
 * within its stated bounds, then once without each guard of the code, which must lead to an error.
 * A model is not the code: a comment beside each guard says where the guard is. Needs spin and gcc,
 * and installs neither.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';

/** The guards of each model, by the model's name for them. */
const GUARDS = {
  'group-commit': {
    NO_SYNC: 'a commit is synced',
    GO_ON: 'a sync that fails ends the process',
    RELEASE_EARLY: 'an answer waits for its commit',
    MARK_EARLY: 'the mark is written after the commit',
    RELEASE_BEFORE_MARK: 'an answer waits for the mark',
    NO_MARK_SYNC: 'a commit waits when too many marks are not synced',
    ONE_SLOT: 'the mark has two slots',
    NO_SYNC_AT_START: 'a start syncs the log before it reads it',
    NO_MARK_SYNC_AT_START: 'a start syncs the mark before it writes it',
    ANY_SLOT_FIRST: 'a start writes the slot first that is not the mark',
  },
  takeover: {
    NO_EPOCH: 'an append is refused in another epoch',
    NO_RAISE: 'a takeover raises the epoch',
    NO_CATCH_UP: 'a leader reads the journal to its end after the takeover',
    NO_KEYS: 'a key that was executed gets its answer again',
    RELEASE_EARLY: 'an answer waits for its append',
    ASSUME_COMMITTED: 'an append of unknown fate is not answered',
  },
};

const work = mkdtempSync(join(tmpdir(), 'models-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

const missing = ['spin', 'gcc'].filter(
  (name) => spawnSync(name, ['--version']).error !== undefined,
);
beforeEach(({ skip }) =>
  skip(missing.length > 0, `${missing.join(' and ')}: on Debian, apt-get install spin gcc`),
);

function run(command: string, ...args: string[]): string {
  const { stdout, stderr, status, error } = spawnSync(command, args, {
    cwd: work,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined || status !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${error ?? stdout + stderr}`);
  return stdout;
}

/** Returns the number of states, and the violation or null. */
function explore(model: string, without?: string) {
  run(
    'spin',
    ...(without === undefined ? [] : [`-D${without}`]),
    '-a',
    `${import.meta.dirname}/${model}.pml`,
  );
  run('gcc', '-O2', '-w', '-DSAFETY', '-DMEMLIM=4000', '-o', 'pan', 'pan.c');
  const found = run('./pan', '-m100000');
  const states = Number(/([\d.e+]+) states, stored/.exec(found)![1]);
  const violated = /^pan:1: (.*)$/m.exec(found)?.[1] ?? null;
  if (violated === null) expect(found).not.toMatch(/not completed|max search depth too small/);
  return { states, violated };
}

describe.for(Object.entries(GUARDS))('%s', ([model, guards]) => {
  test('nothing is wrong in any order of events', async ({ annotate }) => {
    const { states, violated } = explore(model);
    expect(violated).toBeNull();
    await annotate(`${states} states`);
  });

  test.for(Object.entries(guards))('is wrong without %s: %s', async ([guard], { annotate }) => {
    const { violated } = explore(model, guard);
    expect(violated).toMatch(/^assertion violated/);
    await annotate(violated!);
  });
});
