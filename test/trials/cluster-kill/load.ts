/**
 * Clients of a cluster. Every command has a key and is sent until it is answered, to one gateway
 * after the other. What was acknowledged is remembered with its answer, for the judge.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { PASSWORD } from '../../../bench/http/load/client.js';
import type { Random } from '../../../bench/workload/random.js';

/** What a client was told: the command was executed. */
export interface Acknowledgement {
  userId: number;
  key: string;
  status: number;
  text: string;
  /** The answer is that of an earlier execution. */
  isReplayed: boolean;
  /** When this attempt was sent, and when its answer was there. */
  sentMs: number;
  receivedMs: number;
}

interface Command {
  path: string;
  body: object;
  key: string;
}

const CLIENTS = 8;
const PAUSE_MS = 30;
const RETRY_MS = 100;
const PATIENCE_MS = 2_000;
const MARKET_EVERY_MS = 1_000;

export class Load {
  readonly acknowledged: Acknowledgement[] = [];
  /** Answers that refuse a command for good, by status and code. */
  readonly refused = new Map<string, number>();
  /** Attempts without such an answer: lost connections, and refusals for now. */
  retries = 0;
  private isStopped = false;
  private marketId = '';
  private readonly clients: Promise<void>[] = [];

  constructor(
    private readonly urls: readonly string[],
    private readonly random: Random,
  ) {}

  /** Registers the clients through the first gateway, and lets them trade. */
  async start(): Promise<void> {
    await this.findMarket();
    for (let i = 0; i < CLIENTS; i++) {
      const body = JSON.stringify({ username: `client-${i}`, password: PASSWORD });
      const headers = { 'content-type': 'application/json' };
      const url = `${this.urls[0]}/auth/register`;
      const answer = await fetch(url, { method: 'POST', headers, body });
      if (answer.status !== 201) throw new Error(`no registration: ${await answer.text()}`);
      const { userId, token } = (await answer.json()) as { userId: string; token: string };
      this.clients.push(this.trade(Number(userId.slice(1)), token));
    }
    this.clients.push(this.followMarkets());
  }

  /** Returns when everything that was sent is answered. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.clients);
  }

  private async trade(userId: number, token: string): Promise<void> {
    for (let i = 0; !this.isStopped; i++) {
      await this.untilAnswered(userId, token, this.command(`${userId}:${i}`));
      await sleep(PAUSE_MS);
    }
  }

  private command(key: string): Command {
    const { random, marketId } = this;
    if (marketId === '' || random.chance(0.1))
      return { path: '/vaults/flex/stake', body: { amount: 1 }, key };
    const path = `/markets/15m/${marketId}/buy`;
    const outcome = random.pick(['UP', 'DOWN']);
    if (random.chance(0.3)) return { path, body: { outcome, amount: random.whole(1, 5) }, key };
    const price = random.whole(450, 550) / 1_000;
    const amount = random.whole(1, 5);
    return { path, body: { outcome, amount, price, timeInForce: 'GTC' }, key };
  }

  /** A key is the user's own, so a user's commands come one after the other. */
  private async untilAnswered(userId: number, token: string, command: Command): Promise<void> {
    for (let attempt = this.random.whole(0, this.urls.length - 1); ; attempt++) {
      const url = this.urls[attempt % this.urls.length]!;
      if (await this.attempt(url, userId, token, command)) return;
      this.retries++;
      await sleep(RETRY_MS);
    }
  }

  /** Returns whether the answer is final. */
  private async attempt(
    url: string,
    userId: number,
    token: string,
    { path, body, key }: Command,
  ): Promise<boolean> {
    const sentMs = performance.now();
    try {
      const answer = await fetch(url + path, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-user-token': token,
          'idempotency-key': key,
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const { status } = answer;
      const text = await answer.text();
      if (status === 429 || status >= 500) return false;
      if (status >= 400) {
        const code = `${status} ${(JSON.parse(text) as { error: { code: string } }).error.code}`;
        this.refused.set(code, (this.refused.get(code) ?? 0) + 1);
        return true;
      }
      const isReplayed = answer.headers.get('idempotency-replayed') === 'true';
      const receivedMs = performance.now();
      this.acknowledged.push({ userId, key, status, text, isReplayed, sentMs, receivedMs });
      return true;
    } catch {
      return false;
    }
  }

  private async followMarkets(): Promise<void> {
    while (!this.isStopped) {
      await sleep(MARKET_EVERY_MS);
      await this.findMarket();
    }
  }

  private async findMarket(): Promise<void> {
    for (const url of this.urls) {
      try {
        const signal = AbortSignal.timeout(PATIENCE_MS);
        const answer = await fetch(`${url}/markets/15m?asset=BTC`, { signal });
        const { markets } = (await answer.json()) as { markets: { id: string }[] };
        this.marketId = markets[0]?.id ?? '';
        return;
      } catch {
        // The next one may know.
      }
    }
  }
}
