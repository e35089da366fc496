/**
 * The sequencer: every released answer is durable and in order, and nothing is released after a
 * failure.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { RecordError } from '../../../engine/interface/records.js';
import { JournalError } from '../../../persistence/journal/errors.js';
import type { BatchContent } from '../../../persistence/journal/format.js';
import type { Journal } from '../../../persistence/journal/journal.js';
import type { CommitDone } from '../../../persistence/journal/store.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import {
  type ReleaseTarget,
  Sequencer,
  type SequencerLog,
  type SequencerOptions,
  SubmitRefused,
} from '../../../persistence/sequencer.js';
import { eventually } from '../../support/eventually.js';
import {
  commandAt,
  Folders,
  readAll,
  replay,
  START_MS,
  start,
  tamper,
  writeJournal,
} from '../../support/journal-fixture.js';

const folders = new Folders();
const journals: Journal[] = [];
afterEach(async () => {
  for (const journal of journals.splice(0)) await journal.close().catch(() => {});
  folders.removeAll();
});

/** A journal that commits normally, but reports a commit only when the test allows it. */
class HeldJournal implements SequencerLog {
  readonly batches: { firstSequence: number; lastSequence: number }[] = [];
  private readonly told: (() => void)[] = [];

  constructor(private readonly journal: Journal) {}

  get end() {
    return this.journal.end;
  }

  append(batch: BatchContent, done: CommitDone): void {
    this.batches.push({ firstSequence: batch.firstSequence, lastSequence: batch.lastSequence });
    this.journal.append(batch, (error) => this.told.push(() => done(error)));
  }

  close(): Promise<void> {
    return this.journal.close();
  }

  /** Waits until the journal has committed a batch, then reports the oldest unreported commit. */
  async let(): Promise<void> {
    await eventually(() => this.told.length > 0);
    this.told.shift()!();
  }
}

interface Setup {
  folder: string;
  journal: Journal;
  held: HeldJournal;
  engine: Engine;
  sequencer: Sequencer;
  fatal: Error[];
  released: string[];
  target(name: string, also?: () => void): ReleaseTarget;
  submit(count: number): void;
}

