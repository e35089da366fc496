/** The exchange's condition, for operators. Everything is read on request. */
import { statSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FollowerStatus } from '../../persistence/follower/follower.js';
import type { DerivedPart } from '../../persistence/follower/troubles.js';
import { overdueIn } from '../../persistence/journal/sealing.js';
import { archivedCount, listSegments } from '../../persistence/journal/segments.js';
import { type LastBackup, lastBackup } from '../../persistence/recovery/last-backup.js';
import { snapshotNameOf } from '../../persistence/recovery/snapshot/folder.js';
import type { Copies } from '../../persistence/replication/postgres/copies.js';
import type { Leader } from '../../persistence/replication/postgres/postgres-journal.js';
import { freeBytesAt } from '../../persistence/storage/room.js';
import { elapsedMs, machineMs } from './clock.js';
import type { Log } from './log.js';

export interface Leading {
  role: 'leader' | 'replica';
  /** `null` if the journal is in a folder. */
  epoch: number | null;
  /** Where the leader serves clients; `null` if unknown or the journal is in a folder. */
  leader: string | null;
  /** Standbys with a warm engine; `null` if impossible, or on a replica, which cannot tell. */
  standbys: number | null;
  /** In addition to PostgreSQL's primary; `null` if unknown. */
  copies: Copies | null;
}

interface Parts {
  folder: string;
  hasJournal: boolean;
  follower: { readonly status: Pick<FollowerStatus, 'snapshotSequence' | 'troubles'> };
  clock: { nowMs(): number; readonly followsMachine?: boolean };
  damage?: string | null;
  freeBytes?: () => number | null;
  leading: () => Leading;
}

/** A shorter time does not predict a day. */
const RATE_MS_MIN = 600_000;
const DAY_MS = 86_400_000;

const MEBIBYTE = 1024 * 1024;
const DAMAGED =
  'a part of the journal before the newest snapshot is damaged or missing: npm run doctor says what to do';
const UNSEALED =
  'a full segment of the journal cannot be sealed, and therefore cannot be archived: the log names the file and the remedy';

/** A large exchange's snapshot needs more than this. */
const LOW_BYTES = 512 * MEBIBYTE;

/** Name, subfolder, file names. */
const PARTS_ON_DISK = [
  ['journal', '', /^journal/],
  ['history', 'history', /^/],
  ['snapshots', 'snapshots', /^/],
] as const;

export class Standing {
  private readonly startedMs = elapsedMs();
  private readonly freeBytesAtStart: number | null;

  constructor(private readonly parts: Parts) {
    this.freeBytesAtStart = this.freeBytes;
  }

  get leading(): Leading {
    return this.parts.leading();
  }

  get failing(): DerivedPart[] {
    return [...this.parts.follower.status.troubles.keys()];
  }

  /** The warning is public, so details are only in the log. */
  get failingWarning(): string | null {
    const { failing } = this;
    if (failing.length === 0) return null;
    return `cannot be made now: ${failing.join(', ')}. The log says why, and what mends it`;
  }

  /** The newest snapshot that the journal vouches for. `atMs` is `null` if its file is gone. */
  get snapshot(): { sequence: number; atMs: number | null } | null {
    const { snapshotSequence: sequence } = this.parts.follower.status;
    if (sequence === 0) return null;
    const { path } = snapshotNameOf(this.parts.folder, sequence);
    const atMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null;
    return { sequence, atMs: atMs === null ? null : Math.round(atMs) };
  }

  get backup(): LastBackup | null {
    return this.parts.hasJournal ? lastBackup(this.parts.folder) : null;
  }

  /** Numbers of journal files here and only in the archive; `null` while unreadable. */
  get segments(): { here: number; archived: number } | null {
    const { folder, hasJournal } = this.parts;
    if (!hasJournal) return null;
    try {
      return { here: listSegments(folder).length, archived: archivedCount(folder) };
    } catch {
      return null;
    }
  }

  /** Full but not sealed in time; `null` while unreadable. */
  get unsealed(): number | null {
    const { folder, hasJournal } = this.parts;
    if (!hasJournal) return null;
    try {
      return overdueIn(folder, machineMs()).length;
    } catch {
      return null;
    }
  }

