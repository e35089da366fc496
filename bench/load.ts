/**
 * A load: many keep-alive connections, each sending one prebuilt request after the other, the next one when the answer to the last one has come
 * in whole. Written on bare sockets, so that the client costs less than the servers that it measures.
 *
 * A closed loop: it shows what a server sustains, and the latencies that so many impatient clients see; it is no measure of latency at
 * a lower load. There is no pipelining, because uWebSockets.js does not serve it (it closes the connection).
 *
 * Always holds: every answer is counted by its status; a connection that ends early, or an answer that is not HTTP/1.1 with a
 * Content-Length, fails the load.
 */
import { connect, type Socket } from 'node:net';
import { cpus } from 'node:os';
import { Samples } from './samples.js';

export interface LoadOptions {
  host: string;
  port: number;
  connections: number;
  /** Sent in turn by all connections: connection i begins with request i. */
  requests: readonly Uint8Array[];
  /** Answers in this time are not counted in the latencies and the rate. */
  warmUpMs: number;
  measureMs: number;
}

export interface LoadResult {
  /** Answers in the measured time. */
  measured: number;
  measuredMs: number;
  /** All answers, also those of the warm-up, by status. */
  byStatus: Record<string, number>;
  /** CPU time of the client's process in the measured time: near `measuredMs`, the client is what limits the rate. */
  clientCpuMs: number;
  /** Share (0 to 1) of the time of all cores in which the machine had nothing to do: waiting for the disk, or for each other. */
  idleShare: number;
  latencyP50Ms: number;
  latencyP99Ms: number;
  latencyP999Ms: number;
  latencyMaxMs: number;
}

/** How long answers may be outstanding when the load is over. */
const DRAIN_MS = 15_000;

export function runLoad(options: LoadOptions): Promise<LoadResult> {
  return new Load(options).run();
}

class Load {
  readonly samples = new Samples(1 << 16);
  private readonly byStatus = new Map<number, number>();
  private readonly connections: Connection[] = [];
  private measureFromMs = Number.POSITIVE_INFINITY;
  private measureToMs = Number.POSITIVE_INFINITY;
  private cpuBefore: NodeJS.CpuUsage | null = null;
  private coresBefore: CoreTimes = { idleMs: 0, totalMs: 0 };
  private idleShare = Number.NaN;
  private clientCpuMs = 0;
  private outstanding = 0;
  private sending = true;
  private finish: (() => void) | null = null;
  fail: (error: Error) => void = () => {};

  constructor(private readonly options: LoadOptions) {}

  async run(): Promise<LoadResult> {
    const { connections, warmUpMs, measureMs } = this.options;
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.finish = resolve;
        this.fail = reject;
        const startedMs = performance.now();
        this.measureFromMs = startedMs + warmUpMs;
        this.measureToMs = this.measureFromMs + measureMs;
        for (let i = 0; i < connections; i++) this.connections.push(new Connection(this, this.options, i));
        timer = setTimeout(
          () => {
            reject(new Error(`${this.outstanding} answers did not come`));
          },
          warmUpMs + measureMs + DRAIN_MS,
        );
      });
    } finally {
      clearTimeout(timer);
      for (const connection of this.connections) connection.close();
    }
    return this.result(measureMs);
  }

  /** Whether to send (another) request. */
  mayGoOn(nowMs: number): boolean {
    if (nowMs >= this.measureFromMs && this.cpuBefore === null) this.beginMeasuring();
    if (nowMs >= this.measureToMs && this.sending) this.endMeasuring();
    if (this.sending) this.outstanding++;
    return this.sending;
  }

  private beginMeasuring(): void {
    this.cpuBefore = process.cpuUsage();
    this.coresBefore = coreTimes();
  }

  private endMeasuring(): void {
    this.sending = false;
    const { user, system } = process.cpuUsage(this.cpuBefore ?? undefined);
    this.clientCpuMs = (user + system) / 1_000;
    const { idleMs, totalMs } = coreTimes();
    this.idleShare = (idleMs - this.coresBefore.idleMs) / (totalMs - this.coresBefore.totalMs);
  }

  answered(status: number, sentMs: number, nowMs: number): void {
    this.outstanding--;
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
    if (nowMs >= this.measureFromMs && nowMs < this.measureToMs) this.samples.add(nowMs - sentMs);
  }

  stopped(): void {
    if (!this.sending && this.outstanding === 0) this.finish!();
  }

  private result(measuredMs: number): LoadResult {
    const [latencyP50Ms, latencyP99Ms, latencyP999Ms, latencyMaxMs] = [0.5, 0.99, 0.999, 1].map((share) =>
      this.samples.percentile(share),
    ) as [number, number, number, number];
    return {
      measured: this.samples.count,
      measuredMs,
      byStatus: Object.fromEntries(this.byStatus),
      clientCpuMs: this.clientCpuMs,
      idleShare: this.idleShare,
      latencyP50Ms,
      latencyP99Ms,
      latencyP999Ms,
      latencyMaxMs,
    };
  }
}

