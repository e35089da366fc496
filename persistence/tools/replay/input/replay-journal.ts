/**
 * Replays a journal from its first batch, with the exchange's own reader and recovery code.
 *
 * Invariant: `proven` is called after each batch whose hash chain, records and digest are
 * verified. Nothing of a batch may be printed before that.
 */
import { statSync } from 'node:fs';
import { Engine } from '../../../../engine/engine.js';
import { JournalError } from '../../../journal/errors.js';
import { GENESIS, JOURNAL_FILE, type JournalPosition } from '../../../journal/format.js';
import { readJournal } from '../../../journal/read-only.js';
import type { JournalReader } from '../../../journal/reader.js';
import { hasJournal } from '../../../recovery/evidence.js';
import { type Applied, JournalFollower } from '../../../recovery/recovery.js';
import { oldestSnapshot } from '../../../recovery/snapshot/load.js';
import type { Output } from '../output/output.js';
import { UsageError } from './arguments.js';

export interface Visitor {
  /** Called before each command, with the engine in the state before it. Must not throw. */
  applying?(atMs: number): void;
  /** Called after each command, with its result and events in the engine. Must not throw. */
  applied?(...record: Parameters<Applied>): void;
  /** Called after each verified batch. Returns false to stop. */
  proven(position: JournalPosition): boolean | Promise<boolean>;
}

export interface Progress {
  /** @param end the journal's end at the beginning; a running exchange may append. */
  reached(sequence: number, end: number): void;
  stop(): void;
}

export interface Invocation {
  folder: string;
  output: Output;
  progress: Progress;
}

interface ReplayRequest<V extends Visitor> {
  folder: string;
  progress: Progress;
  /** Gets a notice if nothing confirms the end of the journal. Default: no notice. */
  output?: Output;
  /** If the first segments are missing, begin with the oldest vouched snapshot. */
  mayBeginLater?: boolean;
  /** May throw a UsageError. `endSequence` null: the end is damaged. `start`: of the engine. */
  visit: (engine: Engine, endSequence: number | null, start: JournalPosition) => V | Promise<V>;
}

interface Replayed<V extends Visitor> {
  engine: Engine;
  visitor: V;
  batches: number;
}

/** @throws JournalError at the first damage, UsageError without a journal, FolderDisturbed. */
export async function replayJournal<V extends Visitor>(
  request: ReplayRequest<V>,
): Promise<Replayed<V>> {
  const { folder, progress, output, visit, mayBeginLater = false } = request;
  const replay = async (reader: JournalReader) => {
    const end = await endOf(reader);
    // The first segments may be in an archive.
    const isShort = mayBeginLater && reader.firstSequence > 1;
    const start = isShort ? await oldestSnapshot(folder, reader) : null;
    const { engine, position } = start ?? { engine: new Engine(), position: GENESIS };
    const visitor = await visit(engine, end?.sequence ?? null, position);
    let batches = 0;
    let atEnd = true;
    const follower: JournalFollower = new JournalFollower(engine, position, {
      applying: (atMs) => visitor.applying?.(atMs),
      applied: (records, at) => visitor.applied?.(records, at),
      proven: async ({ lastSequence }) => {
        batches++;
        progress.reached(lastSequence, end?.sequence ?? lastSequence);
        atEnd = await visitor.proven(follower.position);
        return atEnd;
      },
    });
    await follower.follow(reader);
    const { state } = reader.markState;
    if (atEnd && state !== 'read')
      output?.notice(
        `journal.head is ${state}, so it is unknown whether the journal, read up to sequence ${engine.sequence}, is complete`,
      );
    return { engine, visitor, batches };
  };
  try {
    return await readJournal(folder, replay);
  } finally {
    progress.stop();
  }
}

/** @throws UsageError without a folder or a journal; JournalError if the folder had a journal. */
export async function checkFolder(folder: string): Promise<void> {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`there is no folder ${folder}`);
  if (!stats.isDirectory()) throw new UsageError(`${folder} is not a folder`);
  if (hasJournal(folder)) return;
  throw new UsageError(
    `${folder} holds no journal (${JOURNAL_FILE}). Name the data folder of the exchange.`,
  );
}

/**
 * The journal's end; null if it is damaged. The replay then finds the first damage, which may be
 * earlier.
 */
async function endOf(reader: JournalReader): Promise<JournalPosition | null> {
  try {
    return await reader.end();
  } catch (error) {
    if (error instanceof JournalError) return null;
    throw error;
  }
}