  get damaged(): number {
    return this.parts.damage === undefined || this.parts.damage === null ? 0 : 1;
  }

  /** Problems of a serving exchange. They are public, so details are only in the log. */
  get warnings(): string[] {
    const { failingWarning, diskWarning, damaged, unsealed } = this;
    const { copies } = this.leading;
    return [
      failingWarning,
      diskWarning,
      damaged === 0 ? null : DAMAGED,
      unsealed === null || unsealed === 0 ? null : UNSEALED,
      copies === null || copies.missing.length === 0 ? null : missingText(copies),
    ].filter((each) => each !== null);
  }

  /** After years there are thousands of files. */
  async usedBytes(): Promise<[part: string, bytes: number][]> {
    const { folder } = this.parts;
    const bytes: [string, number][] = [];
    for (const [part, subfolder, pattern] of PARTS_ON_DISK) {
      const path = join(folder, subfolder);
      let sum = 0;
      for (const name of await readdir(path).catch(() => []))
        if (pattern.test(name))
          sum += await stat(join(path, name)).then(
            ({ size }) => size,
            () => 0,
          );
      bytes.push([part, sum]);
    }
    return bytes;
  }

  get freeBytes(): number | null {
    const { folder, freeBytes = () => freeBytesAt(folder) } = this.parts;
    return freeBytes();
  }

  /** When the disk is full, the exchange stops at the first commit. */
  get diskWarning(): string | null {
    const { freeBytes } = this;
    if (freeBytes === null || freeBytes >= LOW_BYTES) return null;
    const mebibytes = Math.floor(freeBytes / MEBIBYTE);
    return `the disk of the data folder has ${mebibytes} MiB left: archive segments or add room`;
  }

  /** At the rate since startup; `null` if too early or not filling. */
  get daysLeft(): number | null {
    const { freeBytes, freeBytesAtStart } = this;
    const forMs = elapsedMs() - this.startedMs;
    if (freeBytes === null || freeBytesAtStart === null || forMs < RATE_MS_MIN) return null;
    const usedBytes = freeBytesAtStart - freeBytes;
    return usedBytes <= 0 ? null : Math.round((freeBytes / usedBytes) * (forMs / DAY_MS));
  }

  /** `null` if the exchange's clock does not follow the machine's. */
  get clockAheadMs(): number | null {
    const { clock } = this.parts;
    return clock.followsMachine === true ? Math.round(clock.nowMs() - machineMs()) : null;
  }
}

function missingText({ missing, there }: Copies): string {
  const all = missing.length + there.length;
  return `${missing.length} of ${all} copies of the journal are missing: the log says which`;
}

export function tellCopies(log: Log): (copies: Copies, before: Copies | null) => void {
  return (copies, before) => {
    const fields = { ...copies };
    if (copies.there.length < copies.needed)
      log.error(
        fields,
        'EVERYTHING WAITS: too few copies of the journal are available for a commit',
      );
    else if (copies.missing.length > 0)
      log.warn(fields, 'some copies of the journal are unavailable, but enough remain to commit');
    else if (before !== null) log.info(fields, 'all copies of the journal are available');
  };
}

export function tellRefused(log: Log): (problem: string | null) => void {
  return (problem) => {
    if (problem === null) log.info('new connections to the journal are accepted again');
    else
      log.error(
        { problem },
        'NEW CONNECTIONS TO THE JOURNAL ARE REFUSED: this exchange leads until it loses its open connection',
      );
  };
}

/** `own` is this exchange's address, where its last process may lead. */
export function tellLeader(log: Log, own: string): (leader: Leader) => void {
  return ({ epoch, serving }) => {
    if (serving === own)
      log.info(
        { epoch },
        'the lease of an earlier process of this exchange is not over: this one waits',
      );
    else if (serving === '') log.info({ epoch }, 'another exchange leads: this one waits');
    else log.info({ epoch, serving }, 'another exchange leads: this one waits');
  };
}

/** 1 if present, 0 if missing. */
export function copiesByName(copies: Copies | null): [name: string, isThere: number][] {
  if (copies === null) return [];
  const { there, missing } = copies;
  return [
    ...there.map((n): [string, number] => [n, 1]),
    ...missing.map((n): [string, number] => [n, 0]),
  ];
}
