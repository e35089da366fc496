/** What the house makes of its losses: a wider spread, and an end for the hour or the day. */
import { describe, expect, test } from 'vitest';
import { FillLosses, LossLimit } from '../../../gateway/inputs/house/losses.js';

const DOLLAR = 1_000_000;
const HOUR_MS = 3_600_000;

describe('losses to takers', () => {
  /** The house buys 100 shares at each of so many seconds, and the fair value moves after each. */
  function traded(fills: number, moveTicks: number, losses = new FillLosses(), fromMs = 0) {
    let fairTicks = 500;
    losses.moved(7, fairTicks, 10, fromMs);
    for (let i = 0; i < fills; i++) {
      const atMs = fromMs + i * HOUR_MS;
      losses.filled(7, { lots: 100_000, atMs });
      fairTicks += moveTicks;
      losses.moved(7, fairTicks, 10, atMs + 30_000);
    }
    return losses;
  }

  test('are how the fair value moves after a fill, for half a minute', () => {
    const losses = traded(1, -30);
    // Three standard deviations, of which one is chance.
    expect(losses.extraDeviations(30_000)).toBeCloseTo(2, 5);
    losses.moved(7, 400, 10, 30_001);
    expect(losses.extraDeviations(30_001)).toBeCloseTo(2, 3);
  });

  test('fade', () => {
    const losses = traded(1, -30);
    expect(losses.extraDeviations(30_000 + 1_800_000)).toBeCloseTo(3 * Math.SQRT1_2 - 1, 5);
  });

  test('do not count what takers pay, and gains are not saved', () => {
    const losses = traded(3, 200);
    expect(losses.extraDeviations(3 * HOUR_MS)).toBe(0);
    traded(1, -40, losses, 100 * HOUR_MS);
    expect(losses.extraDeviations(100 * HOUR_MS + 30_000)).toBeCloseTo(3, 3);
  });

  test('of fills on both sides cancel out', () => {
    const losses = new FillLosses();
    losses.moved(7, 500, 10, 0);
    losses.filled(7, { lots: 100_000, atMs: 0 });
    losses.filled(7, { lots: -100_000, atMs: 0 });
    losses.moved(7, 400, 10, 1_000);
    expect(losses.extraDeviations(1_000)).toBe(0);
  });

  test('end with the market', () => {
    const losses = new FillLosses();
    losses.moved(7, 500, 10, 0);
    losses.filled(7, { lots: 100_000, atMs: 0 });
    losses.moved(8, 100, 10, 1_000);
    losses.filled(7, { lots: 100_000, atMs: 1_000 });
    losses.moved(8, 50, 10, 2_000);
    expect(losses.extraDeviations(2_000)).toBe(0);
  });
});

test('the limit is a twentieth of the funds in an hour and a tenth in a day', () => {
  const limit = new LossLimit(1_000 * DOLLAR);
  const day = 20_000 * 24 * HOUR_MS;
  const check = (profit: number, hour: number) =>
    limit.check(profit * DOLLAR, day + hour * HOUR_MS);
  expect(check(500, 0)).toEqual({ isReached: false, isNew: false });
  expect(check(450, 0.9)).toEqual({ isReached: false, isNew: false });
  expect(check(449, 0.95)).toEqual({ isReached: true, isNew: true });
  expect(check(449, 0.99)).toEqual({ isReached: true, isNew: false });
  expect(check(449, 1)).toEqual({ isReached: false, isNew: true });
  expect(check(400, 1.9)).toEqual({ isReached: false, isNew: false });
  expect(check(399, 2)).toEqual({ isReached: true, isNew: true });
  expect(check(399, 23.9)).toEqual({ isReached: true, isNew: false });
  expect(check(399, 24)).toEqual({ isReached: false, isNew: true });
});
