/**
 * A feed that plays a price file and drives the exchange's clock, at `speed` times real time.
 *
 * Invariant: each price is delivered when the clock shows exactly its time, in file order. The
 * clock waits for prices, never the reverse. After the last price, the clock runs freely.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { FeedClock } from '../clock.js';
import type { PriceFeed, PriceSink } from './price-feed.js';
import { readTicks, type Tick, type TickFileSummary } from './tick-file.js';

export interface FileFeedOptions {
  path: string;
  ticks: TickFileSummary;
  /** Relative to real time; above 0. */
  speed: number;
  symbols: readonly string[];
  /**
   * The journal's last time; `null` if it is new. Earlier prices are skipped. Prices of the same
   * millisecond are repeated without effect, because a crash may have separated them.
   */
  resumeAtMs: number | null;
  log: Logger;
  /** Called if the file, valid at startup, becomes unreadable. The exchange must stop. */
  onFailure: (error: Error) => void;
}

/** Limits of one event-loop turn, in prices and in exchange time. */
const MAX_BATCH_TICKS = 64;
const MAX_BATCH_MS = 1_000;
const READ_GRACE_MS = 1_000;

/** The clock starts at the first price or at `resumeAtMs`. */
export function openFileFeed(options: FileFeedOptions): { clock: FeedClock; feed: PriceFeed } {
  const { path, ticks, resumeAtMs, speed, log } = options;
  log.info({ path, ...ticks }, 'prices come from a file');
  if (resumeAtMs !== null && resumeAtMs > ticks.lastAtMs)
    log.warn({ resumeAtMs }, 'the price file has no price after the end of the journal');
  const startsAtMs = Math.max(ticks.firstAtMs, resumeAtMs ?? 0);
  const clock = new FeedClock({ startsAtMs, speed });
  return { clock, feed: new FileFeed(options, clock, startsAtMs) };
}

class FileFeed implements PriceFeed {
  private readonly aborter = new AbortController();
  private playing: Promise<void> | null = null;

  constructor(
    private readonly options: FileFeedOptions,
    private readonly clock: FeedClock,
    private readonly startsAtMs: number,
  ) {}

  start(sink: PriceSink): void {
    if (this.playing !== null) throw new Error('the feed can only be started once');
    this.playing = this.play(sink).catch((error: Error) => {
      if (!this.aborter.signal.aborted) this.options.onFailure(error);
    });
  }

  async stop(): Promise<void> {
    this.aborter.abort();
    // A read from a dead network mount may never end. It delivers nothing more.
    await Promise.race([this.playing, sleep(READ_GRACE_MS, undefined, { ref: false })]);
  }

  private async play(sink: PriceSink): Promise<void> {
    let batchTicks = 0;
    let batchStartMs = 0;
    for await (const tick of readTicks(this.options.path, new Set(this.options.symbols))) {
      this.aborter.signal.throwIfAborted();
      if (tick.observedAtMs < this.startsAtMs) continue;
      this.clock.runTo(tick.observedAtMs);
      if (await this.waitFor(tick)) batchTicks = 0;
      if (batchTicks === 0) batchStartMs = tick.observedAtMs;
      sink(tick.symbol, tick.priceMicros, tick.observedAtMs, tick.source);
      batchTicks++;
      if (batchTicks >= MAX_BATCH_TICKS || tick.observedAtMs - batchStartMs >= MAX_BATCH_MS) {
        await nextTurn(undefined, { signal: this.aborter.signal });
        batchTicks = 0;
      }
    }
    this.clock.runTo(Number.POSITIVE_INFINITY);
    this.options.log.info('the price file has ended; the clock keeps running');
  }

  /** Returns whether it had to wait. */
  private async waitFor(tick: Tick): Promise<boolean> {
    let waited = false;
    while (this.clock.nowMs() < tick.observedAtMs) {
      const delayMs = this.clock.delayUntilMs(tick.observedAtMs);
      await sleep(delayMs, undefined, { signal: this.aborter.signal });
      waited = true;
    }
    return waited;
  }
}
