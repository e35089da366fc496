/**
 * The snapshots of a data folder: `snapshots/snapshot-<sequence>.bin`, the sequence in 16 digits.
 * Keeps the newest three (the newest may be damaged). Also keeps the newest vouched one, and the
 * newest from before the open part of the history, to rebuild that part from.
 */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createPrivateFolder, syncPath } from '../../storage/files.js';

const KEPT = 3;
const NAME = /^snapshot-(\d{16})\.bin$/;
/** Includes the temporary files of an upgrade. */
const TEMPORARY = /^snapshot-\d{16}\.bin\.(?:tmp|upgrade(?:\.tmp)?)$/;

export interface SnapshotName {
  sequence: number;
  name: string;
  path: string;
}

function folderOf(dataFolder: string): string {
  return join(dataFolder, 'snapshots');
}

export function snapshotNameOf(dataFolder: string, sequence: number): SnapshotName {
  const name = `snapshot-${String(sequence).padStart(16, '0')}.bin`;
  return { sequence, name, path: join(folderOf(dataFolder), name) };
}

/** The snapshots, newest first; empty if the folder does not exist. */
export function listSnapshots(dataFolder: string): SnapshotName[] {
  return namesIn(folderOf(dataFolder))
    .map((name) => NAME.exec(name))
    .filter((match) => match !== null)
    .map((match) => snapshotNameOf(dataFolder, Number(match[1])))
    .sort((a, b) => b.sequence - a.sequence);
}

/** Creates the folder, and removes temporary files that a crash left. For the writer only. */
export async function prepareSnapshotFolder(dataFolder: string): Promise<void> {
  const folder = folderOf(dataFolder);
  await createPrivateFolder(folder);
  await syncPath(dataFolder);
  for (const name of namesIn(folder))
    if (TEMPORARY.test(name)) rmSync(join(folder, name), { force: true });
}

/**
 * Removes all but the newest three up to `sequence`, and never the one at `vouchedSequence` or the
 * newest up to `partSequence`, from which the open part of the history is rebuilt. That is the
 * oldest if `partSequence` is null: not known. Snapshots ahead of the journal do not count, and
 * stay.
 */
export function removeOldSnapshots(
  dataFolder: string,
  {
    sequence,
    vouchedSequence,
    partSequence = 0,
  }: { sequence: number; vouchedSequence: number; partSequence?: number | null },
): void {
  const snapshots = listSnapshots(dataFolder).filter((snapshot) => snapshot.sequence <= sequence);
  const isOfPart = (snapshot: SnapshotName) => snapshot.sequence <= partSequence!;
  const ofPart = partSequence === null ? snapshots.at(-1) : snapshots.find(isOfPart);
  for (const old of snapshots.slice(KEPT))
    if (old.sequence !== vouchedSequence && old !== ofPart) rmSync(old.path, { force: true });
}

function namesIn(folder: string): string[] {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(folder) : [];
}
