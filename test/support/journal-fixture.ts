/**
 * Journals for the persistence tests: temporary folders, an engine's commands, and the batches they
 * make.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { Engine } from '../../engine/engine.js';
import { readCommand, timeOf } from '../../engine/interface/command-record.js';
import type { Command } from '../../engine/interface/commands.js';
import { marketIdOf, Outcome, TimeInForce } from '../../engine/interface/domain.js';
import { RecordBuffer } from '../../engine/interface/records.js';
import { JournalError } from '../../persistence/journal/errors.js';
import {
  type BatchContent,
  bytesOf,
  type JournalPosition,
} from '../../persistence/journal/format.js';
import type { Journal } from '../../persistence/journal/journal.js';
import { openJournalReader } from '../../persistence/journal/reader.js';
import type { JournalBatch } from '../../persistence/journal/store.js';
import { DataFolder, openJournal } from '../../persistence/recovery/data-folder.js';
import { type Applied, JournalFollower } from '../../persistence/recovery/recovery.js';
import { writeSnapshot } from '../../persistence/recovery/snapshot/file.js';
import {
  prepareSnapshotFolder,
  snapshotNameOf,
} from '../../persistence/recovery/snapshot/folder.js';
import { closeDatabase, execute, openDatabase, query } from '../../persistence/storage/sqlite.js';
import { append } from '../../persistence/tools/operations/copy-journal.js';
import { buy, registration } from './engine-support.js';
import { vouchForSnapshots } from './folders/vouch.js';

export { append };
export const START_MS = 1_763_700_300_000;
const MARKET = marketIdOf(0, START_MS);
const USERS = 8;

/** The folders of one test file; call `removeAll` in afterEach. */
export class Folders {
  private readonly made: string[] = [];

  make(): string {
    const folder = mkdtempSync(join(tmpdir(), 'journal-'));
    this.made.push(folder);
    return join(folder, 'data');
  }

