/** The clocks: time never goes back, and a feed's clock never passes what it waits for. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { elapsedMs, FeedClock, SystemClock } from '../gateway/clock.js';

const START_MS = 1_678_406_400_000;

function feedClock(speed: number): { clock: FeedClock; pass: (ms: number) => void } {
  let passedMs = 5;
  const clock = new FeedClock({ startsAtMs: START_MS, speed, elapsed: () => passedMs });
  return { clock, pass: (ms) => (passedMs += ms) };
}

describe('the feed clock', () => {
  test('stands at its start until it is let run', () => {
    const { clock, pass } = feedClock(1_440);
    pass(1_000);
    expect(clock.nowMs()).toBe(START_MS);
  });

  test.each([1, 60, 1_440, 100_000, 0.5])('goes %d times as fast as real time', (speed) => {
    const { clock, pass } = feedClock(speed);
    clock.runTo(Number.POSITIVE_INFINITY);
    for (let i = 1; i <= 10; i++) {
      pass(7);
      expect(clock.nowMs()).toBe(START_MS + Math.floor(7 * i * speed));
    }
  });

  test('never passes the next price, however late its delivery', () => {
    const { clock, pass } = feedClock(1_440);
    clock.runTo(START_MS + 60_000);
    pass(10);
    expect(clock.nowMs()).toBe(START_MS + 14_400);
    pass(10_000);
    expect(clock.nowMs()).toBe(START_MS + 60_000);
  });

  test('makes up for a timer that fired late, not for a long stall', () => {
    const late = feedClock(1_000);
    late.clock.runTo(START_MS + 10_000);
    late.pass(12);
    late.clock.runTo(Number.POSITIVE_INFINITY);
    expect(late.clock.nowMs()).toBe(START_MS + 12_000);

    const stalled = feedClock(1_000);
    stalled.clock.runTo(START_MS + 10_000);
    stalled.pass(60_000);
    stalled.clock.runTo(Number.POSITIVE_INFINITY);
    expect(stalled.clock.nowMs()).toBe(START_MS + 10_000 + 100_000);
    stalled.pass(1);
    expect(stalled.clock.nowMs()).toBe(START_MS + 111_000);
  });

  test('says how long until a time in real milliseconds, and never that a time has come which has not', () => {
    const { clock, pass } = feedClock(1_000);
    clock.runTo(START_MS + 20_000);
    expect(clock.delayUntilMs(START_MS)).toBe(0);
    expect(clock.delayUntilMs(START_MS + 10_500)).toBe(11);
    pass(1_000);
    expect(clock.delayUntilMs(START_MS + 20_000)).toBe(0);
    expect(clock.delayUntilMs(START_MS + 20_001)).toBe(1);
  });

  test('refuses to go back, and a speed that is none', () => {
    const { clock } = feedClock(1);
    clock.runTo(START_MS + 10);
    expect(() => clock.runTo(START_MS + 9)).toThrow(/before/);
    for (const speed of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => new FeedClock({ startsAtMs: START_MS, speed })).toThrow(/positive number/);
    expect(() => new FeedClock({ startsAtMs: 1.5, speed: 1 })).toThrow(/not a time/);
  });
});

describe('the system clock', () => {
  afterEach(() => vi.restoreAllMocks());

  test('stands while the machine has been set back', () => {
    const machine = vi.spyOn(Date, 'now');
    const clock = new SystemClock();
    const shown = [100, 99, 50, 100, 101].map((ms) => {
      machine.mockReturnValue(ms);
      return clock.nowMs();
    });
    expect(shown).toEqual([100, 100, 100, 100, 101]);
    expect(clock.delayUntilMs(90)).toBe(0);
    expect(clock.delayUntilMs(131)).toBe(30);
  });

  test('elapsed time goes on', async () => {
    const before = elapsedMs();
    await vi.waitFor(() => expect(elapsedMs()).toBeGreaterThan(before));
  });
});
