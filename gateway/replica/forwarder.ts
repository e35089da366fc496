/**
 * On a replica: sends clients' requests to the leader and brings back its answers.
 *
 * Always holds:
 * - a request is sent again, to the next leader, only if it cannot be executed twice: it has an
 *   idempotency key, changes nothing, or was returned unexecuted;
 * - every request is answered once: by a leader or, when it has waited too long, with what is known
 *   about it. The answer `notExecuted` is only given when no leader has received the request; and a
 *   change that an earlier leader may have executed is not refused by the limits of the next one;
 * - what waits is bounded in number and in bytes.
 */
import type { ElapsedMs } from '../fair-use/token-buckets.js';
import type { LeaderLink } from './leader-link.js';
import {
  type AnswerHead,
  type Frame,
  FrameKind,
  frameOf,
  type RequestHead,
} from './link-frames.js';

/** How long a change waits for a leader and its answer; clients wait as long. */
export const CHANGE_MS = 10_000;
/** How long a read does. */
export const READ_MS = 2_000;
const SWEEP_MS = 100;

const REQUESTS_MAX = 20_000;
const BYTES_MAX = 64 * 1024 * 1024;
/** Counted per request besides its bytes. */
const OWN_BYTES = 1_024;

/** `full`: too much waits. `notExecuted`: no leader has received it. `unknown`: one may have. */
type NotAnswered = 'full' | 'notExecuted' | 'unknown';
export type Answered = (answer: AnswerHead | NotAnswered, body: Uint8Array) => void;

export interface Forwardable {
  head: RequestHead;
  body: Uint8Array;
  isChange: boolean;
  /** Whether it may be sent again when it is unknown if it was executed. */
  isRepeatable: boolean;
  /** How long it waits. */
  waitMs: number;
}

interface Waiting {
  number: number;
  frame: Uint8Array;
  isChange: boolean;
  isRepeatable: boolean;
  /** Whether a leader may have received it and not returned it. */
  isSent: boolean;
  /** Whether one may have executed it. */
  isDoubtful: boolean;
  untilMs: number;
  answered: Answered;
}

const NONE: Uint8Array = new Uint8Array(0);
/** Refusals of a request that has not reached the engine, nor its remembered answers. */
const BEFORE_THE_ENGINE: ReadonlySet<number> = new Set([401, 403, 429, 503]);
const NUMBERS = 2 ** 32;

export class Forwarder {
  private readonly waiting = new Map<number, Waiting>();
  private bytes = 0;
  private lastNumber = 0;
  private sweeper: NodeJS.Timeout | null = null;
  private sentAgain = 0;

  constructor(
    private readonly link: LeaderLink,
    private readonly elapsedMs: ElapsedMs,
  ) {}

  /** Requests without an answer. */
  get count(): number {
    return this.waiting.size;
  }

  /** Requests sent to a second leader since the start. */
  get sentAgainCount(): number {
    return this.sentAgain;
  }

  /** `answered` is called once, possibly before this returns. */
  send({ head, body, isChange, isRepeatable, waitMs }: Forwardable, answered: Answered): void {
    const { link } = this;
    const number = this.nextNumber();
    const frame = frameOf(FrameKind.request, number, JSON.stringify(head), body);
    const bytes = frame.byteLength + OWN_BYTES;
    if (this.waiting.size >= REQUESTS_MAX || this.bytes + bytes > BYTES_MAX) {
      answered('full', NONE);
      return;
    }
    const waiting: Waiting = {
      number,
      frame,
      isChange,
      isRepeatable,
      isSent: link.isOpen,
      isDoubtful: false,
      untilMs: this.elapsedMs() + waitMs,
      answered,
    };
    this.waiting.set(number, waiting);
    this.bytes += bytes;
    this.sweeper ??= setInterval(() => this.sweep(), SWEEP_MS);
    if (link.isOpen) link.send(frame);
  }

  /** Handles an answer; false: the frame is not about a request. */
  receive({ kind, number, head, body }: Frame): boolean {
    if (kind !== FrameKind.answer && kind !== FrameKind.notServed) return false;
    const waiting = this.waiting.get(number);
    if (kind === FrameKind.notServed) this.link.leave();
    if (waiting === undefined) return true;
    if (kind === FrameKind.notServed) waiting.isSent = false;
    else if (isUnknownStill(waiting, head as AnswerHead)) this.finish(waiting, 'unknown');
    else this.finish(waiting, head as AnswerHead, body);
    return true;
  }

  /** There is a leader: sends what waits. */
  opened(): void {
    for (const waiting of this.waiting.values()) {
      if (waiting.isSent) continue;
      if (waiting.isDoubtful) this.sentAgain++;
      waiting.isSent = true;
      this.link.send(waiting.frame);
    }
  }

  /** The connection has ended. */
  closed(): void {
    for (const waiting of this.waiting.values()) {
      if (!waiting.isSent) continue;
      waiting.isSent = false;
      waiting.isDoubtful = true;
      if (!waiting.isRepeatable) this.finish(waiting, 'unknown');
    }
  }

  /** Answers everything that waits. */
  stop(): void {
    for (const waiting of this.waiting.values()) this.giveUp(waiting);
  }

  private sweep(): void {
    const nowMs = this.elapsedMs();
    for (const waiting of this.waiting.values()) {
      if (waiting.untilMs <= nowMs) this.giveUp(waiting);
    }
  }

  private giveUp(waiting: Waiting): void {
    const isUnknown = waiting.isSent || waiting.isDoubtful;
    this.finish(waiting, isUnknown ? 'unknown' : 'notExecuted');
  }

  private finish(waiting: Waiting, answer: AnswerHead | NotAnswered, body = NONE): void {
    this.waiting.delete(waiting.number);
    this.bytes -= waiting.frame.byteLength + OWN_BYTES;
    if (this.waiting.size === 0 && this.sweeper !== null) {
      clearInterval(this.sweeper);
      this.sweeper = null;
    }
    waiting.answered(answer, body);
  }

  /** Not of a request that waits: an answer that comes too late must not be taken for another's. */
  private nextNumber(): number {
    do this.lastNumber = (this.lastNumber + 1) % NUMBERS;
    while (this.waiting.has(this.lastNumber));
    return this.lastNumber;
  }
}

/** Whether an earlier leader may have executed what this one has refused to look at. */
function isUnknownStill({ isChange, isDoubtful }: Waiting, { status }: AnswerHead): boolean {
  return isChange && isDoubtful && BEFORE_THE_ENGINE.has(status);
}
