/**
 * The journal in its own thread, on the build: it writes what the journal writes, holds the folder,
 * and after a failure or the end of the thread nothing is acknowledged any more.
 */
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import sqlite3 from 'sqlite3';
import { afterEach, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { openCommitThread, openJournal } from '../../../persistence/data-folder.js';
import type { CommitThread } from '../../../persistence/journal/commit-thread.js';
import { JournalError } from '../../../persistence/journal/errors.js';
import { Sequencer } from '../../../persistence/sequencer.js';
import { closeDatabase, execute, openDatabase } from '../../../persistence/storage/sqlite.js';
import { eventually } from '../../support/eventually.js';
import {
  commandAt,
  Folders,
  journalErrorOf,
  replay,
  START_MS,
} from '../../support/journal-fixture.js';

const folders = new Folders();
const threads: CommitThread[] = [];
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.close().catch(() => {});
  folders.removeAll();
});

async function setup(folder = folders.make()) {
  const journal = await openCommitThread({ folder });
  threads.push(journal);
  const engine = new Engine();
  if (journal.end.sequence > 0) await replay(folder, engine);
  const fatal: Error[] = [];
  const now = () => START_MS + engine.sequence;
  const sequencer = new Sequencer({ engine, journal, now, onFatal: (error) => fatal.push(error) });
  const released: number[] = [];
  const submit = (count: number) => {
    for (let i = 0; i < count; i++) {
      sequencer.submit(commandAt(engine.sequence + 1));
      const { sequence } = engine;
      sequencer.releaseAt(sequence, { release: () => released.push(sequence) });
    }
  };
  return { folder, journal, engine, sequencer, fatal, released, submit };
}

const threadOf = (journal: CommitThread) => (journal as unknown as { thread: Worker }).thread;

it('writes what leads to the same state, however the commands are cut into batches', async () => {
  const { folder, sequencer, engine, submit, released } = await setup();
  for (const count of [1, 200, 3, 0, 1_500, 1]) {
    submit(count);
    await eventually(() => sequencer.backlog === 0);
  }
  const digest = engine.digest();
  expect(released).toEqual(Array.from({ length: 1_705 }, (_, i) => i + 1));
  await sequencer.close();
  const again = await setup(folder);
  expect(again.journal.end).toMatchObject({ sequence: 1_705, digest });
  expect(again.engine.digest()).toBe(digest);
  again.submit(10);
  await again.sequencer.close();
  const recovered = new Engine();
  await replay(folder, recovered);
  expect(recovered.digest()).toBe(again.engine.digest());
});

it('holds the folder until it is closed', async () => {
  const { folder, sequencer, submit } = await setup();
  submit(5);
  expect((await journalErrorOf(openJournal({ folder }))).message).toContain('is in use');
  await sequencer.close();
  const journal = await openJournal({ folder });
  expect(journal.end.sequence).toBe(5);
  expect(journal.notice).toBe(null);
  await journal.close();
});

it('releases nothing after a commit that fails, and writes nothing more', async () => {
  const { folder, journal, sequencer, fatal, released, submit } = await setup();
  submit(5);
  await eventually(() => sequencer.backlog === 0);
  const other = await openDatabase(join(folder, 'journal.db'), sqlite3.OPEN_READWRITE);
  await execute(other, 'DROP TABLE batch');
  await closeDatabase(other);
  submit(5);
  await eventually(() => fatal.length === 1);
  expect(fatal[0]).toBeInstanceOf(JournalError);
  expect(fatal[0]!.message).toMatch(/could not be written: .*no such table/);
  expect(released).toEqual([1, 2, 3, 4, 5]);
  const batch = { firstSequence: 6, lastSequence: 6, records: Buffer.alloc(0), digest: '' };
  expect(() => journal.append(batch, () => {})).toThrow(fatal[0]!.message);
});

it('fails when its thread ends, whether or not a batch is being written', async () => {
  const idle = await setup();
  idle.submit(5);
  await eventually(() => idle.sequencer.backlog === 0);
  await threadOf(idle.journal).terminate();
  idle.submit(1);
  await eventually(() => idle.fatal.length === 1);
  expect(idle.fatal[0]!.message).toMatch(/thread that writes the journal has ended/);
  expect(idle.released).toEqual([1, 2, 3, 4, 5]);

  const busy = await setup();
  const reported: (JournalError | null)[] = [];
  const thread = threadOf(busy.journal);
  // The thread does not receive the batch: it ends first.
  const ended = thread.terminate();
  const batch = { firstSequence: 1, lastSequence: 1, records: Buffer.alloc(8), digest: '' };
  busy.journal.append(batch, (error) => reported.push(error));
  await ended;
  await eventually(() => reported.length === 1);
  expect(reported[0]!.message).toMatch(/thread that writes the journal has ended/);
});

it('reports why it cannot be opened, with the code of the operating system', async () => {
  const folder = folders.make();
  await (await openJournal({ folder })).close();
  const { CommitThread } = await import('../../../persistence/journal/commit-thread.js');
  const found = {
    isNew: false,
    end: { sequence: 0, hash: Buffer.alloc(32), digest: null },
    notice: null,
  };
  const lock = { release: async () => {} };
  const opening = CommitThread.open(join(folder, 'none'), 'full', found, lock);
  await expect(opening).rejects.toMatchObject({ code: 'ENOENT', syscall: 'open' });
});
