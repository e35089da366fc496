/**
 * Remembered results against a plain model: lookup, expiry, and which results are evicted when
 * there are too many.
 */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Random } from '../../bench/workload/random.js';
import { Code } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import {
  IDEMPOTENCY_KEPT_IN_ALL,
  IDEMPOTENCY_KEPT_MS,
  IDEMPOTENCY_KEPT_PER_USER,
} from '../../engine/interface/limits.js';
import {
  Found,
  IDEMPOTENCY_BOUNDS,
  Idempotency,
  type IdempotencyBounds,
} from '../../engine/state/idempotency.js';
import { StateReader, StateWriter } from '../../engine/storage/archive.js';
import { Digest } from '../../engine/storage/digest.js';
import { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { TextHash } from '../../engine/storage/text-hash.js';
import { at, buy, codeOf, openMarket, run } from '../support/engine-support.js';
import { NaiveMemory, sameCommand } from '../support/naive-engine/memory.js';

function tapeOf(...values: number[]): NumberBuffer {
  const tape = new NumberBuffer();
  tape.write(...values);
  return tape;
}

const hash = new TextHash();

function newStore(bounds = IDEMPOTENCY_BOUNDS): Idempotency {
  const store = new Idempotency(hash, bounds);
  store.ensureUsers(100);
  return store;
}

/** Commands that differ only in their fingerprints. */
function commandOf(print: number): Command {
  return { kind: 'claim', userId: 1, idempotencyKey: null, marketId: print };
}

function printOf(value: number): Digest {
  const digest = new Digest();
  digest.add(tapeOf(value));
  return digest;
}

function look(
  store: Idempotency,
  userId: number,
  key: string,
  print: number,
  nowMs: number,
): number[] | Found {
  const tape = new NumberBuffer();
  const found = store.lookUp(userId, key, printOf(print), nowMs, tape);
  return found === Found.SAME ? Array.from(tape.values.subarray(0, tape.length)) : found;
}

describe('remembered results', () => {
  test('are found for an hour, for the same user, key and command only', () => {
    const store = newStore();
    const result = [8, 0, 127, 128, 16_384, Number.MAX_SAFE_INTEGER, 0];
    store.remember(1, 'a', printOf(5), 1_000, tapeOf(...result));
    expect(look(store, 1, 'a', 5, 1_000)).toEqual(result);
    expect(look(store, 1, 'a', 6, 1_000)).toBe(Found.OTHER);
    expect(look(store, 2, 'a', 5, 1_000)).toBe(Found.NOTHING);
    expect(look(store, 1, 'b', 5, 1_000)).toBe(Found.NOTHING);
    expect(look(store, 1, 'a', 5, 1_000 + IDEMPOTENCY_KEPT_MS - 1)).toEqual(result);
    expect(look(store, 1, 'a', 5, 1_000 + IDEMPOTENCY_KEPT_MS)).toBe(Found.NOTHING);
  });

  test('an expired key can be used again', () => {
    const store = newStore();
    for (let i = 0; i < 10; i++) store.remember(1, `k${i}`, printOf(i), i, tapeOf(i));
    const later = IDEMPOTENCY_KEPT_MS + 100;
    store.remember(1, 'k7', printOf(70), later, tapeOf(70));
    expect(look(store, 1, 'k7', 70, later)).toEqual([70]);
    for (let i = 0; i < 10; i++) store.remember(1, `n${i}`, printOf(i), later, tapeOf(i));
    for (let i = 0; i < 10; i++) expect(look(store, 1, `n${i}`, i, later)).toEqual([i]);
    expect(look(store, 1, 'k7', 70, later)).toEqual([70]);
  });

  test('each user keeps their last 10,000, whatever other users do', () => {
    const store = newStore();
    store.remember(2, 'mine', printOf(1), 0, tapeOf(1));
    for (let i = 0; i < IDEMPOTENCY_KEPT_PER_USER + 5; i++)
      store.remember(1, `k${i}`, printOf(i), 1, tapeOf(i));
    for (let i = 0; i < 5; i++) expect(look(store, 1, `k${i}`, i, 1)).toBe(Found.NOTHING);
    for (let i = 5; i < IDEMPOTENCY_KEPT_PER_USER + 5; i += 7)
      expect(look(store, 1, `k${i}`, i, 1)).toEqual([i]);
    expect(look(store, 2, 'mine', 1, 1)).toEqual([1]);
  });

  test.each([
    { name: 'many users', users: 50, keys: 2_000, mostValues: 60, bounds: IDEMPOTENCY_BOUNDS },
    {
      name: 'few entries',
      users: 9,
      keys: 60,
      mostValues: 20,
      bounds: { ...IDEMPOTENCY_BOUNDS, entriesPerUser: 20, entriesInAll: 100 },
    },
    {
      name: 'few blocks',
      users: 9,
      keys: 60,
      mostValues: 90,
      bounds: { ...IDEMPOTENCY_BOUNDS, blocksPerUser: 40, blocksInAll: 250 },
    },
  ])('agree with a plain model through growth, expiry and archives: $name', (play) => {
    let store = newStore(play.bounds);
    const model = new NaiveMemory(play.bounds);
    const random = new Random('99');
    const counts = { same: 0, other: 0, nothing: 0 };
    for (let i = 0; i < 40_000; i++) {
      const nowMs = i * 200;
      const userId = random.whole(1, play.users);
      const key = `key:${random.whole(1, play.keys)}`;
      const print = random.whole(0, 2);
      const known = model.find(userId, key, nowMs);
      const found = look(store, userId, key, print, nowMs);
      if (known === undefined) {
        if (found !== Found.NOTHING) expect(found).toBe(Found.NOTHING);
        const length = random.whole(1, play.mostValues);
        const result = Array.from({ length }, () => random.magnitude(Number.MAX_SAFE_INTEGER) - 1);
        store.remember(userId, key, printOf(print), nowMs, tapeOf(...result));
        model.remember(userId, key, { command: commandOf(print), result, atMs: nowMs });
        counts.nothing++;
      } else {
        const isSame = sameCommand(known.command, commandOf(print));
        const wanted = isSame ? known.result : Found.OTHER;
        // A comparison is faster than 40,000 calls of `expect`, which then reports the difference.
        if (!isDeepStrictEqual(found, wanted)) expect(found).toEqual(wanted);
        counts[isSame ? 'same' : 'other']++;
      }
      if (i % 9_000 === 8_999) store = copyOf(store, play.bounds);
      if (i === 20_000) {
        hash.setKey('a secret');
        store.rebuildIndex();
      }
    }
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(1_000);
  });

  test("one user cannot evict another user's results", () => {
    const store = newStore({
      ...IDEMPOTENCY_BOUNDS,
      blocksInAll: 2 * IDEMPOTENCY_BOUNDS.blocksPerUser,
    });
    store.remember(2, 'mine', printOf(1), 0, tapeOf(1));
    const large = tapeOf(...Array.from({ length: 3_000 }, () => Number.MAX_SAFE_INTEGER));
    const print = printOf(7);
    for (let i = 0; i < 2_000; i++) store.remember(1, `large ${i}`, print, 1, large);
    const small = tapeOf(5);
    for (let i = 0; i < 2_100_000; i++) store.remember(1, `small ${i}`, print, 2, small);
    expect(look(store, 2, 'mine', 1, 2)).toEqual([1]);
    expect(look(store, 1, 'small 2090000', 7, 2)).toEqual([5]);
    expect(look(store, 1, 'small 2089999', 7, 2)).toBe(Found.NOTHING);
  });

  test('evicts the oldest result when the store is full', () => {
    const users = IDEMPOTENCY_KEPT_IN_ALL / IDEMPOTENCY_KEPT_PER_USER;
    const store = newStore();
    store.ensureUsers(users + 2);
    const print = printOf(1);
    const result = tapeOf(1, 2, 3);
    for (let i = 0; i < IDEMPOTENCY_KEPT_PER_USER; i++) {
      for (let userId = 1; userId <= users; userId++)
        store.remember(userId, `k${i}`, print, 1, result);
    }
    expect(look(store, 1, 'k0', 1, 1)).toEqual([1, 2, 3]);
    store.remember(users + 1, 'one more', print, 1, result);
    expect(look(store, 1, 'k0', 1, 1)).toBe(Found.NOTHING);
    expect(look(store, 2, 'k0', 1, 1)).toEqual([1, 2, 3]);
  });

  test('the engine repeats the first result, refusals included, and refuses another command under the same key', () => {
    const { engine, marketId } = openMarket(2);
    const rest = buy({
      userId: 1,
      marketId,
      sizeLots: 10,
      priceTicks: 400,
      timeInForce: 2,
      idempotencyKey: 'x',
    });
    const first = run(engine, rest, at(5_000));
    expect(codeOf(first)).toBe(Code.ok);
    const digest = engine.orders(1).length;
    expect(run(engine, rest, at(6_000))).toEqual(first);
    expect(engine.replayed).toBe(true);
    expect(engine.orders(1)).toHaveLength(digest);
    expect(codeOf(run(engine, { ...rest, sizeLots: 11 }, at(6_000)))).toBe(
      Code.idempotency_key_reused,
    );
    expect(engine.replayed).toBe(false);

    const tooMuch = buy({
      userId: 2,
      marketId,
      budgetMicros: 900_000_000_000,
      idempotencyKey: 'x',
    });
    const refused = run(engine, tooMuch, at(7_000));
    expect(codeOf(refused)).toBe(Code.insufficient_balance);
    engine.apply(
      { kind: 'deposit', userId: 2, amountMicros: 1_000_000_000_000, partner: 'p', reference: 'r' },
      at(8_000),
    );
    expect(run(engine, tooMuch, at(9_000))).toEqual(refused);
  });
});

function copyOf(store: Idempotency, bounds: IdempotencyBounds): Idempotency {
  const pieces: Uint8Array[] = [];
  const writer = new StateWriter((bytes) => pieces.push(bytes.slice()));
  store.archive(writer);
  writer.finish();
  const copy = newStore(bounds);
  copy.archive(new StateReader(Buffer.concat(pieces)));
  return copy;
}
