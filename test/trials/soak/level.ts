/**
 * Whether what an exchange takes of its machine is level.
 *
 * The memory of a process with a garbage collector goes up and down; what a collection leaves is in
 * use. So the minimum of each stretch of time counts, and a straight line is fitted to the minima
 * (least squares). It grows if the line rises by more than {@link SLOPE_ERRORS} standard errors,
 * which excludes noise, and by more than is allowed of its kind, because with enough samples any
 * slope is significant.
 *
 * Objects, and the typed arrays and buffers that they own, may grow by 16 MiB each. In ten minutes
 * at 400 requests a second that is 70 bytes per request, less than most objects that could leak.
 * What the process has of the machine is less exact: V8 keeps pages and malloc keeps arenas for
 * their next peak, and with time each peak is exceeded by a rarer one. It may grow by a tenth.
 * Descriptors may grow by 32: a connection that leaks each second would be 600. The journal in the
 * data folder may grow by a few segments, since an archive takes them in turns, and the lag of the
 * follower by a second.
 *
 * The first half of a run is the warm-up: compilation, arrays that reach their size, the history's
 * page cache, and the first expiry of what expires.
 */

export interface Sample {
  atMs: number;
  value: number;
}

export interface Level {
  /** The line's value after the warm-up. */
  start: number;
  /** The line's rise until the end of the run. */
  growth: number;
  /** The standard error of the rise. */
  error: number;
  allowed: number;
  isLevel: boolean;
}

const MIB = 2 ** 20;
/** How much each kind may grow: as a share of its value, and in addition. */
const ALLOWED = {
  resident: { share: 0.1, more: 0 },
  heap: { share: 0, more: 16 * MIB },
  external: { share: 0, more: 16 * MIB },
  descriptors: { share: 0, more: 32 },
  journal: { share: 0, more: 48 * MIB },
  lagSeconds: { share: 0, more: 1 },
} as const;
export type Kind = keyof typeof ALLOWED;
export const KINDS = Object.keys(ALLOWED) as readonly Kind[];

export const SLOPE_ERRORS = 3;
/** In a run of ten minutes, each stretch is half a minute, long enough for a full collection. */
const STRETCHES = 10;

/** Returns null if there are too few samples. */
export function judgeLevel(kind: Kind, samples: readonly Sample[]): Level | null {
  const floors = floorsOf(samples);
  if (floors === null) return null;
  const n = floors.length;
  const meanAt = mean(floors.map(({ atMs }) => atMs));
  const meanValue = mean(floors.map(({ value }) => value));
  let spread = 0;
  let together = 0;
  for (const { atMs, value } of floors) {
    spread += (atMs - meanAt) ** 2;
    together += (atMs - meanAt) * (value - meanValue);
  }
  const slope = together / spread;
  const lineAt = (atMs: number) => meanValue + slope * (atMs - meanAt);
  let squares = 0;
  for (const { atMs, value } of floors) squares += (value - lineAt(atMs)) ** 2;
  const slopeError = Math.sqrt(squares / (n - 2) / spread);
  const spanMs = floors.at(-1)!.atMs - floors[0]!.atMs;
  const start = lineAt(floors[0]!.atMs);
  const growth = slope * spanMs;
  const error = slopeError * spanMs;
  const { share, more } = ALLOWED[kind];
  const allowed = share * start + more;
  const isLevel = growth <= SLOPE_ERRORS * error || growth <= allowed;
  return { start, growth, error, allowed, isLevel };
}

function floorsOf(samples: readonly Sample[]): Sample[] | null {
  const kept = samples.slice(Math.floor(samples.length / 2));
  const perStretch = Math.floor(kept.length / STRETCHES);
  if (perStretch < 2) return null;
  return Array.from({ length: STRETCHES }, (_, stretch) => {
    const inStretch = kept.slice(stretch * perStretch, (stretch + 1) * perStretch);
    return inStretch.reduce((least, sample) => (sample.value < least.value ? sample : least));
  });
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
