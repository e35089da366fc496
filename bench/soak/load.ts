/**
 * The load: sends the traders' requests over a fixed number of connections, repeats some of them,
 * and hangs up now and then.
 *
 * The closed loop measures the capacity: each connection sends its next request when the last one
 * is answered. The open loop runs at a rate: requests arrive at random times, answered or not, and
 * wait for a free connection. Latency counts from the arrival, so a stall is charged with
 * everything that it delays (no coordinated omission).
 *
 * Always holds: a change is sent again only with its idempotency key, with the same bytes, and
 * within {@link RETRY_MS} of the first time, before the key expires.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpConnection } from '../http/connection.js';
import type { HttpAnswer } from '../http/messages.js';
import type { Random } from '../workload/random.js';
import { type AttemptRecord, answerHash } from './record.js';
import type { Tally } from './tally.js';
import { MIX, type Operation, type Trader } from './trader.js';

/** At the standard speed a key expires after twelve seconds. */
const RETRY_MS = 3_000;
/** The share of changes with a key that are sent again after the answer. */
const REPEATED_SHARE = 0.06;
/** The share of requests whose client hangs up before the answer. */
const HANG_UP_SHARE = 0.01;
const HANG_UP_WITHIN_MS = 4;
/** The load fails when no answer comes for so long. */
const PATIENCE_MS = 30_000;
const UNAVAILABLE = 503;
const REPLAYED = 'Idempotency-Replayed: true';

export interface LoadOptions {
  host: string;
  port: number;
  connections: number;
  traders: readonly Trader[];
  record: AttemptRecord;
  tally: Tally;
  random: Random;
}

/** A request that is sent or about to be. */
interface Sending {
  operation: Operation;
  kind: string;
  dueMs: number;
  /** When the operation was first sent. */
  firstSentMs: number;
  /** False for repetitions. */
  isFirst: boolean;
}

export class Load {
  private readonly free: HttpConnection[] = [];
  /** Repetitions and retries after a lost connection; they go first. */
  private readonly followUps: Sending[] = [];
  /** null: closed loop. */
  private ratePerMs: number | null = null;
  private nextDueMs = 0;
  private endMs = 0;
  private underWay = 0;
  private drained: (() => void) | null = null;

  constructor(private readonly options: LoadOptions) {
    const { host, port, connections } = options;
    for (let i = 0; i < connections; i++) this.free.push(new HttpConnection(host, port));
  }

  /** How late the oldest unsent request is. */
  get behindMs(): number {
    return this.ratePerMs === null ? 0 : Math.max(0, performance.now() - this.nextDueMs);
  }

  /** Resolves to the requests answered per second. */
  async closedLoop(durationMs: number): Promise<number> {
    const { tally } = this.options;
    const startedMs = performance.now();
    const before = tally.answers;
    this.ratePerMs = null;
    this.endMs = startedMs + durationMs;
    this.pump();
    await sleep(durationMs);
    const rate = ((tally.answers - before) / (performance.now() - startedMs)) * 1_000;
    await this.drain();
    return rate;
  }

  /** Resolves when all requests are answered. */
  async openLoop(ratePerSecond: number, durationMs: number): Promise<void> {
    const startedMs = performance.now();
    this.ratePerMs = ratePerSecond / 1_000;
    this.nextDueMs = startedMs;
    this.endMs = startedMs + durationMs;
    const timer = setInterval(() => this.pump(), 1);
    try {
      await sleep(durationMs);
      await this.drain();
    } finally {
      clearInterval(timer);
    }
  }

  close(): void {
    for (const connection of this.free) connection.hangUp();
  }

  /** Resolves when all requests are answered. Rejects when no more answers come. */
  private async drain(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let answersBefore = -1;
    await new Promise<void>((resolve, reject) => {
      this.drained = resolve;
      timer = setInterval(() => {
        const { answers } = this.options.tally;
        if (answers === answersBefore) reject(new Error(`${this.underWay} answers did not come`));
        answersBefore = answers;
      }, PATIENCE_MS);
      this.pump();
    });
    this.drained = null;
    clearInterval(timer);
  }

