/**
 * The follower in this thread: disagreement, when snapshots are taken, how reads wait and when they
 * are refused. follower-thread.test.ts tests the real thread, history.test.ts the answers.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import { CommitMarks } from '../../../persistence/follower/lag.js';
import { type FinishSnapshot, intervalFactor } from '../../../persistence/follower/snapshots.js';
import { cataloguePath, openPath } from '../../../persistence/history/parts/catalogue.js';
import type { HistoryRequest } from '../../../persistence/history/requests.js';
import { bytesOf } from '../../../persistence/journal/format.js';
import type { Journal } from '../../../persistence/journal/journal.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import { recoverFromSnapshot } from '../../../persistence/recovery/recovery.js';
import { readSnapshot } from '../../../persistence/recovery/snapshot/file.js';
import {
  listSnapshots,
  prepareSnapshotFolder,
  snapshotNameOf,
} from '../../../persistence/recovery/snapshot/folder.js';
import { closeDatabase, execute, openDatabase } from '../../../persistence/storage/sqlite.js';
import { registration } from '../../support/engine-support.js';
import { eventually } from '../../support/eventually.js';
import { vouchForSnapshots } from '../../support/folders/vouch.js';
import {
  finishHere,
  journalOf,
  Log,
  startFollower,
  type TestFollower,
  writeCommands,
} from '../../support/follower-fixture.js';
import { dayOfCommands, type TimedCommand } from '../../support/history-oracle.js';
import { append, appendCommand, Folders } from '../../support/journal-fixture.js';

const folders = new Folders();
const followers: TestFollower[] = [];
const journals: Journal[] = [];
let commands: TimedCommand[];
beforeAll(() => {
  commands = dayOfCommands();
});
afterEach(async () => {
  for (const follower of followers.splice(0)) await follower.close();
  for (const journal of journals.splice(0)) await journal.close();
  folders.removeAll();
});

const TRADES: HistoryRequest & { kind: 'userTrades' } = {
  kind: 'userTrades',
  userId: 1,
  limit: 1,
  cursor: null,
};

function start(
  folder: string,
  durable: number,
  snapshots?: { everyCommands: number; everyMs: number },
): TestFollower {
  const follower = startFollower(folder, durable, snapshots);
  followers.push(follower);
  return follower;
}

/** An exchange's journal, and its follower. */
async function trading(
  snapshots?: { everyCommands: number; everyMs: number },
  write?: FinishSnapshot,
) {
  const folder = folders.make();
  const journal = await openJournal({ folder });
  journals.push(journal);
  const engine = new Engine();
  const follower = startFollower(folder, 0, snapshots, write);
  followers.push(follower);
  /**
   * Writes the next commands of the day, up to this one, and waits until the follower has read
   * them.
   */
  const goOn = async (to: number) => {
    await writeCommands(journal, engine, commands.slice(engine.sequence, to));
    follower.committed(engine.sequence);
    await follower.read(TRADES);
  };
  return { folder, journal, engine, follower, goOn };
}

describe('disagreement', () => {
  it('reports a digest that it does not compute, with its batch, and answers nothing afterwards', async () => {
    const { journal, follower, goOn } = await trading();
    await goOn(1_000);
    // A batch of another engine: the chain fits, the digest does not.
    const { command, atMs } = commands[1_000]!;
    await appendCommand(journal, command, atMs, '0123456789abcdef');
    follower.committed(1_001);
    await eventually(() => expect(follower.disagreements.length).toBe(1));
    expect(follower.disagreements[0]!.sequence).toBe(1_001);
    expect(follower.disagreements[0]!.message).toMatch(/digest/);
    await eventually(async () => {
      expect(await follower.reply(TRADES, 0)).toMatchObject({
        status: 'unavailable',
        reason: /has stopped/,
      });
    });
  });

  it('finds that the end of the journal is removed while it runs', async () => {
    const folder = folders.make();
    await journalOf(folder, commands.slice(0, 1_000));
    const follower = start(folder, 1_000);
    await follower.read(TRADES);
    // A commit is announced, but is not in the journal.
    follower.committed(1_010);
    await eventually(() => expect(follower.disagreements.length).toBe(1));
    expect(follower.disagreements[0]!.sequence).toBe(1_001);
  });
});

