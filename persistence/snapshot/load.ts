/**
 * Loads the newest usable snapshot of a data folder.
 *
 * Always holds: a snapshot is used only if its hash is that of the journal's batch at its sequence.
 * One that is damaged or of another journal is skipped with a warning for the next older one, and
 * in the end for an empty engine.
 */
import { Engine } from '../../engine/engine.js';
import { JournalError, PUT_BACK } from '../journal/errors.js';
import { GENESIS, type JournalPosition } from '../journal/format.js';
import type { JournalReader } from '../journal/reader.js';
import { type LoadedSnapshot, readSnapshot } from './file.js';
import { listSnapshots, type SnapshotName } from './folder.js';
import { SnapshotError } from './format.js';

export interface SnapshotLog {
  warn(fields: object, message: string): void;
}

export interface StartingPoint {
  engine: Engine;
  position: JournalPosition;
}

/**
 * The newest usable snapshot not after `notAfter` (default: of all), or an empty engine.
 * @throws JournalError when an undamaged snapshot is ahead of the journal.
 */
export async function loadNewestSnapshot(options: {
  folder: string;
  reader: JournalReader;
  log: SnapshotLog;
  notAfter?: number;
  /** Reads a snapshot's file, which may take seconds. */
  read?: typeof readSnapshot;
}): Promise<StartingPoint> {
  const { folder, reader, log, notAfter = Number.POSITIVE_INFINITY, read = readSnapshot } = options;
  const { sequence: endSequence } = await reader.end();
  for (const snapshot of listSnapshots(folder)) {
    if (snapshot.sequence > notAfter) continue;
    const loaded = tryToLoad(snapshot, read, log);
    if (loaded === null) continue;
    if (snapshot.sequence > endSequence) throw aheadOfJournal(snapshot, endSequence);
    const position = await reader.positionAt(snapshot.sequence);
    if (position?.hash.equals(loaded.header.hash)) return { engine: loaded.engine, position };
    const other = 'it belongs to another journal: this one has another batch at its sequence';
    warn(log, snapshot, other);
  }
  return { engine: new Engine(), position: GENESIS };
}

/** Whether the file is a whole snapshot, of whatever journal. */
export function isUndamaged(snapshot: SnapshotName): boolean {
  return tryToLoad(snapshot, readSnapshot, { warn: () => {} }) !== null;
}

function tryToLoad(
  snapshot: SnapshotName,
  read: typeof readSnapshot,
  log: SnapshotLog,
): LoadedSnapshot | null {
  try {
    const loaded = read(snapshot.path);
    if (loaded.header.sequence === snapshot.sequence) return loaded;
    warn(log, snapshot, `its sequence is ${loaded.header.sequence}, not the one in its name`);
  } catch (error) {
    const isExpected =
      error instanceof SnapshotError || (error as NodeJS.ErrnoException).code !== undefined;
    if (!isExpected) throw error;
    warn(log, snapshot, (error as Error).message);
  }
  return null;
}

function warn(log: SnapshotLog, { name }: SnapshotName, problem: string): void {
  log.warn({ snapshot: name, problem }, `the snapshot ${name} cannot be used`);
}

/** An undamaged snapshot proves that the commands in it had been committed. */
export function aheadOfJournal(
  { path, sequence }: SnapshotName,
  endSequence: number,
): JournalError {
  return new JournalError(
    `the journal ends at sequence ${endSequence}, but the snapshot ${path} was taken at ` +
      `${sequence}, from commands that had been committed: acknowledged commands are missing ` +
      `from the journal. ${PUT_BACK} Only if the snapshot was copied here from another folder, ` +
      'remove it.',
    endSequence + 1,
  );
}
