/**
 * Damage and loss. Whatever happens to a journal's files, it is either read exactly as it was
 * written or refused with the first sequence that cannot be trusted. A refusal changes nothing.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import type { Command } from '../../../engine/interface/commands.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import type { JournalError } from '../../../persistence/journal/errors.js';
import { bytesOf, GENESIS } from '../../../persistence/journal/format.js';
import { BEHIND_MAX, HeadMark } from '../../../persistence/journal/head-mark.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { rowProblem } from '../../../persistence/journal/row.js';
import type { JournalBatch } from '../../../persistence/journal/store.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import {
  prepareSnapshotFolder,
  snapshotNameOf,
} from '../../../persistence/recovery/snapshot/folder.js';
import {
  append,
  commandAt,
  Folders,
  flip,
  journalErrorOf,
  readAll,
  replay,
  START_MS,
  start,
  tamper,
  write,
  writeJournal,
} from '../../support/journal-fixture.js';

const folders = new Folders();
afterEach(() => folders.removeAll());

const at = (folder: string, name: string) => join(folder, name);
/**
 * The journal's files. An empty -wal file is ignored (reading alone can create one), and recovery
 * may update the head mark before it finds something.
 */
const contents = (folder: string) =>
  ['journal.db', 'journal.db-wal'].map((name) => {
    const path = at(folder, name);
    return existsSync(path) && (name === 'journal.db' || statSync(path).size > 0)
      ? createHash('sha256').update(readFileSync(path)).digest('hex')
      : null;
  });

/** The start fails, names `firstBadSequence`, and changes no file. */
async function expectRefusal(folder: string, firstBadSequence: number): Promise<JournalError> {
  const before = contents(folder);
  const error = await journalErrorOf(start(folder));
  expect(error.firstBadSequence).toBe(firstBadSequence);
  expect(error.message.length).toBeGreaterThan(80);
  expect(contents(folder)).toEqual(before);
  return error;
}

/** What a reader returns before it finds the damage. */
async function readUntilError(
  folder: string,
): Promise<{ good: JournalBatch[]; error: JournalError }> {
  const reader = await openJournalReader(folder);
  const good: JournalBatch[] = [];
  const reading = (async () => {
    for await (const batch of reader.batches()) good.push(batch);
  })();
  const error = await journalErrorOf(reading);
  await reader.close();
  return { good, error };
}

describe('rows that were changed', () => {
  it('a digest of another type, as SQLite returns it when a bit of the row is flipped', async () => {
    const folder = folders.make();
    await writeJournal(folder);
    const [first] = await readAll(folder);
    expect(rowProblem(first!, GENESIS)).toBeNull();
    const digest = Buffer.from(first!.digest) as unknown as string;
    expect(rowProblem({ ...first!, digest }, GENESIS)).toMatch(/^is not what was written/);
  });

  const CHANGES: [string, (folder: string, first: number) => Promise<void>][] = [
    ['a bit of the records', (folder, first) => flip(folder, first, 'records')],
    ['a bit of the digest', (folder, first) => flip(folder, first, 'digest')],
    ['a bit of the hash', (folder, first) => flip(folder, first, 'hash')],
    [
      'the lastSequence',
      (folder, first) => tamper(folder, set('lastSequence = lastSequence + 1', first)),
    ],
    [
      'the lastSequence, downwards',
      (folder, first) => tamper(folder, set('lastSequence = 0', first)),
    ],
    [
      'the firstSequence',
      (folder, first) => tamper(folder, set('firstSequence = firstSequence + 1', first)),
    ],
    [
      'the length of the records',
      (folder, first) => tamper(folder, set("records = CAST(records || x'00' AS BLOB)", first)),
    ],
    [
      'the length of the digest',
      (folder, first) => tamper(folder, set("digest = digest || '0'", first)),
    ],
    ['the length of the hash', (folder, first) => tamper(folder, set("hash = x''", first))],
    [
      'the whole row',
      (folder, first) => tamper(folder, `DELETE FROM batch WHERE firstSequence = ${first}`),
    ],
  ];
  const set = (change: string, first: number) =>
    `UPDATE batch SET ${change} WHERE firstSequence = ${first}`;
  const ROWS = { first: 1, middle: 41, last: 91 };

  it.each(
    CHANGES.flatMap(([what, change], i) =>
      Object.entries(ROWS)
        .filter(([row]) => row === 'middle' || i % 3 === 0)
        .map(([row, first]) => [what, row, change, first] as const),
    ),
  )('%s, in the %s row', async (_what, _row, change, first) => {
    const folder = folders.make();
    const { batches } = await writeJournal(folder);
    await change(folder, first);
    await expectRefusal(folder, first);
    // The rows before it are still read.
    const { good, error } = await readUntilError(folder);
    expect(error.firstBadSequence).toBe(first);
    expect(good).toEqual(batches.slice(0, (first - 1) / 10));
  });

  it('missing last rows, or all rows missing', async () => {
    const folder = folders.make();
    await writeJournal(folder);
    await tamper(folder, 'DELETE FROM batch WHERE firstSequence > 70');
    expect((await expectRefusal(folder, 71)).message).toContain('30 commands are lost');
    await tamper(folder, 'DELETE FROM batch');
    expect((await expectRefusal(folder, 1)).message).toContain('100 commands are lost');
  });

  it('another journal with a valid chain', async () => {
    const folder = folders.make();
    const other = folders.make();
    await writeJournal(folder);
    await writeJournal(other, { batchCount: 20, batchSize: 5 });
    copyFileSync(at(other, 'journal.db'), at(folder, 'journal.db'));
    expect((await expectRefusal(folder, 96)).message).toContain(
      'not the one that journal.head marks at 100',
    );
    // Even if it continues beyond the mark, or has no batch that ends at it.
    rmSync(other, { recursive: true });
    await writeJournal(other, { batchCount: 30, batchSize: 7 });
    copyFileSync(at(other, 'journal.db'), at(folder, 'journal.db'));
    await expectRefusal(folder, 99);
  });
});