const loggedSnapshots = ({ log }: TestFollower) =>
  log.of('info').filter(({ message }) => message.startsWith('a snapshot')).length;

describe('snapshots', () => {
  it('are taken every given number of commands, the last three are kept, and the history is never behind them', async () => {
    const { folder, follower, goOn } = await trading({ everyCommands: 500, everyMs: 1e15 });
    const seen = new Set<number>();
    for (let to = 250; to <= 4_000; to += 250) {
      await goOn(to);
      for (const { sequence } of listSnapshots(folder)) {
        seen.add(sequence);
        expect(sequence).toBeLessThanOrEqual(follower.board.get('projected'));
      }
    }
    expect(seen.size).toBeGreaterThan(5);
    expect(seen.size).toBeLessThan(9);
    expect(listSnapshots(folder).length).toBe(3);
    expect(follower.written.map(({ sequence }) => sequence)).toEqual([...seen]);
    expect(loggedSnapshots(follower)).toBe(seen.size);
  });

  it('are taken after a given time of the exchange', async () => {
    const { folder, follower, goOn } = await trading({ everyCommands: 1e9, everyMs: 600_000 });
    await goOn(commands.length);
    // Two windows take half an hour, in which more than the three kept snapshots are written.
    expect(loggedSnapshots(follower)).toBeGreaterThan(3);
    expect(listSnapshots(folder).length).toBe(3);
  });

  it('are taken the more rarely the larger the state is', async () => {
    vi.spyOn(Engine.prototype, 'archiveBytes').mockReturnValue(150_000_000);
    const { follower, goOn } = await trading({ everyCommands: 500, everyMs: 1e15 });
    for (let to = 250; to <= 4_000; to += 250) await goOn(to);
    vi.restoreAllMocks();
    // A snapshot every 2,000 commands.
    expect(follower.written.map(({ sequence }) => Math.floor(sequence / 500))).toEqual([4]);
    expect([1, 50_000_000, 50_000_001, 490_000_000, 2e9].map(intervalFactor)).toEqual([
      1, 1, 2, 16, 64,
    ]);
  });

  it('are the same on every node of a cluster, so the leader vouches for those of all', async () => {
    const schedule = { everyCommands: 700, everyMs: 900_000 };
    const { folder: leading, journal, engine, follower: leader } = await trading(schedule);
    const other = folders.make();
    const place = { folder: leading };
    const startOther = (durable: number) => {
      const follower = startFollower(other, durable, schedule, finishHere, place);
      followers.push(follower);
      return follower;
    };
    let node = startOther(0);
    let vouched = 0;
    for (let from = 0; from < 3_000; from += 300) {
      await writeCommands(journal, engine, commands.slice(from, from + 300));
      leader.committed(engine.sequence);
      await leader.read(TRADES);
      // The other node follows in longer steps, and restarts in the middle.
      if (from % 600 === 300) {
        node.committed(engine.sequence);
        await node.read(TRADES);
      }
      const atMs = engine.nowMs;
      const vouches = leader.written.slice(vouched).map(({ sequence, hash }) => {
        const of = { snapshotSequence: sequence, snapshotHash: hash };
        return { command: { kind: 'vouchForSnapshot' as const, ...of }, atMs };
      });
      await writeCommands(journal, engine, vouches);
      vouched += vouches.length;
      if (from === 1_500) {
        await node.close();
        node = startOther(engine.sequence);
      }
    }
    node.committed(engine.sequence);
    await node.read(TRADES);
    await leader.read(TRADES);
    const hashes = (folder: string) =>
      listSnapshots(folder).map(({ sequence, path }) => [sequence, readSnapshot(path).hash]);
    expect(hashes(other)).toEqual(hashes(leading));
    expect(vouched).toBeGreaterThan(3);
    expect(node.log.of('info')[1]).toMatchObject({
      fields: { snapshotSequence: expect.any(Number) },
      message: 'the follower starts',
    });
    expect(node.board.get('snapshotSequence')).toBe(leader.written.at(-1)!.sequence);
    // The node restarts from its own snapshot, because the leader has journalled the same hash.
    const reader = await openJournalReader(leading);
    const log = new Log();
    const recovered = await recoverFromSnapshot({ folder: other, reader, log, elapsedMs: () => 0 });
    await reader.close();
    expect(recovered.snapshotSequence).toBe(leader.written.at(-1)!.sequence);
    expect(log.of('warn')).toEqual([]);
  });

  it('end the session when the journal vouches for other bytes, also while they are written', async () => {
    let finish = () => {};
    const isFinished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    // The file appears only after its hash is in the journal.
    const write: FinishSnapshot = (path) => {
      const { done, cancel } = finishHere(path);
      return { done: Promise.all([done, isFinished]).then(([hash]) => hash), cancel };
    };
    const schedule = { everyCommands: 500, everyMs: 1e15 };
    const { folder, journal, engine, follower, goOn } = await trading(schedule, write);
    await goOn(600);
    const [snapshot] = listSnapshots(folder);
    const of = { snapshotSequence: snapshot!.sequence, snapshotHash: '0'.repeat(64) };
    const vouch = { command: { kind: 'vouchForSnapshot' as const, ...of }, atMs: engine.nowMs };
    await writeCommands(journal, engine, [vouch]);
    follower.committed(engine.sequence);
    await follower.read(TRADES);
    expect(follower.disagreements).toEqual([]);
    finish();
    await eventually(() => expect(follower.written.length).toBe(1));
    await writeCommands(journal, engine, commands.slice(600, 700));
    follower.committed(engine.sequence);
    await eventually(() => expect(follower.disagreements.length).toBe(1));
    expect(follower.disagreements[0]!.message).toContain('vouches for a snapshot at sequence');
  });

  it('are not taken while it catches up with a long journal', async () => {
    const folder = folders.make();
    await journalOf(folder, commands);
    const follower = start(folder, commands.length, { everyCommands: 1_000, everyMs: 1e15 });
    await follower.read(TRADES);
    for (const { sequence } of listSnapshots(folder))
      expect(sequence).toBeGreaterThan(commands.length - 1_000);
    expect(listSnapshots(folder).length).toBe(1);
  });

  it('logs one that cannot be written, and continues', async () => {
    const { folder, follower, goOn } = await trading({ everyCommands: 400, everyMs: 1e15 });
    await goOn(300);
    rmSync(join(folder, 'snapshots'), { recursive: true });
    await goOn(600);
    expect(follower.log.of('error').map(({ message }) => message)).toEqual([
      'the snapshots cannot be made now; trading continues',
    ]);
    mkdirSync(join(folder, 'snapshots'));
    await goOn(1_100);
    expect(listSnapshots(folder).length).toBe(1);
  });

  it('damaged ones ahead of the journal do not keep others from being taken or kept', async () => {
    const folder = folders.make();
    await journalOf(folder, commands.slice(0, 2_000));
    await prepareSnapshotFolder(folder);
    const ahead = [1e9, 2e9, 3e9].map((sequence) => snapshotNameOf(folder, sequence));
    for (const { path } of ahead) writeFileSync(path, 'nothing');
    const follower = start(folder, 2_000, { everyCommands: 1_900, everyMs: 1e15 });
    await follower.read(TRADES);
    await eventually(() => expect(listSnapshots(folder).length).toBe(4));
    expect(listSnapshots(folder).slice(0, 3)).toEqual(ahead.toReversed());
    expect(readSnapshot(listSnapshots(folder)[3]!.path).engine.sequence).toBeGreaterThan(1_800);
  });
});

