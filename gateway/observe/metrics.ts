/**
 * Everything that the exchange counts and measures, for Prometheus. Counting costs additions to
 * plain numbers and arrays. All other values are read from their owners on request.
 */
import { readdirSync } from 'node:fs';
import { Counter, Gauge, Registry } from 'prom-client';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { TokenBuckets } from '../access/fair-use/token-buckets.js';
import { elapsedMs } from './clock.js';
import { CommandCounts } from './command-counts.js';
import { type Buckets, Distribution } from './distribution.js';
import { EventLoopDelay } from './event-loop-delay.js';

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

/** Reads a number on request; `null` while unknown. */
type Reading = () => number | null;
/** Reads numbers on request, one per label value. */
type Readings = () => MaybeLater<Iterable<readonly [value: string, count: number]>>;
type Samples = () => MaybeLater<Iterable<readonly [labels: Record<string, string>, count: number]>>;
type MaybeLater<T> = T | Promise<T>;

const FIRST_STATUS = 200;
const STATUSES = 400;

export class AnswerCounts {
  private readonly counts = new Float64Array(STATUSES);

  /** Call after an answer, or after `count` equal ones. */
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
    this.counts('exchange_commands_total', 'Commands, by kind and result', ['kind', 'code'], () =>
      this.commands.commands.entries(),
    );
    this.counts(
      'exchange_batch_operations_total',
      'Batch operations, by kind and result',
      ['kind', 'code'],
      () => this.commands.operations.entries(),
    );
    this.counts(
      'exchange_http_answers_total',
      'Answers, by route and status',
      ['method', 'route', 'status'],
      () => this.answerCounts(),
    );
    this.registerProcess();
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

  /** Call after each commit, with the last durable sequence. */
  committed(sequence: number): void {
    this.commitCommands.observe(sequence - this.committedSequence);
    this.committedSequence = sequence;
  }

  /** Counts a route's answers. `null` stands for unknown paths and methods. */
  answersOf(route: RouteName | null): AnswerCounts {
    let counts = this.answers.get(route);
    if (counts === undefined) {
      counts = new AnswerCounts();
      this.answers.set(route, counts);
    }
    return counts;
  }

  /** Registers a number that may go up and down. Omitted while unknown. */
  gauge(name: string, help: string, reading: Reading): void {
    this.register(Gauge, name, help, [], unlabelled(reading));
  }

  gauges(name: string, help: string, label: string, readings: Readings): void {
    this.register(Gauge, name, help, [label], labelled(label, readings));
  }

  samples(name: string, help: string, labelNames: string[], samples: Samples): void {
    this.register(Gauge, name, help, labelNames, samples);
  }

  /** Registers a number that only goes up. */
  counter(name: string, help: string, reading: Reading): void {
    this.register(Counter, name, help, [], unlabelled(reading));
  }

  counters(name: string, help: string, label: string, readings: Readings): void {
    this.register(Counter, name, help, [label], labelled(label, readings));
  }

  counts(name: string, help: string, labelNames: string[], samples: Samples): void {
    this.register(Counter, name, help, labelNames, samples);
  }

  private register(
    Kind: typeof Gauge | typeof Counter,
    name: string,
    help: string,
    labelNames: string[],
    samples: Samples,
  ): void {
    const metric: Gauge | Counter = new Kind({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect: () =>
        whenRead(samples(), (read) => {
          metric.reset();
          // Without labels, a reset yields the value 0 instead of no value.
          if (labelNames.length === 0) metric.remove();
          for (const [labels, value] of read) metric.inc(labels, value);
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

  private registerProcess(): void {
    this.gauges(
      'exchange_event_loop_delay_seconds',
      'Event loop delay over the last one to two minutes',
      'quantile',
      () => this.eventLoopDelay.quantiles(),
    );
    this.gauges('exchange_memory_bytes', 'Memory used by the process', 'kind', () =>
      Object.entries(memoryUsage()),
    );
    this.gauge('exchange_open_descriptors', 'Open files and connections of the process', () =>
      countOpen(),
    );
    this.counters('exchange_cpu_seconds_total', 'CPU time of the process', 'mode', () => {
      const { user, system } = process.cpuUsage();
      return Object.entries({ user: user / 1e6, system: system / 1e6 });
    });
  }
}

function unlabelled(reading: Reading): Samples {
  return () => {
    const value = reading();
    return value === null ? [] : [[{}, value]];
  };
}

function labelled(label: string, readings: Readings): Samples {
  return () =>
    whenRead(readings(), (read) =>
      Array.from(read, ([value, count]) => [{ [label]: value }, count]),
    );
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

/** Returns an empty object if unknown: Linux reads it from a file, which needs a descriptor. */
function memoryUsage(): Partial<NodeJS.MemoryUsage> {
  try {
    return process.memoryUsage();
  } catch (error) {
    if (!('syscall' in (error as Error))) throw error;
    return {};
  }
}
