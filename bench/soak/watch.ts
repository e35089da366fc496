/**
 * Samples the running exchange: memory, follower lag and event loop from /metrics every second, and
 * its open markets.
 */
import { ask, HttpConnection } from '../http/connection.js';
import { requestBytes } from '../http/messages.js';
import type { Floor } from './floor.js';
import type { MemorySample } from './memory.js';

const MARKETS_EVERY_MS = 100;
const METRICS_EVERY_MS = 1_000;

export interface Reading {
  rssBytes: number;
  heapBytes: number;
  /** Memory outside of the heap that objects in it own: typed arrays and buffers. */
  externalBytes: number;
  followerLagMs: number;
  eventLoopP99Ms: number;
  backlogCommands: number;
}

export class Watch {
  readonly rss: MemorySample[] = [];
  readonly heap: MemorySample[] = [];
  last: Reading | null = null;
  private isOver = false;
  private readonly rounds: Promise<void>[];

  constructor(
    private readonly host: string,
    private readonly port: number,
    private readonly floor: Floor,
    onError: (error: Error) => void,
  ) {
    this.rounds = [
      this.repeat(MARKETS_EVERY_MS, (connection) => this.readMarkets(connection)).catch(onError),
      this.repeat(METRICS_EVERY_MS, (connection) => this.readMetrics(connection)).catch(onError),
    ];
  }

  /** Drops the memory samples so far. */
  restart(): void {
    this.rss.length = 0;
    this.heap.length = 0;
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.rounds);
  }

  private async repeat(
    everyMs: number,
    read: (connection: HttpConnection) => Promise<void>,
  ): Promise<void> {
    const connection = new HttpConnection(this.host, this.port);
    while (!this.isOver) {
      await read(connection);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    connection.hangUp();
  }

  private async readMarkets(connection: HttpConnection): Promise<void> {
    const { markets } = await this.get(connection, '/api/markets/15m');
    const ids = markets.map(({ id }: { id: string }) => id);
    this.floor.update(ids, performance.now());
  }

  private async readMetrics(connection: HttpConnection): Promise<void> {
    const text = await this.get(connection, '/api/metrics');
    const value = (name: string) => metricOf(text, name);
    this.last = {
      rssBytes: value('exchange_memory_bytes{kind="rss"}'),
      heapBytes: value('exchange_memory_bytes{kind="heapUsed"}'),
      externalBytes: value('exchange_memory_bytes{kind="external"}'),
      followerLagMs: 1_000 * value('exchange_follower_lag_seconds'),
      eventLoopP99Ms: 1_000 * value('exchange_event_loop_delay_seconds{quantile="0.99"}'),
      backlogCommands: value('exchange_backlog_commands'),
    };
    const atMs = performance.now();
    this.rss.push({ atMs, bytes: this.last.rssBytes });
    this.heap.push({ atMs, bytes: this.last.heapBytes });
  }

  // biome-ignore lint/suspicious/noExplicitAny: the caller knows the answer's shape
  private get(connection: HttpConnection, path: string): Promise<any> {
    const host = `${this.host}:${this.port}`;
    return ask(connection, requestBytes({ method: 'GET', path, host }), 200);
  }
}

function metricOf(text: string, name: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  if (line === undefined) throw new Error(`/metrics has no ${name}`);
  return Number(line.slice(name.length + 1));
}
