/**
 * Checks at startup whether the exchange's clock is plausible. Its times go into the journal and
 * cannot be undone: a clock that is years ahead ends every market, pays out, and expires
 * idempotency keys.
 *
 * The machine's clock is checked in both directions. A simulation at a speed other than 1 continues
 * from the later of the journal's and the machine's time; a price file continues from the
 * journal's. At speed 300 the journal is hours ahead after minutes, so there only a jump ahead is
 * checked.
 */
interface ClockAtStart {
  /** Time of the journal's last command; `null` if the journal is empty. */
  journalMs: number | null;
  /** The source's current time. */
  sourceMs: number;
  /** The source's name in messages, such as "the clock of the machine". */
  source: string;
  /** Whether the journal may be ahead of the source. */
  mayBeBehind: boolean;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** A gap longer than a usual outage. */
const AHEAD_MS_MAX = 31 * DAY_MS;
/** Machines with network time differ by less. */
const BEHIND_MS_MAX = MINUTE_MS;

/** Whether a time is in the years 2000 to 2099. */
export function isPlausible(atMs: number): boolean {
  return atMs >= Date.UTC(2000) && atMs < Date.UTC(2100);
}

/** Returns the problem, worded for the operator, or `null`. */
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
