/**
 * Remembered keys and results against a plain model: which are found, for how long, and which keys
 * are refused when there are too many.
 */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import { type Command, CommandKind } from '../../engine/interface/commands.js';
import { IDEMPOTENCY_KEPT_MS, RECENT_RESULT_WORDS } from '../../engine/interface/limits.js';
import {
  MAX_RESULT_LENGTH,
  RESULT_HEAD_LENGTH,
  ResultHead,
} from '../../engine/interface/results.js';
import { POOL_SIZES, type PoolSizes, Room } from '../../engine/state/access/room.js';
import { Idempotency, KeyLookup } from '../../engine/state/idempotency.js';
import { RecentResults } from '../../engine/state/recent-results.js';
import { StateReader, StateWriter } from '../../engine/storage/archive.js';
import { runToEnd } from '../../engine/storage/incremental-task.js';
import { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { TextHash } from '../../engine/storage/text-hash.js';
import { UndoLog } from '../../engine/storage/undo.js';
import { archiveOf, at, codeOf, registration, run } from '../support/engine-support.js';
import { NaiveMemory, sameCommand } from '../support/naive-engine/memory.js';
import { NaiveState, type NaiveUser } from '../support/naive-engine/state.js';
import { Random } from '../support/workload/random.js';

function tapeOf(...values: number[]): NumberBuffer {
  const tape = new NumberBuffer();
  tape.write(...values);
  return tape;
}

/** What {@link Store.look} returns for a key whose result is not in memory. */
const GONE = -1;

/** A store with texts as keys, used as the engine uses it. */
class Store {
  readonly entries: Idempotency;
  private readonly room = new Room(
    new UndoLog(),
    { isEstablished: () => false, isInFamily: () => false, standing: () => 0, family: () => 0 },
    () => false,
  );
  private readonly hash = new TextHash();
  /** Greater than 2^32; a key stores the low half. */
  sequence = 2 ** 40;

  constructor(
    private readonly sizes = POOL_SIZES,
    private readonly mostWords = RECENT_RESULT_WORDS,
  ) {
    this.room.setSizes(sizes);
    this.entries = new Idempotency(this.room, new RecentResults(mostWords));
    this.entries.ensureUsers(100);
    this.hash.setKey('a secret');
  }

  look(userId: number, key: string, print: number, nowMs: number): number[] | number {
    const tape = new NumberBuffer();
    this.entries.forgetExpired(nowMs);
    const { low, high } = this.hashed(userId, key);
    const found = this.entries.lookUp(userId, low, high, print);
    if (found !== KeyLookup.SAME_REQUEST) return found;
    if (!this.entries.readFound(tape)) return GONE;
    return Array.from(tape.values.subarray(0, tape.length));
  }

  remember(userId: number, key: string, print: number, nowMs: number, result: number[]): void {
    this.sequence++;
    const { low, high } = this.hashed(userId, key);
    const tape = tapeOf(...result);
    this.entries.remember(userId, low, high, print, this.sequence, nowMs, tape);
  }

  private hashed(userId: number, key: string): TextHash {
    const ints = new Int32Array(1 + Math.ceil(key.length / 4));
    new Uint8Array(ints.buffer).set(Buffer.from(key), 2);
    this.hash.pairOf(userId, ints, 2, key.length);
    return this.hash;
  }

  archived(): Uint8Array {
    const pieces: Uint8Array[] = [];
    const writer = new StateWriter((bytes) => pieces.push(bytes.slice()));
    runToEnd(this.entries.archive(writer));
    this.room.archive(writer);
    writer.finish();
    return Buffer.concat(pieces);
  }

  copy(): Store {
    const copy = new Store(this.sizes, this.mostWords);
    copy.sequence = this.sequence;
    const reader = new StateReader(this.archived());
    runToEnd(copy.entries.archive(reader));
    copy.room.archive(reader);
    reader.finish();
    return copy;
  }
}

/** A command with the given fingerprint. */
function commandOf(print: number): Command {
  return { kind: 'claim', userId: 1, idempotencyKey: null, marketId: print };
}

const FEW_KEYS: PoolSizes = { ...POOL_SIZES, keys: { size: 300, most: 30, assured: 5 } };
const FEW_WORDS = 6_000;

/**
 * A model of the results in memory: the newest that fit, where an integer above 2^31 takes two
 * words.
 */
class NaiveRecent {
  private kept: number[][] = [];

  constructor(private readonly mostWords: number) {}

  add(result: number[]): void {
    const words = () => this.kept.flat().reduce((sum, value) => sum + (value < 2 ** 31 ? 1 : 2), 0);
    while (this.kept.length > 0 && words() + 2 * result.length > this.mostWords) this.kept.shift();
    this.kept.push(result);
  }

  has(result: number[]): boolean {
    return this.kept.includes(result);
  }

  clear(): void {
    this.kept = [];
  }
}

describe('remembered keys', () => {
  test('a result comes back whole if it is as long as can be, across pages, or is not there', () => {
    const store = new Store(POOL_SIZES, 2 * MAX_RESULT_LENGTH);
    const longest = Array.from({ length: MAX_RESULT_LENGTH }, (_, i) =>
      i % 2 === 0 ? i : Number.MAX_SAFE_INTEGER - i,
    );
    expect(store.look(1, 'a', 5, 0)).toBe(KeyLookup.ABSENT);
    for (const key of ['a', 'b', 'c', 'd']) store.remember(1, key, 5, 0, longest);
    expect(store.look(1, 'd', 5, 0)).toEqual(longest);
    for (const key of ['a', 'b', 'c']) expect(store.look(1, key, 5, 0)).toBe(GONE);
    store.remember(1, 'e', 5, 0, [...longest, 1]);
    for (const key of ['d', 'e']) expect(store.look(1, key, 5, 0)).toBe(GONE);
    store.remember(1, 'f', 5, 0, [7]);
    expect(store.look(1, 'e', 5, 0)).toBe(GONE);
    expect(store.look(1, 'f', 5, 0)).toEqual([7]);
  });

  test('the sequence of a key is whole, though it has the low half', () => {
    const store = new Store();
    for (const sequence of [2 ** 40, 2 ** 40 + 2 ** 31 - 1, 2 ** 41 - 1]) {
      const later = store.copy();
      later.sequence = sequence;
      later.remember(1, 'a', 5, 0, [1]);
      expect(later.look(1, 'a', 5, 0)).toEqual([1]);
      for (const now of [sequence + 1, sequence + 2 ** 32])
        expect(later.entries.foundSequence(now)).toBe(sequence + 1);
      expect(later.entries.oldestSequence(sequence + 9)).toBe(sequence + 1);
    }
  });

  test.each([
    { name: 'many users', users: 50, keys: 500, sizes: POOL_SIZES, mostWords: 2 ** 30 },
    { name: 'few keys', users: 9, keys: 60, sizes: FEW_KEYS, mostWords: 2 ** 30 },
    { name: 'few results in memory', users: 9, keys: 60, sizes: POOL_SIZES, mostWords: FEW_WORDS },
  ])('agree with a plain model through growth, expiry and archives: $name', (play) => {
    let store = new Store(play.sizes, play.mostWords);
    const model = new NaiveMemory();
    const recent = play.mostWords === FEW_WORDS ? new NaiveRecent(FEW_WORDS) : null;
    let remembered = new Set<number[]>();
    const newcomer = { microPoints: 0, credential: 'c' } as NaiveUser;
    const users = Array.from({ length: play.users }, () => newcomer);
    const naive = { ...new NaiveState(), users, poolSizes: play.sizes };
    const random = new Random('99');
    const counts = { same: 0, gone: 0, other: 0, nothing: 0, full: 0 };
    let nowMs = 0;
    for (let i = 0; i < 40_000; i++) {
      // Sometimes so much time passes that many keys expire together.
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
        const isKept = recent?.has(known.result) ?? remembered.has(known.result);
        const wanted = isSame ? (isKept ? known.result : GONE) : KeyLookup.DIFFERENT_REQUEST;
        // Forty thousand calls of `expect` would be slow; it is only called to report a difference.
        if (!isDeepStrictEqual(found, wanted)) expect(found).toEqual(wanted);
        counts[isSame ? (isKept ? 'same' : 'gone') : 'other']++;
      } else if (fullForMs > 0) {
        if (store.entries.hasRoomFor(userId, false)) expect(counts).toBe('full');
        expect(store.entries.fullForMs(nowMs)).toBe(fullForMs);
        counts.full++;
      } else {
        if (found !== KeyLookup.ABSENT) expect(found).toBe(KeyLookup.ABSENT);
        if (!store.entries.hasRoomFor(userId, false)) expect(counts).toBe('not full');
        const length = random.whole(1, 60);
        const result = Array.from({ length }, () => random.magnitude(Number.MAX_SAFE_INTEGER) - 1);
        store.remember(userId, key, print, nowMs, result);
        model.remember(userId, key, { command: commandOf(print), result, atMs: nowMs });
        recent?.add(result);
        remembered.add(result);
        counts.nothing++;
      }
      if (i % 4_000 !== 3_999) continue;
      const copy = store.copy();
      expect(Buffer.compare(copy.archived(), store.archived())).toBe(0);
      if (random.chance(0.5)) continue;
      // An archive contains no results.
      store = copy;
      recent?.clear();
      remembered = new Set();
    }
    const { full, gone, ...others } = counts;
    for (const count of Object.values(others)) expect(count).toBeGreaterThan(200);
    expect(full > 200).toBe(play.sizes === FEW_KEYS);
    if (recent !== null) expect(gone).toBeGreaterThan(200);
  });

  test('what expired while nothing came is forgotten in pieces; its keys are free at once', () => {
    const store = new Store();
    for (let i = 0; i < 3_500; i++) store.remember(1, `k${i}`, i, i, [i]);
    const later = IDEMPOTENCY_KEPT_MS + 20_000;
    expect(store.look(1, 'k3499', 1, later)).toBe(KeyLookup.ABSENT);
    expect(store.entries.keysOf(1)).toBe(2_500);
    store.remember(1, 'k3499', 1, later, [7]);
    const copy = store.copy();
    for (const [one, answer] of [
      [store, [7]],
      [copy, GONE],
    ] as const) {
      for (const left of [1_501, 501, 1, 1]) {
        expect(one.look(1, 'k3499', 1, later)).toEqual(answer);
        expect(one.entries.keysOf(1)).toBe(left);
      }
    }
  });

  test('a damaged archive is refused', () => {
    const store = new Store();
    store.remember(1, 'a', 5, 0, [1, 2, 3]);
    const bytes = store.archived();
    // Offsets: the numbers of expired and of all words; the key, with its user; its time, with its
    // count.
    const userAt = 16 + 3 * 4;
    const countAt = 16 + 5 * 4 + 8 + 2 * 4;
    for (const [at, word] of [
      [userAt, 0],
      [userAt, 1_000],
      [countAt, 0],
      [countAt, 2],
      [countAt, -1],
    ] as const) {
      const damaged = Buffer.from(bytes);
      damaged.writeInt32LE(word, at);
      const copy = new Store();
      expect(() => runToEnd(copy.entries.archive(new StateReader(damaged)))).toThrow(/damaged/);
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

  test('in the engine: a key outlives its result, and tells the sequence; the digest is the same', () => {
    const engines = [new Engine(), new Engine()];
    engines[1]!.keepRecentResults(0);
    const asked = (key: number) =>
      ({ kind: 'cancelAll', userId: 1, marketId: 1, idempotencyKey: `k${key}` }) as const;
    const first: number[][] = [];
    const lastMs = at(0) + IDEMPOTENCY_KEPT_MS - 1;
    for (const engine of engines) {
      engine.apply(registration('ada', 0), at(0));
      for (let key = 0; key < 50; key++) {
        first[key] = run(engine, asked(key), at(0));
        expect([engine.replayed, engine.remembered]).toEqual([false, true]);
      }
    }
    for (let key = 0; key < 50; key++) {
      const [kept, gone] = engines.map((engine) => run(engine, asked(key), lastMs));
      expect(kept).toEqual(first[key]);
      const sequence = first[key]![ResultHead.sequence];
      expect(gone!.slice(0, 2)).toEqual([CommandKind.cancelAll, Code.executed_before]);
      expect(gone![ResultHead.sequence]).toBe(engines[1]!.sequence);
      expect(gone!.slice(RESULT_HEAD_LENGTH)).toEqual([sequence, 0]);
      for (const { replayed, remembered } of engines)
        expect([replayed, remembered]).toEqual([true, false]);
    }
    expect(engines[1]!.digest()).toBe(engines[0]!.digest());
    expect(Buffer.compare(archiveOf(engines[1]!), archiveOf(engines[0]!))).toBe(0);
    expect(codeOf(run(engines[1]!, { ...asked(0), marketId: 2 }, lastMs))).toBe(
      Code.idempotency_key_reused,
    );
  });
});
