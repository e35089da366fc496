/**
 * The one way in which every verb of the replay tool reads a journal: from its first batch, through the exchange's own
 * reader and the exchange's own recovery code, into an engine that starts empty.
 *
 * Always holds: what a verb is shown of a batch is only to be told when the batch is proven, which is when `proven` is
 * called: its chain, its frames and the engine's digest after it are what the exchange had.
 */

import { statSync } from 'node:fs';
import { Engine } from '../../../engine/engine.js';
import type { Command } from '../../../engine/interface/commands.js';
import { JournalError } from '../../journal/errors.js';
import { GENESIS, JOURNAL_FILE, type JournalPosition } from '../../journal/format.js';
import type { MarkState } from '../../journal/head-mark.js';
import { openReadOnlyJournal } from '../../journal/read-only.js';
import type { JournalReader } from '../../journal/reader.js';
import { findJournal } from '../../judgement.js';
import { Replay } from '../../recovery.js';
import { UsageError } from './errors.js';

/** What a verb wants to see on the way. Each may be left out. */
export interface Visitor {
  /** Before each command: what the engine shows is what was before it. Must not throw. */
  applying?(command: Command, atMs: number): void;
  /** After each command: the engine's result and events are those of this command. Must not throw. */
  applied?(command: Command, atMs: number): void;
  /** After each batch, when it is proven; false: enough has been seen. */
  proven?(position: JournalPosition): boolean | Promise<boolean>;
}

/** How far the replay is, in sequences. */
export interface Progress {
  start(total: number): void;
  reached(sequence: number): void;
  stop(): void;
}

export interface ReplayRequest {
  folder: string;
  progress: Progress;
  /** `endSequence` is where the journal ends now; null: its end is damaged. A UsageError from here ends the replay. */
  visit: (engine: Engine, endSequence: number | null) => Visitor | Promise<Visitor>;
}

export interface Replayed {
  engine: Engine;
  /** The last batch that was proven. */
  position: JournalPosition;
  batches: number;
  /** Whether the journal was read to its end, and its end is where the head mark says. */
  atEnd: boolean;
  markState: MarkState;
}

/**
 * @throws JournalError naming the first sequence that is not as the exchange wrote it, UsageError when there is no
 *   journal or when an exchange was started on a folder that was being read as a stopped one.
 */
export async function replayJournal(request: ReplayRequest): Promise<Replayed> {
  const { folder, progress } = request;
  await checkFolder(folder);
  const { reader, wasDisturbed } = await openReadOnlyJournal(folder);
  try {
    const end = await endOf(reader);
    if (end !== null) progress.start(end.sequence);
    const engine = new Engine();
    const visitor = await request.visit(engine, end?.sequence ?? null);
    return { ...(await walk(reader, engine, visitor, progress)), markState: reader.markState };
  } catch (error) {
    if (error instanceof JournalError && wasDisturbed()) {
      throw new UsageError(`an exchange was started on ${folder} meanwhile: run this again`);
    }
    throw error;
  } finally {
    progress.stop();
    await reader.close();
  }
}

/** @throws UsageError when there is no journal to look at, JournalError when it is gone. */
export async function checkFolder(folder: string): Promise<void> {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`there is no folder ${folder}`);
  if (!stats.isDirectory()) throw new UsageError(`${folder} is not a folder`);
  if (await findJournal(folder)) return;
  throw new UsageError(
    `${folder} holds no journal (${JOURNAL_FILE}). Name the folder that the exchange keeps its data in.`,
  );
}

/** null when the end is damaged: the replay then finds the first damage, which may be an earlier one. */
async function endOf(reader: JournalReader): Promise<JournalPosition | null> {
  try {
    return await reader.end();
  } catch (error) {
    if (error instanceof JournalError) return null;
    throw error;
  }
}

async function walk(
  reader: JournalReader,
  engine: Engine,
  visitor: Visitor,
  progress: Progress,
): Promise<Omit<Replayed, 'markState'>> {
  const replay = new Replay(
    engine,
    (command, atMs) => visitor.applied?.(command, atMs),
    (command, atMs) => visitor.applying?.(command, atMs),
  );
  let position: JournalPosition = GENESIS;
  let batches = 0;
  for await (const batch of reader.batches()) {
    replay.apply(batch);
    position = { sequence: batch.lastSequence, hash: batch.hash, digest: batch.digest };
    batches++;
    progress.reached(position.sequence);
    const goOn = (await visitor.proven?.(position)) ?? true;
    if (!goOn) return { engine, position, batches, atEnd: false };
  }
  return { engine, position, batches, atEnd: true };
}

/** What the operator should know about how the end of the journal was found; null: nothing. */
export function markNotice({ markState, position }: Replayed): string | null {
  switch (markState.state) {
    case 'read':
      return null;
    case 'missing':
      return `journal.head is missing, so nobody can tell whether the journal, read up to sequence ${position.sequence}, is complete`;
    case 'unreadable':
      return `journal.head is unreadable, so nobody can tell whether the journal, read up to sequence ${position.sequence}, is complete`;
  }
}
