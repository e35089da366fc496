/** Samples the running exchange: its metrics every second, and its open markets. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../../../bench/http/load/client.js';
import type { Floor } from './floor.js';
import { KINDS, type Kind, type MemorySample } from './memory.js';

const MARKETS_EVERY_MS = 100;
const METRICS_EVERY_MS = 1_000;

export interface Reading {
  /** `external` is outside of the heap, but objects in it own it: typed arrays and buffers. */
  bytes: Readonly<Record<Kind, number>>;
  followerLagMs: number;
  eventLoopP99Ms: number;
}

export class Watch {
  readonly memory: Readonly<Record<Kind, MemorySample[]>> = {
    resident: [],
    heap: [],
    external: [],
  };
  last: Reading | null = null;
  private isOver = false;
  private readonly rounds: Promise<void>[];

  constructor(
    readonly port: number,
    private readonly floor: Floor,
    onError: (error: Error) => void,
  ) {
    this.rounds = [
      this.repeat(MARKETS_EVERY_MS, (client) => readMarkets(client, this.floor)).catch(onError),
      this.repeat(METRICS_EVERY_MS, (client) => this.readMetrics(client)).catch(onError),
    ];
  }

  restart(): void {
    for (const kind of KINDS) this.memory[kind].length = 0;
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.rounds);
  }

  private async repeat(everyMs: number, read: (client: Client) => Promise<void>): Promise<void> {
    const client = new Client(this);
    while (!this.isOver) {
      await read(client);
      await sleep(everyMs);
    }
    client.close();
  }

  private async readMetrics(client: Client): Promise<void> {
    const { text } = await client.mustAsk({ path: '/metrics' });
    const value = (name: string) => metricOf(text, name);
    const bytesOf = (kind: string) => value(`exchange_memory_bytes{kind="${kind}"}`);
    const bytes = {
      resident: bytesOf('rss'),
      heap: bytesOf('heapUsed'),
      external: bytesOf('external'),
    };
    this.last = {
      bytes,
      followerLagMs: 1_000 * value('exchange_follower_lag_seconds'),
      eventLoopP99Ms: 1_000 * value('exchange_event_loop_delay_seconds{quantile="0.99"}'),
    };
    const atMs = performance.now();
    for (const kind of KINDS) this.memory[kind].push({ atMs, bytes: bytes[kind] });
  }
}

export async function readMarkets(client: Client, floor: Floor): Promise<void> {
  const { markets } = (await client.mustAsk({ path: '/markets/15m' })).json;
  const ids = markets.map(({ id }: { id: string }) => id);
  floor.update(ids, performance.now());
}

export function metricOf(text: string, name: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  if (line === undefined) throw new Error(`/metrics has no ${name}`);
  return Number(line.slice(name.length + 1));
}
