/**
 * The load: sends the traders' requests over a fixed number of connections, repeats some of them,
 * and hangs up now and then.
 *
 * Always holds: a change is sent again only with its idempotency key or its number, with the same
 * bytes, and within {@link RETRY_MS} of the first time, before the key expires.
 */
import type { HttpConnection } from '../../../bench/http/load/connection.js';
import type { HttpAnswer } from '../../../bench/http/load/messages.js';
import { PacedLoad } from '../../../bench/http/load/paced-load.js';
import type { Random } from '../../../bench/workload/random.js';
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
const UNAVAILABLE = 503;
const CONFLICT = 409;
const REPLAYED = 'Idempotency-Replayed: true';

export interface LoadOptions {
  port: number;
  connections: number;
  traders: readonly Trader[];
  record: AttemptRecord;
  tally: Tally;
  random: Random;
}

interface StaleError {
  code: string;
  details: { last: number };
}

interface Kept {
  kind: string;
  dueMs: number;
  firstSentMs: number;
  isFirst: boolean;
}

interface Sending extends Kept {
  bytes: Uint8Array;
  operation: Operation;
  isUnderWay: boolean;
  hungUp: boolean;
}

function sendingOf(operation: Operation, kept: Kept): Sending {
  return { ...kept, operation, bytes: operation.request, isUnderWay: true, hungUp: false };
}

export class Load extends PacedLoad<Sending> {
  constructor(private readonly options: LoadOptions) {
    super(options.port, options.connections, false);
  }

  /** Resolves to the requests answered per second. */
  async closedLoop(durationMs: number): Promise<number> {
    const { tally } = this.options;
    const startedMs = performance.now();
    const before = tally.answers;
    let rate = 0;
    await this.run(durationMs, null, () => {
      rate = ((tally.answers - before) / (performance.now() - startedMs)) * 1_000;
    });
    return rate;
  }

  openLoop(perSecond: number, durationMs: number): Promise<void> {
    return this.run(durationMs, { perSecond, random: this.options.random });
  }

  protected next(dueMs: number, nowMs: number): Sending {
    const { traders, random } = this.options;
    const operation = random.pick(traders).next(random.weighted(MIX), nowMs);
    return sendingOf(operation, { kind: operation.kind, dueMs, firstSentMs: nowMs, isFirst: true });
  }

  protected override sent(sending: Sending, connection: HttpConnection): void {
    const { random } = this.options;
    if (!sending.isFirst || !random.chance(HANG_UP_SHARE)) return;
    const hangUp = () => {
      if (!sending.isUnderWay) return;
      sending.hungUp = true;
      connection.hangUp();
    };
    setTimeout(hangUp, random.whole(0, HANG_UP_WITHIN_MS));
  }

  protected settled(sending: Sending, answer: HttpAnswer | null): void {
    sending.isUnderWay = false;
    if (answer === null) this.lost(sending);
    else this.answered(sending, answer);
  }

  private lost(sending: Sending): void {
    const { operation, kind, hungUp } = sending;
    const { record, tally } = this.options;
    if (hungUp) tally.hangUps++;
    else tally.problem(`the exchange closed a connection before it answered (${kind})`);
    if (operation.attempt !== 0) record.lost(operation.attempt);
    if (operation.repeating !== 'bare') this.followUp(sending, 'again after a hang-up');
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
    if (operation.repeating !== 'bare' && sending.isFirst && random.chance(REPEATED_SHARE)) {
      this.followUp(sending, 'idempotent retry');
    }
  }

  /** Takes in the answer to a change that was executed. */
  private acknowledged(
    { operation, kind }: Sending,
    { status, head, body }: HttpAnswer,
    json: { error?: StaleError },
  ): void {
    const { record, tally } = this.options;
    if (operation.repeating === 'numbered') {
      if (status === CONFLICT && this.isStale(operation.attempt, json)) return;
      if (record.answers(operation.attempt) > 0)
        tally.problem(`${kind} was executed twice under one Client-Sequence`);
    }
    const isReplay = head.includes(REPLAYED);
    if (isReplay) tally.replays++;
    const isFirst = record.answers(operation.attempt) === 0;
    if (!record.answered(operation.attempt, answerHash(status, body), isReplay)) {
      tally.problem(`${kind} was answered differently the second time: ${body.toString('utf8')}`);
    }
    if (isFirst) operation.trader.answered(operation, status, json);
  }

  /** Records that the number was refused; returns false for another refusal. */
  private isStale(attempt: number, { error }: { error?: StaleError }): boolean {
    if (error?.code !== 'client_sequence_stale') return false;
    const { record, tally } = this.options;
    record.stale(attempt);
    const last = error.details.last;
    if (last < attempt) tally.problem(`the number ${attempt} was refused after ${last}`);
    return true;
  }

  private followUp({ operation, firstSentMs }: Sending, kind: string): void {
    const nowMs = performance.now();
    if (nowMs - firstSentMs > RETRY_MS) return;
    this.followUps.push(sendingOf(operation, { kind, dueMs: nowMs, firstSentMs, isFirst: false }));
  }
}