describe('valid rows that another program wrote', () => {
  const DIGEST = '0123456789abcdef';

  async function journalOf(
    commands: number[],
    lastSequence: number,
    digest: string | null,
  ): Promise<string> {
    const folder = folders.make();
    const engine = new Engine();
    const journal = await openJournal({ folder });
    await write(journal, engine, { batchCount: 2, batchSize: 10 });
    const records = new RecordBuffer();
    for (const sequence of commands) {
      records.append(commandAt(sequence), START_MS + sequence);
      engine.apply(commandAt(sequence), START_MS + sequence);
    }
    const content = {
      firstSequence: 21,
      lastSequence,
      records: bytesOf(records),
      digest: digest ?? engine.digest(),
    };
    await append(journal, content);
    await journal.close();
    return folder;
  }

  it.each([
    [
      'fewer records than sequences',
      () => journalOf([21, 22, 23], 24, null),
      24,
      'is missing from its row',
    ],
    [
      'more records than sequences',
      () => journalOf([21, 22, 23], 22, null),
      23,
      'should end before it',
    ],
    ['another digest', () => journalOf([21, 22, 23], 23, DIGEST), 21, 'digest is'],
  ])('%s', async (_, make, firstBadSequence, message) => {
    expect((await expectRefusal(await make(), firstBadSequence)).message).toContain(message);
  });

  const FIRST = recordOf({ kind: 'listAsset', symbol: 'BTC' }, START_MS);
  const TEXT_AT = 16;
  it.each([
    ['an unknown kind', Buffer.alloc(16, 0xff), 2, 'cannot be decoded: no record at byte 24'],
    ['a text beyond its record', changed(FIRST, TEXT_AT, 0xfe), 2, 'it ends within a text'],
    ['part of a word', Buffer.alloc(4), 1, 'cannot be decoded: 28 bytes are not'],
    [
      'earlier times',
      recordOf({ kind: 'advanceTime' }, START_MS - 1),
      2,
      '(advanceTime) cannot be',
    ],
  ])('a row with %s', async (_, second, firstBadSequence, message) => {
    const folder = folders.make();
    const journal = await openJournal({ folder });
    const records = Buffer.concat([FIRST, second]);
    await append(journal, { firstSequence: 1, lastSequence: 2, records, digest: DIGEST });
    await journal.close();
    expect((await expectRefusal(folder, firstBadSequence)).message).toContain(message);
  });

  function recordOf(command: Command, atMs: number): Buffer {
    const records = new RecordBuffer();
    records.append(command, atMs);
    return Buffer.from(bytesOf(records));
  }

  function changed(record: Buffer, at: number, byte: number): Buffer {
    const copy = Buffer.from(record);
    copy[at] = byte;
    return copy;
  }
});

