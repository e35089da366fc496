/**
 * Damage and loss, one row each: the folder, the damage, and the message at startup. Each row is
 * tried with a start, a reader, a follower and `verify`. In every case the journal is either read
 * exactly as it was written, or refused with the first sequence that cannot be trusted, and a
 * refusal changes nothing.
 */
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Engine } from '../../engine/engine.js';
import type { Command } from '../../engine/interface/commands.js';
import { RecordBuffer } from '../../engine/interface/records.js';
import { JournalError, JournalUnavailable } from '../../persistence/journal/errors.js';
import { bytesOf } from '../../persistence/journal/format.js';
import { HeadMark } from '../../persistence/journal/head-mark.js';
import { openJournalReader } from '../../persistence/journal/reader.js';
import { segmentAt } from '../../persistence/journal/segments.js';
import type { JournalBatch } from '../../persistence/journal/store.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { snapshotNameOf } from '../../persistence/recovery/snapshot/folder.js';
import { query } from '../../persistence/storage/sqlite.js';
import { eventually } from '../support/eventually.js';
import { startFollower } from '../support/follower-fixture.js';
import {
  append,
  commandAt,
  Folders,
  flip,
  journalErrorOf,
  recovered,
  START_MS,
  withDatabase,
  write,
  writeJournal,
  writeSegments,
} from '../support/journal-fixture.js';
import { linesOf, replayTool, traceOf } from '../support/replay-tool.js';

const originals = new Folders();
const folders = new Folders();
afterEach(() => folders.removeAll());
afterAll(() => originals.removeAll());

const WHOLE = {
  /** Ten batches of ten commands; the exchange was stopped. */
  stopped: () => written(10, 10),
  /** The same batches; the exchange was killed, so all are in the log. */
  killed: () => killed(10, 10),
  /** Killed so early that the log is shorter than its index. */
  early: () => killed(1, 3),
  /** A journal of many pages. */
  long: () => written(80, 50),
  /** Sealed segments and an open one, with a snapshot in the middle of the fourth. */
  segments: async () => {
    const folder = originals.make();
    await writeSegments(folder);
    return folder;
  },
};
const wholes = new Map<string, { folder: string; batches: JournalBatch[] }>();

beforeAll(async () => {
  for (const [name, make] of Object.entries(WHOLE)) {
    const folder = await make();
    const { good: batches, error } = await readable(originals.copy(folder));
    expect(error).toBeNull();
    wholes.set(name, { folder, batches });
  }
});

async function written(batchCount: number, batchSize: number): Promise<string> {
  const folder = originals.make();
  await writeJournal(folder, { batchCount, batchSize });
  return folder;
}

async function killed(batchCount: number, batchSize: number): Promise<string> {
  const live = originals.make();
  const journal = await openJournal({ folder: live });
  await write(journal, new Engine(), { batchCount, batchSize });
  const folder = originals.copy(live);
  await journal.close();
  return folder;
}

type Damage = (folder: string) => unknown;
/** @param bad the first sequence that is not trusted. Default: the first that cannot be read. */
type Refused = readonly [what: string, damage: Damage, says: RegExp, bad?: number];

const path = (folder: string, name: string) => join(folder, name);
const all =
  (...damages: Damage[]): Damage =>
  async (folder) => {
    for (const damage of damages) await damage(folder);
  };
const remove =
  (...names: string[]): Damage =>
  (folder) => {
    for (const name of names) rmSync(path(folder, name), { recursive: true });
  };
const become =
  (name: string, bytes: Buffer | string): Damage =>
  (folder) => {
    rmSync(path(folder, name));
    writeFileSync(path(folder, name), bytes);
  };
const change =
  (name: string, change: (bytes: Buffer) => unknown): Damage =>
  (folder) => {
    const bytes = readFileSync(path(folder, name));
    change(bytes);
    become(name, bytes)(folder);
  };
const sql =
  (statement: string, segment = 1): Damage =>
  async (folder) => {
    const { path } = segmentAt(folder, segment);
    chmodSync(path, 0o600);
    await withDatabase(path, (database) => query(database, statement));
  };
const row = (first: number, change: string) =>
  sql(`UPDATE batch SET ${change} WHERE firstSequence = ${first}`);
