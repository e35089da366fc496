/**
 * Each file of a data folder × what can become of it × what else there is: what `doctor` says is
 * done to the letter, and leads to an exchange that starts and lacks nothing that was said to be
 * kept, or to the sentence that says what is lost. No start is on a mixture of two histories.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Random } from '../../../bench/workload/random.js';
import { JournalError, JournalUnavailable } from '../../../persistence/journal/errors.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { listSegments } from '../../../persistence/journal/segments.js';
import { DataFolder } from '../../../persistence/recovery/data-folder.js';
import { listSnapshots } from '../../../persistence/recovery/snapshot/folder.js';
import { archiveSegments, restoreSegments } from '../../../persistence/tools/operations/archive.js';
import { backup as makeBackup } from '../../../persistence/tools/operations/backup.js';
import { diagnose } from '../../../persistence/tools/operations/doctor.js';
import { SEED } from '../../support/extent.js';
import { followAdvice } from '../../support/folders/advice.js';
import { ChildServer } from '../../support/programs.js';
import { registerTraders, tradeOn } from '../disk/scenario.js';
import { DAMAGES, type Sources } from './damages.js';

/** Twice as many make several segments. */
const COMMANDS = 5_000;
const SILENT = { info: () => {}, warn: () => {} };

const work = mkdtempSync(join(tmpdir(), 'exchange-faults-'));
const place = (name: string) => join(work, name);
/** Killed, so that its log has rows. */
const whole = place('whole');
/** The same exchange, earlier. */
const older = place('older');
const backup = place('backup');
/** `whole` without its first segments, and those. */
const shortened = place('shortened');
const archive = place('archive');
/** Another exchange. */
const other = place('other');
/** The hash at each end of a batch of `whole`, by its sequence. */
const hashes = new Map<number, string>();
let made = 0;

