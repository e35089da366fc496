/** Lets the journal vouch for snapshots that were made outside an exchange. */
import { Engine } from '../../../engine/engine.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import { bytesOf } from '../../../persistence/journal/format.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import { JournalFollower } from '../../../persistence/recovery/recovery.js';
import { readSnapshot } from '../../../persistence/recovery/snapshot/file.js';
import { listSnapshots } from '../../../persistence/recovery/snapshot/folder.js';
import { append } from '../../../persistence/tools/operations/copy-journal.js';

/** Appends one batch that vouches for every snapshot in the folder; returns the journal's end. */
export async function vouchForSnapshots(folder: string): Promise<number> {
  const engine = new Engine();
  const reader = await openJournalReader(folder);
  await new JournalFollower(engine).follow(reader);
  await reader.close();
  const records = new RecordBuffer();
  const firstSequence = engine.sequence + 1;
  for (const { path, sequence } of listSnapshots(folder).reverse()) {
    const { hash } = readSnapshot(path);
    const vouch = { snapshotSequence: sequence, snapshotHash: hash };
    const at = records.append({ kind: 'vouchForSnapshot', ...vouch }, engine.nowMs);
    engine.applyRecord(records, at);
  }
  const journal = await openJournal({ folder, acceptMissingMark: true });
  const batch = { firstSequence, lastSequence: engine.sequence, digest: engine.digest() };
  await append(journal, { ...batch, records: Buffer.from(bytesOf(records)) });
  await journal.close();
  return engine.sequence;
}
