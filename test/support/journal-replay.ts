/**
 * The journal of a stopped exchange, replayed into an engine of the test's own, command by command.
 */

import { Engine } from '../../engine/engine.js';
import type { Command } from '../../engine/interface/commands.js';
import { openJournalReader } from '../../persistence/journal/reader.js';
import { Replay } from '../../persistence/recovery.js';

/**
 * Called after each command was applied; `engine.result` and `engine.events` are those of the
 * command.
 */
export type Applied = (engine: Engine, command: Command, atMs: number) => void;

/**
 * The engine as it was when the exchange stopped. Throws at a batch that does not lead to the
 * recorded digest.
 */
export async function replayJournal(folder: string, applied: Applied = () => {}): Promise<Engine> {
  const engine = new Engine();
  const replay = new Replay(engine, (command, atMs) => applied(engine, command, atMs));
  const reader = await openJournalReader(folder);
  try {
    for await (const batch of reader.batches()) replay.apply(batch);
  } finally {
    await reader.close();
  }
  return engine;
}