describe('a long batch', () => {
  it('is applied in several turns, and nothing is answered from within it', async () => {
    const folder = folders.make();
    const journal = await openJournal({ folder });
    const engine = new Engine();
    const ends: number[] = [0];
    for (const size of [30, 12_000]) {
      const records = new RecordBuffer();
      const firstSequence = engine.sequence + 1;
      for (let i = 0; i < size; i++) {
        const command = registration(`user-${engine.sequence + 1}`, 1);
        records.append(command, 1_000);
        engine.apply(command, 1_000);
      }
      const { sequence: lastSequence } = engine;
      const batch = { firstSequence, lastSequence, digest: engine.digest() };
      await append(journal, { ...batch, records: bytesOf(records) });
      ends.push(lastSequence);
    }
    await journal.close();
    const follower = start(folder, engine.sequence);
    const answered: number[] = [];
    let turns = 0;
    while (follower.board.get('applied') < engine.sequence) {
      if (follower.board.get('applied') === 30) turns++;
      const request = { kind: 'rank', userId: 1, metric: 'volume', period: 'day' } as const;
      void follower.reply(request, 1).then((reply) => {
        if (reply.status === 'ok') answered.push(reply.sequence);
      });
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => expect(answered).toContain(engine.sequence));
    expect(turns).toBeGreaterThan(3);
    expect(answered.filter((sequence) => !ends.includes(sequence))).toEqual([]);
  });
});

