/**
 * The replay tool on damaged folders. Every command finds the damage in what it reads, names the
 * first bad sequence, prints nothing unproven, and exits with 1. Snapshots are compared with the
 * replay.
 */
import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { vouchForSnapshots } from '../../../../bench/journal/vouch.js';
import { Engine } from '../../../../engine/engine.js';
import { RecordBuffer } from '../../../../engine/interface/records.js';
import {
  GENESIS,
  type JournalPosition,
  bytesOf as recordBytes,
} from '../../../../persistence/journal/format.js';
import type { JournalBatch } from '../../../../persistence/journal/store.js';
import { openJournal } from '../../../../persistence/recovery/data-folder.js';
import { JournalFollower } from '../../../../persistence/recovery/recovery.js';
import {
  type SnapshotContent,
  takeSnapshot,
  writeSnapshot,
} from '../../../../persistence/recovery/snapshot/file.js';
import {
  prepareSnapshotFolder,
  snapshotNameOf,
} from '../../../../persistence/recovery/snapshot/folder.js';
import { SnapshotComparison } from '../../../../persistence/tools/replay/proofs/snapshots.js';
import { append, Folders, flip, readAll } from '../../../support/journal-fixture.js';
import { ReplayExchange } from '../../../support/replay-exchange.js';
import { replayJson, replayTool, type ToolRun, traceOf } from '../../../support/replay-tool.js';

const VERBS = [['verify'], ['state'], ['events'], ['explain', '--user', 'u3'], ['audit']];

const folders = new Folders();
/** The folder of an exchange that was stopped. Tests work on copies. */
let stopped: string;
let batches: JournalBatch[];
let endMs: number;

beforeAll(async () => {
  stopped = folders.make();
  const exchange = await ReplayExchange.open(stopped, 'damage');
  await exchange.run(900);
  endMs = exchange.nowMs;
  await exchange.sequencer.close();
  batches = await readAll(stopped);
  expect(batches.length).toBeGreaterThan(30);
});
afterAll(() => folders.removeAll());

const lastSequence = () => batches.at(-1)!.lastSequence;

function expectDamage(run: ToolRun, ...words: string[]): void {
  expect(run.status).toBe(1);
  expect(run.err).toContain('DAMAGE in ');
  expect(run.err).toContain('What to do: ');
  expect(run.err).not.toContain('    at ');
  for (const word of words) expect(run.err).toContain(word);
}

describe('a flipped bit in the journal', () => {
  it.each(['records', 'hash', 'digest'])('in %s is found by every command', async (column) => {
    const folder = folders.copy(stopped);
    const { firstSequence } = batches[17]!;
    await flip(folder, firstSequence, column);
    const before = traceOf(folder);
    for (const verb of VERBS) {
      const run = await replayTool(folder, ...verb);
      expectDamage(run, `journal.db, sequence ${firstSequence}:`, 'its hash does not match');
    }
    expect(traceOf(folder)).toEqual(before);
  });

  it('ends the output before it', async () => {
    const folder = folders.copy(stopped);
    const { firstSequence } = batches[17]!;
    await flip(folder, firstSequence, 'records');
    const { out } = await replayTool(folder, 'events', '--json');
    const told = out
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).sequence);
    expect(told).toEqual(Array.from({ length: firstSequence - 1 }, (_, i) => i + 1));
    expect((await replayTool(folder, 'state', '--json')).out).toBe('');
  });
});

describe('journal.head', () => {
  it.each([
    ['missing', (path: string) => rmSync(path)],
    ['unreadable', (path: string) => writeFileSync(path, Buffer.alloc(8192))],
  ])('that is %s: verify reports it, the others mention it', async (what, damage) => {
    const folder = folders.copy(stopped);
    damage(join(folder, 'journal.head'));
    expectDamage(await replayTool(folder, 'verify'), 'DAMAGE in journal.head', `is ${what}`);
    for (const verb of VERBS.slice(1)) {
      const run = await replayTool(folder, ...verb);
      expect(run.status).toBe(0);
      expect(run.err).toContain(`journal.head is ${what}`);
    }
  });
});

describe('an intact journal with wrong content', () => {
  it('a digest that the engine does not compute', async () => {
    const folder = folders.copy(stopped);
    const firstSequence = lastSequence() + 1;
    const journal = await openJournal({ folder });
    const records = new RecordBuffer();
    records.append({ kind: 'advanceTime' }, endMs);
    const digest = '0123456789abcdef';
    await append(journal, {
      firstSequence,
      lastSequence: firstSequence,
      records: recordBytes(records),
      digest,
    });
    await journal.close();
    for (const verb of VERBS) {
      const run = await replayTool(folder, ...verb);
      expectDamage(run, `journal.db, sequence ${firstSequence}:`, `had ${digest}`);
    }
    const { out } = await replayTool(folder, 'events', '--json');
    expect(out.trimEnd().split('\n').length).toBe(lastSequence());
  });
});

