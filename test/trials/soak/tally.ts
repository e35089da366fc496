/** The results of the load: latencies by kind of request, error codes, and problems. */
import { Samples } from '../../../bench/measure/samples.js';

/** Further problems are only counted. */
const PROBLEMS_KEPT = 20;

/** Refusals of clients that are a moment late. Every other refusal is a problem. */
const EXPECTED = new Set([
  'amount_too_small',
  // A user's requests overtake each other on several connections.
  'client_sequence_stale',
  'insufficient_balance',
  'insufficient_liquidity',
  'insufficient_shares',
  'too_small_to_rest',
  'limit_reached',
  'market_not_active',
  'market_not_resolved',
  'nothing_to_claim',
  'order_not_found',
  'client_order_id_reused',
  'order_closed',
  'post_only_would_trade',
  'price_not_met',
  // Shed load. The run judges its share at the end.
  'unavailable',
]);

export class ProblemList {
  count = 0;
  private readonly kept: string[] = [];

  add(what: string): void {
    this.count++;
    if (this.kept.length < PROBLEMS_KEPT) this.kept.push(what);
  }

  get texts(): string[] {
    const more = this.count - this.kept.length;
    return more === 0 ? [...this.kept] : [...this.kept, `and ${more} more`];
  }
}

export class Tally {
  readonly latencies = new Map<string, Samples>();
  readonly errors = new Map<string, number>();
  /** Since the last call of {@link takeInterval}. */
  private interval = new Samples();
  private readonly problems = new ProblemList();
  answers = 0;
  hangUps = 0;
  replays = 0;

  answered(kind: string, latencyMs: number): void {
    this.answers++;
    this.interval.add(latencyMs);
    let samples = this.latencies.get(kind);
    if (samples === undefined) {
      samples = new Samples();
      this.latencies.set(kind, samples);
    }
    samples.add(latencyMs);
  }

  refused(kind: string, code: string): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
    if (!EXPECTED.has(code)) this.problem(`${kind} was answered with ${code}`);
  }

  problem(what: string): void {
    this.problems.add(what);
  }

  get problemCount(): number {
    return this.problems.count;
  }

  get problemTexts(): string[] {
    return this.problems.texts;
  }

  takeInterval(): Samples {
    const { interval } = this;
    this.interval = new Samples();
    return interval;
  }

  /** Drops the measurements of the capacity test. Problems stay. */
  forgetLatencies(): void {
    this.latencies.clear();
    this.interval = new Samples();
    this.answers = 0;
  }
}
