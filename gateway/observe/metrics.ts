/**
 * What the exchange counts and measures, for Prometheus. While nobody asks, that is additions to plain numbers and arrays; what
 * else there is to know is asked of those who know it when somebody does.
 */
import { Counter, Gauge, Registry } from 'prom-client';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { TokenBucket } from '../fair-use/token-bucket.js';
import type { Route } from '../http/route.js';
import { elapsedMs } from '../time/clock.js';
import { CommandCounts } from './command-counts.js';
import { Distribution } from './distribution.js';
import { EventLoopDelay } from './event-loop-delay.js';

/** 16 microseconds, doubled up to 33 seconds. */
const LATENCY = { smallest: 0.016, bounds: 22, scale: 0.001 };
/** 1 command, doubled up to 65,536. */
const SIZE = { smallest: 1, bounds: 17, scale: 1 };
/** To make the text takes as long as hundreds of orders, and anybody may ask for it: who asks more often gets the last one again. */
const TEXTS = { perSecond: 10, burst: 20 };

/** The type of {@link Metrics.text}. */
export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** A number that is known when it is asked for; null: not now. */
export type Reading = () => number | null;
/** Several, each with its labels. */
export type Readings<Label extends string> = () => Iterable<readonly [Record<Label, string>, number]>;

export class Metrics {
  /** From the arrival of a request to the start of its command: reading the body, checking, and waiting for a signature. */
  readonly queueMs = new Distribution({
    name: 'exchange_queue_seconds',
    help: 'From the arrival of a request to its command being applied',
    ...LATENCY,
  });
  readonly applyMs = new Distribution({
    name: 'exchange_apply_seconds',
    help: 'Applying the command of a request',
    ...LATENCY,
  });
  readonly commitMs = new Distribution({
    name: 'exchange_commit_seconds',
    help: 'From a command of a request being applied to its being durable',
    ...LATENCY,
  });
  readonly requestMs = new Distribution({
    name: 'exchange_request_seconds',
    help: 'From the arrival of a request to its answer being written',
    ...LATENCY,
  });
  private readonly commitCommands = new Distribution({
    name: 'exchange_commit_commands',
    help: 'Commands of one commit to the journal',
    ...SIZE,
  });
  private readonly commands = new CommandCounts();
  /** By route, then by status. */
  private readonly answers = new Map<Route | null, Map<number, number>>();
  private readonly registry = new Registry();
  private readonly eventLoopDelay = new EventLoopDelay();
  private readonly texts = new TokenBucket(TEXTS, elapsedMs());
  private lastText: Promise<string> | null = null;
  private committedSequence: number;

  /** `durableSequence`: where the journal stands at the start. */
  constructor(durableSequence: number) {
    this.committedSequence = durableSequence;
    for (const distribution of [
      this.queueMs,
      this.applyMs,
      this.commitMs,
      this.requestMs,
      this.commitCommands,
    ]) {
      distribution.register(this.registry);
    }
    this.counter('exchange_commands_total', 'Commands, by kind and result', ['kind', 'code'], () =>
      listed((tell) => this.commands.commands.each(tell)),
    );
    this.counter(
      'exchange_batch_operations_total',
      'Operations of batches, by kind and result',
      ['kind', 'code'],
      () => listed((tell) => this.commands.operations.each(tell)),
    );
    this.counter(
      'exchange_http_answers_total',
      'Answers, by route and status',
      ['method', 'route', 'status'],
      () => this.answerCounts(),
    );
    this.registerProcess();
  }

  /** Everything in Prometheus' text form. */
  text(): Promise<string> {
    if (this.lastText === null || this.texts.take(1, elapsedMs())) this.lastText = this.registry.metrics();
    return this.lastText;
  }

  stop(): void {
    this.eventLoopDelay.stop();
  }

  /** After each command, with its result. */
  applied(result: NumberBuffer): void {
    this.commands.observe(result);
  }

  /** After each commit, with the sequence up to which everything is durable now. */
  committed(sequence: number): void {
    this.commitCommands.observe(sequence - this.committedSequence);
    this.committedSequence = sequence;
  }

  /** An answer was written. `route`: null for paths and methods that are none. */
  answered(route: Route | null, status: number): void {
    let counts = this.answers.get(route);
    if (counts === undefined) {
      counts = new Map();
      this.answers.set(route, counts);
    }
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }

  /** Shows a number that may go up and down; nothing while it is not known. */
  gauge(name: string, help: string, reading: Reading): void {
    this.gauges(name, help, [], () => {
      const value = reading();
      return value === null ? [] : [[{}, value]];
    });
  }

  gauges<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    readings: Readings<Label>,
  ): void {
    const gauge: Gauge<Label> = new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.registry],
      collect: () => {
        gauge.reset();
        if (labelNames.length === 0) gauge.remove();
        for (const [labels, value] of readings()) gauge.set(labels, value);
      },
    });
  }

  /** Shows numbers that only ever go up. */
  counter<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    readings: Readings<Label>,
  ): void {
    const counter: Counter<Label> = new Counter({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.registry],
      collect: () => {
        counter.reset();
        for (const [labels, value] of readings()) counter.inc(labels, value);
      },
    });
  }

  private *answerCounts(): Generator<[Record<'method' | 'route' | 'status', string>, number]> {
    for (const [route, counts] of this.answers) {
      for (const [status, count] of counts) {
        const labels = { method: route?.method ?? '', route: route?.path ?? '', status: `${status}` };
        yield [labels, count];
      }
    }
  }

  private registerProcess(): void {
    this.gauges(
      'exchange_event_loop_delay_seconds',
      'By how much the event loop was late in the last minute or two',
      ['quantile'],
      () => this.eventLoopDelay.quantiles().map(([quantile, value]) => [{ quantile: `${quantile}` }, value]),
    );
    this.gauges('exchange_memory_bytes', 'Memory of the process', ['kind'], () =>
      Object.entries(memoryUsage()).map(([kind, bytes]) => [{ kind }, bytes] as const),
    );
    this.counter('exchange_cpu_seconds_total', 'CPU time of the process', ['mode'], () => {
      const { user, system } = process.cpuUsage();
      return [
        [{ mode: 'user' }, user / 1e6],
        [{ mode: 'system' }, system / 1e6],
      ];
    });
  }
}

/** Nothing while it is not known: Linux tells it in a file, and no descriptor may be left to open that with. */
function memoryUsage(): Partial<NodeJS.MemoryUsage> {
  try {
    return process.memoryUsage();
  } catch (error) {
    if (!('syscall' in (error as Error))) throw error;
    return {};
  }
}

function listed<Labels>(each: (tell: (labels: Labels, count: number) => void) => void): [Labels, number][] {
  const list: [Labels, number][] = [];
  each((labels, count) => list.push([labels, count]));
  return list;
}
