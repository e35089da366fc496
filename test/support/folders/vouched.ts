/** Whether a folder's journal vouches for its newest snapshots, so that a start can use them. */
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { listSnapshots } from '../../../persistence/recovery/snapshot/folder.js';
import { vouchedPosition } from '../../../persistence/recovery/snapshot/vouched.js';

/** @param count number of snapshots, from the newest. */
export async function isVouchedFor(folder: string, count = 1): Promise<boolean> {
  const snapshots = listSnapshots(folder);
  if (snapshots.length < count) return false;
  const reader = await openJournalReader(folder);
  try {
    for (const snapshot of snapshots.slice(0, count))
      if ((await vouchedPosition(reader, snapshot)) === null) return false;
    return true;
  } finally {
    await reader.close();
  }
}