describe('journal.db', () => {
  it('with a lost page: everything before it is read, and the loss is named', async () => {
    const folder = folders.make();
    const { batches } = await writeJournal(folder, { batchCount: 80, batchSize: 50 });
    const pageCount = statSync(at(folder, 'journal.db')).size / 4096;
    const firstBad = new Set<number>();
    for (const page of [0.2, 0.4, 0.6, 0.8].map((part) => Math.floor(pageCount * part))) {
      const damaged = folders.copy(folder);
      const file = openSync(at(damaged, 'journal.db'), 'r+');
      writeSync(file, Buffer.alloc(4096), 0, 4096, page * 4096);
      closeSync(file);
      const { good, error } = await readUntilError(damaged);
      expect(good).toEqual(batches.slice(0, good.length));
      expect(error.firstBadSequence).toBe(good.length * 50 + 1);
      firstBad.add(good.length * 50 + 1);
      await expectRefusal(damaged, good.length * 50 + 1);
    }
    expect(firstBad.size).toBeGreaterThan(2);
  });

  it.each([
    ['empty', Buffer.alloc(0), 'gone or empty'],
    ['not a database', Buffer.alloc(8192, 'x'), 'cannot be read'],
  ])('%s', async (_, content, message) => {
    const folder = folders.make();
    await writeJournal(folder);
    writeFileSync(at(folder, 'journal.db'), content);
    expect((await expectRefusal(folder, 1)).message).toContain(message);
  });

  it.each([1, 3])('empty, without a mark, and its log has %i batches', async (batchCount) => {
    const live = folders.make();
    const journal = await openJournal({ folder: live });
    await write(journal, new Engine(), { batchCount, batchSize: 3 });
    const folder = folders.copy(live);
    await journal.close();
    writeFileSync(at(folder, 'journal.db'), '');
    rmSync(at(folder, 'journal.head'));
    expect(statSync(at(folder, 'journal.db-wal')).size).toBeLessThan(32_768);
    expect((await expectRefusal(folder, 1)).message).toContain('its -wal file is there');
  });

  it('not there yet, as a kill while it is made leaves it: the start makes it', async () => {
    const folder = folders.make();
    await writeJournal(folder, { batchCount: 1, batchSize: 1 });
    for (const name of readdirSync(folder)) if (name !== 'journal.lock') rmSync(at(folder, name));
    writeFileSync(at(folder, 'journal.db.new'), 'half');
    writeFileSync(at(folder, 'journal.db.new-wal'), 'half');
    await (await openJournal({ folder })).close();
    expect(readdirSync(folder).sort()).toEqual(['journal.db', 'journal.head', 'journal.lock']);
  });

  it('that SQLite would open read-only', async () => {
    const folder = folders.make();
    await writeJournal(folder);
    const bytes = readFileSync(at(folder, 'journal.db'));
    // The version that a writer must know.
    bytes[18]! ^= 4;
    writeFileSync(at(folder, 'journal.db'), bytes);
    await expectRefusal(folder, 101);
  });

  it('missing, beside a snapshot', async () => {
    const folder = folders.make();
    await prepareSnapshotFolder(folder);
    writeFileSync(snapshotNameOf(folder, 90).path, '');
    expect((await expectRefusal(folder, 1)).message).toContain('was taken at sequence 90');
  });

  it('missing', async () => {
    const folder = folders.make();
    await writeJournal(folder);
    rmSync(at(folder, 'journal.db'));
    expect((await expectRefusal(folder, 1)).message).toContain(
      'commands up to 100 had been acknowledged (journal.head)',
    );
  });
});

describe('journal.db-wal, after a crash', () => {
  /** Ten batches that are all still in the -wal file, and the files as a kill would leave them. */
  async function crashed(): Promise<{ folder: string; digest: string }> {
    const live = folders.make();
    const engine = new Engine();
    const journal = await openJournal({ folder: live });
    await write(journal, engine, { batchCount: 10, batchSize: 10 });
    const folder = folders.copy(live);
    await journal.close();
    expect(statSync(at(folder, 'journal.db-wal')).size).toBeGreaterThan(4096 * 10);
    return { folder, digest: engine.digest() };
  }

  it('unchanged: nothing is lost', async () => {
    const { folder, digest } = await crashed();
    const { engine, notice } = await start(folder);
    expect([engine.sequence, engine.digest(), notice]).toEqual([100, digest, null]);
  });

  it('deleted', async () => {
    const { folder } = await crashed();
    rmSync(at(folder, 'journal.db-wal'));
    expect((await expectRefusal(folder, 1)).message).toContain('100 commands are lost');
  });

  it('truncated, or with a flipped bit: refused, and everything before it is read', async () => {
    const { folder } = await crashed();
    const size = statSync(at(folder, 'journal.db-wal')).size;
    for (const damage of ['cut', 'flip']) {
      const damaged = folders.copy(folder);
      const log = at(damaged, 'journal.db-wal');
      if (damage === 'cut') truncateSync(log, Math.floor(size / 2));
      else {
        const bytes = readFileSync(log);
        bytes[Math.floor(size / 2)]! ^= 1;
        writeFileSync(log, bytes);
      }
      const engine = new Engine();
      const error = await journalErrorOf(replay(damaged, engine));
      expect(engine.sequence).toBeGreaterThanOrEqual(20);
      expect(engine.sequence).toBeLessThan(100);
      expect(error.firstBadSequence).toBe(engine.sequence + 1);
      await expectRefusal(damaged, engine.sequence + 1);
    }
  });

  it('alone, without journal.db', async () => {
    const { folder } = await crashed();
    rmSync(at(folder, 'journal.db'));
    expect((await expectRefusal(folder, 1)).message).toContain('-wal file is there');
  });
});

