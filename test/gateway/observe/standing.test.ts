/** The exchange's condition: a nearly full disk, and the age of an earlier snapshot. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Standing } from '../../../gateway/observe/standing.js';
import type { Copies } from '../../../persistence/replication/postgres/copies.js';

const MEBIBYTE = 1024 * 1024;

test.each([
  [511, 'the disk of the data folder has 511 MiB left: archive segments or add room'],
  [512, null],
])('with %i MiB left', (mebibytes, warning) => {
  expect(standingOf('.', 0, mebibytes * MEBIBYTE).diskWarning).toBe(warning);
});

test('a snapshot that an earlier process has written is as old as its file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'standing-'));
  const path = join(folder, 'snapshots', 'snapshot-0000000000000042.bin');
  mkdirSync(join(folder, 'snapshots'));
  writeFileSync(path, '');
  utimesSync(path, 1_000, 1_000);
  expect(standingOf(folder, 42).snapshot).toEqual({ sequence: 42, atMs: 1_000_000 });
  rmSync(folder, { recursive: true });
});

test.each([
  [['b', 'c'], [], []],
  [['b'], ['c'], ['1 of 2 copies of the journal are missing: the log says which']],
])('with the copies %j, and %j missing', (there, missing, warnings) => {
  const copies = { needed: 1, there, missing };
  expect(standingOf('.', 0, 1024 * MEBIBYTE, copies).warnings).toEqual(warnings);
});

function standingOf(
  folder: string,
  snapshotSequence: number,
  freeBytes = 0,
  copies: Copies | null = null,
): Standing {
  return new Standing({
    folder,
    hasJournal: true,
    follower: { status: { snapshotSequence, troubles: new Map() } },
    clock: { nowMs: () => 0 },
    freeBytes: () => freeBytes,
    leading: () => ({ role: 'leader', epoch: null, leader: null, standbys: null, copies }),
  });
}
