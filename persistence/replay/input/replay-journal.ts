/**
 * Replays a journal from its first batch into an empty engine, with the exchange's own reader and
 * recovery code. Every subcommand reads the journal this way.
 *
 * Always holds: `proven` is called after each batch whose hash chain, frames and digest are
 * verified. What a visitor learns of a batch may be printed only then.
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

/** The callbacks of a subcommand. */
export interface Visitor {
  /** Before each command, with the engine in the state before it. Must not throw. */
  applying?(command: Command, atMs: number): void;
  /** After each command, with its result and events in the engine. Must not throw. */
  applied?(command: Command, atMs: number): void;
  /** After each verified batch. Returns false to stop. */
  proven?(position: JournalPosition): boolean | Promise<boolean>;
}

/** Shows the progress, in sequences. */
export interface Progress {
  start(total: number): void;
  reached(sequence: number): void;
  stop(): void;
}

export interface ReplayRequest {
  folder: string;
  progress: Progress;
  /**
   * Makes the visitor; may throw a UsageError. `endSequence` is the end of the journal; null: the
   * end is damaged.
   */
  visit: (engine: Engine, endSequence: number | null) => Visitor | Promise<Visitor>;
}

export interface Replayed {
  engine: Engine;
  /** The end of the last verified batch. */
  position: JournalPosition;
  batches: number;
  /** Whether the journal was read to its end, which is where the head mark says. */
  atEnd: boolean;
  markState: MarkState;
}

/**
 * @throws JournalError that names the first damaged sequence, UsageError when there is no journal
 * or when an exchange was started while the tool read the folder.
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
      throw new UsageError(`an exchange was started on ${folder} meanwhile: run the command again`);
    }
    throw error;
  } finally {
    progress.stop();
    await reader.close();
  }
}

/** @throws UsageError when there is no journal, JournalError when there was one. */
export async function checkFolder(folder: string): Promise<void> {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`there is no folder ${folder}`);
  if (!stats.isDirectory()) throw new UsageError(`${folder} is not a folder`);
  if (await findJournal(folder)) return;
  throw new UsageError(
    `${folder} holds no journal (${JOURNAL_FILE}). Name the data folder of the exchange.`,
  );
}

/** null: the end is damaged. The replay then finds the first damage, which may come earlier. */
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

/** A notice for the operator if nothing confirms the end of the journal; null: none. */
export function markNotice({ markState, position }: Replayed): string | null {
  if (markState.state === 'read') return null;
  const { sequence } = position;
  return `journal.head is ${markState.state}, so it is unknown whether the journal, read up to sequence ${sequence}, is complete`;
}