  /** Sends due requests over the free connections. */
  private pump(): void {
    const nowMs = performance.now();
    while (this.free.length > 0) {
      const sending = this.followUps.shift() ?? this.nextSending(nowMs);
      if (sending === null) break;
      this.send(sending);
    }
    if (this.underWay === 0 && !this.isDue(nowMs)) this.drained?.();
  }

  private isDue(nowMs: number): boolean {
    return this.ratePerMs === null
      ? nowMs < this.endMs
      : this.nextDueMs <= Math.min(nowMs, this.endMs);
  }

  private nextSending(nowMs: number): Sending | null {
    if (!this.isDue(nowMs)) return null;
    const { traders, random } = this.options;
    const dueMs = this.ratePerMs === null ? nowMs : this.nextDueMs;
    if (this.ratePerMs !== null) this.nextDueMs += random.untilNext(this.ratePerMs);
    const operation = random.pick(traders).next(random.weighted(MIX), nowMs);
    return { operation, kind: operation.kind, dueMs, firstSentMs: nowMs, isFirst: true };
  }

  private send(sending: Sending): void {
    // The longest free one, so that the exchange closes none for being idle.
    const connection = this.free.shift()!;
    const { random } = this.options;
    let isUnderWay = true;
    let hungUp = false;
    this.underWay++;
    connection.send(sending.operation.request, (answer) => {
      isUnderWay = false;
      this.underWay--;
      this.free.push(connection);
      if (answer !== null) this.answered(sending, answer);
      else this.lost(sending, hungUp);
      this.pump();
    });
    if (!sending.isFirst || !random.chance(HANG_UP_SHARE)) return;
    setTimeout(
      () => {
        if (!isUnderWay) return;
        hungUp = true;
        connection.hangUp();
      },
      random.whole(0, HANG_UP_WITHIN_MS),
    );
  }

  private lost(sending: Sending, hungUp: boolean): void {
    const { operation, kind } = sending;
    const { record, tally } = this.options;
    if (hungUp) tally.hangUps++;
    else tally.problem(`the exchange closed a connection before it answered (${kind})`);
    if (operation.attempt !== 0) record.lost(operation.attempt);
    if (operation.isKeyed) this.followUp(sending, 'again after a hang-up');
  }

  private answered(sending: Sending, { status, head, body }: HttpAnswer): void {
    const nowMs = performance.now();
    const { operation, kind, dueMs } = sending;
    const { tally, random } = this.options;
    tally.answered(kind, nowMs - dueMs);
    const json = operation.attempt === 0 && status < 300 ? null : JSON.parse(body.toString('utf8'));
    if (status >= 300) tally.refused(kind, json.error.code);
    if (operation.attempt === 0 || status === UNAVAILABLE) return;
    this.acknowledged(sending, { status, head, body }, json);
    if (operation.isKeyed && sending.isFirst && random.chance(REPEATED_SHARE)) {
      this.followUp(sending, 'idempotent retry');
    }
  }

  /** Takes in the answer to a change that was executed. */
  private acknowledged(
    { operation, kind }: Sending,
    { status, head, body }: HttpAnswer,
    json: object,
  ): void {
    const { record, tally } = this.options;
    const isReplay = head.includes(REPLAYED);
    if (isReplay) tally.replays++;
    const isFirst = record.answers(operation.attempt) === 0;
    if (!record.answered(operation.attempt, answerHash(status, body), isReplay)) {
      tally.problem(`${kind} was answered differently the second time: ${body.toString('utf8')}`);
    }
    if (isFirst) operation.trader.answered(operation, status, json);
  }

  private followUp({ operation, firstSentMs }: Sending, kind: string): void {
    const nowMs = performance.now();
    if (nowMs - firstSentMs > RETRY_MS) return;
    this.followUps.push({ operation, kind, dueMs: nowMs, firstSentMs, isFirst: false });
  }
}
