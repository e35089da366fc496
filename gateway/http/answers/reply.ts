/**
 * A request that is being answered: what it pays, and when its answer leaves. An answer that shows
 * the exchange's state is written once its sequence is durable.
 *
 * Invariant: one answer is written; none if the client has left or the exchange has failed.
 */
import type { ReleaseTarget } from '../../../persistence/sequencer.js';
import type { AddressKey } from '../../access/fair-use/addresses.js';
import type { Cost } from '../../access/fair-use/charges.js';
import type { Bill, Quota } from '../../access/fair-use/fair-use.js';
import { Wallet } from '../../access/fair-use/wallet.js';
import { type ErrorAnswer, rateLimited, UNAVAILABLE } from '../../commands/errors.js';
import { elapsedMs } from '../../observe/clock.js';
import type { AnswerCounts, RouteName } from '../../observe/metrics.js';
import type { Serving } from '../gateway.js';
import type { InFlight } from '../in-flight.js';
import type { Request } from '../request.js';
import type { Answer } from './answer.js';
import { JSON_TYPE } from './response-head.js';

export interface AskedBody {
  readonly cost: Cost;
}

export interface AnsweredRoute extends RouteName {
  /** Content types of successful answers, default first. `application/json` if absent. */
  produces?: readonly string[];
  /**
   * Set if successful answers have an ETag and may be compressed (encoded-answer.ts). `public`:
   * caches may store the answer and must revalidate it, unless the path contains `me`. `private`:
   * no cache stores it.
   */
  caching?: 'public' | 'private';
  /** Fair-use quota; `null` if uncounted. For the default, see {@link quotaOf}. */
  quota?: Quota | null | ((body: AskedBody) => Quota);
}

/** `null` if uncounted. A quota that the body decides counts as the default until then. */
export function quotaOf({ method, quota }: AnsweredRoute): Quota | null {
  if (quota !== undefined && typeof quota !== 'function') return quota;
  return method === 'GET' ? 'reads' : 'orders';
}

/** Where a request comes from and its answer goes: a connection of this process, or an edge. */
export interface Outlet {
  /** The client's address. Must not be read after the request is over. */
  readonly address: AddressKey;
  readonly addressBytes: Uint8Array;
  write(reply: Reply, answer: Answer): void;
  /** Closes the connection instead of answering, because too many answers are unsent. */
  drop(): void;
}

const NO_HEADERS: readonly string[] = [];

export abstract class Reply<Server extends Serving = Serving> implements ReleaseTarget {
  readonly receivedMs = elapsedMs();
  readonly wallet: Wallet;
  private headers: string[] | null = null;
  private produced: string | null = null;
  private prepared: Answer | null = null;
  /** When the request's command was executed; 0 if it has none. */
  appliedMs = 0;
  closesConnection = false;
  /** Called if the client leaves before the answer, to cancel pending work. */
  onLeft: (() => void) | null = null;
  isOver = false;

  constructor(
    readonly gateway: Server,
    readonly route: AnsweredRoute | null,
    private readonly counts: AnswerCounts,
    readonly request: Request,
    readonly outlet: Outlet,
    private readonly inFlight: InFlight<Reply>,
  ) {
    const quota = route === null ? 'reads' : quotaOf(route);
    this.wallet = new Wallet(gateway.fairUse, outlet, quota);
  }

  abstract get userId(): number;

  get address(): AddressKey {
    return this.outlet.address;
  }

  get bill(): Bill {
    return this.wallet.bill;
  }

  /** Whether the client uses HTTPS, as far as this process can tell. */
  get isSecure(): boolean {
    return this.gateway.config.tls !== null || this.request.forwardedProto === 'https';
  }

  addHeader(name: string, value: string): void {
    this.headers ??= [];
    this.headers.push(name, value);
  }

  produce(contentType: string): void {
    this.produced = contentType;
  }

  closeAfterAnswer(): void {
    this.closesConnection = true;
  }

  /**
   * Charges `count` units in total. Above a limit: charges nothing, answers 429, returns false.
   * Also false if the client has left.
   */
  charge(count: number): boolean {
    // The address of a client that has left cannot be read.
    if (this.isOver) return false;
    const waitMs = this.wallet.charge(count);
    if (waitMs === 0) return true;
    const { error, retryAfter } = rateLimited(waitMs);
    this.addHeader('Retry-After', retryAfter);
    return this.refuseNow(error);
  }

  /** Without checking the limit. */
  owe(count: number): void {
    if (!this.isOver) this.wallet.owe(count);
  }

  /** Answers without waiting for the disk; for answers that show no state. */
  answerNow(status: number, text: string): void {
    this.prepare(status, text);
    this.release();
  }

  prepare(status: number, body: string | Uint8Array, sequence = 0): void {
    const { headers, wallet, route } = this;
    const produced = this.produced ?? route?.produces?.[0] ?? JSON_TYPE;
    this.prepared = {
      status,
      contentType: status >= 400 ? JSON_TYPE : produced,
      headers: headers ?? NO_HEADERS,
      // The OpenAPI document lists these headers only for routes.
      rateLimit: route === null ? null : wallet.rateLimit,
      body,
      sequence,
    };
  }

  /** Refuses a request regardless of state. Returns false, so that checks can return it. */
  refuseNow({ status, text }: ErrorAnswer): false {
    this.answerNow(status, text);
    return false;
  }

  refuseOverloaded(): false {
    if (!this.isOver) this.wallet.giveBack();
    this.addHeader('Retry-After', '1');
    return this.refuseUnavailable();
  }

  refuseUnavailable(): false {
    return this.refuseNow(UNAVAILABLE);
  }

  /** Passes on an answer of the core. */
  relay(answer: Answer): void {
    this.prepared = answer;
    this.release();
  }

  drop(): void {
    if (!this.isOver) this.outlet.drop();
  }

  /** Called when the client has left. Nothing may be written after this. */
  abort(): void {
    if (this.isOver) return;
    this.onLeft?.();
    this.end('the client left before the answer');
  }

  release(): void {
    if (this.isOver) return;
    const answer = this.prepared!;
    this.outlet.write(this, answer);
    this.measure(answer);
    this.end('answered');
  }

  protected measure({ status }: Answer): void {
    const { metrics } = this.gateway;
    const nowMs = elapsedMs();
    if (this.appliedMs !== 0) metrics.commitMs.observe(nowMs - this.appliedMs);
    metrics.requestMs.observe(nowMs - this.receivedMs);
    this.counts.add(status);
  }

  get logFields(): object {
    return { request: this.request.id, route: this.route?.path };
  }

  private end(how: string): void {
    this.isOver = true;
    this.inFlight.ended(this);
    const { log } = this.gateway;
    if (!log.isLevelEnabled('debug')) return;
    const { id: request, method } = this.request;
    const tookMs = Math.round((elapsedMs() - this.receivedMs) * 1_000) / 1_000;
    const status = this.prepared?.status ?? 200;
    log.debug({ request, method, route: this.route?.path, user: this.userId, status, tookMs }, how);
  }
}
