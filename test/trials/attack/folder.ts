/** A data folder as it is on disk: its files, what the replay tool finds, and its journal. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readJournal } from '../../../bench/measure/journal.js';
import { replayProblems } from '../../../bench/measure/replay-tool.js';
import { Engine } from '../../../engine/engine.js';
import { Replay } from '../../../persistence/recovery/recovery.js';
import { mustHold } from './promises.js';

/** The files that are not empty, by their path in the folder. */
export function filesOf(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const isFile = (name: string) => {
    const status = statSync(join(folder, name));
    return status.size > 0 && !status.isDirectory();
  };
  return names.filter(isFile).sort();
}

/** Hashes of all files but SQLite's index of a -wal file, which every reader rebuilds. */
export function hashesOf(folder: string): string {
  const hash = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
  const names = filesOf(folder).filter((name) => !name.endsWith('-shm'));
  return names.map((name) => `${name} ${hash(name)}`).join('\n');
}

/** @throws BrokenPromise when the replay tool finds damage, or money that was not conserved. */
export async function mustBeGood(folder: string): Promise<void> {
  const problems = existsSync(folder) ? await replayProblems(folder) : [];
  mustHold(problems.length === 0, problems.join('; '));
}

/** A journal that was replayed from its first command, with chain and digests checked. */
export interface Replayed {
  engine: Engine;
  /** The hash of the chain after each batch, by the last sequence of the batch. */
  hashes: Map<number, string>;
}

/** @throws JournalError */
export function replayed(folder: string): Promise<Replayed> {
  return readJournal(folder, async (reader) => {
    const engine = new Engine();
    const replay = new Replay(engine);
    const hashes = new Map<number, string>();
    for await (const batch of reader.batches()) {
      replay.apply(batch);
      hashes.set(batch.lastSequence, batch.hash.toString('hex'));
    }
    engine.checkInvariants();
    return { engine, hashes };
  });
}
