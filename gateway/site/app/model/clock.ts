/**
 * The exchange's time, estimated from the times in its messages. The browser's clock only measures
 * the time since then, because it may be wrong and an exchange may run faster than real time. No
 * other file of the site reads a clock.
 */
import { computed, signal } from '@preact/signals';

interface Sample {
  exchangeMs: number;
  localMs: number;
}

/** Real time over which the speed of the exchange's clock is measured. */
const WINDOW_MS = 20_000;
const SPAN_MIN_MS = 1_000;
/** A speed this close to 1 counts as 1, because the network causes the difference. */
const REAL_TIME_TOLERANCE = 0.1;
const SHOWN_EVERY_MS = 200;

let samples: Sample[] = [];
let speed = 1;

/** Real time since the page was opened. */
export function elapsedMs(): number {
  return performance.now();
}

export function heard(exchangeMs: number): void {
  const localMs = elapsedMs();
  const last = samples.at(-1);
  // This is another exchange, or one whose clock was set back.
  if (last !== undefined && exchangeMs < last.exchangeMs) samples = [];
  if (samples.length > 1 && localMs - samples.at(-2)!.localMs < 100) samples.pop();
  samples.push({ exchangeMs, localMs });
  while (samples.length > 2 && localMs - samples[1]!.localMs > WINDOW_MS) samples.shift();
  const first = samples[0]!;
  const span = localMs - first.localMs;
  if (span < SPAN_MIN_MS) return;
  const measured = (exchangeMs - first.exchangeMs) / span;
  speed = Math.abs(measured - 1) < REAL_TIME_TOLERANCE ? 1 : measured;
}

/** Returns 0 before the exchange's first message. */
export function exchangeNowMs(): number {
  const last = samples.at(-1);
  return last === undefined ? 0 : last.exchangeMs + (elapsedMs() - last.localMs) * speed;
}

/** The exchange's time in `realMs`; `undefined` if unknown. */
export function exchangeTimeIn(realMs: number): number | undefined {
  return samples.length === 0 ? undefined : Math.round(exchangeNowMs() + realMs * speed);
}

/** Real time since the last message with a time. */
export function silenceMs(): number {
  return elapsedMs() - (samples.at(-1)?.localMs ?? 0);
}

const shown = signal(0);

/** The exchange's time as shown, updated a few times a second. */
export const now = computed(() => shown.value);

export function startClock(): void {
  setInterval(() => {
    shown.value = exchangeNowMs();
  }, SHOWN_EVERY_MS);
}