describe('snapshots', () => {
  /** An engine at the end of a batch, and its position. */
  async function engineAfter(
    batchCount: number,
    from?: { engine: Engine; position: JournalPosition },
  ) {
    const engine = from?.engine ?? new Engine();
    let position = from?.position ?? GENESIS;
    const follower = new JournalFollower(engine, position);
    for (const batch of batches) {
      if (batch.lastSequence <= position.sequence) continue;
      if (batch.lastSequence > batches[batchCount - 1]!.lastSequence) break;
      follower.apply(batch);
      position = follower.position;
    }
    return { engine, position };
  }

  async function write(folder: string, content: SnapshotContent): Promise<string> {
    await prepareSnapshotFolder(folder);
    const { path } = snapshotNameOf(folder, content.header.sequence);
    writeSnapshot(path, content);
    return path;
  }

  async function withSnapshots(folder: string): Promise<string[]> {
    const paths: string[] = [];
    for (const batchCount of [10, 20, batches.length]) {
      const { engine, position } = await engineAfter(batchCount);
      paths.push(await write(folder, takeSnapshot(engine, position)));
    }
    return paths;
  }

  it('that match the replay are good, and are not changed', async () => {
    const folder = folders.copy(stopped);
    await withSnapshots(folder);
    const before = traceOf(folder);
    const report = await replayJson(folder, 'verify');
    const sequences = [10, 20, batches.length].map((count) => batches[count - 1]!.lastSequence);
    expect(report.snapshots).toEqual(
      sequences.map((sequence) => ({
        file: `snapshots/${snapshotNameOf(folder, sequence).name}`,
        sequence,
        good: true,
        compared: true,
        vouched: false,
      })),
    );
    expect(traceOf(folder)).toEqual(before);
  });

  it('that are truncated, or named after another sequence, are found', async () => {
    const folder = folders.copy(stopped);
    const [first, second, third] = await withSnapshots(folder);
    truncateSync(first!, 1_000);
    copyFileSync(third!, second!);
    const run = await replayTool(folder, 'verify');
    expectDamage(run, 'it has 1000 bytes', `its content is of sequence ${lastSequence()}`);
  });

  it('that are intact but of another state are found', async () => {
    const folder = folders.copy(stopped);
    const { engine, position } = await engineAfter(20);
    const content = takeSnapshot(engine, position);
    const name = Buffer.from('trader-3', 'latin1');
    const state = Buffer.concat(content.pieces);
    const at = state.indexOf(name);
    expect(at).toBeGreaterThan(0);
    Buffer.from('trador-3', 'latin1').copy(state, at);
    content.pieces = [new Uint8Array(state)];
    await write(folder, content);
    const run = await replayTool(folder, 'verify');
    expectDamage(run, 'it is whole, but differs from the replay');
  });

  it('that the journal vouches for are reported so, and other bytes at their place are found', async () => {
    const folder = folders.copy(stopped);
    const [path] = await withSnapshots(folder);
    await vouchForSnapshots(folder);
    const { snapshots } = await replayJson(folder, 'verify');
    expect(snapshots.map(({ good, vouched }: Record<string, boolean>) => [good, vouched])).toEqual(
      Array(3).fill([true, true]),
    );
    const other = folders.copy(stopped);
    await withSnapshots(other);
    const bytes = readFileSync(path!);
    bytes[bytes.length - 1]! ^= 1;
    // The journal vouches for bytes that the exchange never had.
    const { engine } = await engineAfter(batches.length);
    const records = new RecordBuffer();
    const command = {
      kind: 'vouchForSnapshot',
      snapshotSequence: batches[9]!.lastSequence,
      snapshotHash: bytes.subarray(-32).toString('hex'),
    } as const;
    records.append(command, engine.nowMs);
    engine.apply(command, engine.nowMs);
    const journal = await openJournal({ folder: other });
    await append(journal, {
      firstSequence: engine.sequence,
      lastSequence: engine.sequence,
      records: Buffer.from(recordBytes(records)),
      digest: engine.digest(),
    });
    await journal.close();
    expectDamage(await replayTool(other, 'verify'), 'but the journal vouches for');
  });

  it('that a running exchange removes meanwhile are ignored', async () => {
    const folder = folders.copy(stopped);
    const { engine, position } = await engineAfter(20);
    const path = await write(folder, takeSnapshot(engine, position));
    const comparison = new SnapshotComparison(folder);
    const removing: Engine = Object.assign(Object.create(engine), {
      *archiveInPieces(archive: Parameters<Engine['archiveInPieces']>[0]) {
        rmSync(path);
        yield* engine.archiveInPieces(archive);
      },
    });
    comparison.compare(removing, position);
    comparison.finish();
    expect(comparison.verdicts).toEqual([]);
  });

  it('beyond the journal, or without a batch, are found', async () => {
    const folder = folders.copy(stopped);
    const paths = await withSnapshots(folder);
    const odd = snapshotNameOf(folder, batches[5]!.lastSequence - 1).path;
    copyFileSync(paths[0]!, odd);
    const run = await replayTool(folder, 'verify');
    expectDamage(run, 'no batch of the journal ends at its sequence');

    const shorter = folders.make();
    const exchange = await ReplayExchange.open(shorter, 'short');
    await exchange.run(50);
    await exchange.sequencer.close();
    await prepareSnapshotFolder(shorter);
    copyFileSync(paths[2]!, snapshotNameOf(shorter, lastSequence()).path);
    // The snapshot is intact and shows what the journal has lost, so nobody is told to remove it.
    const ahead = await replayTool(shorter, 'verify');
    expectDamage(ahead, 'acknowledged commands are missing from the journal');
    expect(ahead.err).not.toContain('Remove the file');
  });

  it('after damage of the journal are checked on their own', async () => {
    const folder = folders.copy(stopped);
    const paths = await withSnapshots(folder);
    await flip(folder, batches[14]!.firstSequence, 'records');
    const bytes = readFileSync(paths[1]!);
    bytes[500] = bytes[500]! ^ 1;
    writeFileSync(paths[1]!, bytes);
    const run = await replayTool(folder, 'verify', '--json');
    expectDamage(run, `sequence ${batches[14]!.firstSequence}`, 'its checksum does not match');
    const { snapshots, findings } = JSON.parse(run.out);
    expect(findings.length).toBe(2);
    expect(
      snapshots.map(({ good, compared }: Record<string, boolean>) => [good, compared]),
    ).toEqual([
      [true, true],
      [false, false],
      [true, false],
    ]);
  });
});