interface CoreTimes {
  idleMs: number;
  totalMs: number;
}

function coreTimes(): CoreTimes {
  const sum: CoreTimes = { idleMs: 0, totalMs: 0 };
  for (const { times } of cpus()) {
    sum.idleMs += times.idle;
    sum.totalMs += times.user + times.nice + times.sys + times.irq + times.idle;
  }
  return sum;
}

const HEADER_END = Buffer.from('\r\n\r\n');
const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) /;
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)\r\n/i;
/** What one read from a socket may bring; longer answers come in pieces. */
const READ_BYTES = 64 * 1024;
/** Shared by all connections: what is in it is used up, or copied, before the next read. */
const readBuffer = Buffer.alloc(READ_BYTES);

class Connection {
  private readonly socket: Socket;
  private next: number;
  private sentMs = 0;
  private closing = false;
  /** The beginning of an answer that has not come in whole. */
  private piece: Buffer | null = null;

  constructor(
    private readonly load: Load,
    private readonly options: LoadOptions,
    index: number,
  ) {
    this.next = index % options.requests.length;
    this.socket = connect({
      host: options.host,
      port: options.port,
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (length) => {
          this.receive(length);
          return true;
        },
      },
    });
    this.socket.on('connect', () => this.send(performance.now()));
    this.socket.on('error', (error) => load.fail(error));
    this.socket.on('close', () => {
      if (!this.closing) load.fail(new Error('the server closed a connection'));
    });
  }

  close(): void {
    this.closing = true;
    this.socket.destroy();
  }

  private send(nowMs: number): void {
    if (!this.load.mayGoOn(nowMs)) {
      this.load.stopped();
      return;
    }
    this.sentMs = nowMs;
    this.socket.write(this.options.requests[this.next]!);
    this.next = (this.next + 1) % this.options.requests.length;
  }

  private receive(length: number): void {
    const bytes =
      this.piece === null
        ? readBuffer.subarray(0, length)
        : Buffer.concat([this.piece, readBuffer.subarray(0, length)]);
    const answer = parseAnswer(bytes);
    if (answer === null) {
      this.piece = this.piece === null ? Buffer.from(bytes) : bytes;
      return;
    }
    this.piece = null;
    if (answer instanceof Error) {
      this.load.fail(answer);
      return;
    }
    const nowMs = performance.now();
    this.load.answered(answer.status, this.sentMs, nowMs);
    this.send(nowMs);
  }
}

/** One whole answer; null: there is more to come; an error: it is not one. */
export function parseAnswer(bytes: Buffer): { status: number } | Error | null {
  const headerEnd = bytes.indexOf(HEADER_END);
  if (headerEnd === -1) return null;
  const head = bytes.toString('latin1', 0, headerEnd + 2);
  const status = STATUS_LINE.exec(head);
  const contentLength = CONTENT_LENGTH.exec(head);
  if (status === null || contentLength === null)
    return new Error(`an answer that is not understood: ${head}`);
  const end = headerEnd + HEADER_END.length + Number(contentLength[1]);
  if (bytes.length < end) return null;
  if (bytes.length > end) return new Error('more came than one answer');
  return { status: Number(status[1]) };
}

/** A request as bytes. */
export function requestBytes(options: {
  method: 'GET' | 'POST';
  path: string;
  host: string;
  headers?: Record<string, string>;
  body?: unknown;
}): Buffer {
  const { method, path, host, headers = {}, body } = options;
  const content = body === undefined ? '' : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined) {
    lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(content)}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${content}`);
}
