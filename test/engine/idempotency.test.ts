/**
 * Remembered answers against a plain model: what is found, for how long, and what is refused when
 * there are too many.
 */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Random } from '../../bench/workload/random.js';
import { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { IDEMPOTENCY_KEPT_MS } from '../../engine/interface/limits.js';
import { MAX_RESULT_LENGTH, MAX_RESULT_WORDS } from '../../engine/interface/results.js';
import {
  Found,
  IDEMPOTENCY_BOUNDS,
  Idempotency,
  type IdempotencyBounds,
} from '../../engine/state/idempotency.js';
import { StateReader, StateWriter } from '../../engine/storage/archive.js';
import { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { atOnce } from '../../engine/storage/pieces.js';
import { TextHash } from '../../engine/storage/text-hash.js';
import { at, buy, codeOf, openMarket, registration, run } from '../support/engine-support.js';
import { NaiveMemory, sameCommand } from '../support/naive-engine/memory.js';

function tapeOf(...values: number[]): NumberBuffer {
  const tape = new NumberBuffer();
  tape.write(...values);
  return tape;
}

/** A store whose keys are texts, as the engine uses one. */
class Store {
  readonly entries: Idempotency;
  private readonly hash = new TextHash();

  constructor(private readonly bounds = IDEMPOTENCY_BOUNDS) {
    this.entries = new Idempotency(bounds);
    this.entries.ensureUsers(100);
    this.hash.setKey('a secret');
  }

  look(userId: number, key: string, print: number, nowMs: number): number[] | Found {
    const tape = new NumberBuffer();
    this.hash.pairOfBytes(userId, Buffer.from(key), 0, key.length);
    const { low, high } = this.hash;
    const found = this.entries.lookUp(userId, low, high, print, ~print, nowMs, tape);
    return found === Found.SAME ? Array.from(tape.values.subarray(0, tape.length)) : found;
  }

  remember(userId: number, key: string, print: number, nowMs: number, result: number[]): void {
    this.hash.pairOfBytes(userId, Buffer.from(key), 0, key.length);
    const { low, high } = this.hash;
    this.entries.remember(userId, low, high, print, ~print, nowMs, tapeOf(...result));
  }

  archived(nowMs: number): Uint8Array {
    const pieces: Uint8Array[] = [];
    const writer = new StateWriter((bytes) => pieces.push(bytes.slice()));
    atOnce(this.entries.archive(writer, nowMs));
    writer.finish();
    return Buffer.concat(pieces);
  }

  copy(nowMs: number): Store {
    const copy = new Store(this.bounds);
    const reader = new StateReader(this.archived(nowMs));
    atOnce(copy.entries.archive(reader, nowMs));
    reader.finish();
    return copy;
  }
}

/** Commands that differ as their fingerprints do. */
function commandOf(print: number): Command {
  return { kind: 'claim', userId: 1, idempotencyKey: null, marketId: print };
}

const LONGEST_BYTES = 36 + 4 * MAX_RESULT_WORDS;
const FEW: IdempotencyBounds = {
  keysPerUser: 20,
  keysInAll: 100,
  bytesPerUser: LONGEST_BYTES + 2_000,
  bytesInAll: LONGEST_BYTES + 6_000,
};

describe('remembered answers', () => {
  test('come back whole, for the same user, key and command only, for an hour', () => {
    const store = new Store();
    const nowMs = 1_763_700_300_000;
    const result = [8, 0, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 8_589_934_591, Number.MAX_SAFE_INTEGER, 0];
    store.remember(1, 'a', 5, nowMs, result);
    expect(store.look(1, 'a', 5, nowMs)).toEqual(result);
    expect(store.look(1, 'a', 6, nowMs)).toBe(Found.OTHER);
    expect(store.look(2, 'a', 5, nowMs)).toBe(Found.NOTHING);
    expect(store.look(1, 'b', 5, nowMs)).toBe(Found.NOTHING);
    expect(store.look(1, 'a', 5, nowMs + IDEMPOTENCY_KEPT_MS - 1)).toEqual(result);
    expect(store.look(1, 'a', 5, nowMs + IDEMPOTENCY_KEPT_MS)).toBe(Found.NOTHING);
  });

  test('come back whole if they are as long as a result can be, and no longer one is taken', () => {
    const store = new Store({ ...FEW, bytesPerUser: LONGEST_BYTES });
    const oneWord = 2 * MAX_RESULT_LENGTH - MAX_RESULT_WORDS;
    const longest = Array.from({ length: MAX_RESULT_LENGTH }, (_, i) =>
      i < oneWord ? i : Number.MAX_SAFE_INTEGER - i,
    );
    expect(store.look(1, 'a', 5, 0)).toBe(Found.NOTHING);
    store.remember(1, 'a', 5, 0, longest);
    expect(store.look(1, 'a', 5, 0)).toEqual(longest);
    expect(store.look(1, 'b', 5, 0)).toBe(Found.FULL);
    expect(store.entries.fullForMs).toBe(IDEMPOTENCY_KEPT_MS);
    expect(store.look(1, 'b', 5, IDEMPOTENCY_KEPT_MS)).toBe(Found.NOTHING);
    expect(() => store.remember(1, 'b', 5, IDEMPOTENCY_KEPT_MS, [...longest, 1])).toThrow(/36620/);
  });

  test('an expired key can be used again', () => {
    const store = new Store();
    for (let i = 0; i < 10; i++) store.remember(1, `k${i}`, i, i, [i]);
    const later = IDEMPOTENCY_KEPT_MS + 100;
    expect(store.look(1, 'k7', 70, later)).toBe(Found.NOTHING);
    store.remember(1, 'k7', 70, later, [70]);
    expect(store.look(1, 'k7', 70, later)).toEqual([70]);
    for (let i = 0; i < 10; i++) {
      expect(store.look(1, `n${i}`, i, later)).toBe(Found.NOTHING);
      store.remember(1, `n${i}`, i, later, [i]);
    }
    for (let i = 0; i < 10; i++) expect(store.look(1, `n${i}`, i, later)).toEqual([i]);
    expect(store.look(1, 'k7', 70, later)).toEqual([70]);
  });

  test.each([
    { name: 'many users', users: 50, keys: 500, mostValues: 60, bounds: IDEMPOTENCY_BOUNDS },
    {
      name: 'few keys',
      users: 9,
      keys: 60,
      mostValues: 20,
      bounds: { ...IDEMPOTENCY_BOUNDS, keysPerUser: 20, keysInAll: 100 },
    },
    {
      name: 'few bytes',
      users: 9,
      keys: 60,
      mostValues: 90,
      bounds: { ...FEW, keysPerUser: 1_000, keysInAll: 1_000 },
    },
  ])('agree with a plain model through growth, expiry and archives: $name', (play) => {
    let store = new Store(play.bounds);
    const model = new NaiveMemory(play.bounds);
    const random = new Random('99');
    const counts = { same: 0, other: 0, nothing: 0, full: 0 };
    let nowMs = 0;
    for (let i = 0; i < 40_000; i++) {
      // Now and then so much at once that many expire together.
      nowMs += random.chance(0.001) ? random.whole(0, IDEMPOTENCY_KEPT_MS) : random.whole(0, 400);
      const userId = random.whole(1, play.users);
      const key = `key:${random.whole(1, play.keys)}`;
      const print = random.whole(0, 2);
      const known = model.find(userId, key, nowMs);
      const fullForMs = known === undefined ? model.fullForMs(userId, nowMs) : 0;
      const found = store.look(userId, key, print, nowMs);
      if (known !== undefined) {
        const isSame = sameCommand(known.command, commandOf(print));
        const wanted = isSame ? known.result : Found.OTHER;
        // Quicker, forty thousand times, than to expect it each time; that says what differs.
        if (!isDeepStrictEqual(found, wanted)) expect(found).toEqual(wanted);
        counts[isSame ? 'same' : 'other']++;
      } else if (fullForMs > 0) {
        if (found !== Found.FULL) expect(found).toBe(Found.FULL);
        if (store.entries.fullForMs !== fullForMs) expect(store.entries.fullForMs).toBe(fullForMs);
        counts.full++;
      } else {
        if (found !== Found.NOTHING) expect(found).toBe(Found.NOTHING);
        const length = random.whole(1, play.mostValues);
        const result = Array.from({ length }, () => random.magnitude(Number.MAX_SAFE_INTEGER) - 1);
        store.remember(userId, key, print, nowMs, result);
        model.remember(userId, key, { command: commandOf(print), result, atMs: nowMs });
        counts.nothing++;
      }
      if (i % 4_000 !== 3_999) continue;
      const copy = store.copy(nowMs);
      expect(Buffer.compare(copy.archived(nowMs), store.archived(nowMs))).toBe(0);
      if (random.chance(0.5)) store = copy;
    }
    const { full, ...others } = counts;
    for (const count of Object.values(others)) expect(count).toBeGreaterThan(200);
    expect(full > 200).toBe(play.bounds !== IDEMPOTENCY_BOUNDS);
  });

  test('all that expired while nothing came is made room of, however much it is', () => {
    const bounds = { ...IDEMPOTENCY_BOUNDS, keysPerUser: 5_000, keysInAll: 10_000 };
    const store = new Store(bounds);
    for (let i = 0; i < 10_000; i++) store.remember(1 + (i % 2), `k${i}`, i, i, [i]);
    const later = IDEMPOTENCY_KEPT_MS + 20_000;
    for (let i = 0; i < 5_000; i++) {
      expect(store.look(2, `n${i}`, i, later)).toBe(Found.NOTHING);
      store.remember(2, `n${i}`, i, later, [i]);
    }
    expect(store.look(2, 'one more', 1, later)).toBe(Found.FULL);
    expect(store.look(1, 'k0', 0, later)).toBe(Found.NOTHING);
    for (let i = 0; i < 5_000; i++) expect(store.look(2, `n${i}`, i, later)).toEqual([i]);
  });

  test("in an archive, each entry tells where its user's next one is", () => {
    const store = new Store();
    const users = [3, 1, 3, 2, 2, 1, 3];
    for (let i = 0; i < 200; i++)
      store.remember(users[i % users.length]!, `k${i}`, i, i, [i, 2 ** 40, ...users.slice(i % 5)]);
    // The first hundred have expired.
    const bytes = store.archived(IDEMPOTENCY_KEPT_MS + 99);
    // Behind the number of words; of an entry, the seventh to the ninth word.
    const words = new Int32Array(
      bytes.buffer.slice(bytes.byteOffset + 8, bytes.byteOffset + bytes.length),
    );
    const entries: { at: number; userId: number; toNext: number }[] = [];
    for (let at = 0; at < words.length; at += words[at + 8]!)
      entries.push({ at, userId: words[at + 6]!, toNext: words[at + 7]! });
    expect(entries).toHaveLength(100);
    for (const [i, { at, userId, toNext }] of entries.entries()) {
      const next = entries.slice(i + 1).find((other) => other.userId === userId);
      expect(toNext).toBe(next === undefined ? 0 : next.at - at);
    }
  });

  test('a damaged archive is refused', () => {
    const store = new Store();
    store.remember(1, 'a', 5, 0, [1, 2, 3]);
    const bytes = store.archived(0);
    // The length of the entry, the ninth word behind the number of words.
    for (const length of [0, 9, 13, -1]) {
      const damaged = Buffer.from(bytes);
      damaged.writeInt32LE(length, 8 + 8 * 4);
      const copy = new Idempotency();
      copy.ensureUsers(2);
      expect(() => atOnce(copy.archive(new StateReader(damaged), 0))).toThrow(/damaged/);
    }
  });

  test('in the engine: no key is taken before anybody can have signed in', () => {
    const engine = new Engine();
    const asked = { kind: 'cancelAll', userId: 1, marketId: 1, idempotencyKey: 'key' } as const;
    const house = { username: 'house', credential: '', referralCode: '', partner: null };
    engine.apply({ kind: 'register', ...house, grantMicros: 0 }, at(0));
    expect(codeOf(run(engine, asked, at(0)))).toBe(Code.invalid_command);
    engine.apply({ kind: 'setCredential', userId: 1, credential: 'c' }, at(0));
    expect(codeOf(run(engine, asked, at(0)))).toBe(Code.market_not_found);
    expect(engine.replayed).toBe(false);
    expect(codeOf(run(engine, asked, at(0)))).toBe(Code.market_not_found);
    expect(engine.replayed).toBe(true);
  });

  test('in the engine: what there is no room for is refused, changes nothing and is not remembered', () => {
    const engine = new Engine({ ...IDEMPOTENCY_BOUNDS, keysPerUser: 2 });
    engine.apply({ kind: 'listAsset', symbol: 'BTC' }, at(0));
    engine.apply(registration('ada', 1_000), at(0));
    const stake = (key: string | null, amountMicros: number) =>
      ({ kind: 'stake', userId: 1, amountMicros, idempotencyKey: key }) as const;
    const first = run(engine, stake('a', 1_000_000), at(1_000));
    run(engine, stake('b', 1), at(2_000));
    const before = engine.account(1);
    const refused = run(engine, stake('c', 2_000_000), at(5_000));
    expect(refused.slice(1)).toEqual([
      Code.idempotency_full,
      engine.sequence,
      at(5_000),
      IDEMPOTENCY_KEPT_MS - 4_000,
      0,
    ]);
    expect(engine.events).toHaveLength(0);
    expect(engine.account(1)).toEqual(before);
    expect(run(engine, stake('a', 1_000_000), at(5_000))).toEqual(first);
    expect(codeOf(run(engine, stake('a', 2_000_000), at(5_000)))).toBe(Code.idempotency_key_reused);
    expect(codeOf(run(engine, stake(null, 2_000_000), at(5_000)))).toBe(Code.ok);
    // Once the first has expired there is room, and the refusal was not remembered.
    expect(codeOf(run(engine, stake('c', 3_000_000), at(1_000) + IDEMPOTENCY_KEPT_MS))).toBe(
      Code.ok,
    );
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
    const resting = engine.orders(1).length;
    expect(run(engine, rest, at(6_000))).toEqual(first);
    expect(engine.replayed).toBe(true);
    expect(engine.orders(1)).toHaveLength(resting);
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
