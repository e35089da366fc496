/**
 * The archive holds the whole state: an engine restored from it behaves exactly like the one that
 * wrote it, and writes the same bytes.
 */
import { expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import { archiveOf, openMarket, WINDOW_START_MS } from '../support/engine-support.js';
import { NaiveEngine } from '../support/naive-engine/naive-engine.js';
import { RandomCommands, USUAL } from '../support/random-commands.js';

test('an engine restored at any point behaves like the one that wrote the archive', () => {
  const engine = new Engine();
  const naive = new NaiveEngine();
  const random = new RandomCommands('archive', USUAL, naive);
  for (const command of random.opening()) {
    engine.apply(command, WINDOW_START_MS);
    naive.apply(command, WINDOW_START_MS);
  }
  let restored = engine;
  for (let i = 0; i < 6_000; i++) {
    const { command, atMs } = random.next();
    naive.apply(command, atMs);
    engine.apply(command, atMs);
    if (restored !== engine) restored.apply(command, atMs);
    if (i % 100 === 0) expect(restored.digest()).toBe(engine.digest());
    if (i % 1_000 !== 500) continue;
    const bytes = archiveOf(engine);
    expect(Buffer.compare(archiveOf(restored), bytes)).toBe(0);
    restored = Engine.restore(bytes);
    restored.checkInvariants();
    expect(Buffer.compare(archiveOf(restored), bytes)).toBe(0);
  }
  expect(restored.digest()).toBe(engine.digest());
  expect(engine.marketIds().length).toBeGreaterThan(3);
  expect(engine.vault().yieldPaidMicros).toBeGreaterThan(0);
});

test('refuses an archive that is too short or too long', () => {
  const { engine } = openMarket(3);
  const bytes = archiveOf(engine);
  expect(() => Engine.restore(bytes.subarray(0, bytes.length - 1))).toThrow(/truncated/);
  expect(() => Engine.restore(Buffer.concat([bytes, new Uint8Array(1)]))).toThrow(
    /more than the state/,
  );
});
