/** Recovery from the journal and from a snapshot, and the cost of a snapshot of a million users. */
import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { promisify } from 'node:util';
import { Engine } from '../../engine/engine.js';
import { GENESIS } from '../../persistence/journal/format.js';
import { JournalFollower, recoverFromSnapshot } from '../../persistence/recovery/recovery.js';
import {
  finishSnapshot,
  readSnapshot,
  writeSnapshot,
  writeUnfinished,
} from '../../persistence/recovery/snapshot/file.js';
import {
  prepareSnapshotFolder,
  snapshotNameOf,
} from '../../persistence/recovery/snapshot/folder.js';
import { compiledFile } from '../../persistence/storage/program-folder.js';
import { vouchForSnapshots } from '../../test/support/folders/vouch.js';
import { folderBytes, inFolder } from '../../test/support/processes/machine.js';
import { median, spread } from '../../test/support/processes/samples.js';
import {
  LARGE_AT_MS,
  LARGE_USERS,
  largeExchange,
} from '../../test/support/workload/large-exchange.js';
import { mustApply } from '../../test/support/workload/open-market.js';
import { planWorkload, STANDARD } from '../../test/support/workload/workload.js';
import { readJournal } from '../measure/journal.js';
import { type Part, type Section, sectionOf, textOf } from '../measure/report.js';
import { runClosedLoop } from '../workload/closed-loop.js';

const COMMANDS = 1_000_000;
const ROUNDS = 3;
/** V8 compiles the engine for the shapes it has seen, and again after a second engine. */
const WARM_UP_ROUNDS = 2;
const COLD = compiledFile('bench/journal/cold-recovery.js');
/** Share of the journal. */
const SNAPSHOT_AT = 0.5;
const OUTSTANDING = 1_024;

const elapsedMs = () => performance.now();

export async function benchRecovery(options: { parent: string; seed: string }): Promise<Section> {
  const { parent, seed } = options;
  const recovery = await inFolder(parent, (folder) => recoveries(folder, seed));
  const snapshot = await inFolder(parent, snapshots);
  return sectionOf(
    'recovery',
    [
      `The journal of ${textOf(COMMANDS)} commands of the workload (seed ${seed}), written by the sequencer with ${OUTSTANDING} outstanding. Everything is checked: hash chain, sequence and digest of each batch, checksum and digest of the snapshot. The files are in the page cache.`,
      'A start replays in a new process, whose code is compiled meanwhile. That takes a part of the first second; what follows is replayed as in the second row.',
      `The snapshot: ${textOf(LARGE_USERS)} users, each with a credential, a position and a rank.`,
    ],
    [recovery, snapshot],
  );
}

interface Times {
  startMs: number[];
  wholeMs: number[];
  loadMs: number[];
  replayMs: number[];
}

async function recoveries(folder: string, seed: string): Promise<Part> {
  const workload = planWorkload({ ...STANDARD, seed, commands: COMMANDS });
  // The durability does not change the content.
  const { endSequence: commands, digest } = await runClosedLoop({
    workload,
    folder,
    durability: 'off',
    outstanding: OUTSTANDING,
    seconds: Number.POSITIVE_INFINITY,
  });
  const bytes = folderBytes(folder);
  const times: Times = { startMs: [], wholeMs: [], loadMs: [], replayMs: [] };
  for (let round = 0; round < ROUNDS; round++)
    times.startMs.push(await recoverInNewProcess(folder, digest));
  times.wholeMs = await recoverAgainAndAgain(folder, digest);
  const snapshotSequence = await writeSnapshotAt(folder, commands * SNAPSHOT_AT);
  await vouchForSnapshots(folder);
  for (let round = 0; round < ROUNDS; round++) {
    const { loadMs, replayMs } = await recoverFromNewest(folder, snapshotSequence);
    times.loadMs.push(loadMs);
    times.replayMs.push(replayMs);
  }
  return recoveryPart(times, { commands, bytes, tail: commands - snapshotSequence });
}

async function recoverInNewProcess(folder: string, digest: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [COLD, folder, digest]);
  return Number(stdout);
}

/** With compiled code. */
async function recoverAgainAndAgain(folder: string, digest: string): Promise<number[]> {
  const times: number[] = [];
  // V8 discards the engine's code with the last engine. A real exchange always has one.
  const engines = [new Engine()];
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    const engine = new Engine();
    // As at a start.
    engine.reserve();
    engines.push(engine);
    globalThis.gc?.();
    engines.shift();
    const startedMs = elapsedMs();
    await readJournal(folder, (reader) => new JournalFollower(engine).follow(reader));
    const durationMs = elapsedMs() - startedMs;
    mustBe(engine.digest(), digest);
    if (round >= 0) times.push(durationMs);
  }
  return times;
}

