/** Replays the journal of a stopped exchange into the test's own engine, command by command. */

import { Engine } from '../../engine/engine.js';
import type { Command } from '../../engine/interface/commands.js';
import { openJournalReader } from '../../persistence/journal/reader.js';
import { Replay, withCommand } from '../../persistence/recovery.js';

/** Called after each command; `engine.result` and `engine.events` belong to that command. */
export type Applied = (engine: Engine, command: Command, atMs: number) => void;

/**
 * Returns the engine as it was when the exchange stopped. Throws if a batch does not give the
 * recorded digest.
 */
export async function replayJournal(folder: string, applied: Applied = () => {}): Promise<Engine> {
  const engine = new Engine();
  const replay = new Replay(
    engine,
    withCommand((command, atMs) => applied(engine, command, atMs)),
  );
  const reader = await openJournalReader(folder);
  try {
    for await (const batch of reader.batches()) replay.apply(batch);
  } finally {
    await reader.close();
  }
  return engine;
}
