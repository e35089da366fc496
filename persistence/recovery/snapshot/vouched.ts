/**
 * The journal's vouch for a snapshot. After the follower has written a snapshot, the exchange
 * journals its hash (`vouchForSnapshot`), so that the journal's chain covers the file: changing the
 * file with a valid checksum would require changing the journal.
 */
import { kindAt, readCommand } from '../../../engine/interface/command-record.js';
import { CommandKind, type CommandOf } from '../../../engine/interface/commands.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import type { JournalPosition } from '../../journal/format.js';
import { recordsIn } from '../../journal/row.js';
import type { JournalSource } from '../../journal/store.js';
import { checksumIn } from './file.js';
import type { SnapshotName } from './folder.js';

/** The command at `at` if it vouches for a snapshot; otherwise null. */
export function vouchAt(records: RecordBuffer, at: number): CommandOf<'vouchForSnapshot'> | null {
  if (kindAt(records, at) !== CommandKind.vouchForSnapshot) return null;
  return readCommand(records, at) as CommandOf<'vouchForSnapshot'>;
}

/**
 * The hash that the journal first states for the snapshot at `position`; null if none. It is
 * journalled seconds after the snapshot was taken, so this reads a few batches, or, without a
 * vouch, all to the journal's end.
 * @throws JournalError if the journal is damaged there.
 */
export async function vouchedHash(
  reader: Pick<JournalSource, 'batches'>,
  position: JournalPosition,
): Promise<string | null> {
  const records = new RecordBuffer();
  for await (const batch of reader.batches(position)) {
    for (const at of recordsIn(batch, records)) {
      const vouch = vouchAt(records, at);
      if (vouch?.snapshotSequence === position.sequence) return vouch.snapshotHash;
    }
  }
  return null;
}

/**
 * The snapshot's position if the journal vouches for the checksum in its file; null otherwise. The
 * rest of the file is not read.
 */
export async function vouchedPosition(
  reader: JournalSource,
  { sequence, path }: SnapshotName,
): Promise<JournalPosition | null> {
  const position = await reader.positionAt(sequence);
  if (position === null) return null;
  const vouched = await vouchedHash(reader, position);
  return vouched !== null && vouched === checksumIn(path) ? position : null;
}
