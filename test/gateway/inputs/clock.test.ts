/** The clocks: time never goes back, and a feed's clock never passes the time it waits for. */
import { describe, expect, test } from 'vitest';
import { FeedClock, SystemClock } from '../../../gateway/inputs/clock.js';

const START_MS = 1_678_406_400_000;

function feedClock(speed: number): { clock: FeedClock; pass: (ms: number) => void } {
  let passedMs = 5;
  const clock = new FeedClock({ startsAtMs: START_MS, speed, elapsed: () => passedMs });
  return { clock, pass: (ms) => (passedMs += ms) };
}

describe('the feed clock', () => {
  test('stays at its start until it is started', () => {
    const { clock, pass } = feedClock(1_440);
    pass(1_000);
    expect(clock.nowMs()).toBe(START_MS);
  });

  test.each([1, 60, 1_440, 100_000, 0.5])('runs %d times as fast as real time', (speed) => {
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

  test('catches up after a late timer, but not after a long stall', () => {
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

  test('gives the delay to a time in real milliseconds, and never too short a one', () => {
    const { clock, pass } = feedClock(1_000);
    clock.runTo(START_MS + 20_000);
    expect(clock.delayUntilMs(START_MS)).toBe(0);
    expect(clock.delayUntilMs(START_MS + 10_500)).toBe(11);
    pass(1_000);
    expect(clock.delayUntilMs(START_MS + 20_000)).toBe(0);
    expect(clock.delayUntilMs(START_MS + 20_001)).toBe(1);
  });

  test('gives no delay that is too long for a timer, which would fire at once', () => {
    const { clock } = feedClock(1);
    const days = 24 * 60 * 60_000;
    clock.runTo(START_MS + 365 * days);
    expect(clock.delayUntilMs(START_MS + 59 * days)).toBe(2 ** 31 - 1);
  });

  test('refuses to go back, and an invalid speed', () => {
    const { clock } = feedClock(1);
    clock.runTo(START_MS + 10);
    expect(() => clock.runTo(START_MS + 9)).toThrow(/which is after/);
    for (const speed of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => new FeedClock({ startsAtMs: START_MS, speed })).toThrow(/positive number/);
    expect(() => new FeedClock({ startsAtMs: 1.5, speed: 1 })).toThrow(/not a time/);
  });
});

describe('the system clock', () => {
  const SECOND = 1_000;
  const MINUTE = 60_000;
  const HOUR = 3_600_000;

  /** A machine's clock that can be set, and the exchange's, read every quarter second. */
  function machine(notBeforeMs = 0) {
    let wallMs = START_MS;
    let passedMs = 7.25;
    const words: string[] = [];
    const log = {
      warn: (_fields: object, text: string) => words.push(text),
      error: (_fields: object, text: string) => words.push(`error: ${text}`),
    };
    const wall = () => Math.floor(wallMs);
    const clock = new SystemClock({ log, notBeforeMs, wall, elapsed: () => passedMs });
    let last = clock.nowMs();
    const pass = (ms: number) => {
      for (let left = ms; left > 0; left -= 250) {
        wallMs += Math.min(left, 250);
        passedMs += Math.min(left, 250);
        const shownMs = clock.nowMs();
        if (shownMs < last) throw new Error(`${shownMs} ms after ${last} ms`);
        last = shownMs;
      }
    };
    return {
      clock,
      words,
      pass,
      set: (byMs: number) => (wallMs += byMs),
      stall: (ms: number) => {
        wallMs += ms;
        passedMs += ms;
      },
      aheadMs: () => wall() - clock.nowMs(),
    };
  }

  test('follows real time', () => {
    const { clock, pass, stall, words } = machine();
    expect(clock.nowMs()).toBe(START_MS);
    pass(90 * MINUTE);
    expect(clock.nowMs()).toBe(START_MS + 90 * MINUTE);
    stall(10 * MINUTE);
    expect(clock.nowMs()).toBe(START_MS + 100 * MINUTE);
    expect(clock.delayUntilMs(clock.nowMs())).toBe(0);
    expect(clock.delayUntilMs(clock.nowMs() + 105)).toBe(100);
    expect(words).toEqual([]);
  });

  test.each([900, -900])('corrects a difference of %d ms gradually, without a jump', (byMs) => {
    const { clock, pass, set, aheadMs, words } = machine();
    pass(SECOND);
    set(byMs);
    let before = clock.nowMs();
    for (let i = 0; i < 30; i++) {
      pass(SECOND);
      const speed = (clock.nowMs() - before) / SECOND;
      expect(speed).toBeGreaterThan(0.94);
      expect(speed).toBeLessThan(1.06);
      before = clock.nowMs();
    }
    expect(Math.abs(aheadMs())).toBeLessThanOrEqual(1);
    expect(words).toEqual([]);
  });

  test('does not overshoot when it stalls during a correction', () => {
    const { pass, set, stall, aheadMs } = machine();
    set(500);
    pass(2 * SECOND);
    stall(10 * MINUTE);
    expect(Math.abs(aheadMs())).toBeLessThanOrEqual(1);
  });

  test.each([30 * MINUTE, -30 * MINUTE, 100 * HOUR])(
    'ignores a change of %d ms that is undone within a minute',
    (byMs) => {
      const { clock, pass, set, words } = machine();
      pass(SECOND);
      set(byMs);
      pass(50 * SECOND);
      set(-byMs);
      pass(10 * MINUTE);
      expect(clock.nowMs()).toBe(START_MS + 10 * MINUTE + 51 * SECOND);
      expect(words).toEqual([expect.stringContaining('was set')]);
    },
  );

  test.each([2 * SECOND, 20 * MINUTE, HOUR, 100 * HOUR])(
    'never follows a change of %d ms forward, and says so once',
    (byMs) => {
      const { clock, pass, set, words } = machine();
      set(byMs);
      pass(30 * MINUTE);
      expect(clock.nowMs()).toBe(START_MS + 30 * MINUTE);
      expect(words).toEqual([expect.stringMatching(/^error: .*forward.*restart the exchange/)]);
      // The clock is corrected.
      set(-byMs);
      pass(10 * MINUTE);
      expect(clock.nowMs()).toBe(START_MS + 40 * MINUTE);
      expect(words).toHaveLength(1);
    },
  );

  test("runs at half speed after the machine's clock is set back, until that has caught up, and never stops", () => {
    const { clock, pass, set, aheadMs, words } = machine();
    set(-10 * MINUTE);
    pass(62 * SECOND);
    for (let i = 0; i < 15; i++) {
      const before = clock.nowMs();
      pass(MINUTE);
      expect(clock.nowMs() - before).toBeGreaterThanOrEqual(MINUTE / 2 - 1);
    }
    expect(aheadMs()).toBeLessThan(-MINUTE);
    pass(10 * MINUTE);
    expect(Math.abs(aheadMs())).toBeLessThanOrEqual(1);
    expect(words).toEqual([
      expect.stringContaining('was set'),
      expect.stringContaining('half speed'),
    ]);
  });

  test("starts after the journal's last time, at half speed until the machine has caught up", () => {
    const { clock, pass, aheadMs, words } = machine(START_MS + MINUTE);
    expect(clock.nowMs()).toBe(START_MS + MINUTE);
    pass(MINUTE);
    expect(clock.nowMs()).toBe(START_MS + 90 * SECOND);
    pass(2 * MINUTE);
    expect(Math.abs(aheadMs())).toBeLessThanOrEqual(1);
    expect(words).toEqual([expect.stringContaining('half speed')]);
  });
});
