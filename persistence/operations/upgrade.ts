/**
 * Makes a folder of the present version from one of an older version (OLDER_VERSIONS in
 * journal/format.ts).
 *
 * The new folder has the old segments as they are, the last one sealed, and goes on in a segment of
 * the present version: its head names the old chain's end and the SHA-256 of the file before it.
 * Its first command records the upgrade, and its second vouches for a snapshot of the state.
 *
 * Always holds: the old folder is only read, and nobody can trade on it meanwhile. The state is
 * that of a replay of the whole old journal, batch by batch to the digest that each has. So the way
 * back is to start the older program on the old folder.
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
import { bytesOf, FORMAT_VERSION, HEAD_FILE, type JournalPosition } from '../journal/format.js';
import type { Journal } from '../journal/journal.js';
import { readJournal } from '../journal/read-only.js';
import { segmentNumber } from '../journal/segments.js';
import { judgeFolder, UNFINISHED_UPGRADE } from '../judgement.js';
import { recover } from '../recovery.js';
import { checkFolder } from '../replay/input/replay-journal.js';
import { takeSnapshot, writeSnapshot } from '../snapshot/file.js';
import { prepareSnapshotFolder, snapshotNameOf } from '../snapshot/folder.js';
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

const elapsedMs = () => 0;

export interface UpgradeReport {
  fromVersion: number;
  toVersion: number;
  /** The end of the old chain, and of the new one. */
  oldEnd: JournalPosition;
  newEnd: JournalPosition;
}

/** @throws OperationRefused, or JournalError if the old folder is damaged, incomplete or in use. */
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
  const options = { acceptMissingMark: false, checkAll: true, acceptOlder: true };
  const { end: oldEnd } = await judgeFolder(from, options);
  const fromVersion = await readJournal(from, async ({ version }) => version);
  if (fromVersion === FORMAT_VERSION)
    throw new OperationRefused(`${from} is of version ${FORMAT_VERSION} already`);
  const engine = new Engine();
  await readJournal(from, (reader) => recover({ reader, engine, elapsedMs }));
  await copyFiles(from, to);
  const chainHash = oldEnd.hash.toString('hex');
  const record = { kind: 'recordUpgrade', fromVersion, toVersion: FORMAT_VERSION, chainHash };
  const newEnd = await goOn(to, engine, record as Command);
  await judgeFolder(to, { acceptMissingMark: false, checkAll: true, acceptUnfinished: true });
  await finish(to, UNFINISHED_UPGRADE);
  return { fromVersion, toVersion: FORMAT_VERSION, oldEnd, newEnd };
}

/** Neither snapshots nor the history: a start makes them anew, in their present format. */
async function copyFiles(from: string, to: string): Promise<void> {
  await begin(to, UNFINISHED_UPGRADE);
  const isKept = (name: string) =>
    name === HEAD_FILE || segmentNumber(name.replace(/-wal$/, '')) !== null;
  for (const name of readdirSync(from).filter(isKept)) await copyOne(join(from, name), to, name);
  await copySecret(from, to);
  await prepareSnapshotFolder(to);
}

/** A file system that can share the blocks of two files takes no room for it. */
async function copyOne(path: string, folder: string, name: string): Promise<void> {
  const target = join(folder, name);
  copyFileSync(path, target, constants.COPYFILE_FICLONE);
  chmodSync(target, statSync(path).mode & 0o777);
  await syncPath(target);
}

/** Continues the journal of the copy, whose end the engine has, in the present version. */
async function goOn(folder: string, engine: Engine, record: Command): Promise<JournalPosition> {
  const data = await DataFolder.lock({ folder, upgrades: true, acceptUnfinished: true });
  let journal: Journal;
  try {
    journal = await data.openJournal();
  } catch (error) {
    await data.release();
    throw error;
  }
  try {
    await apply(engine, journal, record);
    const { sequence } = engine;
    const { path } = snapshotNameOf(folder, sequence);
    const snapshotHash = writeSnapshot(path, takeSnapshot(engine, journal.end));
    const vouch = { kind: 'vouchForSnapshot', snapshotSequence: sequence, snapshotHash } as const;
    await apply(engine, journal, vouch);
    await journal.sealed();
    return journal.end;
  } finally {
    await closeCopy(folder, journal);
  }
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
