/** A load of prebuilt requests. An unanswered request fails the load. */

import type { HttpAnswer } from '../../../test/support/http/messages.js';
import { CpuWatch } from '../../../test/support/processes/machine.js';
import { Samples } from '../../../test/support/processes/samples.js';
import { Random } from '../../../test/support/workload/random.js';
import { PacedLoad } from './paced-load.js';

export type LoadPace = { kind: 'closed' } | { kind: 'open'; perSecond: number; seed: string };

export interface LoadOptions {
  pace: LoadPace;
  port: number;
  connections: number;
  /** Whether the connections are encrypted. */
  isSecure?: boolean;
  /** Sent in turn over all connections. */
  requests: readonly Uint8Array[];
  /** Requests answered (closed loop) or due (open loop) in this time are not measured. */
  warmUpMs: number;
  measureMs: number;
}

export interface LoadResult {
  /** Answers in the measured time; in an open loop, answers to requests due in it. */
  measured: number;
  measuredMs: number;
  /** All answers by status, including the warm-up's. */
  byStatus: Record<string, number>;
  /** The client's CPU time. If near `measuredMs`, the client limits the rate. */
  clientCpuMs: number;
  /** Idle share (0 to 1) of the time of all cores. */
  idleShare: number;
  latencyP50Ms: number;
  latencyP99Ms: number;
  latencyP999Ms: number;
  latencyMaxMs: number;
}

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const load = new PrebuiltLoad(options);
  try {
    return await load.measure();
  } finally {
    load.close();
  }
}

interface Sending {
  bytes: Uint8Array;
  dueMs: number;
}

class PrebuiltLoad extends PacedLoad<Sending> {
  private measureFromMs = 0;
  private measureToMs = 0;
  private sentCount = 0;
  private readonly samples = new Samples(1 << 16);
  private readonly byStatus: Record<string, number> = {};

  constructor(private readonly options: LoadOptions) {
    super(options.port, options.connections, true, options.isSecure);
  }

  async measure(): Promise<LoadResult> {
    const { pace, warmUpMs, measureMs } = this.options;
    await this.unlessFailed(Promise.all(this.connections.map((connection) => connection.open())));
    this.measureFromMs = performance.now() + warmUpMs;
    this.measureToMs = this.measureFromMs + measureMs;
    let watch = new CpuWatch();
    const timer = setTimeout(() => {
      watch = new CpuWatch();
    }, warmUpMs);
    const arrivals =
      pace.kind === 'closed' ? null : { perSecond: pace.perSecond, random: new Random(pace.seed) };
    try {
      await this.run(warmUpMs + measureMs, arrivals, () => watch.stop());
    } finally {
      clearTimeout(timer);
    }
    return {
      measured: this.samples.count,
      measuredMs: measureMs,
      byStatus: this.byStatus,
      ...watch.stop(),
      latencyP50Ms: this.samples.percentile(0.5),
      latencyP99Ms: this.samples.percentile(0.99),
      latencyP999Ms: this.samples.percentile(0.999),
      latencyMaxMs: this.samples.max(),
    };
  }

  protected next(dueMs: number): Sending {
    const { requests } = this.options;
    return { bytes: requests[this.sentCount++ % requests.length]!, dueMs };
  }

  protected settled({ dueMs }: Sending, answer: HttpAnswer | null): void {
    // The connection has reported the reason.
    if (answer === null) return;
    const { status } = answer;
    this.byStatus[status] = (this.byStatus[status] ?? 0) + 1;
    const nowMs = performance.now();
    const countedMs = this.options.pace.kind === 'closed' ? nowMs : dueMs;
    if (countedMs >= this.measureFromMs && countedMs < this.measureToMs)
      this.samples.add(nowMs - dueMs);
  }
}
