/**
 * The versions of a data folder that this program reads, oldest first; it writes the last one. A
 * journal of an older version is only read: `npm run upgrade` copies its folder and continues the
 * copy in a segment of the present version, whose first command records it (`recordUpgrade`).
 *
 * A version may differ from the one before it in
 *   the tables       segment-reader.ts
 *   the records      they have not changed; a version that changes them needs a reader of the old
 *                    ones in recovery.ts
 *   the state        a snapshot names its version, and `archive` methods of the engine ask for it
 *                    (engine/storage/archive.ts)
 *   the rules        a set of rules keeps its meaning (engine/interface/rule-sets.ts), so that this
 *                    program's engine reaches the digests of every version in this table
 *
 * Version 0 is of before the first release. Its journals replay unless a price jumped by more than
 * a quarter, which the guard of version 1 would hold back: the upgrade then refuses, and names the
 * batch. Its snapshots remember ended orders in another way. With more than ORDERS_REMEMBERED
 * orders the state differs where nobody can see it, and the upgrade takes that of the replay.
 *
 * test/persistence/upgrade has a real folder of each.
 */
import { APPLICATION_ID, FORMAT_VERSION } from './format.js';

export interface FolderVersion {
  /** 0: before the first release. */
  version: number;
  /** Of a segment of the journal. */
  applicationId: number;
  userVersion: number;
  /** In the header of a snapshot. */
  snapshotVersion: number;
}

export const VERSIONS: readonly FolderVersion[] = [
  { version: 0, applicationId: 0x51485831, userVersion: 7, snapshotVersion: 13 },
  {
    version: FORMAT_VERSION,
    applicationId: APPLICATION_ID,
    userVersion: FORMAT_VERSION,
    snapshotVersion: FORMAT_VERSION,
  },
];

/** The version of a segment by the numbers in its header; null: this program cannot read it. */
export function versionOfSegment(applicationId: number, userVersion: number): number | null {
  const found = VERSIONS.find(
    (each) => each.applicationId === applicationId && each.userVersion === userVersion,
  );
  return found?.version ?? null;
}

/** null: this program cannot read such a snapshot. */
export function versionOfSnapshot(snapshotVersion: number): number | null {
  return VERSIONS.find((each) => each.snapshotVersion === snapshotVersion)?.version ?? null;
}
