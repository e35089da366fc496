/**
 * Recovery: the time to the end of the journal, from the whole journal and from the newest
 * snapshot; and the cost of a snapshot of a million users.
 */
import { statSync } from 'node:fs';
import { Engine } from '../../engine/engine.js';
import { openJournalReader } from '../../persistence/journal/reader.js';
import { Replay, recover, recoverFromSnapshot } from '../../persistence/recovery.js';
import { readSnapshot, takeSnapshot, writeSnapshot } from '../../persistence/snapshot/file.js';
import { prepareSnapshotFolder, snapshotNameOf } from '../../persistence/snapshot/folder.js';
import { folderBytes, makeFolder, removeFolder } from '../measure/machine.js';
import { type Part, type Section, textOf } from '../measure/report.js';
import { median, spread } from '../measure/samples.js';
import { runClosedLoop } from '../workload/closed-loop.js';
import { mustApply } from '../workload/open-market.js';
import { planWorkload, STANDARD } from '../workload/workload.js';
import { LARGE_AT_MS, LARGE_USERS, largeExchange } from './large-exchange.js';

const COMMANDS = 1_000_000;
const ROUNDS = 3;
/** The place of the snapshot, as a share of the journal. */
const SNAPSHOT_AT = 0.5;
const OUTSTANDING = 1_024;

const elapsedMs = () => performance.now();

export async function benchRecovery(options: { parent: string; seed: string }): Promise<Section> {
  const recovery = await recoveries(options);
  const snapshot = await snapshots(options.parent);
  return {
    name: 'recovery',
    notes: [
      `The journal of ${textOf(COMMANDS)} commands of the workload (seed ${options.seed}), written by the sequencer with ${OUTSTANDING} outstanding. Everything is checked: hash chain, sequence and digest of each batch, checksum and digest of the snapshot. The files are in the page cache.`,
      `The snapshot: ${textOf(LARGE_USERS)} users, each with a credential, a position and a rank.`,
    ],
    tables: [recovery.table, snapshot.table],
    figures: { ...recovery.figures, ...snapshot.figures },
  };
}

/** The duration of each round, by way of recovery. */
interface Times {
  wholeMs: number[];
  loadMs: number[];
  replayMs: number[];
}

async function recoveries({ parent, seed }: { parent: string; seed: string }): Promise<Part> {
  const folder = makeFolder(parent);
  try {
    const workload = planWorkload({ ...STANDARD, seed, commands: COMMANDS });
    // The durability does not change the content.
    const written = await runClosedLoop({
      workload,
      folder,
      durability: 'off',
      outstanding: OUTSTANDING,
      seconds: Number.POSITIVE_INFINITY,
    });
    const { endSequence: commands } = written;
    const bytes = folderBytes(folder);
    const times: Times = { wholeMs: [], loadMs: [], replayMs: [] };
    for (let round = 0; round < ROUNDS; round++)
      times.wholeMs.push(await recoverWhole(folder, written.digest));
    const snapshotSequence = await writeSnapshotAt(folder, commands * SNAPSHOT_AT);
    for (let round = 0; round < ROUNDS; round++) {
      const { loadMs, replayMs } = await recoverFromNewest(
        folder,
        written.digest,
        snapshotSequence,
      );
      times.loadMs.push(loadMs);
      times.replayMs.push(replayMs);
    }
    return recoveryPart(times, { commands, bytes, tail: commands - snapshotSequence });
  } finally {
    removeFolder(folder);
  }
}

async function recoverWhole(folder: string, digest: string): Promise<number> {
  globalThis.gc?.();
  const reader = await openJournalReader(folder);
  try {
    const engine = new Engine();
    const { durationMs } = await recover({ reader, engine, elapsedMs });
    mustBe(engine.digest(), digest);
    return durationMs;
  } finally {
    await reader.close();
  }
}

/**
 * Writes a snapshot after the first batch that ends at the sequence or later. Returns its sequence.
 */
