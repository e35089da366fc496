/** Snapshots are compared with the replay. ../../damage.test.ts covers damage of a journal. */
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../../../engine/engine.js';
import type { Command } from '../../../../engine/interface/commands.js';
import { type JournalBatch, positionAfter } from '../../../../persistence/journal/store.js';
import { openJournal } from '../../../../persistence/recovery/data-folder.js';
import { readSnapshot } from '../../../../persistence/recovery/snapshot/file.js';
import {
  prepareSnapshotFolder,
  snapshotNameOf,
} from '../../../../persistence/recovery/snapshot/folder.js';
import { SnapshotComparison } from '../../../../persistence/tools/replay/proofs/snapshots.js';
import { moveMoney } from '../../../support/folders/moved-money.js';
import { vouchForSnapshots } from '../../../support/folders/vouch.js';
import {
  addSnapshots,
  appendCommand,
  Folders,
  flip,
  readAll,
  replayJournal,
} from '../../../support/journal-fixture.js';
import { ReplayExchange } from '../../../support/replay-exchange.js';
import {
  linesOf,
  ofType,
  replayLines,
  replayTool,
  type ToolRun,
  traceOf,
} from '../../../support/replay-tool.js';

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

/** Adds one command to the journal. */
async function goOn(folder: string, command: Command): Promise<void> {
  const engine = await replayJournal(folder);
  engine.apply(command, endMs);
  const journal = await openJournal({ folder });
  await appendCommand(journal, command, endMs, engine.digest());
  await journal.close();
}

describe('snapshots', () => {
  const ends = (...counts: number[]) => counts.map((count) => batches[count - 1]!.lastSequence);
  const withSnapshots = (folder: string) => addSnapshots(folder, ...ends(10, 20, batches.length));

  it('that match the replay are good, and are not changed', async () => {
    const folder = folders.copy(stopped);
    await withSnapshots(folder);
    const before = traceOf(folder);
    const lines = await replayLines(folder, 'verify');
    const sequences = ends(10, 20, batches.length);
    expect(ofType(lines, 'snapshot')).toEqual(
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

  it.each<[what: string, damage: (paths: string[]) => unknown, says: () => string]>([
    ['truncated', ([first]) => truncateSync(first!, 1_000), () => 'it has 1000 bytes'],
    [
      'named after another sequence',
      ([, second, third]) => copyFileSync(third!, second!),
      () => `its content is at sequence ${lastSequence()}`,
    ],
    [
      'intact but of another state',
      ([, second]) => moveMoney(second!, 3, 4),
      () => 'the file is undamaged, but differs from the replay',
    ],
    [
      'a folder',
      ([first]) => {
        rmSync(first!);
        mkdirSync(first!);
      },
      () => 'it cannot be read: EISDIR',
    ],
  ])('one that is %s is found', async (_what, damage, says) => {
    const folder = folders.copy(stopped);
    damage(await withSnapshots(folder));
    expectDamage(await replayTool(folder, 'verify'), says());
  });

  it('that are damaged are all found at once', async () => {
    const folder = folders.copy(stopped);
    const paths = await withSnapshots(folder);
    for (const path of paths.slice(0, 2)) truncateSync(path, 1_000);
    const { out } = await replayTool(folder, 'verify', '--json');
    expect(ofType(linesOf(out), 'finding').length).toBe(2);
  });

  it('that the journal vouches for are reported so, and other bytes at their place are found', async () => {
    const folder = folders.copy(stopped);
    const [path] = await withSnapshots(folder);
    await vouchForSnapshots(folder);
    const snapshots = ofType(await replayLines(folder, 'verify'), 'snapshot');
    expect(snapshots.map(({ good, vouched }: Record<string, boolean>) => [good, vouched])).toEqual(
      Array(3).fill([true, true]),
    );
    const other = folders.copy(stopped);
    await withSnapshots(other);
    const bytes = readFileSync(path!);
    bytes[bytes.length - 1]! ^= 1;
    // The journal records a hash of bytes that the exchange never had.
    await goOn(other, {
      kind: 'vouchForSnapshot',
      snapshotSequence: batches[9]!.lastSequence,
      snapshotHash: bytes.subarray(-32).toString('hex'),
    });
    expectDamage(await replayTool(other, 'verify'), 'but the journal vouches for');
  });

  it('that a running exchange removes meanwhile are ignored', async () => {
    const folder = folders.copy(stopped);
    const [path] = await addSnapshots(folder, ...ends(20));
    const { engine } = readSnapshot(path!);
    const position = positionAfter(batches[19]!);
    const comparison = new SnapshotComparison(folder);
    const removing: Engine = Object.assign(Object.create(engine), {
      *archiveInPieces(archive: Parameters<Engine['archiveInPieces']>[0]) {
        rmSync(path!);
        yield* engine.archiveInPieces(archive);
      },
    });
    comparison.compare(removing, position);
    comparison.finish(null);
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
    // The snapshot is intact, and may show what the journal has lost.
    const ahead = await replayTool(shorter, 'verify');
    expectDamage(ahead, 'but the journal ends at', 'acknowledged commands are missing');
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
    const lines = linesOf(run.out);
    expect(ofType(lines, 'finding').length).toBe(2);
    expect(
      ofType(lines, 'snapshot').map(({ good, compared }: Record<string, boolean>) => [
        good,
        compared,
      ]),
    ).toEqual([
      [true, true],
      [false, false],
      [true, false],
    ]);
  });
});