async function setup(
  options: Partial<SequencerOptions> & { hold?: boolean; folder?: string } = {},
): Promise<Setup> {
  const folder = options.folder ?? folders.make();
  const journal = await openJournal({ folder });
  journals.push(journal);
  const engine = new Engine();
  if (journal.end.sequence > 0) await replay(folder, engine);
  const held = new HeldJournal(journal);
  const fatal: Error[] = [];
  const released: string[] = [];
  const sequencer = new Sequencer({
    engine,
    journal: options.hold === true ? held : journal,
    now: () => START_MS + engine.sequence,
    onFatal: (error) => fatal.push(error),
    ...options,
  });
  const target = (name: string, also?: () => void) => ({
    release: () => {
      released.push(name);
      also?.();
    },
  });
  const submit = (count: number) => {
    for (let i = 0; i < count; i++) sequencer.submit(commandAt(engine.sequence + 1));
  };
  return { folder, journal, held, engine, sequencer, fatal, released, target, submit };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

describe('group commit', () => {
  it('commits concurrent commands together, and releases nothing before', async () => {
    const { sequencer, held, released, target, submit } = await setup({ hold: true });
    submit(3);
    expect(held.batches).toEqual([]);
    for (const sequence of [1, 2, 3]) sequencer.releaseAt(sequence, target(`${sequence}`));
    await turns(2);
    expect(held.batches).toEqual([{ firstSequence: 1, lastSequence: 3 }]);
    // The disk may take any time.
    await turns(50);
    expect([released, sequencer.durableSequence, sequencer.waitingTargets]).toEqual([[], 0, 3]);
    await held.let();
    expect([released, sequencer.durableSequence, sequencer.waitingTargets]).toEqual([
      ['1', '2', '3'],
      3,
      0,
    ]);
  });

  it('fills the next batch while one is written, and writes it right after', async () => {
    const { sequencer, held, submit } = await setup({ hold: true });
    submit(500);
    await turns(2);
    submit(300);
    await turns(2);
    submit(400);
    expect(held.batches).toHaveLength(1);
    expect([sequencer.inFlightCommands, sequencer.backlog]).toEqual([500, 1_200]);
    expect(sequencer.backlogBytes).toBeGreaterThan(1_200 * 8);
    await held.let();
    expect(held.batches[1]).toEqual({ firstSequence: 501, lastSequence: 1_200 });
    expect([sequencer.inFlightCommands, sequencer.backlog]).toEqual([700, 700]);
    expect(sequencer.batchesCommitted).toBe(1);
    await held.let();
    expect([sequencer.batchesCommitted, sequencer.backlogBytes]).toEqual([2, 0]);
    await turns(5);
    expect(held.batches).toHaveLength(2);
  });

  it('after a small batch, waits for as many commands as there were', async () => {
    const { held, submit } = await setup({ hold: true });
    submit(3);
    await turns(2);
    submit(1);
    await held.let();
    expect(held.batches).toHaveLength(1);
    // One command in each turn of the event loop.
    for (let i = 0; i < 3; i++) {
      submit(1);
      await turns(1);
    }
    await turns(1);
    expect(held.batches.slice(1)).toEqual([{ firstSequence: 4, lastSequence: 7 }]);
    await held.let();
  });

  it('ends batches at a command, each with the digest of its last command', async () => {
    const { sequencer, held, folder, engine, submit } = await setup({
      hold: true,
      batchBytes: 300,
    });
    submit(100);
    for (let i = 0; sequencer.backlog > 0 && i < 100; i++) await held.let();
    await sequencer.close();
    const batches = await readAll(folder);
    expect(batches.length).toBeGreaterThan(5);
    expect(batches.length).toBeLessThan(50);
    for (const batch of batches.slice(0, -1)) {
      expect(batch.records.length).toBeGreaterThanOrEqual(300);
      expect(batch.records.length).toBeLessThan(400);
    }
    // Recovery checks the digest after every batch.
    const recovered = await start(folder);
    expect([recovered.batches, recovered.engine.digest()]).toEqual([
      batches.length,
      engine.digest(),
    ]);
  });

  it('returns the result, and times that never go back', async () => {
    const times = [START_MS, START_MS - 500, START_MS + 7, START_MS + 3];
    const { sequencer, engine, folder } = await setup({ now: () => times[engine.sequence]! });
    const stamped = times.map(() => {
      const result = sequencer.submit({ kind: 'advanceTime' });
      expect(result).toBe(engine.result);
      return [result.values[2], result.values[3], engine.nowMs];
    });
    const expected = [START_MS, START_MS, START_MS + 7, START_MS + 7];
    expect(stamped).toEqual(expected.map((atMs, index) => [index + 1, atMs, atMs]));
    await sequencer.close();
    expect((await start(folder)).engine.nowMs).toBe(START_MS + 7);
  });

  it('waits for as many commands as there were, but only while they are small', async () => {
    const { sequencer, held, engine } = await setup({ hold: true });
    for (let i = 0; i < 60; i++) sequencer.submit({ kind: 'advanceTime' });
    await eventually(() => held.batches.length === 1);
    await held.let();
    const credential = 'c'.repeat(500);
    for (let i = 0; held.batches.length === 1; i++) {
      const username = `user-${i}`;
      const none = { referralCode: '', grantMicros: 0, partner: null };
      sequencer.submit({ kind: 'register', username, credential, ...none });
      await turn();
    }
    // Some 2 KiB of records; without a limit on bytes, it would be sixty commands.
    expect(engine.sequence - 60).toBeGreaterThan(2);
    expect(engine.sequence - 60).toBeLessThan(8);
    await held.let();
    await sequencer.close();
  });

  it('continues from a recovered journal, and only from its end', async () => {
    const folder = folders.make();
    await writeJournal(folder);
    const { sequencer, engine, submit, journal } = await setup({ folder });
    submit(50);
    await eventually(() => sequencer.durableSequence === 150);
    const now = () => START_MS;
    const options = { journal, now, onFatal: () => {} };
    expect(() => new Sequencer({ ...options, engine: new Engine() })).toThrow('recover first');
    await sequencer.close();
    expect((await start(folder)).engine.digest()).toBe(engine.digest());
  });
});

describe('release', () => {
  it('is immediate when nothing is pending', async () => {
    const { sequencer, released, target, submit } = await setup();
    sequencer.releaseAt(0, target('at the start'));
    expect(released).toEqual(['at the start']);
    submit(5);
    await eventually(() => sequencer.backlog === 0);
    sequencer.releaseAt(5, target('at the end'));
    sequencer.releaseAt(2, target('long ago'));
    expect(released).toEqual(['at the start', 'at the end', 'long ago']);
  });

  it('waits, also of what is durable, while another exchange may lead', async () => {
    const folder = folders.make();
    const journal = await openJournal({ folder });
    journals.push(journal);
    let isSole = true;
    let again = () => {};
    const watched = {
      get end() {
        return journal.end;
      },
      append: journal.append.bind(journal),
      close: journal.close.bind(journal),
      isSole: () => isSole,
      whenSole: (called: () => void) => (again = called),
    };
    const { sequencer, released, target, submit } = await setup({ journal: watched });
    sequencer.releaseAt(0, target('leads'));
    // A clock that counts the process's pause has found the lease's end.
    isSole = false;
    sequencer.releaseAt(0, target('a read'));
    submit(1);
    sequencer.releaseAt(1, target('a receipt'));
    await eventually(() => sequencer.backlog === 0);
    again();
    expect(released).toEqual(['leads']);
    isSole = true;
    again();
    expect(released).toEqual(['leads', 'a read', 'a receipt']);
  });

  it('keeps the order for what a release itself requests or submits', async () => {
    const { sequencer, held, engine, released, target, submit } = await setup({ hold: true });
    submit(3);
    sequencer.releaseAt(
      1,
      target('1', () => {
        sequencer.releaseAt(3, target('3 from 1'));
        sequencer.releaseAt(0, target('0 from 1'));
        submit(1);
        sequencer.releaseAt(engine.sequence, target('4 from 1'));
      }),
    );
    sequencer.releaseAt(2, target('2'));
    sequencer.releaseAt(3, target('3'));
    await held.let();
    expect(released).toEqual(['1', '0 from 1', '2', '3', '3 from 1']);
    await held.let();
    expect(released.at(-1)).toBe('4 from 1');
  });

  it('refuses a sequence that does not exist yet', async () => {
    const { sequencer, submit, target } = await setup();
    submit(2);
    for (const sequence of [3, -1, Number.NaN]) {
      expect(() => sequencer.releaseAt(sequence, target('never'))).toThrow(RangeError);
    }
  });
});

describe('commands that are refused', () => {
  it('a command that cannot be encoded changes nothing', async () => {
    const { sequencer, engine, folder, submit } = await setup();
    submit(20);
    const before = [engine.sequence, engine.digest()];
    expect(() => sequencer.submit({ kind: 'listAsset', symbol: 'x'.repeat(4_001) })).toThrow(
      RecordError,
    );
    expect([engine.sequence, engine.digest()]).toEqual(before);
    submit(1);
    await sequencer.close();
    expect((await start(folder)).engine.sequence).toBe(21);
  });

  it('a command refused because too much waits for the disk changes nothing, and the next ones succeed', async () => {
    const { sequencer, engine, held, fatal, submit } = await setup({
      hold: true,
      backlogBytes: 500,
    });
    expect(() => submit(1_000)).toThrow(SubmitRefused);
    const { sequence } = engine;
    expect(sequence).toBeGreaterThan(10);
    expect(sequence).toBeLessThan(60);
    expect(() => submit(1)).toThrow('too many commands wait');
    expect([engine.sequence, sequencer.backlog, fatal.length]).toEqual([sequence, sequence, 0]);
    await held.let();
    submit(1);
    expect(engine.sequence).toBe(sequence + 1);
  });
});

describe('failure', () => {
  it('of a commit stops it, releases nothing of that batch or later, and keeps what was acknowledged', async () => {
    const { sequencer, engine, folder, fatal, released, target, submit } = await setup();
    submit(10);
    sequencer.releaseAt(10, target('good'));
    await eventually(() => sequencer.durableSequence === 10);
    const digest = engine.digest();
    await tamper(
      folder,
      "CREATE TRIGGER full BEFORE INSERT ON batch BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END",
    );
    submit(5);
    sequencer.releaseAt(15, target('bad'));
    sequencer.releaseAt(11, target('bad'));
    await eventually(() => fatal.length > 0);
    expect(fatal[0]).toBeInstanceOf(JournalError);
    expect(fatal[0]!.message).toContain('database or disk is full');
    expect(sequencer.failure).toBe(fatal[0]);
    expect(() => submit(1)).toThrow(SubmitRefused);
    expect(() => submit(1)).toThrow('the exchange has stopped');
    sequencer.releaseAt(10, target('too late'));
    await turns(20);
    expect([released, fatal.length, sequencer.durableSequence]).toEqual([['good'], 1, 10]);
    await expect(sequencer.close()).rejects.toBe(fatal[0]);
    await tamper(folder, 'DROP TRIGGER full');
    const recovered = await start(folder);
    expect([recovered.engine.sequence, recovered.engine.digest()]).toEqual([10, digest]);
  });

  it('of the engine: nothing that is not durable is written or released', async () => {
    const { sequencer, engine, held, folder, fatal, released, target, submit } = await setup({
      hold: true,
    });
    submit(4);
    sequencer.releaseAt(4, target('in flight'));
    await turns(2);
    submit(3);
    sequencer.releaseAt(7, target('open'));
    const bug = new Error('half applied');
    engine.applyRecord = () => {
      throw bug;
    };
    expect(() => submit(1)).toThrow(bug);
    expect(fatal).toEqual([bug]);
    expect(() => submit(1)).toThrow(SubmitRefused);
    await held.let();
    await turns(10);
    expect([released, held.batches.length, fatal.length]).toEqual([[], 1, 1]);
    await expect(sequencer.close()).rejects.toBe(bug);
    expect((await start(folder)).engine.sequence).toBe(4);
  });

  it('of a release: nothing after it is released', async () => {
    const { sequencer, fatal, released, target, submit } = await setup();
    const bug = new Error('no such socket');
    submit(3);
    sequencer.releaseAt(1, target('1'));
    const failing = () => {
      throw bug;
    };
    sequencer.releaseAt(2, target('2', failing));
    sequencer.releaseAt(3, target('3'));
    await eventually(() => fatal.length > 0);
    await turns(5);
    expect([released, fatal]).toEqual([['1', '2'], [bug]]);
    await expect(sequencer.close()).rejects.toBe(bug);
  });
});

describe('close', () => {
  it('commits and releases what is pending, accepts nothing more, and frees the folder', async () => {
    const { sequencer, engine, folder, released, target, submit } = await setup();
    submit(10);
    sequencer.releaseAt(10, target('10'));
    const closed = sequencer.close();
    expect(() => submit(1)).toThrow('closing');
    await expect(sequencer.close()).rejects.toThrow('already closing');
    await closed;
    expect([released, sequencer.durableSequence]).toEqual([['10'], 10]);
    expect((await start(folder)).engine.digest()).toBe(engine.digest());
  });
});
