/**
 * Loads the newest usable snapshot of a data folder.
 *
 * Invariant: a snapshot is used only if it names the hash of the journal's batch at its
 * sequence, and the journal vouches for the file (vouched.ts). Any other snapshot is skipped with a
 * warning for the next older one, and in the end for an empty engine.
 */
import { Engine } from '../../../engine/engine.js';
import { JournalUnavailable } from '../../journal/errors.js';
import { GENESIS, type JournalPosition } from '../../journal/format.js';
import type { JournalSource } from '../../journal/store.js';
import { type LoadedSnapshot, readSnapshot } from './file.js';
import { listSnapshots, type SnapshotName } from './folder.js';
import { vouchedHash } from './vouched.js';

export interface SnapshotLog {
  warn(fields: object, message: string): void;
}

/** Reads a snapshot file, which may take seconds. Throws as `readSnapshot` does. */
export type ReadSnapshot = (path: string) => LoadedSnapshot | Promise<LoadedSnapshot>;

export interface StartingPoint {
  engine: Engine;
  position: JournalPosition;
}

/**
 * The newest usable snapshot up to `notAfter` (default: any), or an empty engine.
 * @throws JournalUnavailable if the node may not have received the snapshot's commands yet.
 */
export async function loadNewestSnapshot(options: {
  folder: string;
  reader: JournalSource;
  log: SnapshotLog;
  notAfter?: number;
  read?: ReadSnapshot;
}): Promise<StartingPoint> {
  const { folder, reader, log, notAfter = Number.POSITIVE_INFINITY, read = readSnapshot } = options;
  const { sequence: endSequence } = await reader.end();
  for (const snapshot of listSnapshots(folder)) {
    if (snapshot.sequence > notAfter) continue;
    const loaded = await tryToLoad(snapshot, read, log);
    if (loaded === null) continue;
    if (snapshot.sequence > endSequence && reader.mayLag)
      throw new JournalUnavailable(
        `this PostgreSQL node has not received sequence ${snapshot.sequence} yet. This is retried`,
      );
    const position = await reader.positionAt(snapshot.sequence);
    const problem = await problemWith(loaded, position, reader);
    if (problem === null) return { engine: loaded.engine, position: position! };
    warn(log, snapshot, problem);
  }
  return { engine: new Engine(), position: GENESIS };
}

/** The oldest usable snapshot; null if none. */
export async function oldestSnapshot(
  folder: string,
  reader: JournalSource,
): Promise<StartingPoint | null> {
  const log = { warn: () => {} };
  for (const { sequence: notAfter } of listSnapshots(folder).reverse()) {
    const start = await loadNewestSnapshot({ folder, reader, log, notAfter });
    if (start.position.sequence > 0) return start;
  }
  return null;
}

/** Why the journal does not prove an intact snapshot; null if it does. */
async function problemWith(
  { header, hash }: Omit<LoadedSnapshot, 'engine'>,
  position: JournalPosition | null,
  reader: Pick<JournalSource, 'batches'>,
): Promise<string | null> {
  if (position === null || !position.hash.equals(header.hash))
    return 'it belongs to another journal: no batch of this one ends at its sequence with its hash';
  const vouched = await vouchedHash(reader, position);
  if (vouched === hash) return null;
  return vouched === null
    ? 'the journal does not vouch for it: the exchange stopped before it had journalled its hash'
    : `it was changed after it was written: its SHA-256 is ${hash}, but the journal vouches for ` +
        `${vouched}. Its own checksum is right, so this is no damage of the disk`;
}

/** Whether the file is a complete snapshot, of any journal. */
export async function isUndamaged(snapshot: SnapshotName): Promise<boolean> {
  return (await tryToLoad(snapshot, readSnapshot, { warn: () => {} })) !== null;
}

async function tryToLoad(
  snapshot: SnapshotName,
  read: ReadSnapshot,
  log: SnapshotLog,
): Promise<LoadedSnapshot | null> {
  try {
    const loaded = await read(snapshot.path);
    if (loaded.header.sequence === snapshot.sequence) return loaded;
    warn(log, snapshot, `its sequence is ${loaded.header.sequence}, not the one in its name`);
  } catch (error) {
    warn(log, snapshot, (error as Error).message);
  }
  return null;
}

function warn(log: SnapshotLog, { name }: SnapshotName, problem: string): void {
  log.warn({ snapshot: name, problem }, `the snapshot ${name} cannot be used`);
}
