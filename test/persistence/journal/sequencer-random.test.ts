/**
 * The sequencer on a disk that takes any number of turns of the event loop, with clients that send
 * at random, and clients that wait for their answers. In any order of events: every command is
 * released once, in order, after its commit; no command is left waiting; a small group waits only
 * while each turn brings another command; a failure releases nothing more.
 */
import { expect, test } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { JournalError } from '../../../persistence/journal/errors.js';
import type { BatchContent } from '../../../persistence/journal/format.js';
import type { CommitDone } from '../../../persistence/journal/store.js';
import { Sequencer, type SequencerLog, SubmitRefused } from '../../../persistence/sequencer.js';
import { extent, SEED } from '../../support/extent.js';
import { commandAt, START_MS } from '../../support/journal-fixture.js';
import { Random } from '../../support/workload/random.js';

const RUNS = extent(2_000, 150);
const TURNS = 60;
/** A commit takes less than this many turns. */
const COMMIT_TURNS = 6;
const CLIENTS = 12;

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A slow disk, which may fail once. */
class SlowLog implements SequencerLog {
  end: SequencerLog['end'];
  writing: BatchContent | null = null;
  appended = 0;
  closed = false;
  private left = 0;
  private done: CommitDone | null = null;

  constructor(
    private readonly random: Random,
    /** The number of the commit that fails; 0 if none does. */
    private readonly failing: number,
    digest: string,
  ) {
    this.end = { sequence: 0, digest };
  }

  append(batch: BatchContent, done: CommitDone): void {
    expect(this.writing).toBe(null);
    expect(batch.firstSequence).toBe(this.end.sequence + 1);
    this.writing = batch;
    this.done = done;
    this.appended++;
    this.left = this.random.whole(0, COMMIT_TURNS - 1);
  }

  /** Counts a turn of the event loop. */
  pass(): void {
    const { writing } = this;
    if (writing === null || this.left-- > 0) return;
    const fails = this.appended === this.failing;
    if (!fails) this.end = { sequence: writing.lastSequence, digest: writing.digest };
    this.writing = null;
    this.done!(fails ? new JournalError('the disk is full', null) : null);
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

/** One run: its clients and their answers. */
class Run {
  readonly random: Random;
  readonly log: SlowLog;
  readonly engine = new Engine();
  readonly sequencer: Sequencer;
  readonly fatal: Error[] = [];
  readonly problems: string[] = [];
  released = 0;
  /** For each closed-loop client, the turns until it sends again; -1 while it waits. */
  readonly thinking: number[] = [];
  sentThisTurn = 0;
  idleTurns = 0;

  constructor(seed: string) {
    this.random = new Random(seed);
    const failing = this.random.chance(0.2) ? this.random.whole(1, 8) : 0;
    this.log = new SlowLog(this.random, failing, this.engine.digest());
    const { engine, log } = this;
    this.sequencer = new Sequencer({
      engine,
      journal: log,
      now: () => START_MS + engine.sequence,
      onFatal: (error) => this.fatal.push(error),
    });
    const clients = this.random.whole(0, CLIENTS);
    for (let i = 0; i < clients; i++) this.thinking.push(this.random.whole(0, 3));
  }

  send(released: () => void): void {
    const { engine, sequencer, log } = this;
    sequencer.submit(commandAt(engine.sequence + 1));
    const { sequence } = engine;
    this.sentThisTurn++;
    sequencer.releaseAt(sequence, {
      release: () => {
        // The sequencer would treat a throw here as its own failure.
        if (log.end.sequence < sequence) this.problems.push(`${sequence} was not durable`);
        if (sequence !== ++this.released) this.problems.push(`${sequence} is out of order`);
        released();
      },
    });
  }

  sendAll(): void {
    const { random, thinking } = this;
    if (random.chance(0.2))
      for (let i = random.whole(1, random.chance(0.1) ? 90 : 8); i > 0; i--) this.send(() => {});
    for (let i = 0; i < thinking.length; i++) {
      if (thinking[i] === -1 || thinking[i]!-- > 0) continue;
      thinking[i] = -1;
      this.send(() => {
        thinking[i] = random.whole(0, 3);
      });
    }
  }

  /** Checks that nothing waits for an idle disk when turns bring nothing. */
  checkWait(): void {
    const waits = this.log.writing === null && this.sequencer.backlog > 0;
    this.idleTurns = waits && this.sentThisTurn === 0 ? this.idleTurns + 1 : 0;
    if (this.idleTurns > 2) this.problems.push('a commit waits for an idle disk');
    this.sentThisTurn = 0;
  }

  async turn(): Promise<void> {
    this.log.pass();
    if (this.sequencer.failure === null) this.checkWait();
    await turn();
  }
}

test(`${RUNS} runs of random clients and commits, SEED=${SEED}`, {
  timeout: 1_200_000,
}, async () => {
  let failures = 0;
  for (let i = 0; i < RUNS; i++) {
    const run = new Run(`${SEED}-${i}`);
    const { sequencer, log, fatal } = run;
    for (let at = 0; at < TURNS && sequencer.failure === null; at++) {
      run.sendAll();
      await run.turn();
    }
    const closing = sequencer.close().then(
      () => null,
      (error: Error) => error,
    );
    expect(() => sequencer.submit(commandAt(run.engine.sequence + 1))).toThrow(SubmitRefused);
    for (let at = 0; at < 3 * COMMIT_TURNS + TURNS; at++) await run.turn();
    const error = await closing;
    expect(run.problems).toEqual([]);
    expect(log.closed).toBe(true);
    expect(run.released).toBe(log.end.sequence);
    expect(fatal).toEqual(error === null ? [] : [error]);
    if (error === null) {
      expect(run.released).toBe(run.engine.sequence);
      continue;
    }
    expect(error).toBeInstanceOf(JournalError);
    failures++;
  }
  expect(failures).toBeGreaterThan(RUNS / 20);
});