/** Replaces the journal with another one, whose chain is valid, and keeps the mark. */
const another =
  (batchCount: number, batchSize: number): Damage =>
  async (folder) => {
    const other = folders.make();
    await writeJournal(other, { batchCount, batchSize });
    copyFileSync(path(other, 'journal.db'), path(folder, 'journal.db'));
  };
const mark =
  (sequence: number, batch: number): Damage =>
  async (folder) => {
    rmSync(path(folder, 'journal.head'));
    const { hash } = wholes.get('stopped')!.batches[batch]!;
    await new HeadMark(path(folder, 'journal.head'), { sequence, hash }).close();
  };
const DIGEST = '0123456789abcdef';
/** Appends a batch whose chain fits and whose content is wrong, as a faulty program might. */
const goOn =
  (lastSequence: number, ...records: Buffer[]): Damage =>
  async (folder) => {
    const journal = await openJournal({ folder });
    const batch = { firstSequence: 101, lastSequence, digest: DIGEST };
    await append(journal, { ...batch, records: Buffer.concat(records) });
    await journal.close();
  };
const record = (command: Command, atMs = START_MS + 101) => {
  const records = new RecordBuffer();
  records.append(command, atMs);
  return Buffer.from(bytesOf(records));
};
const THREE = [101, 102, 103].map((sequence) => record(commandAt(sequence), START_MS + sequence));
const ONE = record({ kind: 'listAsset', symbol: 'ETH' });
const BROKEN_TEXT = Buffer.from(ONE).fill(0xfe, 16, 17);
const EARLIER = record({ kind: 'advanceTime' }, START_MS);

const IN_A_ROW: [what: string, damage: (first: number) => Damage][] = [
  ['a bit of its records', (first) => (folder) => flip(folder, first, 'records')],
  ['a bit of its digest', (first) => (folder) => flip(folder, first, 'digest')],
  ['a bit of its hash', (first) => (folder) => flip(folder, first, 'hash')],
  ['its lastSequence', (first) => row(first, 'lastSequence = lastSequence + 1')],
  ['its lastSequence, downwards', (first) => row(first, 'lastSequence = 0')],
  ['its firstSequence', (first) => row(first, 'firstSequence = firstSequence + 1')],
  ['its length', (first) => row(first, "records = CAST(records || x'00' AS BLOB)")],
  ["its digest's length", (first) => row(first, "digest = digest || '0'")],
  ["its hash's length", (first) => row(first, "hash = x''")],
  ['all of it', (first) => sql(`DELETE FROM batch WHERE firstSequence = ${first}`)],
];
const ROWS = IN_A_ROW.flatMap(([what, damage], i) =>
  [1, 41, 91]
    .filter((first) => first === 41 || i % 3 === 0)
    .map((first): Refused => [`row ${first}: ${what}`, damage(first), /journal\.db/, first]),
);
const PAGES = [0.2, 0.4, 0.6, 0.8].map((share): Refused => {
  const lose = (bytes: Buffer) => {
    const at = Math.floor((bytes.length / 4096) * share) * 4096;
    bytes.fill(0, at, at + 4096);
  };
  return [
    `a lost page, ${100 * share} % from the start`,
    change('journal.db', lose),
    /journal\.db/,
  ];
});
const halve =
  (name: string): Damage =>
  (folder) => {
    truncateSync(path(folder, name), statSync(path(folder, name)).size >> 1);
  };
const replaceBy = (folder: string, segment: number, other: number) => {
  const [to, from] = [segmentAt(folder, segment).path, segmentAt(folder, other).path];
  rmSync(to);
  copyFileSync(from, to);
};
const NOISE = Buffer.alloc(8192, 'x');
const MARKS: [what: string, damage: Damage, state: string][] = [
  ['gone', remove('journal.head'), 'missing'],
  ['zeros', become('journal.head', Buffer.alloc(8192)), 'unreadable'],
  ['empty', become('journal.head', ''), 'unreadable'],
  ['noise', become('journal.head', NOISE), 'unreadable'],
];
const ZEROED = 'UPDATE batch SET records = zeroblob(length(records))';
const OF_FIRST = 'WHERE rowid = (SELECT min(rowid) FROM batch)';
const OF_LAST = 'WHERE rowid = (SELECT max(rowid) FROM batch)';

