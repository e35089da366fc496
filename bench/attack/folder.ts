/**
 * A data folder as it is on disk: its files and their hashes, what the replay tool says of it, and
 * where its journal ends.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Engine } from '../../engine/engine.js';
import { openJournalReader } from '../../persistence/journal/reader.js';
import { Replay } from '../../persistence/recovery.js';
import { BrokenPromise } from './promises.js';

const run = promisify(execFile);
const REPLAY = fileURLToPath(new URL('../../persistence/replay/main.js', import.meta.url));

/** The files with something in them, by their path in the folder. */
export function filesOf(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const isFile = (name: string) => {
    const { size } = statSync(join(folder, name));
    return size > 0 && !statSync(join(folder, name)).isDirectory();
  };
  return names.filter(isFile).sort();
}

/**
 * Hashes of all files, to see whether any was changed. Left out are empty files, which say nothing,
 * and SQLite's index of a -wal file, which every reader rebuilds.
 */
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
  if (!existsSync(folder)) return;
  for (const verb of ['verify', 'audit']) {
    try {
      await run(process.execPath, [REPLAY, '--data', folder, verb, '--json'], {
        maxBuffer: 2 ** 28,
      });
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string };
      throw new BrokenPromise(`replay ${verb}: ${(stderr || message).trim().slice(-500)}`);
    }
  }
}

/** A journal that was replayed from its first command on, chain and digests checked. */
export interface Replayed {
  engine: Engine;
  /** The hash of the chain after each batch, by the last sequence of the batch. */
  hashes: Map<number, string>;
}

/** @throws JournalError */
export async function replayed(folder: string): Promise<Replayed> {
  const reader = await openJournalReader(folder);
  try {
    const engine = new Engine();
    const replay = new Replay(engine);
    const hashes = new Map<number, string>();
    for await (const batch of reader.batches()) {
      replay.apply(batch);
      hashes.set(batch.lastSequence, batch.hash.toString('hex'));
    }
    engine.checkInvariants();
    return { engine, hashes };
  } finally {
    await reader.close();
  }
}
