/**
 * The exchange's time, estimated from the times in its messages. The browser's own clock only
 * measures what has passed since: it may be wrong, and an exchange may run faster than real time.
 * The only file of the site that reads a clock.
 */
import { computed, signal } from '@preact/signals';

interface Sample {
  exchangeMs: number;
  localMs: number;
}

/** Real time over which the speed of the exchange's clock is measured. */
const WINDOW_MS = 20_000;
const SPAN_MIN_MS = 1_000;
/** A speed this near to 1 is 1: the difference is the network's. */
const REAL_TIME_TOLERANCE = 0.1;
const SHOWN_EVERY_MS = 200;

let samples: Sample[] = [];
let speed = 1;

/** Real time since the page was opened. */
export function elapsedMs(): number {
  return performance.now();
}

/** Takes note of a time that the exchange has just sent. */
export function heard(exchangeMs: number): void {
  const localMs = elapsedMs();
  const last = samples.at(-1);
  // Another exchange, or one whose clock was set.
  if (last !== undefined && exchangeMs < last.exchangeMs) samples = [];
  // One sample in 100 ms says as much as all of them.
  if (samples.length > 1 && localMs - samples.at(-2)!.localMs < 100) samples.pop();
  samples.push({ exchangeMs, localMs });
  while (samples.length > 2 && localMs - samples[1]!.localMs > WINDOW_MS) samples.shift();
  const first = samples[0]!;
  const span = localMs - first.localMs;
  if (span < SPAN_MIN_MS) return;
  const measured = (exchangeMs - first.exchangeMs) / span;
  speed = Math.abs(measured - 1) < REAL_TIME_TOLERANCE ? 1 : measured;
}

/** 0: the exchange has not said anything yet. */
export function exchangeNowMs(): number {
  const last = samples.at(-1);
  return last === undefined ? 0 : last.exchangeMs + (elapsedMs() - last.localMs) * speed;
}

const shown = signal(0);

/** The exchange's time, a few times a second: what is shown depends on this one. */
export const now = computed(() => shown.value);

export function startClock(): void {
  setInterval(() => {
    shown.value = exchangeNowMs();
  }, SHOWN_EVERY_MS);
}