/** Damage that a start refuses. */
const REFUSED: Partial<Record<keyof typeof WHOLE, Refused[]>> = {
  stopped: [
    ...ROWS,
    [
      'the last rows: gone',
      sql('DELETE FROM batch WHERE firstSequence > 70'),
      /30 commands are/,
      71,
    ],
    [
      'the rows up to an older mark: gone',
      all(mark(60, 5), sql('DELETE FROM batch WHERE firstSequence <= 60')),
      /is missing/,
      1,
    ],
    ['all rows: gone', sql('DELETE FROM batch'), /100 commands are lost/, 1],
    ['journal.db: of another exchange', another(20, 5), /not the one that journal\.head marks/, 96],
    ['journal.db: of another, where nothing ends at 100', another(30, 7), /journal\.head/, 99],
    ['journal.db: empty', become('journal.db', ''), /gone or empty, but commands up to 100 /, 1],
    ['journal.db: no database', become('journal.db', NOISE), /cannot be read/, 1],
    [
      'journal.db: gone, with a mark that is no mark',
      all(remove('journal.db'), become('journal.head', NOISE)),
      /is unreadable, so it is unknown/,
      1,
    ],
    ['journal.db: gone', remove('journal.db'), /up to 100 had been acknowledged/, 1],
    [
      'journal.db: gone, with its mark, beside a snapshot',
      all(remove('journal.db', 'journal.head'), (folder) => {
        const { path } = snapshotNameOf(folder, 90);
        mkdirSync(dirname(path));
        writeFileSync(path, '');
      }),
      /was taken at sequence 90/,
      1,
    ],
    // The file version that a writer must know.
    ['byte 18', change('journal.db', (bytes) => (bytes[18]! ^= 4)), /would not write to it/, 101],
    ['journal.head: ahead', mark(107, 9), /7 commands are lost/, 101],
    ['journal.head: of another batch', mark(100, 8), /journal\.head/, 91],
    ['journal.head: of no batch', mark(55, 5), /journal\.head/, 51],
    ...MARKS.map(
      ([what, damage, state]): Refused => [
        `journal.head: ${what}`,
        damage,
        // Only the operator can know where the journal ended.
        new RegExp(`journal.head is ${state}.*ACCEPT_MISSING_MARK`, 's'),
        101,
      ],
    ),
    ['written: too few records', goOn(104, ...THREE), /is missing from its row/, 104],
    ['written: too many records', goOn(102, ...THREE), /should end before it/, 103],
    ['written: another digest', goOn(103, ...THREE), /digest is .*had 0123456789abcdef/, 101],
    ['written: an unknown kind', goOn(102, ONE, Buffer.alloc(16, 0xff)), /no record at byte/, 102],
    ['written: a text too long', goOn(102, ONE, BROKEN_TEXT), /it ends within a text/, 102],
    ['written: part of a word', goOn(102, ONE, Buffer.alloc(4)), /\d+ bytes are not/, 101],
    ['written: earlier times', goOn(102, ONE, EARLIER), /\(advanceTime\) cannot be/, 102],
  ],
  long: PAGES,
  killed: [
    ['the log: gone', remove('journal.db-wal'), /100 commands are lost/, 1],
    ['the log: half of it', halve('journal.db-wal'), /commands are lost/],
    [
      'the log: a bit',
      change('journal.db-wal', (bytes) => (bytes[bytes.length >> 1]! ^= 1)),
      /lost/,
    ],
    ['the log: alone', remove('journal.db'), /its -wal file is there/, 1],
    [
      'the log: gone, with the mark, as in a copy of a running exchange',
      remove('journal.db-wal', 'journal.head'),
      /journal\.head is missing/,
      1,
    ],
  ],
  early: [
    [
      'the log: alone, and short',
      all(become('journal.db', ''), remove('journal.head')),
      /its -wal file is there/,
      1,
    ],
  ],
  segments: [
    ['segment 5: records', sql(`${ZEROED} ${OF_LAST}`, 5), /journal-000005\.db/],
    ['segment 5: a row', sql('DELETE FROM batch WHERE rowid % 300 = 1', 5), /is missing; the next/],
    ['segment 5: its last row', sql(`DELETE FROM batch ${OF_LAST}`, 5), /journal-000006\.db/],
    [
      'segment 5: a row that is too large',
      sql(`UPDATE batch SET records = zeroblob(17000000) ${OF_LAST}`, 5),
      /is larger than any batch/,
    ],
    ['segment 5: the first one', (folder) => replaceBy(folder, 5, 1), /journal-000005\.db/],
    [
      'segment 5: after another hash',
      sql('UPDATE head SET previousHash = zeroblob(32)', 5),
      /there with another hash/,
    ],
    ['segment 5: its number', sql('UPDATE head SET segment = 9', 5), /journal-000005\.db/],
    ['segment 5: its start', sql('UPDATE head SET previousSequence = 9', 5), /journal-000005\.db/],
    ['segment 5: its hash', sql("UPDATE head SET previousHash = x''", 5), /journal-000005\.db/],
    ['the row of the snapshot', sql("UPDATE batch SET digest = '0'", 4), /journal-000004\.db/],
    ['segment 2, and no snapshot', all(sql(ZEROED, 2), remove('snapshots')), /journal-000002\.db/],
    [
      'segment 2: gone, and no snapshot',
      remove('journal-000002.db', 'snapshots'),
      /journal-000002\.db is missing/,
    ],
  ],
};