  /** Copies the files as they are now, as after a crash of the process. */
  copy(folder: string): string {
    const copy = this.make();
    cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith('-shm') });
    return copy;
  }

  removeAll(): void {
    for (const folder of this.made.splice(0)) rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * How often each kind of command occurs: a price every 17th command, and so on. All other commands
 * are orders for DOWN without a key.
 */
const EVERY = { price: 17, cancelAll: 7, key: 5, up: 3 } as const;

/**
 * The command at a sequence: first an asset, users and a price, then orders that rest, cross and
 * are cancelled.
 */
export function commandAt(sequence: number): Command {
  const user = (sequence % USERS) + 1;
  const isDue = (step: keyof typeof EVERY) => sequence % EVERY[step] === 0;
  if (sequence === 1) return { kind: 'listAsset', symbol: 'BTC' };
  if (sequence <= 1 + USERS) return registration(`user-${sequence}`, 10_000);
  if (sequence === 2 + USERS || isDue('price')) {
    const priceMicros = 90_000_000_000 + sequence;
    return { kind: 'observePrice', asset: 0, priceMicros, observedAtMs: START_MS + sequence };
  }
  if (isDue('cancelAll'))
    return { kind: 'cancelAll', userId: user, idempotencyKey: null, marketId: MARKET };
  return buy({
    userId: user,
    idempotencyKey: isDue('key') ? `key-${sequence}` : null,
    marketId: MARKET,
    outcome: isDue('up') ? Outcome.UP : Outcome.DOWN,
    sizeLots: 10_000,
    priceTicks: 450 + (sequence % 90),
    timeInForce: TimeInForce.GTC,
  });
}

export interface Written {
  batches: JournalBatch[];
  end: JournalPosition;
  /** The number of trades, to prove that the journal is not trivial. */
  tradeCount: number;
}

/** Applies and commits the next `batchCount` batches of `batchSize` commands. */
export async function write(
  journal: Journal,
  engine: Engine,
  { batchCount, batchSize }: { batchCount: number; batchSize: number },
): Promise<JournalBatch[]> {
  const records = new RecordBuffer();
  const batches: JournalBatch[] = [];
  for (let i = 0; i < batchCount; i++) {
    records.clear();
    const firstSequence = engine.sequence + 1;
    for (let sequence = firstSequence; sequence < firstSequence + batchSize; sequence++) {
      const command = commandAt(sequence);
      records.append(command, START_MS + sequence);
      engine.apply(command, START_MS + sequence);
    }
    const content: BatchContent = {
      firstSequence,
      lastSequence: engine.sequence,
      records: Buffer.from(bytesOf(records)),
      digest: engine.digest(),
    };
    await append(journal, content);
    batches.push({ ...content, hash: journal.end.hash });
  }
  return batches;
}

/** Appends one command as its own batch. */
export function appendCommand(
  journal: Journal,
  command: Command,
  atMs: number,
  digest: string,
): Promise<void> {
  const records = new RecordBuffer();
  records.append(command, atMs);
  const sequence = journal.end.sequence + 1;
  const batch = { firstSequence: sequence, lastSequence: sequence, digest };
  return append(journal, { ...batch, records: Buffer.from(bytesOf(records)) });
}

/** Writes a journal in a new folder and closes it. */
export async function writeJournal(
  folder: string,
  size = { batchCount: 10, batchSize: 10 },
): Promise<Written> {
  const engine = new Engine();
  const journal = await openJournal({ folder });
  const batches = await write(journal, engine, size);
  await journal.close();
  let tradeCount = 0;
  for (let user = 1; user <= engine.userCount; user++)
    tradeCount += engine.account(user)!.tradeCount;
  return { batches, end: journal.end, tradeCount };
}

/**
 * Writes a journal of sealed segments and an open one, and closes it. It records the hash of a
 * snapshot in the middle of its fourth segment.
 */
export async function writeSegments(folder: string): Promise<void> {
  const journal = await openJournal({ folder, segmentBytes: 25_000 });
  await write(journal, new Engine(), { batchCount: 250, batchSize: 10 });
  await journal.close();
  const reader = await openJournalReader(folder);
  const { sequence } = reader.segments[3]!.start;
  await reader.close();
  await addSnapshots(folder, sequence + 16);
  await vouchForSnapshots(folder);
}

/** Opens the journal, recovers as an exchange does at startup, and closes the journal. */
export async function start(folder: string, acceptMissingMark = false): Promise<Started> {
  const journal = await openJournal({ folder, acceptMissingMark });
  try {
    const engine = new Engine();
    const batches = await replay(folder, engine);
    return { engine, batches, notice: journal.notice, end: journal.end };
  } finally {
    await journal.close();
  }
}

export interface Started {
  engine: Engine;
  batches: number;
  notice: string | null;
  end: JournalPosition;
}

export const SILENT = { info: () => {}, warn: () => {} };

/** The state of an exchange at startup, before it writes. */
export async function recovered(folder: string, acceptMissingMark = false) {
  const data = await DataFolder.lock({ folder, acceptMissingMark });
  try {
    const engine = await data.recover({ log: SILENT, elapsedMs: () => 0 });
    const { notice, remark } = data;
    return { notice, remark, sequence: engine.sequence, digest: engine.digest() };
  } finally {
    await data.release();
  }
}

/** Replays a whole journal into an empty engine. Returns the number of batches. */
export async function replay(folder: string, engine: Engine): Promise<number> {
  let batches = 0;
  const proven = () => ++batches > 0;
  const reader = await openJournalReader(folder);
  try {
    await new JournalFollower(engine, undefined, { proven }).follow(reader);
    return batches;
  } finally {
    await reader.close();
  }
}

/** Adapts a callback that takes each command as an object. */
export function withCommand(applied: (command: Command, atMs: number) => void): Applied {
  return (records, at) => applied(readCommand(records, at), timeOf(records, at));
}

/** Called after each command; `engine.result` and `engine.events` belong to that command. */
export type CommandApplied = (engine: Engine, command: Command, atMs: number) => void;

/**
 * Replays the journal of a stopped exchange and returns the engine in its last state. Throws if a
 * batch does not give the recorded digest.
 */
export async function replayJournal(
  folder: string,
  applied: CommandApplied = () => {},
): Promise<Engine> {
  const engine = new Engine();
  const watch = { applied: withCommand((command, atMs) => applied(engine, command, atMs)) };
  const reader = await openJournalReader(folder);
  try {
    await new JournalFollower(engine, undefined, watch).follow(reader);
  } finally {
    await reader.close();
  }
  return engine;
}

export async function readAll(folder: string, after?: JournalPosition): Promise<JournalBatch[]> {
  const reader = await openJournalReader(folder);
  const batches: JournalBatch[] = [];
  try {
    for await (const batch of reader.batches(after)) batches.push(batch);
    return batches;
  } finally {
    await reader.close();
  }
}

/** Writes a snapshot at the first batch that ends at or after each of the sequences. */
export async function addSnapshots(folder: string, ...sequences: number[]): Promise<string[]> {
  await prepareSnapshotFolder(folder);
  const engine = new Engine();
  const follower = new JournalFollower(engine);
  const paths: string[] = [];
  for (const batch of await readAll(folder)) {
    if (paths.length === sequences.length) break;
    follower.apply(batch);
    if (batch.lastSequence < sequences[paths.length]!) continue;
    const { path } = snapshotNameOf(folder, batch.lastSequence);
    await writeSnapshot(path, engine, follower.position);
    paths.push(path);
  }
  return paths;
}

/** Returns the JournalError of a call that fails; rethrows any other error. */
export async function journalErrorOf(promise: Promise<unknown>): Promise<JournalError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof JournalError) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

/** Locks the journal like another process. The returned function unlocks it. */
export async function lockJournal(folder: string): Promise<() => Promise<void>> {
  const database = await openDatabase(join(folder, 'journal.db'), sqlite3.OPEN_READWRITE);
  await execute(database, 'BEGIN IMMEDIATE');
  return async () => {
    await execute(database, 'ROLLBACK');
    await closeDatabase(database);
  };
}

/** Changes journal.db behind the exchange's back. */
export async function tamper(folder: string, ...statements: string[]): Promise<void> {
  await withDatabase(join(folder, 'journal.db'), async (database) => {
    for (const statement of statements) await execute(database, statement);
  });
}

/** Inverts one bit in the middle of a column of the row that starts at `firstSequence`. */
export async function flip(folder: string, firstSequence: number, column: string): Promise<void> {
  await withDatabase(join(folder, 'journal.db'), async (database) => {
    const where = `WHERE firstSequence = ${firstSequence}`;
    const [row] = await query<{ value: Buffer | string }>(
      database,
      `SELECT ${column} AS value FROM batch ${where}`,
    );
    const bytes = Buffer.from(row!.value as string);
    const middle = bytes.length >> 1;
    bytes[middle] = bytes[middle]! ^ 1;
    const value = typeof row!.value === 'string' ? bytes.toString() : bytes;
    await query(database, `UPDATE batch SET ${column} = ? ${where}`, [value]);
  });
}

export async function withDatabase<Result>(
  path: string,
  use: (database: sqlite3.Database) => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase(path, sqlite3.OPEN_READWRITE);
  try {
    return await use(database);
  } finally {
    await closeDatabase(database);
  }
}
