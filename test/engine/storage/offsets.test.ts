/** Offsets of names in a run of integers. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { offsetsOf } from '../../../engine/storage/number-buffer.js';

test('offsets have names, and a shape that no other object can change', () => {
  const offsets = offsetsOf(['orderId', 'marketId'], 4);
  expect({ ...offsets }).toEqual({ orderId: 4, marketId: 5 });
  setFlagsFromString('--allow-natives-syntax');
  const haveSameShape = runInNewContext('(a, b) => %HaveSameMap(a, b)');
  const frozen = Object.freeze(Object.fromEntries([['orderId', 1]]));
  expect(haveSameShape(frozen, Object.freeze(Object.fromEntries([['orderId', 2]])))).toBe(true);
  expect(haveSameShape(offsetsOf(['orderId']), frozen)).toBe(false);
  expect(haveSameShape(offsetsOf(['orderId']), offsetsOf(['orderId']))).toBe(false);
});
