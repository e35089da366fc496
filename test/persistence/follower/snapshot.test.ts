/**
 * Snapshots: written and read back, from another journal, ahead of the journal. fault-table.test.ts
 * covers damaged ones. Recovery from a snapshot and the rest of the journal must give the same
 * bytes as recovery from the whole journal.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { StateWriter } from '../../../engine/storage/archive.js';
import type { JournalPosition } from '../../../persistence/journal/format.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import {
  JournalFollower,
  recoverFromSnapshot,
  type SnapshotRecovery,
} from '../../../persistence/recovery/recovery.js';
import {
  readSnapshot,
  snapshotBytes,
  writeSnapshot,
} from '../../../persistence/recovery/snapshot/file.js';
import {
  listSnapshots,
  prepareSnapshotFolder,
  removeOldSnapshots,
  snapshotNameOf,
} from '../../../persistence/recovery/snapshot/folder.js';
import { registration } from '../../support/engine-support.js';
import { moveMoney } from '../../support/folders/moved-money.js';
import { vouchForSnapshots } from '../../support/folders/vouch.js';
import { journalOf, Log } from '../../support/follower-fixture.js';
import { dayOfCommands, type TimedCommand } from '../../support/history-oracle.js';
import { addSnapshots, Folders, tamper } from '../../support/journal-fixture.js';

const folders = new Folders();
const originals = new Folders();
/** A journal with snapshots at three of its batches. */
let original: string;
let commands: TimedCommand[];
let wholeBytes: string;

/** SHA-256 of the engine's whole state. */
function bytesOf(engine: Engine): string {
  const hash = createHash('sha256');
  const writer = new StateWriter((bytes) => hash.update(bytes));
  engine.archive(writer);
  writer.finish();
  return hash.digest('hex');
}

/** The number of commands in the journal, including those with hashes of snapshots. */
let endSequence: number;

beforeAll(async () => {
  commands = dayOfCommands();
  original = originals.make();
  await journalOf(original, commands);
  await addSnapshots(original, 2_000, 4_000, 6_500);
  endSequence = await vouchForSnapshots(original);
  const { engine } = await recoverWhole(original);
  wholeBytes = bytesOf(engine);
  return () => originals.removeAll();
});
afterEach(() => folders.removeAll());

interface Start {
  recovery: SnapshotRecovery;
  log: Log;
}

async function start(folder: string, stepMs = 1): Promise<Start> {
  const reader = await openJournalReader(folder);
  const log = new Log();
  let nowMs = 0;
  const elapsedMs = () => (nowMs += stepMs);
  try {
    const recovery = await recoverFromSnapshot({ folder, reader, log, elapsedMs });
    return { recovery, log };
  } finally {
    await reader.close();
  }
}

function expectWhole({ engine, end }: SnapshotRecovery): void {
  expect(end.sequence).toBe(endSequence);
  expect(end.digest).toBe(engine.digest());
  expect(bytesOf(engine)).toBe(wholeBytes);
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at < 0 ? bytes.length + at : at]! ^= 4;
  writeFileSync(path, bytes);
}

describe('recovery', () => {
  it('says every few seconds how far it is', async () => {
    const { log, recovery } = await start(folders.copy(original), 3_000);
    const said = log.entries.filter(({ message }) => message === 'replaying the journal');
    expect(said.length).toBeGreaterThan(recovery.batches / 4);
    const { sequence } = said.at(-1)!.fields as { sequence: number };
    expect(sequence).toBeGreaterThan(recovery.snapshotSequence);
  });

  it('from the newest snapshot and the rest gives the same bytes as from the whole journal', async () => {
    const { recovery, log } = await start(folders.copy(original));
    expectWhole(recovery);
    expect(recovery.snapshotSequence).toBe(listSnapshots(original)[0]!.sequence);
    expect(recovery.snapshotSequence).toBeGreaterThan(6_000);
    expect(recovery.commands).toBe(endSequence - recovery.snapshotSequence);
    expect(log.entries.map(({ level }) => level)).toEqual(['info']);
    expect(log.entries[0]!.fields).toMatchObject({
      commands: recovery.commands,
      loadMs: 1,
      replayMs: 1 + recovery.batches,
    });
    recovery.engine.checkInvariants();
  });

  it("from a snapshot at the journal's end replays only the command that vouches for it", async () => {
    const folder = folders.make();
    await journalOf(folder, commands);
    await addSnapshots(folder, commands.length);
    await vouchForSnapshots(folder);
    const { recovery } = await start(folder);
    expect(recovery.commands).toBe(1);
    const whole = await recoverWhole(folder);
    expect(bytesOf(recovery.engine)).toBe(bytesOf(whole.engine));
  });
});

