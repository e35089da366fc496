/** Fuzz targets that read bytes: records, frames of edges, snapshots, runs, journals, archives. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gzipSync } from 'node:zlib';
import { Engine } from '../../../engine/engine.js';
import { readCommand, timeOf } from '../../../engine/interface/command-record.js';
import type { Command } from '../../../engine/interface/commands.js';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { checkRecord } from '../../../engine/interface/record-check.js';
import { RecordBuffer, RecordError } from '../../../engine/interface/records.js';
import { loadRecord } from '../../../gateway/edge/core/received-record.js';
import {
  FrameCollector,
  FrameError,
  FrameReader,
  FrameWriter,
  readFrames,
  ToCore,
} from '../../../gateway/edge/link/frames.js';
import { HistoryDamage } from '../../../persistence/history/rows.js';
import { LISTS, runChecksum } from '../../../persistence/history/runs/format.js';
import { readRun } from '../../../persistence/history/runs/reader.js';
import { JournalError, JournalUnavailable } from '../../../persistence/journal/errors.js';
import { GENESIS } from '../../../persistence/journal/format.js';
import { archivedMark, listSegments, type Segment } from '../../../persistence/journal/segments.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import { readSnapshot, snapshotBytes } from '../../../persistence/recovery/snapshot/file.js';
import { SnapshotError } from '../../../persistence/recovery/snapshot/format.js';
import { restoreSegments } from '../../../persistence/tools/operations/archive.js';
import { Duel } from '../../engine/differential/duel.js';
import { runOf, type Values } from '../../persistence/history/run-fixture.js';
import { readAll, write, writeJournal } from '../../support/journal-fixture.js';
import { RandomCommands, USUAL } from '../../support/random-commands.js';
import type { Target } from './fuzz.js';

const START_MS = 1_763_700_300_000;
const SUM_BYTES = 32;

function recordBytes(commands: readonly [Command, number][]): Buffer {
  const records = new RecordBuffer();
  for (const [command, atMs] of commands) records.append(command, atMs);
  return Buffer.from(records.bytes.slice(0, records.byteLength));
}

/** The commands of a random exchange with every kind of event. */
function randomCommands(seed: string, count: number): [Command, number][] {
  const duel = new Duel(seed, new Map());
  const random = new RandomCommands(seed, USUAL, duel.naive);
  const commands: [Command, number][] = random.opening().map((command) => [command, START_MS]);
  for (const [command, atMs] of commands) duel.apply(command, atMs);
  for (let i = 0; i < count; i++) {
    const { command, atMs } = random.next();
    try {
      recordBytes([[command, atMs]]);
    } catch {
      continue;
    }
    duel.apply(command, atMs);
    commands.push([command, atMs]);
  }
  return commands;
}

/**
 * A record is refused, or two engines execute it in the same way and it is written back unchanged.
 */
function records(seeds: readonly Buffer[]): Target {
  return {
    name: 'records and the engine',
    seeds,
    maxBytes: 6_000,
    check(input) {
      const buffer = new RecordBuffer();
      const written = new RecordBuffer();
      const duel = new Duel('fuzzing', new Map());
      let lastMs = START_MS;
      try {
        buffer.load(input);
        for (let at = 0; at < buffer.length; ) {
          const next = checkRecord(buffer, at);
          const command = readCommand(buffer, at);
          const from = written.byteLength;
          written.append(command, timeOf(buffer, at));
          const bytes = (records: RecordBuffer, start: number, end: number) =>
            Buffer.from(records.bytes.slice(start, end));
          const [read, again] = [
            bytes(buffer, 8 * at, 8 * next),
            bytes(written, from, written.byteLength),
          ];
          // The insignificant bits of a NaN are not kept.
          if (!read.equals(again) && !JSON.stringify(command).includes('null'))
            throw new Error(`${JSON.stringify(command)} is written in another way`);
          const atMs = timeOf(buffer, at);
          // The sequencer's times do not go back, or jump ahead.
          lastMs = Math.min(
            MAX_TIME_MS,
            Math.max(lastMs, Math.min(atMs, lastMs + 86_400_000) || 0),
          );
          duel.apply(command, Math.floor(lastMs));
          at = next;
        }
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
      }
      duel.compareState();
    },
  };
}

/** Frames of edges, each read according to its kind, and their records. */
function frames(commands: readonly [Command, number][]): Target {
  const sent: Buffer[] = [];
  const collector = new FrameCollector((message) => sent.push(Buffer.from(message)));
  const writer = new FrameWriter();
  const address = new Uint8Array(16).fill(1);
  for (const one of commands.slice(-60)) {
    collector.send(writer.begin(ToCore.command, 7).integer(3).content(address), recordBytes([one]));
    collector.flush();
  }
  const request = writer.begin(ToCore.request, 8).content(address).text('buy').text('POST');
  collector.send(request.text('a=1').texts(['btc']).texts(['x-user-token', 'a.b.c']), address);
  collector.send(writer.begin(ToCore.streamMessage, 9), Buffer.from('{"op":"ping"}'));
  collector.send(writer.begin(ToCore.left, 0));
  collector.flush();
  const reader = new FrameReader();
  const received = new RecordBuffer();
  return {
    name: 'frames of edges',
    seeds: sent,
    check(input) {
      try {
        readFrames(input, reader, (frame) => {
          if (frame.kind === ToCore.command) {
            frame.integer();
            frame.content();
            loadRecord(received, frame.rest(), 1, frame.own);
          } else if (frame.kind === ToCore.request) {
            frame.content();
            const texts = [frame.text(), frame.text(), frame.text()];
            const all = [...texts, ...frame.texts(), ...frame.texts()].join('');
            if (all.length + frame.rest().length > input.length)
              throw new Error('more than there is');
          } else frame.rest();
        });
      } catch (error) {
        if (!(error instanceof FrameError)) throw error;
      }
    },
  };
}

