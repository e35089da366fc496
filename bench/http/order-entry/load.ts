/**
 * Orders over one connection of the stream, a fixed number of them unanswered. Receipts come in the
 * order of the requests; the next request is sent when one is answered.
 *
 * Always holds: every request is answered with its receipt, in order; otherwise the load fails.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { CpuWatch } from '../../measure/machine.js';
import { Samples } from '../../measure/samples.js';
import type { LoadResult } from '../load/load.js';
import { HOST } from '../load/messages.js';

export interface EntryLoadOptions {
  port: number;
  headers: Record<string, string>;
  /** A request without its id. */
  request: object;
  outstanding: number;
  warmUpMs: number;
  measureMs: number;
}

const PATIENCE_MS = 30_000;

export async function runEntryLoad(options: EntryLoadOptions): Promise<LoadResult> {
  const load = new EntryLoad(options);
  try {
    return await load.run();
  } finally {
    load.close();
  }
}

class EntryLoad {
  private readonly socket: WebSocket;
  /** By slot: the request, the start of its receipt, and when it was sent. */
  private readonly requests: readonly Buffer[];
  private readonly heads: readonly Buffer[];
  private readonly sentMs: Float64Array;
  private next = 0;
  private unanswered = 0;
  private measureFromMs = 0;
  private endMs = 0;
  private answered = 0;
  private readonly samples = new Samples(1 << 16);
  private finished!: () => void;
  private fail!: (error: Error) => void;
  private readonly failure = new Promise<never>((_, reject) => {
    this.fail = reject;
  });

  constructor(private readonly options: EntryLoadOptions) {
    this.failure.catch(() => {});
    const { port, headers, outstanding, request } = options;
    const ids = Array.from({ length: outstanding }, (_, slot) => `${slot}`);
    this.requests = ids.map((id) => Buffer.from(JSON.stringify({ ...request, id })));
    this.heads = ids.map((id) => Buffer.from(`{"type":"receipt","id":"${id}",`));
    this.sentMs = new Float64Array(outstanding);
    this.socket = new WebSocket(`ws://${HOST}:${port}/api/stream`, {
      headers,
      perMessageDeflate: false,
      skipUTF8Validation: true,
    });
    this.socket.on('error', (error) => this.fail(error));
    this.socket.on('close', (code) => this.fail(new Error(`the stream ended with ${code}`)));
    this.socket.on('message', (bytes: Buffer) => this.received(bytes));
  }

  async run(): Promise<LoadResult> {
    const { outstanding, warmUpMs, measureMs } = this.options;
    const opened = new Promise<void>((resolve) => this.socket.once('open', resolve));
    await Promise.race([opened, this.failure]);
    const finished = new Promise<void>((resolve) => {
      this.finished = resolve;
    });
    this.measureFromMs = performance.now() + warmUpMs;
    this.endMs = this.measureFromMs + measureMs;
    const use = sleep(warmUpMs).then(async () => {
      const watch = new CpuWatch();
      await sleep(measureMs);
      return watch.stop();
    });
    for (let i = 0; i < outstanding; i++) this.send();
    await Promise.race([finished, this.failure, timeOut(warmUpMs + measureMs + PATIENCE_MS)]);
    return {
      measured: this.samples.count,
      measuredMs: measureMs,
      byStatus: { 200: this.answered },
      ...(await use),
      latencyP50Ms: this.samples.percentile(0.5),
      latencyP99Ms: this.samples.percentile(0.99),
      latencyP999Ms: this.samples.percentile(0.999),
      latencyMaxMs: this.samples.max(),
    };
  }

  close(): void {
    this.socket.removeAllListeners('close');
    this.socket.terminate();
  }

  private send(): void {
    const slot = this.next;
    this.next = (slot + 1) % this.requests.length;
    this.sentMs[slot] = performance.now();
    this.unanswered++;
    this.socket.send(this.requests[slot]!, { binary: false });
  }

  private received(bytes: Buffer): void {
    // The oldest unanswered request has the slot that is used next once all are under way.
    const slots = this.requests.length;
    const slot = (this.next + slots - this.unanswered) % slots;
    const head = this.heads[slot]!;
    if (bytes.compare(head, 0, head.length, 0, head.length) !== 0) {
      if (bytes.toString('latin1', 0, 19) === '{"type":"heartbeat"') return;
      this.fail(new Error(`an unexpected message: ${bytes.toString('latin1', 0, 500)}`));
      return;
    }
    const nowMs = performance.now();
    this.unanswered--;
    this.answered++;
    if (nowMs >= this.measureFromMs && nowMs < this.endMs)
      this.samples.add(nowMs - this.sentMs[slot]!);
    if (nowMs < this.endMs) this.send();
    else if (this.unanswered === 0) this.finished();
  }
}

async function timeOut(ms: number): Promise<never> {
  await sleep(ms, undefined, { ref: false });
  throw new Error('receipts did not come');
}
