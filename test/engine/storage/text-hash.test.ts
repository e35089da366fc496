/**
 * The keyed hash against an independent byte-wise HalfSipHash, itself checked with the vectors of
 * the reference code (key 00 01 … 07, message 00 01 …).
 */
import { describe, expect, test } from 'vitest';
import { StateReader, StateWriter } from '../../../engine/storage/archive.js';
import { TextHash } from '../../../engine/storage/text-hash.js';
import { Random } from '../../support/workload/random.js';

const MASK = 0xffffffffn;
const rotate = (word: bigint, by: bigint): bigint => ((word << by) | (word >> (32n - by))) & MASK;

function halfSipHash(
  rounds: [number, number],
  key: [bigint, bigint],
  bytes: Uint8Array,
  outputBytes: 4 | 8 = 4,
): bigint {
  const isLong = outputBytes === 8;
  let [v0, v1, v2, v3] = [key[0], key[1], 0x6c796765n ^ key[0], 0x74656462n ^ key[1]];
  if (isLong) v1 ^= 0xeen;
  const mix = (times: number): void => {
    for (let i = 0; i < times; i++) {
      v0 = (v0 + v1) & MASK;
      v1 = rotate(v1, 5n) ^ v0;
      v0 = rotate(v0, 16n);
      v2 = (v2 + v3) & MASK;
      v3 = rotate(v3, 8n) ^ v2;
      v0 = (v0 + v3) & MASK;
      v3 = rotate(v3, 7n) ^ v0;
      v2 = (v2 + v1) & MASK;
      v1 = rotate(v1, 13n) ^ v2;
      v2 = rotate(v2, 16n);
    }
  };
  const padded = Buffer.concat([bytes, Buffer.alloc(4 - (bytes.length % 4))]);
  padded[padded.length - 1] = bytes.length & 0xff;
  for (let at = 0; at < padded.length; at += 4) {
    const word = BigInt(padded.readUInt32LE(at));
    v3 ^= word;
    mix(rounds[0]);
    v0 ^= word;
  }
  v2 ^= isLong ? 0xeen : 0xffn;
  mix(rounds[1]);
  const low = v1 ^ v3;
  if (!isLong) return low;
  v1 ^= 0xddn;
  mix(rounds[1]);
  return low | ((v1 ^ v3) << 32n);
}

describe('the keyed hash', () => {
  test.each([
    [4, ['a9359f5b', '27475ab8', 'fa62a603', '8afee704']],
    [8, ['218d1f59b9b83cc8', 'be552412f8387315', '064f39ef7c50eb57', 'ce0f1a45f7060679']],
  ] as const)('the oracle matches the reference vectors of %i bytes', (bytes, vectors) => {
    const hashes = vectors.map((_, length) => {
      const hash = Buffer.alloc(8);
      const message = Uint8Array.from({ length }, (_, i) => i);
      hash.writeBigUInt64LE(halfSipHash([2, 4], [0x03020100n, 0x07060504n], message, bytes));
      return hash.subarray(0, bytes).toString('hex');
    });
    expect(hashes).toEqual(vectors);
  });

  test('of 64 bits is HalfSipHash-1-3 of the number and the bytes, which are printable or not', () => {
    const random = new Random('5');
    const ints = new Int32Array(40);
    const bytes = Buffer.from(ints.buffer);
    const hash = new TextHash();
    const others: [length: number, odd: number][] = [];
    for (let length = 1; length <= 64; length++) {
      for (const odd of [...Array(256).keys(), ...new Array(50).fill(0x41)]) {
        const from = 2 + 4 * random.whole(0, 10);
        bytes.forEach((_, at) => {
          const isWithin = at >= from && at < from + length;
          bytes[at] = isWithin ? random.whole(32, 126) : random.whole(0, 255);
        });
        bytes[from + random.whole(0, length - 1)] = odd;
        const prefix = random.whole(0, 2 ** 31 - 1);
        const isPrintable = hash.pairOf(prefix, ints, from, length);
        const hashed = Buffer.alloc(4 + length);
        hashed.writeInt32LE(prefix);
        bytes.copy(hashed, 4, from, from + length);
        const got = Buffer.alloc(8);
        got.writeInt32LE(hash.low);
        got.writeInt32LE(hash.high, 4);
        const isSame = got.readBigUInt64LE() === halfSipHash([1, 3], [0n, 0n], hashed, 8);
        if (!isSame || isPrintable !== (odd >= 32 && odd <= 126)) others.push([length, odd]);
      }
    }
    expect(others).toEqual([]);
    hash.pairOf(1, ints, 2, 4);
    const { low, high } = hash;
    hash.setKey('a secret');
    hash.pairOf(1, ints, 2, 4);
    expect([hash.low === low, hash.high === high]).toEqual([false, false]);
  });

  test('is HalfSipHash-1-3 of a 0 and the text', () => {
    const random = new Random('3');
    const hash = new TextHash();
    for (let i = 0; i < 300; i++) {
      const text = Array.from({ length: random.whole(0, 70) }, () =>
        String.fromCharCode(random.chance(0.9) ? random.whole(32, 126) : random.whole(0, 65_535)),
      ).join('');
      const bytes = Buffer.alloc(4 + text.length * 2);
      bytes.write(text, 4, 'utf16le');
      const expected = BigInt.asIntN(32, halfSipHash([1, 3], [0n, 0n], bytes));
      expect(BigInt(hash.of(text))).toBe(expected);
    }
  });

  test('depends on its key, which derives from the secret alone and is archived', () => {
    const [one, same, other] = [new TextHash(), new TextHash(), new TextHash()] as const;
    const before = one.of('text');
    expect(one.hasKey).toBe(false);
    one.setKey('a secret');
    same.setKey('a secret');
    other.setKey('another');
    expect(one.hasKey).toBe(true);
    expect(new Set([before, one.of('text'), other.of('text')]).size).toBe(3);
    expect(same.of('text')).toBe(one.of('text'));
    const pieces: Uint8Array[] = [];
    const writer = new StateWriter((bytes) => pieces.push(bytes.slice()));
    one.archive(writer);
    writer.finish();
    const copy = new TextHash();
    copy.archive(new StateReader(Buffer.concat(pieces)));
    expect(copy.of('text')).toBe(one.of('text'));
  });
});

/**
 * A small view of an index by hash: `add` returns a number, and `of` finds the numbers of a hash.
 */
