/**
 * Remembered answers against a plain model: what is found, for how long, and what is refused when
 * there are too many.
 */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { IDEMPOTENCY_KEPT_MS } from '../../engine/interface/limits.js';
import { MAX_RESULT_LENGTH, MAX_RESULT_WORDS } from '../../engine/interface/results.js';
import { POOL_SIZES, type PoolSizes, Room } from '../../engine/state/access/room.js';
import { Found, Idempotency } from '../../engine/state/idempotency.js';
import { StateReader, StateWriter } from '../../engine/storage/archive.js';
import { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { atOnce } from '../../engine/storage/pieces.js';
import { TextHash } from '../../engine/storage/text-hash.js';
import { UndoLog } from '../../engine/storage/undo.js';
import { at, codeOf, run } from '../support/engine-support.js';
import { NaiveMemory, sameCommand } from '../support/naive-engine/memory.js';
import { NaiveState, type NaiveUser } from '../support/naive-engine/state.js';
import { Random } from '../support/workload/random.js';

function tapeOf(...values: number[]): NumberBuffer {
  const tape = new NumberBuffer();
  tape.write(...values);
  return tape;
}

/** A store whose keys are texts, as the engine uses one. */
class Store {
  readonly entries: Idempotency;
  private readonly room = new Room(
    new UndoLog(),
    { isEstablished: () => false, isInFamily: () => false, standing: () => 0, family: () => 0 },
    () => false,
  );
  private readonly hash = new TextHash();

  constructor(private readonly sizes = POOL_SIZES) {
    this.room.setSizes(sizes);
    this.entries = new Idempotency(this.room);
    this.entries.ensureUsers(100);
    this.hash.setKey('a secret');
  }

  look(userId: number, key: string, print: number, nowMs: number): number[] | Found {
    const tape = new NumberBuffer();
    this.entries.forgetExpired(nowMs);
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

  archived(): Uint8Array {
    const pieces: Uint8Array[] = [];
    const writer = new StateWriter((bytes) => pieces.push(bytes.slice()));
    atOnce(this.entries.archive(writer));
    this.room.archive(writer);
    writer.finish();
    return Buffer.concat(pieces);
  }

  copy(): Store {
    const copy = new Store(this.sizes);
    const reader = new StateReader(this.archived());
    atOnce(copy.entries.archive(reader));
    copy.room.archive(reader);
    reader.finish();
    return copy;
  }
}

/** Commands that differ as their fingerprints do. */
function commandOf(print: number): Command {
  return { kind: 'claim', userId: 1, idempotencyKey: null, marketId: print };
}

const FEW_KEYS: PoolSizes = { ...POOL_SIZES, keys: { size: 300, most: 30, assured: 5 } };
const FEW_WORDS: PoolSizes = {
  ...POOL_SIZES,
  resultWords: { size: 6_000, most: 600, assured: 100 },
};

describe('remembered answers', () => {
  test('come back whole if they are as long as a result can be, and no longer one is taken', () => {
    const store = new Store(FEW_WORDS);
    const oneWord = 2 * MAX_RESULT_LENGTH - MAX_RESULT_WORDS;
    const longest = Array.from({ length: MAX_RESULT_LENGTH }, (_, i) =>
      i < oneWord ? i : Number.MAX_SAFE_INTEGER - i,
    );
    expect(store.look(1, 'a', 5, 0)).toBe(Found.NOTHING);
    store.remember(1, 'a', 5, 0, longest);
    expect(store.look(1, 'a', 5, 0)).toEqual(longest);
    expect(store.entries.hasRoomFor(1, false)).toBe(false);
    expect(store.entries.fullForMs(1, 0)).toBe(IDEMPOTENCY_KEPT_MS);
    expect(store.look(1, 'b', 5, IDEMPOTENCY_KEPT_MS)).toBe(Found.NOTHING);
    expect(store.entries.hasRoomFor(1, false)).toBe(true);
    expect(() => store.remember(1, 'b', 5, IDEMPOTENCY_KEPT_MS, [...longest, 1])).toThrow(/36619/);
  });

  test.each([
    { name: 'many users', users: 50, keys: 500, mostValues: 60, sizes: POOL_SIZES },
    { name: 'few keys', users: 9, keys: 60, mostValues: 20, sizes: FEW_KEYS },
    { name: 'few words', users: 9, keys: 60, mostValues: 90, sizes: FEW_WORDS },
  ])('agree with a plain model through growth, expiry and archives: $name', (play) => {
    let store = new Store(play.sizes);
    const model = new NaiveMemory();
    const newcomer = { microPoints: 0, credential: 'c' } as NaiveUser;
    const users = Array.from({ length: play.users }, () => newcomer);
    const naive = { ...new NaiveState(), users, poolSizes: play.sizes };
    const random = new Random('99');
    const counts = { same: 0, other: 0, nothing: 0, full: 0 };
    let nowMs = 0;
    for (let i = 0; i < 40_000; i++) {
      // Now and then so much at once that many expire together.
      nowMs += random.chance(0.001) ? random.whole(0, IDEMPOTENCY_KEPT_MS) : random.whole(0, 400);
      const userId = random.whole(1, play.users);
      const key = `key:${random.whole(1, play.keys)}`;
      const print = random.whole(0, 2);
      naive.nowMs = nowMs;
      model.forgetExpired(nowMs);
      const known = model.find(userId, key, nowMs);
      const fullForMs = known === undefined ? model.fullForMs(naive, userId, false) : 0;
      const found = store.look(userId, key, print, nowMs);
      if (known !== undefined) {
        const isSame = sameCommand(known.command, commandOf(print));
        const wanted = isSame ? known.result : Found.OTHER;
        // Quicker, forty thousand times, than to expect it each time; that says what differs.
        if (!isDeepStrictEqual(found, wanted)) expect(found).toEqual(wanted);
        counts[isSame ? 'same' : 'other']++;
      } else if (fullForMs > 0) {
        if (store.entries.hasRoomFor(userId, false)) expect(counts).toBe('full');
        expect(store.entries.fullForMs(userId, nowMs)).toBe(fullForMs);
        counts.full++;
      } else {
        if (found !== Found.NOTHING) expect(found).toBe(Found.NOTHING);
        if (!store.entries.hasRoomFor(userId, false)) expect(counts).toBe('not full');
        const length = random.whole(1, play.mostValues);
        const result = Array.from({ length }, () => random.magnitude(Number.MAX_SAFE_INTEGER) - 1);
        store.remember(userId, key, print, nowMs, result);
        model.remember(userId, key, { command: commandOf(print), result, atMs: nowMs });
        counts.nothing++;
      }
      if (i % 4_000 !== 3_999) continue;
      const copy = store.copy();
      expect(Buffer.compare(copy.archived(), store.archived())).toBe(0);
      if (random.chance(0.5)) store = copy;
    }
    const { full, ...others } = counts;
    for (const count of Object.values(others)) expect(count).toBeGreaterThan(200);
    expect(full > 200).toBe(play.sizes !== POOL_SIZES);
  });

  test('what expired while nothing came is forgotten in pieces; its keys are free at once', () => {
    const store = new Store();
    for (let i = 0; i < 3_500; i++) store.remember(1, `k${i}`, i, i, [i]);
    const later = IDEMPOTENCY_KEPT_MS + 20_000;
    expect(store.look(1, 'k3499', 1, later)).toBe(Found.NOTHING);
    expect(store.entries.keysOf(1)).toBe(2_500);
    store.remember(1, 'k3499', 1, later, [7]);
    const copy = store.copy();
    for (const one of [store, copy]) {
      for (const left of [1_501, 501, 1, 1]) {
        expect(one.look(1, 'k3499', 1, later)).toEqual([7]);
        expect(one.entries.keysOf(1)).toBe(left);
      }
    }
  });

  test('a damaged archive is refused', () => {
    const store = new Store();
    store.remember(1, 'a', 5, 0, [1, 2, 3]);
    const bytes = store.archived();
    // The length of the entry, the eighth word behind the number of words.
    for (const length of [0, 8, 12, -1]) {
      const damaged = Buffer.from(bytes);
      damaged.writeInt32LE(length, 8 + 7 * 4);
      const copy = new Store();
      expect(() => atOnce(copy.entries.archive(new StateReader(damaged)))).toThrow(/damaged/);
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
});
