/**
 * Remembered answers against a plain model: what is found, for how long, and what goes first when there are too many.
 */
import { describe, expect, test } from 'vitest';
import { StateReader, StateWriter } from '../engine/archive.js';
import { Code } from '../engine/codes.js';
import { Digest } from '../engine/digest.js';
import { Found, Idempotency } from '../engine/idempotency.js';
import { IDEMPOTENCY_KEPT_MS, IDEMPOTENCY_KEPT_PER_USER } from '../engine/limits.js';
import { Tape } from '../engine/tape.js';
import { at, buy, codeOf, openMarket, run } from './engine-support.js';

function tapeOf(...values: number[]): Tape {
  const tape = new Tape();
  tape.write(...values);
  return tape;
}

function newStore(): Idempotency {
  const store = new Idempotency();
  store.ensureUsers(100);
  return store;
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
  const tape = new Tape();
  const found = store.look(userId, key, printOf(print), nowMs, tape);
  return found === Found.SAME ? Array.from(tape.values.subarray(0, tape.length)) : found;
}

describe('remembered answers', () => {
  test('come back whole, for the same user, key and command only, for an hour', () => {
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

  test('each user keeps the last 10,000, whatever others do', () => {
    const store = newStore();
    store.remember(2, 'mine', printOf(1), 0, tapeOf(1));
    for (let i = 0; i < IDEMPOTENCY_KEPT_PER_USER + 5; i++)
      store.remember(1, `k${i}`, printOf(i), 1, tapeOf(i));
    for (let i = 0; i < 5; i++) expect(look(store, 1, `k${i}`, i, 1)).toBe(Found.NOTHING);
    for (let i = 5; i < IDEMPOTENCY_KEPT_PER_USER + 5; i += 7)
      expect(look(store, 1, `k${i}`, i, 1)).toEqual([i]);
    expect(look(store, 2, 'mine', 1, 1)).toEqual([1]);
  });

  test('agree with a plain map through growth, expiry and archives', () => {
    let store = newStore();
    const model = new Map<string, { print: number; atMs: number; values: number[] }>();
    let seed = 99;
    const below = (bound: number): number => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((seed / 4_294_967_296) * bound);
    };
    let replays = 0;
    for (let i = 0; i < 40_000; i++) {
      const nowMs = i * 200;
      const userId = 1 + below(50);
      const key = `key:${below(2_000)}`;
      const print = below(3);
      const known = model.get(`${userId} ${key}`);
      const isKnown = known !== undefined && known.atMs + IDEMPOTENCY_KEPT_MS > nowMs;
      const found = look(store, userId, key, print, nowMs);
      if (isKnown) {
        expect(found).toEqual(known.print === print ? known.values : Found.OTHER);
        replays++;
        continue;
      }
      expect(found).toBe(Found.NOTHING);
      const values = Array.from({ length: below(60) + 1 }, () => below(2 ** 31) * below(2 ** 20));
      store.remember(userId, key, printOf(print), nowMs, tapeOf(...values));
      model.set(`${userId} ${key}`, { print, atMs: nowMs, values });
      if (i % 5_000 === 4_999) store = copyOf(store);
    }
    expect(replays).toBeGreaterThan(1_000);
  });

  test('in the engine: the first answer again, a refusal too, and another command is refused', () => {
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
    expect(codeOf(run(engine, { ...rest, sizeLots: 11 }, at(6_000)))).toBe(Code.idempotency_key_reused);
    expect(engine.replayed).toBe(false);

    const tooMuch = buy({ userId: 2, marketId, budgetMicros: 900_000_000_000, idempotencyKey: 'x' });
    const refused = run(engine, tooMuch, at(7_000));
    expect(codeOf(refused)).toBe(Code.insufficient_balance);
    engine.apply(
      { kind: 'deposit', userId: 2, amountMicros: 1_000_000_000_000, partner: 'p', reference: 'r' },
      at(8_000),
    );
    expect(run(engine, tooMuch, at(9_000))).toEqual(refused);
  });
});

function copyOf(store: Idempotency): Idempotency {
  const pieces: Uint8Array[] = [];
  const writer = new StateWriter((bytes) => pieces.push(bytes.slice()));
  store.archive(writer);
  writer.finish();
  const copy = newStore();
  copy.archive(new StateReader(Buffer.concat(pieces)));
  return copy;
}
