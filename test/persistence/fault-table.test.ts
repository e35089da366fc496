/**
 * Each file of a data folder × each damage × each set of other copies. The test follows the advice
 * of `doctor` to the letter. The result is either an exchange that starts with everything that the
 * advice promised to keep, or a sentence that names the loss. No start mixes two histories, and
 * `verify` finds what a start refuses. `npm test` tries some of the cells, chosen by SEED.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { JournalError, JournalUnavailable } from '../../persistence/journal/errors.js';
import { openJournalReader } from '../../persistence/journal/reader.js';
import { listSegments } from '../../persistence/journal/segments.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { listSnapshots } from '../../persistence/recovery/snapshot/folder.js';
import { isOfFile, troubleOf } from '../../persistence/storage/trouble.js';
import { archiveSegments, restoreSegments } from '../../persistence/tools/operations/archive.js';
import { backup as makeBackup } from '../../persistence/tools/operations/backup.js';
import { diagnose } from '../../persistence/tools/operations/doctor.js';
import { extent, SEED } from '../support/extent.js';
import { followCommand, followSteps } from '../support/folders/advice.js';
import { fill, mounted } from '../support/folders/full-disk.js';
import { vouchForSnapshots } from '../support/folders/vouch.js';
import {
  addSnapshots,
  Folders,
  readAll,
  recovered,
  start,
  write,
} from '../support/journal-fixture.js';
import { replayTool } from '../support/replay-tool.js';
import { Random } from '../support/workload/random.js';
import { DAMAGES, type Sources } from './fault-table/damages.js';

const BATCHES = 130;
const SEGMENT_BYTES = 25_000;
/** One in this many cells is tried. */
const ONE_OF = extent(1, 0) > 0 ? 1 : 20;

const folders = new Folders();
const cells = new Folders();
const random = new Random(SEED);
/** The folder of a killed exchange, so its log has rows. */
let whole: string;
/** An earlier copy of that folder. */
let older: string;
let backup: string;
/** `shortened`: `whole` without its first segments; `archive`: those segments. */
let shortened: string;
let archive: string;
/** The folder of another exchange. */
let other: string;
/** The hash of each batch of `whole`, by the batch's last sequence. */
const hashes = new Map<number, string>();

beforeAll(async () => {
  [older, whole] = await killedTwice(10);
  [, other] = await killedTwice(11);
  backup = folders.make();
  await makeBackup({ from: older, to: backup });
  shortened = folders.copy(whole);
  archive = folders.make();
  const request = { folder: shortened, archive, withoutHistory: true };
  expect((await archiveSegments(request)).moved.length).toBeGreaterThan(0);
  for (const { lastSequence, hash } of await readAll(whole))
    hashes.set(lastSequence, hash.toString('hex'));
  expect(listSegments(whole).length).toBeGreaterThan(2);
});
afterAll(() => folders.removeAll());

/** Copies of the folder as a kill leaves it, after the first and the second run. */
async function killedTwice(batchSize: number): Promise<[string, string]> {
  const folder = folders.make();
  const left: string[] = [];
  const run = async (batchCount: number) => {
    const { engine } = await start(folder);
    const journal = await openJournal({ folder, segmentBytes: SEGMENT_BYTES });
    await write(journal, engine, { batchCount, batchSize });
    return { engine, journal };
  };
  for (const count of [5, 10]) {
    const { engine, journal } = await run(BATCHES);
    await journal.close();
    await addSnapshots(folder, engine.sequence);
    await vouchForSnapshots(folder);
    const secret = `${'AB'[batchSize - 10]!.repeat(43)}\n`;
    writeFileSync(join(folder, 'session-secret'), secret, { mode: 0o600 });
    const killed = await run(count);
    left.push(folders.copy(folder));
    await killed.journal.close();
  }
  return [left[0]!, left[1]!];
}

/**
 * Starts on the folder and returns the sequence at which its journal ends. @throws if the start is
 * refused, or mixes histories
 */
async function mustStart(folder: string, acceptMissingMark = false): Promise<number> {
  const { sequence } = await recovered(folder, acceptMissingMark);
  const reader = await openJournalReader(folder);
  const { hash } = (await reader.positionAt(sequence))!;
  await reader.close();
  if (sequence > 0 && hashes.get(sequence) !== hash.toString('hex'))
    throw new Error(`the journal ends at ${sequence} with a hash that it never had`);
  return sequence;
}

interface Cell {
  folder: string;
  hasBackup: boolean;
  archive: string | null;
  isFull: boolean;
  /** The path of the damaged file. */
  damaged: string;
}

function unlessExpected(error: unknown): void {
  const isExpected = error instanceof JournalError || error instanceof JournalUnavailable;
  if (!isExpected && troubleOf(error).remedy === null) throw error;
}

