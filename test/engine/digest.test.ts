/** How each bit affects the digest. */
import { expect, test } from 'vitest';
import { Digest } from '../../engine/storage/digest.js';
import { NumberBuffer } from '../../engine/storage/number-buffer.js';

test('each bit of each number counts, in both halves of the digest', () => {
  const digestOf = (numbers: readonly number[]) => {
    const [digest, buffer] = [new Digest(), new NumberBuffer()];
    buffer.write(...numbers);
    digest.add(new NumberBuffer(), buffer);
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