async function writeSnapshotAt(folder: string, sequence: number): Promise<number> {
  const reader = await openJournalReader(folder);
  try {
    const engine = new Engine();
    const replay = new Replay(engine);
    for await (const batch of reader.batches()) {
      replay.apply(batch);
      const { lastSequence, hash, digest } = batch;
      if (lastSequence < sequence) continue;
      await prepareSnapshotFolder(folder);
      const content = takeSnapshot(engine, { sequence: lastSequence, hash, digest });
      writeSnapshot(snapshotNameOf(folder, lastSequence).path, content);
      return lastSequence;
    }
    throw new Error(`the journal ends before ${sequence}`);
  } finally {
    await reader.close();
  }
}

async function recoverFromNewest(folder: string, digest: string, snapshotSequence: number) {
  globalThis.gc?.();
  const reader = await openJournalReader(folder);
  try {
    const log = {
      info: () => {},
      warn: (_fields: object, message: string) => {
        throw new Error(message);
      },
    };
    const recovery = await recoverFromSnapshot({ folder, reader, log, elapsedMs });
    mustBe(recovery.engine.digest(), digest);
    if (recovery.snapshotSequence !== snapshotSequence)
      throw new Error('the snapshot was not used');
    return recovery;
  } finally {
    await reader.close();
  }
}

function mustBe(digest: string, expected: string): void {
  if (digest !== expected) throw new Error('the recovered engine has another digest');
}

function recoveryPart(times: Times, of: { commands: number; bytes: number; tail: number }): Part {
  const { wholeMs, loadMs, replayMs } = times;
  const snapshotMs = loadMs.map((ms, i) => ms + replayMs[i]!);
  const wholeRate = (of.commands / median(wholeMs)) * 1_000;
  const tailRate = (of.tail / median(replayMs)) * 1_000;
  return {
    table: {
      title: `Recovery of ${textOf(of.commands)} commands (setup included; ${(of.bytes / of.commands).toFixed(0)} bytes each), ${ROUNDS} times`,
      columns: ['from', 'replayed', 'ms (median)', 'ms', 'replayed/s'],
      rows: [
        ['the whole journal', of.commands, median(wholeMs), spread(wholeMs, textOf), wholeRate],
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
      recoveryMs: median(wholeMs),
      recoveryFromSnapshotMs: median(snapshotMs),
      replayCommandsPerSecond: wholeRate,
    },
  };
}

async function snapshots(parent: string): Promise<Part> {
  const engine = new Engine();
  for (const command of largeExchange()) mustApply(engine, command, LARGE_AT_MS);
  const folder = makeFolder(parent);
  try {
    const { path } = snapshotNameOf(folder, engine.sequence);
    await prepareSnapshotFolder(folder);
    const takeMs: number[] = [];
    const writeMs: number[] = [];
    const loadMs: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      globalThis.gc?.();
      const startedMs = elapsedMs();
      const content = takeSnapshot(engine, {
        sequence: engine.sequence,
        hash: Buffer.alloc(32, 1),
        digest: engine.digest(),
      });
      const takenMs = elapsedMs();
      writeSnapshot(path, content);
      const writtenMs = elapsedMs();
      mustBe(readSnapshot(path).engine.digest(), engine.digest());
      const loadedMs = elapsedMs();
      takeMs.push(takenMs - startedMs);
      writeMs.push(writtenMs - takenMs);
      loadMs.push(loadedMs - writtenMs);
    }
    return snapshotPart({ bytes: statSync(path).size, takeMs, writeMs, loadMs });
  } finally {
    removeFolder(folder);
  }
}

function snapshotPart(of: {
  bytes: number;
  takeMs: number[];
  writeMs: number[];
  loadMs: number[];
}): Part {
  const { bytes, takeMs, writeMs, loadMs } = of;
  const row = (name: string, ms: readonly number[]) => [name, median(ms), spread(ms, textOf)];
  return {
    table: {
      title: `A snapshot of ${textOf(LARGE_USERS)} users: ${textOf(Math.round(bytes / 1e6))} MB, ${(bytes / LARGE_USERS).toFixed(0)} bytes a user; ${ROUNDS} times`,
      columns: ['step', 'ms (median)', 'ms'],
      rows: [
        row('copy in memory; the follower is blocked meanwhile', takeMs),
        row('write, sync, read back and restore an engine, in its own thread', writeMs),
        row(
          'read back and restore an engine with checksum and digest checked, as at a start',
          loadMs,
        ),
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