/** Describes the outcome. @throws if a promise is broken */
async function outcomeOf(
  { folder, hasBackup, archive, isFull, damaged }: Cell,
  end: number,
): Promise<string> {
  const request = { data: folder, backup: hasBackup ? backup : null };
  let diagnosis: Awaited<ReturnType<typeof diagnose>>;
  try {
    diagnosis = await diagnose(request);
  } catch (error) {
    const isNamed = isOfFile(error) && (troubleOf(error).file ?? '').startsWith(folder);
    if (error instanceof JournalUnavailable || isNamed) return 'cannot be read, and says so';
    throw error;
  }
  if (archive !== null && diagnosis.text.includes('<the archive> --restore')) {
    // If something cannot be restored, the error says so, and doctor's next advice is followed.
    await restoreSegments({ folder, archive }).catch(unlessExpected);
    diagnosis = await diagnose(request);
  }
  if (isFull) {
    const [command] = /npm run archive -- --data \S+ --to <the archive>(?! --restore)/.exec(
      diagnosis.text,
    ) ?? [null];
    if (command !== null) {
      // A damaged or unsealed segment is not moved, but named.
      await followCommand(`${command} --without-history`, cells.make()).catch((error: Error) => {
        if (!error.message.includes(damaged)) throw error;
      });
      rmSync(join(folder, 'filler'));
      diagnosis = await diagnose(request);
    }
  }
  const { starts, trouble, steps, text } = diagnosis;
  if (starts) {
    const sequence = await mustStart(folder);
    if (sequence !== end) throw new Error(`starts at ${sequence} of ${end}, without a word`);
    return 'starts with everything';
  }
  if (!text.includes('session-secret') && (await replayTool(folder, 'verify')).status === 0)
    throw new Error('verify finds nothing');
  const done = await followSteps(steps, cells.make());
  if (done === null) {
    const isNamed = trouble?.remedy?.includes(folder) === true || /: --backup$/m.test(text);
    if (isNamed) return 'says what cannot be proven';
    throw new Error(`a dead end: ${text}`);
  }
  const sequence = await mustStart(done.folder, done.acceptMissingMark);
  if (sequence < done.keeps) throw new Error(`keeps ${sequence}, not ${done.keeps}`);
  return sequence >= end ? 'all is kept by the advice' : 'a part is kept by the advice, as it says';
}

const SITUATIONS = () => [
  { name: 'no backup', from: whole, hasBackup: false, archive: null, isFull: false },
  { name: 'a backup', from: whole, hasBackup: true, archive: null, isFull: false },
  { name: 'archived', from: shortened, hasBackup: false, archive, isFull: false },
  { name: 'archived and brought back', from: whole, hasBackup: false, archive, isFull: false },
  { name: 'a full disk', from: whole, hasBackup: false, archive: null, isFull: true },
  { name: 'a full disk, archived', from: shortened, hasBackup: true, archive, isFull: true },
];

/** Copies the folder to a separate disk. Returns null if this user cannot mount one. */
function copyOnSmallDisk(from: string): string | null {
  const folder = cells.make();
  mkdirSync(folder);
  if (!mounted(folder)) return null;
  disks.push(folder);
  cpSync(from, folder, { recursive: true, filter: (path) => !path.endsWith('-shm') });
  return folder;
}
const disks: string[] = [];

function removeCells(): void {
  for (const disk of disks.splice(0)) execFileSync('umount', [disk]);
  cells.removeAll();
}

test('what doctor says, done to the letter, never ends in a dead end or on a mixture', async ({
  annotate,
}) => {
  const counts = new Map<string, number>();
  const broken: string[] = [];
  for (const { name: situation, from, hasBackup, archive, isFull } of SITUATIONS()) {
    const end = await mustStart(cells.copy(from));
    for (const file of filesOf(from)) {
      for (const [what, damage] of Object.entries(DAMAGES)) {
        if (!random.chance(1 / ONE_OF)) continue;
        const base = damage.base === 'older' ? older : from;
        const folder = isFull ? copyOnSmallDisk(base) : cells.copy(base);
        if (folder === null) continue;
        const sources: Sources = {
          older: join(older, file),
          newer: join(whole, file),
          other: join(other, file),
        };
        if (!existsSync(join(folder, file)) || !damage.apply(join(folder, file), sources)) {
          removeCells();
          continue;
        }
        const expectedEnd = damage.base === 'older' ? await endOf(older) : end;
        try {
          if (isFull) fill(folder);
          const damaged = join(folder, file);
          const cell = { folder, hasBackup, archive, isFull, damaged };
          const outcome = await outcomeOf(cell, expectedEnd);
          counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
        } catch (error) {
          broken.push(`${situation}, ${file}: ${what}: ${(error as Error).message}`);
        }
        removeCells();
      }
    }
  }
  for (const [outcome, count] of counts) await annotate(`${count} cells: ${outcome}`);
  expect(broken).toEqual([]);
  expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(150 / ONE_OF);
});

const endOf = async (folder: string) => (await readAll(folder)).at(-1)!.lastSequence;

/** All files that an exchange has written, with only the oldest and the newest snapshot. */
function filesOf(folder: string): string[] {
  const segments = listSegments(folder).map(({ path }) => path.slice(folder.length + 1));
  const snapshots = listSnapshots(folder).map(({ path }) => path.slice(folder.length + 1));
  return [
    ...segments,
    `${segments.at(-1)!}-wal`,
    'journal.head',
    snapshots[0]!,
    snapshots.at(-1)!,
    'session-secret',
  ];
}