const GOOD = /No damage was found/;
const OLDER = /; startup does not need it, because the snapshot at sequence \d+ is after it/;
/**
 * Damage after which a start still has all commands, with what it logs and what `verify` prints.
 */
const STARTS: [of: keyof typeof WHOLE, what: string, Damage, notes: RegExp, verify: RegExp][] = [
  ['stopped', 'nothing', () => {}, /^$/, GOOD],
  ['killed', 'nothing, but it was killed', () => {}, /^$/, GOOD],
  ['segments', 'nothing, in segments', () => {}, /^$/, GOOD],
  ['stopped', 'journal.head: of an earlier batch', mark(60, 5), /4 commits behind/, GOOD],
  [
    'stopped',
    'journal.head: of an earlier batch, in a folder that is open to all',
    all(mark(60, 5), (folder) => chmodSync(folder, 0o777)),
    /4 commits behind.*chmod 700/,
    GOOD,
  ],
  ...['journal.db', 'journal-000002.db'].flatMap((name): typeof STARTS => [
    ['segments', `${name}: gone`, remove(name), OLDER, /is missing/],
    ['segments', `${name}: no database`, become(name, NOISE), OLDER, /cannot be read/],
  ]),
  [
    'segments',
    'segments 1 and 2: gone',
    remove('journal.db', 'journal-000002.db'),
    /journal\.db is missing.*journal-000002\.db is missing.*startup does not need it/,
    /journal\.db and others are missing or damaged, and were not moved to an archive/,
  ],
  ['segments', 'segment 2: records', sql(ZEROED, 2), OLDER, /journal-000002\.db/],
  [
    'segments',
    'segment 4: before the snapshot',
    sql(`${ZEROED} ${OF_FIRST}`, 4),
    OLDER,
    /000004\.db/,
  ],
  [
    'segments',
    "segment 2: SQLite's structure, around rows that are good",
    // The count of free pages, in the file's header.
    change('journal-000002.db', (bytes) => (bytes[39] = 1)),
    /^$/,
    /000002\.db .*structure/,
  ],
];

/** The batches that a reader returns before it finds a fault, and the fault. */
async function readable(
  folder: string,
): Promise<{ good: JournalBatch[]; error: JournalError | JournalUnavailable | null }> {
  const good: JournalBatch[] = [];
  try {
    const reader = await openJournalReader(folder);
    try {
      for await (const batch of reader.batches()) good.push(batch);
    } finally {
      await reader.close();
    }
    return { good, error: null };
  } catch (error) {
    if (!(error instanceof JournalError || error instanceof JournalUnavailable)) throw error;
    return { good, error };
  }
}

/** The journal's files. Reading alone may create an empty log. */
function filesOf(folder: string): string[] {
  return traceOf(folder).filter((line) => /^journal[-0-9]*\.(db|head|db-wal [1-9])/.test(line));
}

/** The sequence at which a follower disagrees, or null if it reaches the end. */
async function disagreementOf(folder: string, end: number): Promise<number | null> {
  const follower = startFollower(folder, end);
  const { disagreements, board } = follower;
  try {
    await eventually(() => disagreements.length > 0 || board.get('applied') === end, 20_000);
    return disagreements[0]?.sequence ?? null;
  } finally {
    await follower.close();
  }
}

