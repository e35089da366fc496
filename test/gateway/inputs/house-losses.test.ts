/** What the house makes of its losses: a wider spread, and an end for the hour or the day. */
import { describe, expect, test } from 'vitest';
import { FillLosses, LossLimit } from '../../../gateway/inputs/house/losses.js';

const DOLLAR = 1_000_000;
const HOUR_MS = 3_600_000;

describe('losses to takers', () => {
  /** A buy of 100 shares by the house at 500 ticks, at each second. */
  const fill = (atMs: number) => {
    return { marketId: 7, upTicks: 500, lots: 100_000, atMs, deviationTicks: 10 };
  };

  test('count when the price comes that a taker cannot have known', () => {
    const losses = new FillLosses();
    for (let i = 0; i < 20; i++) losses.filled(fill(1_000));
    losses.mark(7, 490, 999);
    expect(losses.extraDeviations(1_000)).toBe(0);
    losses.mark(7, 490, 1_000);
    // Each fill lost one standard deviation: together √20 of them, of which one is chance.
    expect(losses.extraDeviations(1_000)).toBeCloseTo(Math.sqrt(20) - 1, 10);
    expect(losses.extraDeviations(1_000 + 1_800_000)).toBeCloseTo(Math.sqrt(10) - 1, 10);
  });

  test('are what is lost less what is earned, and earnings are not saved', () => {
    const losses = new FillLosses();
    losses.filled(fill(1_000));
    losses.mark(7, 900, 1_000);
    for (let i = 0; i < 9; i++) losses.filled(fill(1_000));
    losses.mark(7, 490, 1_000);
    expect(losses.extraDeviations(1_000)).toBeCloseTo(9 / Math.sqrt(10) - 1, 10);
    losses.filled(fill(1_000));
    losses.mark(7, 590, 1_000);
    expect(losses.extraDeviations(1_000)).toBe(0);
  });

  test('of a market that has ended are forgotten', () => {
    const losses = new FillLosses();
    for (let i = 0; i < 20; i++) losses.filled(fill(1_000));
    losses.mark(8, 0, 1_000);
    expect(losses.extraDeviations(1_000)).toBe(0);
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
