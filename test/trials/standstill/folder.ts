/** A data folder with millions of users: registered, and some with a position in a market. */

import { LARGE_AT_MS, largeExchange } from '../../../bench/journal/large-exchange.js';
import { Engine } from '../../../engine/engine.js';
import type { Command } from '../../../engine/interface/commands.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import { bytesOf } from '../../../persistence/journal/format.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';

const BATCH_COMMANDS = 2_000;

export async function writeLargeFolder(
  folder: string,
  counts: { users: number; traders: number },
): Promise<void> {
  const engine = new Engine();
  const journal = await openJournal({ folder, durability: 'off' });
  const records = new RecordBuffer();
  const append = () =>
    new Promise<void>((resolve, reject) => {
      const lastSequence = engine.sequence;
      const firstSequence = lastSequence - records.count + 1;
      const batch = { firstSequence, lastSequence, digest: engine.digest() };
      journal.append({ ...batch, records: Buffer.from(bytesOf(records)) }, (error) =>
        error === null ? resolve() : reject(error),
      );
    });
  const apply = (command: Command) =>
    engine.applyRecord(records, records.append(command, LARGE_AT_MS));
  for (const command of largeExchange(counts)) {
    apply(command);
    if (records.count < BATCH_COMMANDS) continue;
    await append();
    records.clear();
  }
  if (records.count > 0) await append();
  await journal.close();
}
