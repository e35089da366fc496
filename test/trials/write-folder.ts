/** Writes a data folder of any size with the exchange's own engine and journal. */
import { mkdirSync } from 'node:fs';
import { Engine } from '../../engine/engine.js';
import type { Command } from '../../engine/interface/commands.js';
import { RecordBuffer } from '../../engine/interface/records.js';
import { bytesOf } from '../../persistence/journal/format.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { append } from '../support/journal-fixture.js';

const BATCH_COMMANDS = 1_000;

/** Commits are not synced. Returns the number of commands. */
export async function writeFolder(
  folder: string,
  commands: Iterable<readonly [command: Command, atMs: number]>,
): Promise<number> {
  mkdirSync(folder, { mode: 0o700, recursive: true });
  const journal = await openJournal({ folder, durability: 'off' });
  const engine = new Engine();
  const records = new RecordBuffer();
  const commit = async () => {
    const lastSequence = engine.sequence;
    const firstSequence = lastSequence - records.count + 1;
    const batch = { firstSequence, lastSequence, digest: engine.digest() };
    await append(journal, { ...batch, records: Buffer.from(bytesOf(records)) });
    records.clear();
  };
  for (const [command, atMs] of commands) {
    engine.applyRecord(records, records.append(command, atMs));
    if (records.count === BATCH_COMMANDS) await commit();
  }
  if (records.count > 0) await commit();
  await journal.close();
  return engine.sequence;
}