describe('journal.head', () => {
  it.each([
    [BEHIND_MAX, true],
    [BEHIND_MAX + 1, false],
  ])('that is %i commits older is accepted: %s', async (batchCount, isAccepted) => {
    const folder = folders.make();
    const engine = new Engine();
    const journal = await openJournal({ folder, durability: 'off' });
    await write(journal, engine, { batchCount: 3, batchSize: 2 });
    const older = readFileSync(at(folder, 'journal.head'));
    await write(journal, engine, { batchCount, batchSize: 2 });
    await journal.close();
    writeFileSync(at(folder, 'journal.head'), older);
    const { sequence } = engine;
    if (!isAccepted) {
      const { message } = await expectRefusal(folder, sequence + 1);
      expect(message).toMatch(/journal\.head is outdated .*put back from a copy/);
    }
    expect((await start(folder, !isAccepted)).engine.sequence).toBe(sequence);
  });

  it.each([
    ['zeros', Buffer.alloc(8192)],
    ['empty', Buffer.alloc(0)],
    ['noise', Buffer.alloc(8192, 'noise')],
  ])('that is unreadable (%s) is refused, unless the operator accepts it', async (_, content) => {
    const folder = folders.make();
    await writeJournal(folder);
    writeFileSync(at(folder, 'journal.head'), content);
    await expect(start(folder)).rejects.toThrow(/unreadable.*ACCEPT_MISSING_MARK/s);
    const journal = await openJournal({ folder, acceptMissingMark: true });
    expect(journal.notice).toContain('unreadable');
    expect(journal.end.sequence).toBe(100);
    await journal.close();
    expect((await start(folder)).notice).toBeNull();
  });

  it.each([0, 4_096])('is first written where it is torn, at byte %i', async (torn) => {
    const folder = folders.make();
    const { end } = await writeJournal(folder);
    const path = at(folder, 'journal.head');
    const head = readFileSync(path);
    writeFileSync(path, head.fill(0, torn, torn + 80));
    const mark = new HeadMark(path, end);
    // Two marks are written at the start, so the next one is where the first was.
    const before = readFileSync(path);
    mark.write({ ...end, sequence: end.sequence + 1 });
    const after = readFileSync(path);
    await mark.close();
    for (const slot of [0, 4_096]) {
      const isSame = after.subarray(slot, slot + 80).equals(before.subarray(slot, slot + 80));
      expect(isSame).toBe(slot !== torn);
    }
  });

  it('with one slot torn still marks the commit before', async () => {
    const folder = folders.make();
    await writeJournal(folder);
    const head = readFileSync(at(folder, 'journal.head'));
    const notices = [];
    for (const slot of [0, 4096]) {
      const torn = Buffer.from(head);
      torn[slot + 20] = torn[slot + 20]! ^ 1;
      writeFileSync(at(folder, 'journal.head'), torn);
      notices.push((await start(folder)).notice);
    }
    expect(notices.sort()).toEqual([expect.stringContaining('1 commits behind'), null]);
  });

  it("that is missing is refused, because the journal's end is unknown, unless the operator accepts it", async () => {
    const folder = folders.make();
    await writeJournal(folder);
    rmSync(at(folder, 'journal.head'));
    expect((await expectRefusal(folder, 101)).message).toContain('journal.head is missing');
    const { engine, notice } = await start(folder, true);
    expect(engine.sequence).toBe(100);
    expect(notice).toContain('journal.head was missing');
    expect((await start(folder)).notice).toBeNull();
  });

  it('that is missing, with all rows of the journal', async () => {
    const folder = folders.make();
    const live = folders.make();
    const journal = await openJournal({ folder: live });
    await write(journal, new Engine(), { batchCount: 1, batchSize: 10 });
    // Only journal.db, copied from a running exchange.
    await (await openJournal({ folder })).close();
    copyFileSync(at(live, 'journal.db'), at(folder, 'journal.db'));
    rmSync(at(folder, 'journal.head'));
    await journal.close();
    await expectRefusal(folder, 1);
  });

  it('that is ahead, or marks another batch', async () => {
    const folder = folders.make();
    const { batches } = await writeJournal(folder);
    const mark = (sequence: number, hash: Buffer) => {
      rmSync(at(folder, 'journal.head'));
      void new HeadMark(at(folder, 'journal.head'), { sequence, hash }).close();
    };
    mark(107, batches[9]!.hash);
    expect((await expectRefusal(folder, 101)).message).toContain('7 commands are lost');
    mark(100, batches[8]!.hash);
    await expectRefusal(folder, 91);
    mark(55, batches[5]!.hash);
    await expectRefusal(folder, 51);
    mark(60, batches[5]!.hash);
    expect((await start(folder)).engine.sequence).toBe(100);
  });
});
