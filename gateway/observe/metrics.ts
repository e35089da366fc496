/** Metrics for Prometheus. Counting costs plain additions; other values are read on request. */
import { readdirSync } from 'node:fs';
import { Counter, Gauge, Registry } from 'prom-client';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { TokenBuckets } from '../access/fair-use/token-buckets.js';
import { elapsedMs } from './clock.js';
import { CommandCounts } from './command-counts.js';
import { type Buckets, Distribution } from './distribution.js';
import { EventLoopDelay } from './event-loop-delay.js';
import { METRIC_TEXTS, type MetricName } from './metric-texts.js';

/** 16 microseconds, doubled up to 33 seconds. */
const LATENCY = { smallest: 0.016, bounds: 22, scale: 0.001 };
/** 1 command, doubled up to 65,536. */
const SIZE = { smallest: 1, bounds: 17, scale: 1 };
/** Generating the text costs as much as hundreds of orders. Above this rate, it is reused. */
const TEXTS = { perSecond: 10, burst: 20 };

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

export interface RouteName {
  method: string;
  path: string;
}

export function routeName({ method, path }: RouteName): string {
  return `${method} ${path}`;
}

type Labels = Record<string, string>;
/** A single label is its value. */
type Samples = Iterable<readonly [labels: string | Labels, value: number]> | Record<string, number>;
type MaybeLater<T> = T | Promise<T>;
/** By label if labelled. Omitted while `null` or undefined. */
type Reading = () => MaybeLater<number | Samples | null | undefined>;
export type Readings = Partial<Record<MetricName, Reading>>;

const FIRST_STATUS = 200;
const STATUSES = 400;

export class AnswerCounts {
  private readonly counts = new Float64Array(STATUSES);

  add(status: number, count = 1): void {
    this.counts[status - FIRST_STATUS]! += count;
  }

  *byStatus(): Generator<readonly [status: number, count: number]> {
    for (const [place, count] of this.counts.entries()) {
      if (count > 0) yield [FIRST_STATUS + place, count];
    }
  }

  /** Removes the counts and returns them for another owner to add. */
  take(): (readonly [status: number, count: number])[] {
    const taken = [...this.byStatus()];
    this.counts.fill(0);
    return taken;
  }
}

export interface AnswerMetrics {
  readonly commitMs: { observe(ms: number): void };
  readonly requestMs: { observe(ms: number): void };
  answersOf(route: RouteName | null): AnswerCounts;
}

export class Metrics implements AnswerMetrics {
  private readonly registry = new Registry();
  readonly receiveMs = this.distribution(
    'exchange_receive_seconds',
    'Time from the arrival of a request to the start of its command (receiving and checking)',
    LATENCY,
  );
  readonly applyMs = this.distribution(
    'exchange_apply_seconds',
    'Time to apply the command of a request',
    LATENCY,
  );
  readonly commitMs = this.distribution(
    'exchange_commit_seconds',
    'Time from applying the command of a request until it is durable',
    LATENCY,
  );
  readonly requestMs = this.distribution(
    'exchange_request_seconds',
    'Time from the arrival of a request until its answer is written',
    LATENCY,
  );
  private readonly commitCommands = this.distribution(
    'exchange_commit_commands',
    'Commands per journal commit',
    SIZE,
  );
  private readonly commands = new CommandCounts();
  private readonly answers = new Map<RouteName | null, AnswerCounts>();
  private readonly eventLoopDelay = new EventLoopDelay();
  private readonly texts = new TokenBuckets<'text'>(TEXTS);
  private lastText: Promise<string> | null = null;
  private committedSequence: number;

  constructor(durableSequence: number) {
    this.committedSequence = durableSequence;
    this.observe({
      exchange_commands_total: () => this.commands.commands.entries(),
      exchange_batch_operations_total: () => this.commands.operations.entries(),
      exchange_http_answers_total: () => this.answerCounts(),
      exchange_event_loop_delay_seconds: () => this.eventLoopDelay.quantiles(),
      exchange_memory_bytes: () => memoryUsage(),
      exchange_open_descriptors: () => countOpen(),
      exchange_cpu_seconds_total: () => {
        const { user, system } = process.cpuUsage();
        return { user: user / 1e6, system: system / 1e6 };
      },
    });
  }

  text(): Promise<string> {
    if (this.lastText === null || this.texts.take('text', 1, elapsedMs()))
      this.lastText = this.registry.metrics();
    return this.lastText;
  }

  stop(): void {
    this.eventLoopDelay.stop();
  }

  applied(result: NumberBuffer): void {
    this.commands.observe(result);
  }

  /** Call with the last durable sequence. */
  committed(sequence: number): void {
    this.commitCommands.observe(sequence - this.committedSequence);
    this.committedSequence = sequence;
  }

  /** `null` stands for unknown paths and methods. */
  answersOf(route: RouteName | null): AnswerCounts {
    let counts = this.answers.get(route);
    if (counts === undefined) {
      counts = new AnswerCounts();
      this.answers.set(route, counts);
    }
    return counts;
  }

  /** Shown in this order. */
  observe(readings: Readings): void {
    for (const [name, reading] of Object.entries(readings))
      this.register(name as MetricName, reading);
  }

  private register(name: MetricName, reading: Reading): void {
    const [help, ...labelNames] = [METRIC_TEXTS[name]].flat() as [string, ...string[]];
    const Kind = name.endsWith('_total') ? Counter : Gauge;
    const metric: Gauge | Counter = new Kind({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect: () =>
        whenRead(reading(), (read) => {
          metric.reset();
          // Without labels, a reset yields the value 0 instead of no value.
          if (labelNames.length === 0) metric.remove();
          for (const [labels, value] of samplesIn(read))
            metric.inc(typeof labels === 'string' ? { [labelNames[0]!]: labels } : labels, value);
        }),
    });
  }

  private distribution(name: string, help: string, buckets: Buckets): Distribution {
    const distribution = new Distribution({ name, help, ...buckets });
    distribution.register(this.registry);
    return distribution;
  }

  private *answerCounts(): Generator<readonly [Record<string, string>, number]> {
    for (const [route, counts] of this.answers) {
      const { method = '', path = '' } = route ?? {};
      for (const [status, count] of counts.byStatus()) {
        yield [{ method, route: path, status: `${status}` }, count];
      }
    }
  }
}

function samplesIn(read: number | Samples | null | undefined) {
  if (read === null || read === undefined) return [];
  if (typeof read === 'number') return [[{}, read] as const];
  return Symbol.iterator in read ? read : Object.entries(read);
}

function whenRead<T, R>(read: MaybeLater<T>, then: (read: T) => R): MaybeLater<R> {
  return read instanceof Promise ? read.then(then) : then(read);
}

/** `null` if there is no /proc, or no free descriptor to read it. */
function countOpen(): number | null {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return null;
  }
}

/** Empty if unknown: Linux reads it from a file, which needs a descriptor. */
function memoryUsage(): Partial<NodeJS.MemoryUsage> {
  try {
    return process.memoryUsage();
  } catch (error) {
    if (!('syscall' in (error as Error))) throw error;
    return {};
  }
}
