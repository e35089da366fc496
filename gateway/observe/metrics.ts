/**
 * Everything that the exchange counts and measures, for Prometheus. Counting costs additions to
 * plain numbers and arrays; all other values are read from their owners on request.
 */
import { Counter, Gauge, Registry } from 'prom-client';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { TokenBuckets } from '../fair-use/token-buckets.js';
import { elapsedMs } from '../time/clock.js';
import { CommandCounts } from './command-counts.js';
import { Distribution } from './distribution.js';
import { EventLoopDelay } from './event-loop-delay.js';

/** 16 microseconds, doubled up to 33 seconds. */
const LATENCY = { smallest: 0.016, bounds: 22, scale: 0.001 };
/** 1 command, doubled up to 65,536. */
const SIZE = { smallest: 1, bounds: 17, scale: 1 };
/**
 * Generating the text takes as long as hundreds of orders, and anyone may request it. More frequent
 * requests get the previous text.
 */
const TEXTS = { perSecond: 10, burst: 20 };

/** The content type of {@link Metrics.text}. */
export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** How a route is labelled. */
export interface RouteName {
  method: string;
  path: string;
}

/** Reads a number on request; null: it is not known now. */
export type Reading = () => number | null;
/** Reads several numbers, each with its labels. */
export type Readings<Label extends string> = () => Iterable<
  readonly [Record<Label, string>, number]
>;

export class Metrics {
  readonly receiveMs = new Distribution({
    name: 'exchange_receive_seconds',
    help: 'Time from the arrival of a request to the start of its command: receiving and checking it',
    ...LATENCY,
  });
  readonly applyMs = new Distribution({
    name: 'exchange_apply_seconds',
    help: 'Time to apply the command of a request',
    ...LATENCY,
  });
  readonly commitMs = new Distribution({
    name: 'exchange_commit_seconds',
    help: 'Time from applying the command of a request to its being durable',
    ...LATENCY,
  });
  readonly requestMs = new Distribution({
    name: 'exchange_request_seconds',
    help: 'Time from the arrival of a request to writing its answer',
    ...LATENCY,
  });
  private readonly commitCommands = new Distribution({
    name: 'exchange_commit_commands',
    help: 'Commands per commit to the journal',
    ...SIZE,
  });
  private readonly commands = new CommandCounts();
  /** By route, then by status. */
  private readonly answers = new Map<RouteName | null, Map<number, number>>();
  private readonly registry = new Registry();
  private readonly eventLoopDelay = new EventLoopDelay();
  private readonly texts = new TokenBuckets<'text'>(TEXTS);
  private lastText: Promise<string> | null = null;
  private committedSequence: number;

  /** `durableSequence`: the last sequence in the journal at the start. */
  constructor(durableSequence: number) {
    this.committedSequence = durableSequence;
    for (const distribution of [
      this.receiveMs,
      this.applyMs,
      this.commitMs,
      this.requestMs,
      this.commitCommands,
    ]) {
      distribution.register(this.registry);
    }
    this.counter('exchange_commands_total', 'Commands, by kind and result', ['kind', 'code'], () =>
      listed((add) => this.commands.commands.each(add)),
    );
    this.counter(
      'exchange_batch_operations_total',
      'Operations of batches, by kind and result',
      ['kind', 'code'],
      () => listed((add) => this.commands.operations.each(add)),
    );
    this.counter(
      'exchange_http_answers_total',
      'Answers, by route and status',
      ['method', 'route', 'status'],
      () => this.answerCounts(),
    );
    this.registerProcess();
  }

  /** All metrics in Prometheus' text format. */
  text(): Promise<string> {
    if (this.lastText === null || this.texts.take('text', 1, elapsedMs()))
      this.lastText = this.registry.metrics();
    return this.lastText;
  }

  stop(): void {
    this.eventLoopDelay.stop();
  }

  /** To be called after each command, with its result. */
  applied(result: NumberBuffer): void {
    this.commands.observe(result);
  }

  /** To be called after each commit, with the last durable sequence. */
  committed(sequence: number): void {
    this.commitCommands.observe(sequence - this.committedSequence);
    this.committedSequence = sequence;
  }

  /** To be called after each answer. `route`: null for an unknown path or method. */
  answered(route: RouteName | null, status: number): void {
    let counts = this.answers.get(route);
    if (counts === undefined) {
      counts = new Map();
      this.answers.set(route, counts);
    }
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }

  /** Registers a number that may go up and down. It is left out while it is not known. */
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

  /** Registers numbers that only go up. */
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
        const labels = {
          method: route?.method ?? '',
          route: route?.path ?? '',
          status: `${status}`,
        };
        yield [labels, count];
      }
    }
  }

  private registerProcess(): void {
    this.gauges(
      'exchange_event_loop_delay_seconds',
      'Event loop delay over the last one to two minutes',
      ['quantile'],
      () =>
        this.eventLoopDelay
          .quantiles()
          .map(([quantile, value]) => [{ quantile: `${quantile}` }, value]),
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

/** Empty if unknown: on Linux it is read from a file, which fails when no descriptor is left. */
function memoryUsage(): Partial<NodeJS.MemoryUsage> {
  try {
    return process.memoryUsage();
  } catch (error) {
    if (!('syscall' in (error as Error))) throw error;
    return {};
  }
}

function listed<Labels>(
  each: (add: (labels: Labels, count: number) => void) => void,
): [Labels, number][] {
  const list: [Labels, number][] = [];
  each((labels, count) => list.push([labels, count]));
  return list;
}