describe('a damaged snapshot is named, and the one before is used', () => {
  const changed = (change: (bytes: Buffer) => Buffer) => (path: string) =>
    writeFileSync(path, change(readFileSync(path)));
  it.each<[what: string, damage: (path: string) => void, says: RegExp]>([
    ['extra bytes', changed((bytes) => Buffer.concat([bytes, Buffer.of(0)])), /it has \d+ bytes/],
    ['part of its header', changed((bytes) => bytes.subarray(0, 50)), /cut short/],
    ['other bytes at its start', (path) => flip(path, 0), /does not begin with/],
    ['another version', (path) => flip(path, 8), /its format version is/],
    ['a changed bit', (path) => flip(path, 5_000), /checksum does not match/],
    [
      'another time, and its own checksum right',
      changed((bytes) => {
        bytes[24]! ^= 1;
        const content = bytes.subarray(0, -32);
        return Buffer.concat([content, createHash('sha256').update(content).digest()]);
      }),
      /the engine in it is at sequence/,
    ],
    [
      'another name',
      (path) => renameSync(path, path.replace('6541', '6540')),
      /not the one in its name/,
    ],
    [
      'a folder in its place',
      (path) => {
        rmSync(path);
        mkdirSync(path);
      },
      /EISDIR/,
    ],
  ])('one with %s', async (_what, damage, says) => {
    const folder = folders.copy(original);
    const [newest, before] = listSnapshots(folder);
    damage(newest!.path);
    const { recovery, log } = await start(folder);
    expect(recovery.snapshotSequence).toBe(before!.sequence);
    expectWhole(recovery);
    expect(log.of('warn').map(({ fields }) => fields.problem)).toEqual([
      expect.stringMatching(says),
    ]);
  });
});

describe('a snapshot that was changed, with its own checksum made right', () => {
  it('is found by the next start, which goes back to the one before', async () => {
    const folder = folders.copy(original);
    const [newest, before] = listSnapshots(folder);
    const balanceOf = (engine: Engine, userId: number) => engine.account(userId)!.availableMicros;
    const honest = readSnapshot(newest!.path).engine;
    moveMoney(newest!.path, 3, 4);
    // The file is whole, its engine has the right digest, and all its totals are right.
    const { engine } = readSnapshot(newest!.path);
    expect(balanceOf(engine, 3)).toBe(balanceOf(honest, 3) - 400_000);
    expect(balanceOf(engine, 4)).toBe(balanceOf(honest, 4) + 400_000);

    const { recovery, log } = await start(folder);
    expect(recovery.snapshotSequence).toBe(before!.sequence);
    expectWhole(recovery);
    const [warning] = log.of('warn');
    expect(warning!.message).toContain(newest!.name);
    expect(warning!.fields.problem).toMatch(/it was changed after it was written.*vouches for/);
  });

  it('is not used even if the whole journal must be replayed', async () => {
    const folder = folders.copy(original);
    for (const { path } of listSnapshots(folder)) moveMoney(path, 3, 4);
    const { recovery, log } = await start(folder);
    expect(recovery.snapshotSequence).toBe(0);
    expectWhole(recovery);
    expect(log.of('warn').length).toBe(3);
  });
});

describe('a snapshot that does not belong to the journal', () => {
  it('is skipped when it is from another journal', async () => {
    const folder = folders.make();
    await journalOf(folder, dayOfCommands('other'));
    await prepareSnapshotFolder(folder);
    for (const { sequence, path } of listSnapshots(original)) {
      writeFileSync(snapshotNameOf(folder, sequence).path, readFileSync(path));
    }
    const { recovery, log } = await start(folder);
    expect(recovery.snapshotSequence).toBe(0);
    expect(log.of('warn').map(({ fields }) => fields.problem)).toEqual(
      Array(3).fill(expect.stringContaining('it belongs to another journal')),
    );
  });

  it.each(['whole', 'damaged'])('is skipped when it is ahead of the journal: %s', async (state) => {
    const folder = folders.copy(original);
    const [newest, before] = listSnapshots(folder);
    await tamper(folder, `DELETE FROM batch WHERE lastSequence > ${newest!.sequence - 100}`);
    writeFileSync(join(folder, 'journal.head'), '');
    renameSync(newest!.path, `${newest!.path}.aside`);
    await vouchForSnapshots(folder);
    renameSync(`${newest!.path}.aside`, newest!.path);
    if (state === 'damaged') flip(newest!.path, 5_000);
    const { recovery } = await start(folder);
    expect(recovery.snapshotSequence).toBe(before!.sequence);
  });
});

