/**
 * Starting from a snapshot: the newest one that is whole and belongs to the journal, then the rest of the journal.
 *
 * Always holds: the engine that comes out is the one that the whole journal gives. A snapshot is used only if its hash
 * is that of the journal's batch at its sequence; one that is damaged or another journal's is passed over, by name, for
 * the one before it, and in the end for an empty engine.
 */
import { Engine } from '../../engine/engine.js';
import { JournalError } from '../journal/errors.js';
import { openReadOnlyJournal } from '../journal/read-only.js';
import { GENESIS, type JournalPosition, type JournalReader } from '../journal/reader.js';
import { recover } from '../recovery.js';
import { type LoadedSnapshot, readSnapshot } from './file.js';
import { listSnapshots, type SnapshotName } from './folder.js';
import { SnapshotError } from './format.js';

/** Where a start tells what it does; fields first, as pino has it. */
export interface RecoveryLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface SnapshotRecoveryOptions {
  /** The data folder. */
  folder: string;
  reader: JournalReader;
  log: RecoveryLog;
  /** Milliseconds on any clock that does not go back. */
  elapsedMs: () => number;
}

export interface SnapshotRecovery {
  engine: Engine;
  /** Where the engine, and the journal, now stand. */
  end: JournalPosition;
  /** Of the snapshot that was used; 0: none. */
  snapshotSequence: number;
  /** Time that reading the snapshot took, and replaying the rest. */
  loadMs: number;
  replayMs: number;
  /** Batches and commands that were replayed. */
  batches: number;
  commands: number;
}

/**
 * The engine at the end of the journal.
 * @throws JournalError when the journal is damaged, or when an undamaged snapshot says that commands are missing from it.
 */
export async function recoverFromSnapshot(options: SnapshotRecoveryOptions): Promise<SnapshotRecovery> {
  const { folder, reader, log, elapsedMs } = options;
  const startedMs = elapsedMs();
  const start = await loadNewestSnapshot({ folder, reader, log });
  const loadMs = elapsedMs() - startedMs;
  const { engine, position } = start;
  const replayed = await recover({ reader, engine, after: position, elapsedMs });
  const recovery = {
    engine,
    end: replayed.end,
    snapshotSequence: position.sequence,
    loadMs,
    replayMs: replayed.durationMs,
    batches: replayed.batches,
    commands: replayed.commands,
  };
  log.info(
    {
      sequence: engine.sequence,
      snapshotSequence: recovery.snapshotSequence,
      loadMs: Math.round(loadMs),
      replayMs: Math.round(recovery.replayMs),
      batches: recovery.batches,
      commands: recovery.commands,
    },
    position.sequence === 0
      ? 'recovered from the whole journal'
      : 'recovered from a snapshot and the rest of the journal',
  );
  return recovery;
}

/**
 * The same for a folder that was judged and to which nobody has written yet: nothing in it is changed.
 * @throws JournalError when the journal leads to another state than the exchange had that wrote it.
 */
export async function recoverJudged(
  { path, verdict }: { path: string; verdict: { isNew: boolean } },
  options: Pick<SnapshotRecoveryOptions, 'log' | 'elapsedMs'>,
): Promise<Engine> {
  if (verdict.isNew) return new Engine();
  const { reader } = await openReadOnlyJournal(path);
  try {
    return (await recoverFromSnapshot({ ...options, folder: path, reader })).engine;
  } finally {
    await reader.close();
  }
}

/** An engine and the journal's position that it stands at. */
export interface StartingPoint {
  engine: Engine;
  position: JournalPosition;
}

/**
 * The newest usable snapshot that is not after `notAfter` (left out: the newest of all), or an empty engine.
 * @throws JournalError when an undamaged snapshot is ahead of the journal: what it holds had been committed.
 */
export async function loadNewestSnapshot(options: {
  folder: string;
  reader: JournalReader;
  log: Pick<RecoveryLog, 'warn'>;
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
    warn(log, snapshot, "it is not this journal's: the journal has another batch at its sequence");
  }
  return { engine: new Engine(), position: GENESIS };
}

/** Whether the file is a whole snapshot; whose journal's is not looked at. */
export function isUndamaged(snapshot: SnapshotName): boolean {
  return tryToLoad(snapshot, readSnapshot, { warn: () => {} }) !== null;
}

function tryToLoad(
  snapshot: SnapshotName,
  read: typeof readSnapshot,
  log: Pick<RecoveryLog, 'warn'>,
): LoadedSnapshot | null {
  try {
    const loaded = read(snapshot.path);
    if (loaded.header.sequence === snapshot.sequence) return loaded;
    warn(log, snapshot, `it is of sequence ${loaded.header.sequence}, not of the one in its name`);
  } catch (error) {
    const isExpected = error instanceof SnapshotError || (error as NodeJS.ErrnoException).code !== undefined;
    if (!isExpected) throw error;
    warn(log, snapshot, (error as Error).message);
  }
  return null;
}

function warn(log: Pick<RecoveryLog, 'warn'>, { name }: SnapshotName, problem: string): void {
  log.warn({ snapshot: name, problem }, `the snapshot ${name} cannot be used`);
}

/** An undamaged snapshot shows that what it holds had been committed. */
export function aheadOfJournal({ path, sequence }: SnapshotName, endSequence: number): JournalError {
  return new JournalError(
    `the journal ends at sequence ${endSequence}, but the snapshot ${path} was taken at ${sequence}, from commands that ` +
      `had been committed: acknowledged commands are missing from the journal. Nothing was changed. Put back journal.db, ` +
      'journal.db-wal and journal.head as they were together. Only if the snapshot was copied here from another folder, ' +
      'remove it.',
    endSequence + 1,
  );
}
