/**
 * Counts in shared memory that the threads of edges write, and all threads read: how many
 * connections each has, for the limit on all of them, and what the metrics show of each thread.
 *
 * Always holds: a thread writes its own row only. It stores how many connections it has before it
 * looks how many the others have, so two threads cannot both open the last one.
 */
import type { OtherConnections } from '../../access/fair-use/connections.js';

const READINGS = [
  'unsentAnswers',
  'unsentBytes',
  'droppedTotal',
  'droppedAddress',
  'droppedTime',
  'refusedTotal',
  'refusedAddress',
  'requestsInFlight',
  'slowBodies',
  'streamBacklogBytes',
  'streamsCutOff',
] as const;
export type Reading = (typeof READINGS)[number];

/** A cache line per thread. */
const ROW = 16;

export class EdgeCounts {
  private readonly connections: Int32Array;
  private readonly readings: Float64Array;

  constructor(
    readonly memory: SharedArrayBuffer,
    private readonly rows: number,
  ) {
    this.connections = new Int32Array(memory, 0, rows * ROW);
    this.readings = new Float64Array(memory, rows * ROW * 4);
  }

  /** `rows`: threads with sockets. */
  static create(rows: number): EdgeCounts {
    return new EdgeCounts(new SharedArrayBuffer(rows * ROW * (4 + 8)), rows);
  }

  /** The connections of the others, as the thread of `row` sees them. */
  besides(row: number): OtherConnections {
    return {
      tell: (own) => {
        Atomics.store(this.connections, row * ROW, own);
      },
      count: () => this.connectionCount((each) => each !== row),
    };
  }

  connectionCount(counts: (row: number) => boolean): number {
    let sum = 0;
    for (let row = 0; row < this.rows; row++)
      if (counts(row)) sum += Atomics.load(this.connections, row * ROW);
    return sum;
  }

  write(row: number, values: Record<Reading, number>): void {
    READINGS.forEach((reading, i) => {
      this.readings[row * ROW + i] = values[reading];
    });
  }

  /** The reading of all threads together. */
  sum(reading: Reading): number {
    let sum = 0;
    for (let row = 0; row < this.rows; row++)
      sum += this.readings[row * ROW + READINGS.indexOf(reading)]!;
    return sum;
  }
}