/** Snapshots with correct checksums: refused as damaged, or a readable engine. */
function snapshots(folder: string, commands: readonly [Command, number][]): Target {
  const engine = new Engine();
  for (const [command, atMs] of commands) engine.apply(command, atMs);
  const path = join(folder, 'snapshot');
  const end = { sequence: engine.sequence, hash: GENESIS.hash, digest: engine.digest() };
  const seed = Buffer.concat([...snapshotBytes(engine, end)]).subarray(0, -SUM_BYTES);
  return {
    name: 'snapshots',
    seeds: [seed],
    maxBytes: 2 * seed.length,
    check(input) {
      const sum = createHash('sha256').update(input).digest();
      writeFileSync(path, Buffer.concat([input, sum]));
      try {
        readSnapshot(path);
      } catch (error) {
        if (!(error instanceof SnapshotError)) throw error;
      }
    },
  };
}

/**
 * Runs with correct checksums. The first byte selects the list, the second the number of entries.
 */
const runs: Target = {
  name: 'runs of the history',
  seeds: LISTS.map((layout, at) => {
    const entry = (by: number): Values =>
      Object.fromEntries(layout.columns.map((name, column) => [name, by + 70 ** (column % 6)]));
    const { entries, count } = runOf(layout, 1, 1, [1, 5, 900].map(entry));
    return Buffer.concat([Buffer.of(at, count), entries]);
  }),
  check(input) {
    const layout = LISTS[(input[0] ?? 0) % LISTS.length]!;
    const [count, entries] = [input[1] ?? 0, Buffer.from(input.subarray(2))];
    const head = { id: 1, firstOrdinal: 1, count, deflated: 0 };
    const checksum = runChecksum(layout.list, head, entries);
    try {
      readRun(layout, { ...head, checksum, entries });
    } catch (error) {
      if (!(error instanceof HistoryDamage)) throw error;
    }
  },
};

/** A segment of a journal, changed anywhere: the readable part equals what was written. */
async function segments(folder: string): Promise<Target> {
  const original = join(folder, 'original');
  const { batches } = await writeJournal(original);
  const seed = readFileSync(join(original, 'journal.db'));
  const mark = readFileSync(join(original, 'journal.head'));
  const spoilt = join(folder, 'spoilt');
  return {
    name: 'segments',
    seeds: [seed],
    maxBytes: seed.length,
    async check(input) {
      rmSync(spoilt, { recursive: true, force: true });
      mkdirSync(spoilt);
      writeFileSync(join(spoilt, 'journal.db'), input);
      writeFileSync(join(spoilt, 'journal.head'), mark);
      try {
        if (!isDeepStrictEqual(await readAll(spoilt), batches)) throw new Error('another journal');
      } catch (error) {
        const isRefusal = error instanceof JournalError || error instanceof JournalUnavailable;
        if (!isRefusal) throw error;
      }
    },
  };
}

/**
 * A segment's file in an archive; the first byte decides whether it is compressed. Either the
 * restore is refused and the folder is unchanged, or the segment is restored.
 */
async function archives(folder: string): Promise<Target> {
  const data = join(folder, 'archived');
  const journal = await openJournal({ folder: data, segmentBytes: 25_000 });
  const engine = new Engine();
  while (listSegments(data).length === 1)
    await write(journal, engine, { batchCount: 1, batchSize: 5 });
  await journal.close();
  const batches = await readAll(data);
  const [{ path }] = listSegments(data) as [Segment];
  const original = readFileSync(path);
  const archive = join(folder, 'archive');
  mkdirSync(archive);
  const packed = join(archive, `${basename(path)}.gz`);
  rmSync(path);
  const before = readdirSync(data);
  return {
    name: 'archives',
    seeds: [
      Buffer.concat([Buffer.of(1), original]),
      Buffer.concat([Buffer.of(0), gzipSync(original)]),
    ],
    maxBytes: original.length + 1,
    async check(input) {
      const content = input.subarray(1);
      const isPacked = input[0] === 0;
      writeFileSync(packed, isPacked ? content : gzipSync(content, { level: 1 }));
      writeFileSync(archivedMark(path), `${original.length}\n`);
      try {
        await restoreSegments({ folder: data, archive });
        if (!isDeepStrictEqual(await readAll(data), batches)) throw new Error('another journal');
      } catch (error) {
        if (!(error instanceof JournalError)) throw error;
        if (existsSync(path)) throw new Error('it is there, and refused', { cause: error });
      }
      for (const each of [path, archivedMark(path)]) rmSync(each, { force: true });
      if (!isDeepStrictEqual(readdirSync(data), before)) throw new Error('another folder');
    },
  };
}

export async function byteTargets(folder: string): Promise<Target[]> {
  const exchange = randomCommands('a', 60);
  // Short sequences, because both engines execute each input.
  const short = ['b', 'c', 'd', 'e', 'f', 'g'].map((seed) => randomCommands(seed, 20));
  return [
    records(short.map(recordBytes)),
    frames(exchange),
    snapshots(folder, exchange),
    runs,
    await segments(folder),
    await archives(folder),
  ];
}
