/** The digest against its formula in BigInt, the weight of each bit, and buffers that grow. */
import { expect, test } from 'vitest';
import { Digest } from '../../engine/storage/digest.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { Random } from '../support/workload/random.js';

const P = 0x9e3779b185ebca87n;
const lanesOf = (digest: Digest) => {
  const { lanes } = digest as unknown as { lanes: Int32Array };
  return [...new BigUint64Array(lanes.slice().buffer)];
};

function mix(lane: bigint, number: bigint): bigint {
  const mixed = lane ^ number;
  return BigInt.asUintN(64, ((mixed << 31n) | (mixed >> 33n)) * P);
}

/** As the file says. */
function add(lanes: bigint[], { values, length }: NumberBuffer): void {
  const bits = new BigUint64Array(values.slice(0, length).buffer);
  lanes[0] = mix(lanes[0]!, BigInt(8 * length));
  const whole = length - (length % 4);
  bits.forEach((number, i) => {
    const lane = i < whole ? i % 4 : 0;
    lanes[lane] = mix(lanes[lane]!, number);
  });
}

function written(results: readonly number[], events: readonly number[]): Digest {
  const digest = new Digest();
  digest.result.write(...results);
  digest.events.write(...events);
  return digest;
}

test('follows its formula, for buffers of any length', () => {
  const random = new Random('digest');
  const digest = new Digest();
  const lanes = lanesOf(digest);
  const numbers = () =>
    Array.from({ length: random.whole(0, 30) }, () => random.magnitude(Number.MAX_SAFE_INTEGER));
  for (let i = 0; i < 1_000; i++) {
    for (const buffer of [digest.result, digest.events]) {
      buffer.clear();
      buffer.write(...numbers());
      add(lanes, buffer);
    }
    digest.add();
    expect(lanesOf(digest)).toEqual(lanes);
  }
});

test('each bit of each number counts, in both halves of the digest', () => {
  const digestOf = (numbers: readonly number[]) => {
    const digest = written([1, 2], numbers);
    digest.add();
    return digest.toString();
  };
  const numbers = [3, 2 ** 20, 5, 6, 2 ** 52, 8];
  const halves = new Set([0, 8].map((from) => digestOf(numbers).slice(from, from + 8)));
  let changes = 0;
  for (let i = 0; i < numbers.length; i++)
    for (let bit = 0; bit < 52; bit++, changes++) {
      const other = Number(BigInt(numbers[i]!) ^ (1n << BigInt(bit)));
      for (const from of [0, 8]) halves.add(digestOf(numbers.with(i, other)).slice(from, from + 8));
    }
  expect(halves.size).toBe(2 * (changes + 1));
});

test('larger buffers keep what was written', () => {
  const digest = written([1, 2, 3], [4, 5]);
  const count = 200_000;
  for (let i = 3; i < count; i++) digest.result.push(i + 1);
  expect([digest.result.length, digest.result.values[count - 1]]).toEqual([count, count]);
  expect([...digest.events.values.slice(0, 2)]).toEqual([4, 5]);
  const lanes = lanesOf(digest);
  add(lanes, digest.result);
  add(lanes, digest.events);
  digest.add();
  expect(lanesOf(digest)).toEqual(lanes);
});