beforeAll(async () => {
  await Promise.all([makeWhole(), runOn(other, [COMMANDS, COMMANDS], () => {})]);
  await makeBackup({ from: older, to: backup });
  cpSync(whole, shortened, { recursive: true });
  expect((await archiveSegments({ folder: shortened, archive })).moved.length).toBeGreaterThan(0);
  const reader = await openJournalReader(whole);
  for await (const batch of reader.batches())
    hashes.set(batch.lastSequence, batch.hash.toString('hex'));
  await reader.close();
  expect(listSegments(whole).length).toBeGreaterThan(2);
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

async function makeWhole(): Promise<void> {
  await runOn(whole, [COMMANDS, COMMANDS], () => cpSync(whole, older, { recursive: true }));
}

/** Trades in several runs, each of which ends with a kill. */
async function runOn(folder: string, runs: readonly number[], between: () => void): Promise<void> {
  let traders: Awaited<ReturnType<typeof registerTraders>> | null = null;
  const random = new Random(`${SEED}:${folder}`);
  for (const [i, commands] of runs.entries()) {
    const server = ChildServer.spawn({
      DATA_FOLDER: folder,
      HOUSE: 'off',
      ASSETS: 'BTC',
      FEED_SPEED: '60',
      SNAPSHOT_EVERY_COMMANDS: '1000',
      SEGMENT_MEGABYTES: '1',
      LOG_LEVEL: 'error',
    });
    const api = await server.listening();
    traders ??= await registerTraders(api);
    await tradeOn(api, traders, { commands, keys: `${i}`, random });
    await api.close();
    await server.stop('SIGKILL');
    if (i < runs.length - 1) between();
  }
}

/** Starts on the folder; returns where its journal ends. @throws when it is refused or mixed. */
async function mustStart(folder: string, acceptMissingMark = false): Promise<number> {
  const data = await DataFolder.lock({ folder, acceptMissingMark });
  try {
    const engine = await data.recover({ log: SILENT, elapsedMs: () => 0 });
    const { sequence } = engine;
    const reader = await openJournalReader(folder);
    const { hash } = (await reader.positionAt(sequence))!;
    await reader.close();
    if (sequence > 0 && hashes.get(sequence) !== hash.toString('hex'))
      throw new Error(`the journal ends at ${sequence} with a hash that it never had`);
    return sequence;
  } finally {
    await data.release();
  }
}

/** Does what is said first; returns how much must be kept, and where a start has it. */
async function follow(text: string): Promise<{ keeps: number; sequence: number } | null> {
  const folder = place(`new-${++made}`);
  const done = await followAdvice(text, folder);
  if (done === null) return null;
  const { keeps, folder: started, acceptMissingMark } = done;
  const sequence = await mustStart(started, acceptMissingMark);
  rmSync(folder, { recursive: true, force: true });
  return { keeps, sequence };
}

interface Cell {
  folder: string;
  hasBackup: boolean;
  archive: string | null;
}

function unlessExpected(error: unknown): void {
  if (!(error instanceof JournalError || error instanceof JournalUnavailable)) throw error;
}

/** The outcome in words. @throws when a promise is broken. */
async function outcomeOf({ folder, hasBackup, archive }: Cell, end: number): Promise<string> {
  const request = { data: folder, backup: hasBackup ? backup : null };
  let diagnosis: Awaited<ReturnType<typeof diagnose>>;
  try {
    diagnosis = await diagnose(request);
  } catch (error) {
    const { message } = error as Error;
    const isNamed = 'syscall' in (error as Error) && message.includes(folder);
    if (error instanceof JournalUnavailable || isNamed) return 'cannot be read, and says so';
    throw error;
  }
  if (archive !== null && diagnosis.text.includes('<the archive> --restore')) {
    // What cannot be brought back is said, and what doctor says then is done.
    await restoreSegments({ folder, archive }).catch(unlessExpected);
    diagnosis = await diagnose(request);
  }
  const { starts, text } = diagnosis;
  if (starts) {
    const sequence = await mustStart(folder);
    if (sequence !== end) throw new Error(`starts at ${sequence} of ${end}, without a word`);
    return 'starts with everything';
  }
  const done = await follow(text);
  if (done === null) {
    if (
      /: --backup$|<the archive> --restore|said under 'problem'|cp -p .*session-secret/m.test(text)
    )
      return 'says what cannot be proven';
    throw new Error(`a dead end: ${text}`);
  }
  const { sequence } = done;
  if (sequence < done.keeps) throw new Error(`keeps ${sequence}, not ${done.keeps}`);
  return sequence >= end ? 'all is kept by the advice' : 'a part is kept by the advice, as it says';
}

const SITUATIONS = [
  { name: 'no backup', from: whole, hasBackup: false, archive: null },
  { name: 'a backup', from: whole, hasBackup: true, archive: null },
  { name: 'archived', from: shortened, hasBackup: false, archive },
  { name: 'archived and brought back', from: whole, hasBackup: false, archive },
];

test('what doctor says, done to the letter, never ends in a dead end or on a mixture', async ({
  annotate,
}) => {
  const counts = new Map<string, number>();
  const broken: string[] = [];
  for (const { name: situation, from, hasBackup, archive } of SITUATIONS) {
    const end = await mustStart(copyOf(from));
    for (const file of filesOf(from)) {
      for (const [what, damage] of Object.entries(DAMAGES)) {
        const folder = copyOf(damage.base === 'older' ? older : from);
        const sources: Sources = {
          older: join(older, file),
          newer: join(whole, file),
          other: join(other, file),
        };
        if (!existsSync(join(folder, file)) || !damage.apply(join(folder, file), sources)) continue;
        const expectedEnd = damage.base === 'older' ? await endOf(older) : end;
        try {
          const outcome = await outcomeOf({ folder, hasBackup, archive }, expectedEnd);
          counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
        } catch (error) {
          broken.push(`${situation}, ${file}: ${what}: ${(error as Error).message}`);
        }
        rmSync(folder, { recursive: true, force: true });
      }
    }
  }
  for (const [outcome, count] of counts) await annotate(`${count} cells: ${outcome}`);
  expect(broken).toEqual([]);
  expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(150);
});

function copyOf(folder: string): string {
  const copy = place(`copy-${++made}`);
  mkdirSync(copy, { mode: 0o700 });
  cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith('-shm') });
  return copy;
}

async function endOf(folder: string): Promise<number> {
  const reader = await openJournalReader(folder);
  const { sequence } = await reader.end();
  await reader.close();
  return sequence;
}

/** All that an exchange has written, the oldest and the newest snapshot of them. */
function filesOf(folder: string): string[] {
  const segments = listSegments(folder).map(({ path }) => path.slice(folder.length + 1));
  const snapshots = listSnapshots(folder).map(({ path }) => path.slice(folder.length + 1));
  return [
    ...segments,
    `${segments.at(-1)!}-wal`,
    'journal.head',
    snapshots[0]!,
    snapshots.at(-1)!,
    'history.db',
    'session-secret',
  ];
}