async function recoverWhole(folder: string): Promise<{ engine: Engine; end: JournalPosition }> {
  const reader = await openJournalReader(folder);
  const engine = new Engine();
  const follower = new JournalFollower(engine);
  await follower.follow(reader);
  await reader.close();
  return { engine, end: follower.position };
}

describe('the files', () => {
  it('the newest that the journal vouches for is kept, however old', async () => {
    const folder = folders.copy(original);
    await addSnapshots(folder, 6_600, 6_700, 6_900);
    const vouched = listSnapshots(folder)[3]!;
    removeOldSnapshots(folder, { sequence: 7_000, vouchedSequence: vouched.sequence });
    expect(listSnapshots(folder).length).toBe(4);
    const { recovery, log } = await start(folder);
    expect(recovery.snapshotSequence).toBe(vouched.sequence);
    expectWhole(recovery);
    expect(log.of('warn').map(({ fields }) => fields.problem)).toEqual(
      Array(3).fill(expect.stringContaining('the journal does not vouch for it')),
    );
  });

  it('the newest from which the open part of the history can be made is kept', async () => {
    const folder = folders.copy(original);
    await addSnapshots(folder, 6_600, 6_700, 6_900);
    const [newest, , , ofPart] = listSnapshots(folder);
    const sequences = { sequence: 7_000, vouchedSequence: newest!.sequence };
    removeOldSnapshots(folder, { ...sequences, partSequence: ofPart!.sequence + 1 });
    expect(listSnapshots(folder)).toContainEqual(ofPart);
    const oldest = listSnapshots(folder).at(-1);
    removeOldSnapshots(folder, { ...sequences, partSequence: null });
    expect(listSnapshots(folder)).toContainEqual(oldest);
    removeOldSnapshots(folder, { ...sequences, partSequence: ofPart!.sequence - 1 });
    expect(listSnapshots(folder)).not.toContainEqual(ofPart);
  });

  it.runIf(existsSync('/dev/full'))(
    'on a full disk none is left behind, and the error names the disk',
    async () => {
      const folder = folders.copy(original);
      const { engine, end } = await recoverWhole(folder);
      const { path } = snapshotNameOf(folder, 9_999);
      symlinkSync('/dev/full', `${path}.tmp`);
      await expect(writeSnapshot(path, engine, end)).rejects.toThrow(/ENOSPC/);
      expect(readdirSync(join(folder, 'snapshots')).length).toBe(3);
    },
  );

  it.each(['tmp', 'upgrade', 'upgrade.tmp'])(
    'a file .%s that a crash left unfinished is not used, and is removed',
    async (ending) => {
      const folder = folders.copy(original);
      const [newest] = listSnapshots(folder);
      renameSync(newest!.path, `${newest!.path}.${ending}`);
      expect(listSnapshots(folder).length).toBe(2);
      await prepareSnapshotFolder(folder);
      expect(readdirSync(join(folder, 'snapshots')).length).toBe(2);
    },
  );

  it('a snapshot has a header with its metadata, and only its owner can read it', async () => {
    const { statSync } = await import('node:fs');
    const [newest] = listSnapshots(original);
    const { header } = readSnapshot(newest!.path);
    expect(header.sequence).toBe(newest!.sequence);
    expect(header.atMs).toBe(commands[newest!.sequence - 1]!.atMs);
    expect(statSync(newest!.path).mode & 0o777).toBe(0o600);
  });

  it('a snapshot is only taken at the end of the journal', async () => {
    const reader = await openJournalReader(original);
    const position = (await reader.positionAt(listSnapshots(original)[0]!.sequence))!;
    await reader.close();
    expect(() => snapshotBytes(new Engine(), position).next()).toThrow(/is at sequence 0/);
  });

  it('a large state is written in small pieces, without a copy, to the same bytes', () => {
    const engine = new Engine();
    for (let i = 1; i <= 30_000; i++) engine.apply(registration(`user-${i}`, i), 1_000);
    engine.reserve();
    const position = { sequence: 30_000, digest: engine.digest(), hash: Buffer.alloc(32) };
    const pieces = [...snapshotBytes(engine, position)].filter(({ length }) => length > 0);
    const copied = pieces.filter(({ buffer }) => buffer.byteLength <= 256 * 1_024);
    const bytesIn = (some: Uint8Array[]) => some.reduce((sum, { length }) => sum + length, 0);
    expect(bytesIn(pieces)).toBeGreaterThan(8e6);
    expect(bytesIn(copied)).toBeLessThan(bytesIn(pieces) / 4);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(256 * 1_024);
    const hash = createHash('sha256');
    for (const piece of pieces.slice(1, -1)) hash.update(piece);
    expect(hash.digest('hex')).toBe(bytesOf(engine));
  });
});