describe('a history that is far behind', () => {
  const EVERY = { everyCommands: 500, everyMs: 1e15 };

  /** Writes a journal of many segments with snapshots. Returns its last sequence. */
  async function withSnapshots(folder: string): Promise<number> {
    const journal = await openJournal({ folder, segmentBytes: 20_000 });
    const engine = new Engine();
    const follower = startFollower(folder, 0, EVERY);
    for (let from = 0; from < 3_000; from += 500) {
      await writeCommands(journal, engine, commands.slice(from, from + 500));
      follower.committed(engine.sequence);
      await follower.read(TRADES);
    }
    await follower.close();
    await journal.close();
    return vouchForSnapshots(folder);
  }

  /** Adds `count` commands to the journal. */
  async function goOn(folder: string, from: number, count: number): Promise<number> {
    const { engine, journal } = await recovered(folder);
    const lastMs = engine.nowMs;
    const more = commands.slice(from, from + count);
    await writeCommands(
      journal,
      engine,
      more.map(({ command, atMs }) => ({ command, atMs: Math.max(atMs, lastMs) })),
    );
    await journal.close();
    return engine.sequence;
  }

  async function recovered(folder: string) {
    const reader = await openJournalReader(folder);
    const log = new Log();
    const { engine } = await recoverFromSnapshot({ folder, reader, log, elapsedMs: () => 0 });
    await reader.close();
    return { engine, journal: await openJournal({ folder }) };
  }

  it('and cannot be built stops neither the check of the journal nor snapshots', async () => {
    const folder = folders.make();
    const end = await withSnapshots(folder);
    // The catalogue is damaged, and the segments for rebuilding it are in an archive.
    writeFileSync(cataloguePath(folder), 'nothing');
    for (const name of ['journal.db', 'journal-000002.db'])
      rmSync(join(folder, name), { force: true });
    const follower = start(folder, end, EVERY);
    await eventually(() => expect(follower.board.get('applied')).toBe(end));
    expect(follower.troubles.at(-1)![1]).toMatch(/the commands from sequence 1 on are in/);
    const durable = await goOn(folder, 3_000, 1_500);
    follower.committed(durable);
    await eventually(() => expect(follower.written.length).toBeGreaterThan(0));
    expect(follower.written[0]!.sequence).toBeGreaterThan(end);
    await eventually(() => expect(follower.board.get('applied')).toBe(durable));
    expect(follower.disagreements).toEqual([]);
    // A batch that leads to another state is found.
    const { engine, journal } = await recovered(folder);
    const sequence = durable + 1;
    await appendCommand(journal, { kind: 'advanceTime' }, engine.nowMs, new Engine().digest());
    await journal.close();
    follower.committed(sequence);
    await eventually(() => expect(follower.disagreements.length).toBe(1));
    expect(follower.disagreements[0]!.sequence).toBe(sequence);
  });

  it('is built anew, and takes the snapshots again when it has caught up', async () => {
    const folder = folders.make();
    const end = await withSnapshots(folder);
    writeFileSync(cataloguePath(folder), 'nothing');
    // The other engine may or may not begin before this one reaches the end.
    const follower = start(folder, end, { everyCommands: 800, everyMs: 1e15 });
    expect((await follower.read(TRADES)).entries.length).toBe(1);
    const durable = await goOn(folder, 3_000, 1_500);
    follower.committed(durable);
    await follower.read(TRADES);
    await eventually(() => expect(follower.written.length).toBeGreaterThan(0));
    expect(follower.board.get('projected')).toBe(durable);
    expect(follower.disagreements).toEqual([]);
  });
});

