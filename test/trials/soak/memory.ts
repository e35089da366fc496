/**
 * Whether the memory of the exchange is level.
 *
 * The memory of a process with a garbage collector goes up and down; what a collection leaves is in
 * use. So the minimum of each stretch of time counts, and a straight line is fitted to the minima
 * (least squares). The memory grows if the line rises by more than {@link SLOPE_ERRORS} standard
 * errors, which excludes noise, and by more than is allowed of its kind, because with enough
 * samples any slope is significant.
 *
 * Objects, and the typed arrays and buffers that they own, may grow by 16 MiB each. In five minutes
 * at 2,000 requests a second that is 28 bytes per request, less than the smallest object that could
 * leak. What the process has of the machine is less exact: V8 keeps pages and malloc keeps arenas
 * for their next peak, and with time each peak is exceeded by a rarer one. It may grow by a tenth:
 * of a gigabyte, at 4,000 requests a second, 90 bytes of native memory per request.
 *
 * The first half of a run is the warm-up: compilation, arrays that reach their size, the history's
 * page cache, and the first expiry of everything that expires.
 */

export interface MemorySample {
  atMs: number;
  bytes: number;
}

export interface Level {
  /** The line's value after the warm-up. */
  startBytes: number;
  /** The line's rise until the end of the run. */
  growthBytes: number;
  /** The standard error of the rise. */
  errorBytes: number;
  allowedBytes: number;
  isLevel: boolean;
}

export const KINDS = ['resident', 'heap', 'external'] as const;
export type Kind = (typeof KINDS)[number];

export const SLOPE_ERRORS = 3;
const OBJECTS_BYTES = 16 * 2 ** 20;
const RESIDENT_SHARE = 0.1;
/** In a run of ten minutes each is half a minute, long enough for a full collection. */
const STRETCHES = 10;

/** null: there are too few samples. */
export function judgeLevel(kind: Kind, samples: readonly MemorySample[]): Level | null {
  const floors = floorsOf(samples);
  if (floors === null) return null;
  const n = floors.length;
  const meanAt = mean(floors.map(({ atMs }) => atMs));
  const meanBytes = mean(floors.map(({ bytes }) => bytes));
  let spread = 0;
  let together = 0;
  for (const { atMs, bytes } of floors) {
    spread += (atMs - meanAt) ** 2;
    together += (atMs - meanAt) * (bytes - meanBytes);
  }
  const slope = together / spread;
  const lineAt = (atMs: number) => meanBytes + slope * (atMs - meanAt);
  let squares = 0;
  for (const { atMs, bytes } of floors) squares += (bytes - lineAt(atMs)) ** 2;
  const slopeError = Math.sqrt(squares / (n - 2) / spread);
  const spanMs = floors.at(-1)!.atMs - floors[0]!.atMs;
  const startBytes = lineAt(floors[0]!.atMs);
  const growthBytes = slope * spanMs;
  const errorBytes = slopeError * spanMs;
  const allowedBytes = kind === 'resident' ? RESIDENT_SHARE * startBytes : OBJECTS_BYTES;
  const isLevel = growthBytes <= SLOPE_ERRORS * errorBytes || growthBytes <= allowedBytes;
  return { startBytes, growthBytes, errorBytes, allowedBytes, isLevel };
}

function floorsOf(samples: readonly MemorySample[]): MemorySample[] | null {
  const kept = samples.slice(Math.floor(samples.length / 2));
  const perStretch = Math.floor(kept.length / STRETCHES);
  if (perStretch < 2) return null;
  return Array.from({ length: STRETCHES }, (_, stretch) => {
    const inStretch = kept.slice(stretch * perStretch, (stretch + 1) * perStretch);
    return inStretch.reduce((least, sample) => (sample.bytes < least.bytes ? sample : least));
  });
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