/** A damaged copy, and what the folder contained before. */
async function damaged(of: keyof typeof WHOLE, damage: Damage) {
  const { folder: whole, batches } = wholes.get(of)!;
  const folder = folders.copy(whole);
  await damage(folder);
  const end = batches.at(-1)!;
  return { folder, batches, before: filesOf(folder), end: end.lastSequence, digest: end.digest };
}

const refused = Object.entries(REFUSED).flatMap(([of, rows]) =>
  rows.map(
    ([what, damage, says, bad]) => [of as keyof typeof WHOLE, what, damage, says, bad] as const,
  ),
);
it.each(refused)('refused, in %s: %s', async (of, what, damage, says, bad) => {
  const { folder, batches, before, end } = await damaged(of, damage);
  const { good, error } = await readable(folders.copy(folder));
  const unread = error instanceof JournalError ? error.firstBadSequence : null;
  const firstBad = bad ?? unread;
  // Rows before the lost page stay readable.
  if (of === 'long') expect(good.length).toBeGreaterThan(0);
  if (!what.includes('of another'))
    expect(good.slice(0, batches.length)).toEqual(batches.slice(0, good.length));

  const refusal = await journalErrorOf(recovered(folder));
  expect(refusal.message).toMatch(says);
  expect(refusal.message.length).toBeGreaterThan(80);
  expect(refusal.firstBadSequence).toBe(firstBad);
  expect(filesOf(folder)).toEqual(before);

  if (unread !== null) {
    expect(unread).toBe((good.at(-1)?.lastSequence ?? 0) + 1);
    // The follower may first read the row of a snapshot, which is in the same segment.
    const disagreement = await disagreementOf(folders.copy(folder), end);
    if (of === 'segments') expect(disagreement).toBeGreaterThanOrEqual(unread);
    else expect(disagreement).toBe(unread);
  }

  const { status, err } = await replayTool(folder, 'verify');
  expect(status).toBe(1);
  expect(err).toMatch(new RegExp(`^DAMAGE in .*, (sequence ${firstBad}|as a whole): `));
  expect(err).toContain('What to do: ');
  expect(err).toMatch(says);
  if (what !== EVERY_COMMAND) return;
  // Each command names the fault, and prints nothing unproven.
  for (const verb of OTHER_COMMANDS) {
    const run = await replayTool(folder, ...verb);
    expect(run).toMatchObject({
      status: 1,
      err: expect.stringContaining(`sequence ${firstBad}: `),
    });
  }
  const { out } = await replayTool(folder, 'events', '--json');
  expect(linesOf(out)).toHaveLength(firstBad! - 1);
  expect((await replayTool(folder, 'state', '--json')).out).toBe('');
});

/** This row is tried with every command of the replay tool. */
const EVERY_COMMAND = 'row 41: a bit of its records';
const OTHER_COMMANDS = [['state'], ['events'], ['explain', '--user', 'u1'], ['audit']];

it('an accepted journal without its mark gets a new one, and the tool says that it is missing', async () => {
  const { folder, end } = await damaged('stopped', remove('journal.head'));
  for (const verb of OTHER_COMMANDS) {
    const err = expect.stringContaining('journal.head is missing');
    expect(await replayTool(folder, ...verb)).toMatchObject({ status: 0, err });
  }
  const { notice, sequence } = await recovered(folder, true);
  expect([notice, sequence]).toEqual([expect.stringContaining('journal.head was missing'), end]);
  await (await openJournal({ folder, acceptMissingMark: true })).close();
  expect((await recovered(folder)).notice).toBeNull();
});

it.each(STARTS)('a start on %s: %s', async (of, _what, damage, notes, says) => {
  const { folder, before, end, digest } = await damaged(of, damage);
  const { notice, ...started } = await recovered(folder);
  expect(started).toMatchObject({ sequence: end, digest });
  expect(notice ?? '').toMatch(notes);
  expect(filesOf(folder)).toEqual(before);
  expect(await disagreementOf(folders.copy(folder), end)).toBeNull();
  const { status, out, err } = await replayTool(folder, 'verify');
  expect(status).toBe(says === GOOD ? 0 : 1);
  expect(out + err).toMatch(says);
});