describe('failures outside the journal', () => {
  it('retries a history that another process has locked, and continues where it was', async () => {
    const { folder, journal, engine, follower, goOn } = await trading();
    await goOn(1_000);
    const database = await openDatabase(openPath(folder, 1), sqlite3.OPEN_READWRITE);
    await execute(database, 'BEGIN IMMEDIATE');
    await writeCommands(journal, engine, commands.slice(1_000, 4_000));
    follower.committed(4_000);
    await eventually(() => expect(follower.log.of('error').length).toBe(1));
    await execute(database, 'ROLLBACK');
    await closeDatabase(database);
    expect((await follower.read(TRADES)).entries.length).toBe(1);
    const problems = follower.log.of('error').map(({ message }) => message);
    expect(new Set(problems)).toEqual(
      new Set(['the history cannot be made now; trading continues']),
    );
    const starts = follower.log
      .of('info')
      .filter(({ message }) => message === 'the follower starts');
    expect(starts.at(-1)!.fields).toMatchObject({ historySequence: 1_000 });
    expect(follower.disagreements).toEqual([]);
  });
});

describe('a journal that cannot be read now', () => {
  const reasonOf = (follower: TestFollower) => follower.troubles.at(-1)?.[1];

  it('because another process has locked it, is retried and logged, and not reported as damaged', async () => {
    const folder = folders.make();
    await journalOf(folder, commands.slice(0, 1_000));
    const other = await openDatabase(join(folder, 'journal.db'), sqlite3.OPEN_READWRITE);
    await execute(other, 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    const follower = start(folder, 1_000);
    await eventually(() => expect(follower.troubles.length).toBeGreaterThan(1));
    expect(follower.disagreements).toEqual([]);
    expect(reasonOf(follower)).toMatch(/journal\.db cannot be read now: SQLITE_BUSY/);
    await execute(other, 'ROLLBACK');
    await closeDatabase(other);
    expect((await follower.read(TRADES)).entries.length).toBe(1);
    await eventually(() => expect(reasonOf(follower)).toBe(null));
    expect(follower.disagreements).toEqual([]);
  });
});

describe('the lag', () => {
  it('is the time since the oldest unprojected commit, to within a tenth of a second', () => {
    const marks = new CommitMarks();
    expect(marks.lagMs(0, 5_000)).toBe(0);
    marks.committed(10, 0, 1_000);
    marks.committed(20, 0, 1_050);
    marks.committed(30, 0, 1_500);
    expect(marks.lagMs(0, 2_000)).toBe(1_000);
    expect(marks.lagMs(19, 2_000)).toBe(1_000);
    expect(marks.lagMs(20, 2_000)).toBe(500);
    expect(marks.lagMs(30, 2_000)).toBe(0);
    marks.committed(31, 30, 3_000);
    expect(marks.lagMs(30, 3_250)).toBe(250);
    expect(marks.lagMs(31, 3_500)).toBe(0);
    // The history is rebuilt.
    expect(marks.lagMs(0, 4_000)).toBe(0);
    expect(marks.lagMs(10, 5_000)).toBe(1_000);
  });

  it('uses bounded memory and is never reported too small when the follower stops', () => {
    const marks = new CommitMarks();
    for (let i = 0; i < 100_000; i++) marks.committed(i + 1, 0, i * 200);
    expect(marks.lagMs(0, 20_000_000)).toBe(20_000_000);
    expect(marks.lagMs(50_000, 20_000_000)).toBeGreaterThanOrEqual(20_000_000 - 50_000 * 200);
    expect(marks.lagMs(100_000, 20_000_000)).toBe(0);
  });
});
