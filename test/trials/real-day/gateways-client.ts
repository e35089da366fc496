/**
 * A client of an exchange with several gateways: each request goes to one of them at random, with a
 * key where keys are taken, and is repeated until it is answered for good.
 *
 * Always holds: a read includes everything that any user of this client was told before, through
 * whichever gateway.
 */
import type { Random } from '../../../bench/workload/random.js';
import {
  type Answer,
  ApiClient,
  type RequestOptions,
  routeOf,
  type Verb,
} from '../../support/server.js';

/** Grows with each attempt: hundreds of clients must not take the CPU from a takeover. */
const RETRY_MS = { first: 50, most: 400 };
const PATIENCE_MS = 60_000;

export class GatewaysClient extends ApiClient {
  /** Attempts that were not the last one: during a takeover. */
  repeated = 0;
  private readonly gateways: readonly ApiClient[];
  /** The last of all answers. */
  private sequence = 0;
  private keys = 0;

  /**
   * @param readsAnyAge Reads without a token may be as old as a gateway allows.
   */
  constructor(
    urls: readonly string[],
    private readonly random: Random,
    private readonly readsAnyAge = false,
  ) {
    super(urls[0]!);
    this.gateways = urls.map((url) => new ApiClient(url));
  }

  override async send(
    method: Verb,
    path: string,
    body?: unknown,
    options: RequestOptions = {},
  ): Promise<Answer> {
    const headers = { ...options.headers, ...this.headersFor(method, path) };
    const giveUpAtMs = performance.now() + PATIENCE_MS;
    for (let waitMs = RETRY_MS.first; ; waitMs = Math.min(2 * waitMs, RETRY_MS.most)) {
      const gateway = this.random.pick(this.gateways);
      const isLast = performance.now() > giveUpAtMs;
      try {
        const answer = await gateway.send(method, path, body, { ...options, headers });
        const isFinal = answer.status !== 503 && answer.status !== 504;
        if (isFinal || isLast) {
          await this.note(gateway, method, answer, options.token);
          return answer;
        }
      } catch (error) {
        // A gateway closes a connection on which nothing came for ten seconds.
        const isClosed = (error as { code?: string }).code === 'UND_ERR_SOCKET';
        const isRepeatable = method === 'GET' || 'idempotency-key' in headers;
        if (isLast || !isClosed || !isRepeatable) throw error;
      }
      this.repeated++;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }

  override async close(): Promise<void> {
    await super.close();
    for (const gateway of this.gateways) await gateway.close();
  }

  private headersFor(method: Verb, path: string): Record<string, string> {
    if (method === 'GET') return this.readsAnyAge ? {} : { 'min-sequence': `${this.sequence}` };
    if (routeOf(method, path)?.idempotent !== true) return {};
    return { 'idempotency-key': `key-${++this.keys}` };
  }

  /**
   * A refusal says no sequence, but what the same gateway then answers the user is at least as new.
   */
  private async note(
    gateway: ApiClient,
    method: Verb,
    answer: Answer,
    token: string | undefined,
  ): Promise<void> {
    const isRefusedChange = method !== 'GET' && answer.status >= 400 && token !== undefined;
    const { json } = isRefusedChange ? await gateway.read('/auth/session', token) : answer;
    if (typeof json?.sequence === 'number') this.sequence = Math.max(this.sequence, json.sequence);
  }
}
