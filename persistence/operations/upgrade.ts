/**
 * Makes a folder of the present version from one of an older version (journal/versions.ts).
 *
 * The new folder has the old segments as they are, the last one sealed, and goes on in a segment of
 * the present version: its head names the old chain's end and the SHA-256 of the file before it.
 * Its first command records the upgrade, and its second vouches for a snapshot of the state, in the
 * present format.
 *
 * Always holds: the old folder is only read, and nobody can trade on it meanwhile. A start accepts
 * the new one only once it is proven: its state is, bit for bit, that of a replay of the old
 * journal, so that every balance, position, order and remembered receipt is equal. No exchange
 * changes a folder of an older version, so the way back is to start the older program on the old
 * folder.
 */
import { chmodSync, constants, copyFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { RecordBuffer } from '../../engine/interface/records.js';
import { ResultHead } from '../../engine/interface/results.js';
import { DataFolder } from '../data-folder.js';
import { hasLock, lockFolder } from '../journal/folder-lock.js';
import {
  bytesOf,
  FORMAT_VERSION,
  GENESIS,
  HEAD_FILE,
  type JournalPosition,
} from '../journal/format.js';
import type { Journal } from '../journal/journal.js';
import { readJournal } from '../journal/read-only.js';
import type { JournalReader } from '../journal/reader.js';
import { segmentNumber } from '../journal/segments.js';
import { judgeFolder, UNFINISHED_UPGRADE } from '../judgement.js';
import { recover } from '../recovery.js';
import { checkFolder } from '../replay/input/replay-journal.js';
import { readSnapshot, stateHash, takeSnapshot, writeSnapshot } from '../snapshot/file.js';
import { listSnapshots, prepareSnapshotFolder, snapshotNameOf } from '../snapshot/folder.js';
import { oldestSnapshot } from '../snapshot/load.js';
import { syncPath } from '../storage/files.js';
import { append } from './copy-journal.js';
import {
  begin,
  closeCopy,
  copySecret,
  finish,
  mustBeApart,
  mustBeNew,
  OperationRefused,
  orNothing,
} from './folders.js';

const SILENT = { info: () => {}, warn: () => {} };
const elapsedMs = () => 0;

export interface UpgradeReport {
  fromVersion: number;
  toVersion: number;
  /** The end of the old chain, and of the new one. */
  oldEnd: JournalPosition;
  newEnd: JournalPosition;
  /** What is equal in both. */
  users: number;
  positions: number;
  orders: number;
  receipts: number;
  /** Whether the old journal was replayed from its first command; if not, from a snapshot. */
  fromFirst: boolean;
  /** Whether the new state is the one of the old snapshot and the commands after it. */
  usesSnapshot: boolean;
}

/** The state at the end of the old journal, by a replay. */
interface Replayed {
  engine: Engine;
  fromFirst: boolean;
}

/** @throws OperationRefused, or JournalError if the old folder is damaged or in use. */
export async function upgrade({ from, to }: { from: string; to: string }): Promise<UpgradeReport> {
  await checkFolder(from);
  mustBeNew(to);
  mustBeApart(from, to);
  const lock = hasLock(from) ? await lockFolder(from) : null;
  try {
    return await orNothing(to, () => upgradeInto(from, to));
  } finally {
    await lock?.release();
  }
}

async function upgradeInto(from: string, to: string): Promise<UpgradeReport> {
  const { fromVersion, end: oldEnd } = await examine(from);
  const old = await readJournal(from, (reader) => replayed(from, reader));
  await copyFiles(from, to);
  const { newEnd, usesSnapshot, expected } = await goOn(to, fromVersion, old);
  const proof = await prove(to, expected);
  await finish(to, UNFINISHED_UPGRADE);
  const { fromFirst } = old;
  return {
    fromVersion,
    toVersion: FORMAT_VERSION,
    oldEnd,
    newEnd,
    ...proof,
    fromFirst,
    usesSnapshot,
  };
}

/** Judges the old folder as a start of its own program would. */
async function examine(from: string): Promise<{ fromVersion: number; end: JournalPosition }> {
  const { end } = await judgeFolder(from, { acceptMissingMark: false, acceptOlder: true });
  const fromVersion = await readJournal(from, async ({ version }) => version);
  if (fromVersion !== FORMAT_VERSION) return { fromVersion, end };
  throw new OperationRefused(`${from} is of version ${FORMAT_VERSION} already`);
}

/** History is not copied: a start makes it anew, in its present format. */
async function copyFiles(from: string, to: string): Promise<void> {
  await begin(to, UNFINISHED_UPGRADE);
  const isKept = (name: string) =>
    name === HEAD_FILE || segmentNumber(name.replace(/(-wal|\.archived)$/, '')) !== null;
  for (const name of readdirSync(from).filter(isKept)) await copyOne(join(from, name), to, name);
  await copySecret(from, to);
  await prepareSnapshotFolder(to);
  for (const { path, name } of listSnapshots(from))
    await copyOne(path, to, join('snapshots', name));
}

/** A file system that can share the blocks of two files takes no room for it. */
async function copyOne(path: string, folder: string, name: string): Promise<void> {
  const target = join(folder, name);
  copyFileSync(path, target, constants.COPYFILE_FICLONE);
  chmodSync(target, statSync(path).mode & 0o777);
  await syncPath(target);
}

/**
 * Continues the journal of the copy in the present version. The state is that of its newest
 * snapshot and the commands after it, as at every start. If a replay from the first command gives
 * another one, that counts: the snapshot remembers something in another way.
 */
async function goOn(
  folder: string,
  fromVersion: number,
  old: Replayed,
): Promise<{ newEnd: JournalPosition; usesSnapshot: boolean; expected: string }> {
  const data = await DataFolder.lock({ folder, upgrades: true, acceptUnfinished: true });
  let journal: Journal;
  let engine: Engine;
  let usesSnapshot: boolean;
  try {
    const recovered = await data.recover({ log: SILENT, elapsedMs });
    usesSnapshot = stateHash(recovered) === stateHash(old.engine);
    engine = usesSnapshot ? recovered : old.engine;
    journal = await data.openJournal();
  } catch (error) {
    await data.release();
    throw error;
  }
  try {
    const record = recordOf(fromVersion, journal.end);
    if (usesSnapshot) old.engine.apply(record, old.engine.nowMs);
    await apply(engine, journal, record);
    const expected = stateHash(old.engine);
    const { sequence } = engine;
    const { path } = snapshotNameOf(folder, sequence);
    const snapshotHash = writeSnapshot(path, takeSnapshot(engine, journal.end));
    const vouch = { kind: 'vouchForSnapshot', snapshotSequence: sequence, snapshotHash } as const;
    await apply(engine, journal, vouch);
    await journal.sealed();
    return { newEnd: journal.end, usesSnapshot, expected };
  } finally {
    await closeCopy(folder, journal);
  }
}

function recordOf(fromVersion: number, { hash }: JournalPosition): Command {
  const chainHash = hash.toString('hex');
  return { kind: 'recordUpgrade', fromVersion, toVersion: FORMAT_VERSION, chainHash };
}

/** One command, in a batch of its own, at the time of the last one: the upgrade has no clock. */
async function apply(engine: Engine, journal: Journal, command: Command): Promise<void> {
  const records = new RecordBuffer();
  engine.applyRecord(records, records.append(command, engine.nowMs));
  if (engine.result.values[ResultHead.code] !== Code.ok)
    throw new Error(`the engine refuses ${command.kind}`);
  const { sequence } = engine;
  const batch = { firstSequence: sequence, lastSequence: sequence };
  await append(journal, { ...batch, records: bytesOf(records), digest: engine.digest() });
}

/** Compares the snapshot of the new folder with the replay of the old journal: its state's hash. */
async function prove(
  to: string,
  expected: string,
): Promise<Pick<UpgradeReport, 'users' | 'positions' | 'orders' | 'receipts'>> {
  await judgeFolder(to, { acceptMissingMark: false, acceptUnfinished: true });
  const { sequence } = listSnapshots(to)[0]!;
  const { engine } = readSnapshot(snapshotNameOf(to, sequence).path);
  if (stateHash(engine) !== expected)
    throw new Error('the state in the new folder is not that of the old one: do not use it');
  const userIds = Array.from({ length: engine.userCount }, (_, i) => i + 1);
  const sumOf = (count: (userId: number) => number) =>
    userIds.reduce((sum, userId) => sum + count(userId), 0);
  return {
    users: engine.userCount,
    positions: sumOf((userId) => engine.positions(userId).length),
    orders: sumOf((userId) => engine.orders(userId).length),
    receipts: engine.rememberedKeys,
  };
}

/** The old state by a replay: from the first command, or without it from the oldest snapshot. */
async function replayed(folder: string, reader: JournalReader): Promise<Replayed> {
  const fromFirst = reader.firstSequence === 1;
  const { engine, position } = fromFirst
    ? { engine: new Engine(), position: GENESIS }
    : ((await oldestSnapshot(folder, reader)) ?? refuseWithoutSnapshot(folder));
  await recover({ reader, engine, after: position, elapsedMs });
  return { engine, fromFirst };
}

function refuseWithoutSnapshot(folder: string): never {
  throw new OperationRefused(`${folder} has no snapshot for which its journal vouches`);
}
