/** How far the journal reached: old, torn and first marks. damage.test.ts covers damaged marks. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { BEHIND_MAX, HeadMark } from '../../../persistence/journal/head-mark.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import {
  Folders,
  journalErrorOf,
  start,
  write,
  writeJournal,
} from '../../support/journal-fixture.js';

const folders = new Folders();
afterEach(() => folders.removeAll());

const markOf = (folder: string) => join(folder, 'journal.head');

it.each([
  [BEHIND_MAX, true],
  [BEHIND_MAX + 1, false],
])('that is %i commits older is accepted: %s', async (batchCount, isAccepted) => {
  const folder = folders.make();
  const engine = new Engine();
  const journal = await openJournal({ folder, durability: 'off' });
  await write(journal, engine, { batchCount: 3, batchSize: 2 });
  const older = readFileSync(markOf(folder));
  await write(journal, engine, { batchCount, batchSize: 2 });
  await journal.close();
  writeFileSync(markOf(folder), older);
  const { sequence } = engine;
  if (!isAccepted) {
    const { message, firstBadSequence } = await journalErrorOf(start(folder));
    expect(firstBadSequence).toBe(sequence + 1);
    expect(message).toMatch(/journal\.head is outdated .*put back from a copy/);
  }
  expect((await start(folder, !isAccepted)).engine.sequence).toBe(sequence);
});

it.each([0, 4_096])('is first written where it is torn, at byte %i', async (torn) => {
  const folder = folders.make();
  const { end } = await writeJournal(folder);
  const path = markOf(folder);
  const head = readFileSync(path);
  writeFileSync(path, head.fill(0, torn, torn + 80));
  const mark = new HeadMark(path, end);
  // Two marks are written at startup, so the next one takes the place of the first.
  const before = readFileSync(path);
  mark.write({ ...end, sequence: end.sequence + 1 });
  const after = readFileSync(path);
  await mark.close();
  for (const slot of [0, 4_096]) {
    const isSame = after.subarray(slot, slot + 80).equals(before.subarray(slot, slot + 80));
    expect(isSame).toBe(slot !== torn);
  }
});

it('with one slot torn still marks the commit before', async () => {
  const folder = folders.make();
  await writeJournal(folder);
  const head = readFileSync(markOf(folder));
  const notices = [];
  for (const slot of [0, 4096]) {
    const torn = Buffer.from(head);
    torn[slot + 20] = torn[slot + 20]! ^ 1;
    writeFileSync(markOf(folder), torn);
    notices.push((await start(folder)).notice);
  }
  expect(notices.sort()).toEqual([expect.stringContaining('1 commits behind'), null]);
});
