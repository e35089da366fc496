/**
 * Whether the exchange's clock can be believed at a start. What it shows goes into the journal and cannot be taken back: a
 * clock that is years ahead ends every market, pays out and forgets what may be retried; one that is behind makes the
 * exchange's time go at half speed until it has caught up.
 *
 * The exchange's time is not always the machine's:
 * - live prices, and a simulation at speed 1: it is, so it is judged both ways;
 * - a simulation at another speed goes on from the journal's last time or from the machine's, whichever is later. At speed
 *   300 the journal is hours ahead of the machine after minutes, and that is as it should be: only a leap ahead is judged;
 * - a file of prices has its own time and goes on from the journal's last: only a leap ahead is judged, to its first price.
 */
export interface ClockAtStart {
  /** The time of the journal's last command; null: it has none. */
  journalMs: number | null;
  /** What the source of the exchange's time says. */
  sourceMs: number;
  /** For the operator: where that comes from, such as "the clock of the machine". */
  source: string;
  /** Whether the journal may be ahead of the source. */
  mayBeBehind: boolean;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** An outage is ordinary; one of more than a month is not. */
export const AHEAD_MS_MAX = 31 * DAY_MS;
/** Two machines whose clocks are kept by the network differ by less. */
export const BEHIND_MS_MAX = MINUTE_MS;

/** What is wrong, for the operator; null: it can be believed. */
export function clockProblem({ journalMs, sourceMs, source, mayBeBehind }: ClockAtStart): string | null {
  if (journalMs === null) return null;
  const says = `${source} says ${timeText(sourceMs)}`;
  const last = `the journal's last command, at ${timeText(journalMs)}`;
  const aheadMs = sourceMs - journalMs;
  if (aheadMs > AHEAD_MS_MAX) {
    return (
      `${says}, ${spanText(aheadMs)} after ${last}. Everything that is due by then would happen at once, and what is in the ` +
      'journal cannot be taken back. Set it right. If it is right, start once with ACCEPT_CLOCK=on.'
    );
  }
  if (-aheadMs > BEHIND_MS_MAX && !mayBeBehind) {
    return (
      `${says}, ${spanText(-aheadMs)} before ${last}. Set it right, or start with the FEED_SPEED that the folder was traded ` +
      "with. If it is right, start once with ACCEPT_CLOCK=on: the exchange's time then goes at half speed until the two agree."
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