/** After the first batch that ends at or after `sequence`. Returns the snapshot's sequence. */
function writeSnapshotAt(folder: string, sequence: number): Promise<number> {
  return readJournal(folder, async (reader) => {
    const engine = new Engine();
    const follower = new JournalFollower(engine, GENESIS, {
      proven: ({ lastSequence }) => lastSequence < sequence,
    });
    await follower.follow(reader);
    await prepareSnapshotFolder(folder);
    await writeSnapshot(snapshotNameOf(folder, engine.sequence).path, engine, follower.position);
    return engine.sequence;
  });
}

function recoverFromNewest(folder: string, snapshotSequence: number) {
  globalThis.gc?.();
  const warn = (_fields: object, message: string) => {
    throw new Error(message);
  };
  return readJournal(folder, async (reader) => {
    const log = { info: () => {}, warn };
    const makeRoom = (engine: Engine) => engine.reserve();
    const recovery = await recoverFromSnapshot({ folder, reader, log, elapsedMs, makeRoom });
    if (recovery.snapshotSequence !== snapshotSequence)
      throw new Error('the snapshot was not used');
    return recovery;
  });
}

function mustBe(digest: string, expected: string): void {
  if (digest !== expected) throw new Error('the recovered engine has another digest');
}

function recoveryPart(times: Times, of: { commands: number; bytes: number; tail: number }): Part {
  const { startMs, wholeMs, loadMs, replayMs } = times;
  const snapshotMs = loadMs.map((ms, i) => ms + replayMs[i]!);
  const startRate = (of.commands / median(startMs)) * 1_000;
  const wholeRate = (of.commands / median(wholeMs)) * 1_000;
  const tailRate = (of.tail / median(replayMs)) * 1_000;
  return {
    table: {
      title: `Recovery of ${textOf(of.commands)} commands (setup included; ${(of.bytes / of.commands).toFixed(0)} bytes each), ${ROUNDS} times`,
      columns: ['from', 'replayed', 'ms (median)', 'ms', 'replayed/s'],
      rows: [
        [
          'the whole journal, in a new process',
          of.commands,
          median(startMs),
          spread(startMs, textOf),
          startRate,
        ],
        [
          'the whole journal, with code that is compiled',
          of.commands,
          median(wholeMs),
          spread(wholeMs, textOf),
          wholeRate,
        ],
        [
          `a snapshot (loaded in ${textOf(median(loadMs))} ms) and the rest`,
          of.tail,
          median(snapshotMs),
          spread(snapshotMs, textOf),
          tailRate,
        ],
      ],
    },
    figures: {
      recoveryInNewProcessMs: median(startMs),
      recoveryMs: median(wholeMs),
      recoveryFromSnapshotMs: median(snapshotMs),
      replayInNewProcessCommandsPerSecond: startRate,
      replayCommandsPerSecond: wholeRate,
    },
  };
}

async function snapshots(folder: string): Promise<Part> {
  const engine = new Engine();
  for (const command of largeExchange()) mustApply(engine, command, LARGE_AT_MS);
  const { path } = snapshotNameOf(folder, engine.sequence);
  await prepareSnapshotFolder(folder);
  const takeMs: number[] = [];
  const writeMs: number[] = [];
  const loadMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    globalThis.gc?.();
    const startedMs = elapsedMs();
    const { sequence } = engine;
    const hash = Buffer.alloc(32, 1);
    await writeUnfinished(path, engine, { sequence, hash, digest: engine.digest() });
    const takenMs = elapsedMs();
    finishSnapshot(path);
    const writtenMs = elapsedMs();
    mustBe(readSnapshot(path).engine.digest(), engine.digest());
    const loadedMs = elapsedMs();
    takeMs.push(takenMs - startedMs);
    writeMs.push(writtenMs - takenMs);
    loadMs.push(loadedMs - writtenMs);
  }
  const { size } = statSync(path);
  return snapshotPart(size, takeMs, writeMs, loadMs);
}

function snapshotPart(bytes: number, takeMs: number[], writeMs: number[], loadMs: number[]): Part {
  const row = (name: string, ms: readonly number[]) => [name, median(ms), spread(ms, textOf)];
  return {
    table: {
      title: `A snapshot of ${textOf(LARGE_USERS)} users: ${textOf(Math.round(bytes / 1e6))} MB, ${(bytes / LARGE_USERS).toFixed(0)} bytes a user; ${ROUNDS} times`,
      columns: ['step', 'ms (median)', 'ms'],
      rows: [
        row('write; the follower applies nothing meanwhile', takeMs),
        row('sync, read back and restore an engine, in its own thread', writeMs),
        row('read back and restore an engine, with all checks, as at a start', loadMs),
      ],
    },
    figures: {
      snapshotBytes: bytes,
      snapshotTakeMs: median(takeMs),
      snapshotWriteMs: median(writeMs),
      snapshotLoadMs: median(loadMs),
    },
  };
}
