/**
 * Checks at startup whether the exchange's clock is plausible. Its times cannot be undone: a clock
 * that is years ahead ends every market, pays out, and expires idempotency keys.
 *
 * A simulation at a speed other than 1 and a price file may be behind the journal: at speed 300 the
 * journal is hours ahead after minutes. For them, only a jump ahead is checked.
 */
interface ClockAtStart {
  /** `null` if the journal is empty. */
  journalMs: number | null;
  sourceMs: number;
  /** The source's name in messages, such as "the clock of the machine". */
  source: string;
  /** The journal may be ahead of the source. */
  mayBeBehind: boolean;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const AHEAD_MS_MAX = 31 * DAY_MS;
/** Machines with network time differ by less. */
const BEHIND_MS_MAX = MINUTE_MS;

export function isPlausible(atMs: number): boolean {
  return atMs >= Date.UTC(2000) && atMs < Date.UTC(2100);
}

/** The problem, worded for the operator, or `null`. */
export function clockProblem(start: ClockAtStart): string | null {
  const { journalMs, sourceMs, source, mayBeBehind } = start;
  const says = `${source} says ${timeText(sourceMs)}`;
  if (!isPlausible(sourceMs))
    return `${says}. A journal that begins there cannot be undone. Correct the clock.`;
  if (journalMs === null) return null;
  const last = `the journal's last command, at ${timeText(journalMs)}`;
  const aheadMs = sourceMs - journalMs;
  if (aheadMs > AHEAD_MS_MAX) {
    return (
      `${says}, ${spanText(aheadMs)} after ${last}. Everything due until then would happen at once, and the journal ` +
      'cannot be undone. Correct the clock. If it is correct, start once with ACCEPT_CLOCK=on.'
    );
  }
  if (-aheadMs > BEHIND_MS_MAX && !mayBeBehind) {
    return (
      `${says}, ${spanText(-aheadMs)} before ${last}. Correct the clock, or start with the FEED_SPEED that was used before. ` +
      "If it is correct, start once with ACCEPT_CLOCK=on: the exchange's clock then runs at half speed until the two agree."
    );
  }
  return null;
}

function timeText(atMs: number): string {
  return new Date(atMs).toISOString();
}

function spanText(spanMs: number): string {
  if (spanMs >= 2 * DAY_MS) return `${Math.floor(spanMs / DAY_MS)} days`;
  return spanMs >= 2 * MINUTE_MS
    ? `${Math.floor(spanMs / MINUTE_MS)} minutes`
    : `${Math.floor(spanMs / 1_000)} seconds`;
}
