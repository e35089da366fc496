/**
 * Clients that trade over HTTP and the stream, whatever happens to the exchange. Each sends one
 * request at a time and learns its resting orders, shares and deposits from the answers.
 *
 * Invariant: a command with a key or a number (Client-Sequence) is sent until it is answered,
 * and sometimes again afterwards. A command with neither is sent once. Acknowledgements are kept
 * with their answers, for the judge.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { PASSWORD } from '../http/client.js';
import type { Random } from '../workload/random.js';
import { balanceText, bookText, type Observation, type Seen } from './observation.js';
import { type Answer, StreamConnection } from './stream.js';

/** The final answer to a command, which the engine executed or refused. */
export interface Acknowledgement {
  /** Identifies the command in the journal (judge.ts). */
  name: string;
  status: number;
  text: string;
  /** Whether the answer repeats an earlier execution. */
  isReplayed: boolean;
  /** Whether the answer refuses a number that was already executed. */
  isStale: boolean;
  /** The times at which the command was first sent and this answer arrived. */
  calledMs: number;
  receivedMs: number;
}

export interface LoadOptions {
  /** URLs of the API, by replica. Read before each attempt, because a restart may change them. */
  urls(): readonly string[];
  random: Random;
  clients: number;
  /** The longest pause between two requests of a client. */
  pauseMs: number;
  /** The share of requests that only read. */
  reads?: number;
  /** Whether the clients read only balances and books, and keep them. */
  observes?: boolean;
  /** The number of clients that also use the stream, and keep what it sends. */
  onStream?: number;
  /** The share of answers that are lost on the way to the client. */
  lost?: number;
  /** Prefix of the users' names. */
  name?: string;
}

interface Command {
  method: 'POST' | 'PATCH' | 'DELETE';
  path: string;
  body: object;
  headers: Readonly<Record<string, string>>;
  name: string;
  /** The time at which the command was first sent; 0 if it has not been sent. */
  calledMs: number;
}

// biome-ignore lint/suspicious/noExplicitAny: the exchange's tests check the shape of answers
type Json = any;

const RETRY_MS = 100;
const PATIENCE_MS = 5_000;
const MARKET_EVERY_MS = 50;
/** Orders without a key or a number carry their name in the form of a distant validUntilMs. */
const LAST_MS = 8_640_000_000_000;
/** The chance that a command is sent again after its answer, and how many are kept for this. */
const AGAIN = 0.1;
const KEPT = 3;
/** The share of orders that a client on the stream sends there. */
const ON_STREAM = 0.8;

export const keyName = (userId: number, key: string) => `key ${key} of u${userId}`;
export const orderName = (validUntilMs: number) => `order until ${validUntilMs}`;

export class Load {
  readonly acknowledged: Acknowledgement[] = [];
  readonly sent = new Set<string>();
  readonly observed: Observation[] = [];
  /** Final refusals, by code. */
  readonly refused = new Map<string, number>();
  /** Attempts without a final answer: lost connections, and temporary refusals. */
  retries = 0;
  longestMs = 0;
  marketId = '';
  private isStopped = false;
  private readonly work: Promise<void>[] = [];

  constructor(readonly options: LoadOptions) {}

  async start(): Promise<void> {
    await this.findMarket();
    const { clients, name = 'client' } = this.options;
    for (let i = 0; i < clients; i++) {
      const client = new Client(this, i);
      await client.register(`${name}-${i}`);
      this.work.push(client.trade());
    }
    this.work.push(this.followMarkets());
  }

  get isOver(): boolean {
    return this.isStopped;
  }

  /** Returns when every sent command is answered. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.work);
  }

  private async followMarkets(): Promise<void> {
    while (!this.isStopped) {
      await sleep(MARKET_EVERY_MS);
      await this.findMarket();
    }
  }

  private async findMarket(): Promise<void> {
    for (const url of this.options.urls()) {
      try {
        const signal = AbortSignal.timeout(PATIENCE_MS);
        const answer = await fetch(`${url}/markets/15m?asset=BTC`, { signal });
        const { markets } = (await answer.json()) as { markets: { id: string }[] };
        this.marketId = markets[0]?.id ?? '';
        return;
      } catch {
        // Another server may know the answer.
      }
    }
  }
}

const READS = [
  '/markets/15m',
  '/markets?status=resolved&limit=5',
  '/leaderboard?metric=volume&period=day',
  '/users/{id}/balance',
  '/users/{id}/positions',
  '/users/{id}/orders',
  '/users/{id}/trades',
  '/users/{id}/statement',
];
const OF_MARKET = ['', '/orderbook?depth=20', '/trades', '/quote?outcome=UP&amount=5'];

class Client {
  private id = '';
  private userId = 0;
  private token = '';
  private readonly repeating: 'keyed' | 'numbered' | 'bare';
  private readonly resting: { orderId: string; marketId: string }[] = [];
  private readonly held = new Set<string>();
  private readonly recent: Command[] = [];
  private connection: StreamConnection | null = null;
  private count = 0;

  constructor(
    private readonly load: Load,
    private readonly index: number,
  ) {
    this.repeating = (['keyed', 'numbered', 'bare'] as const)[index % 3]!;
  }

  async register(username: string): Promise<void> {
    const body = JSON.stringify({ username, password: PASSWORD });
    const headers = { 'content-type': 'application/json' };
    const url = `${this.load.options.urls()[0]}/auth/register`;
    const answer = await fetch(url, { method: 'POST', headers, body });
    if (answer.status !== 201) throw new Error(`no registration: ${await answer.text()}`);
    const { userId, token } = (await answer.json()) as { userId: string; token: string };
    Object.assign(this, { id: userId, userId: Number(userId.slice(1)), token });
  }

  async trade(): Promise<void> {
    const { random, pauseMs, reads = 0 } = this.load.options;
    while (!this.load.isOver) {
      if (random.chance(reads)) await this.read();
      else if (this.recent.length > 0 && random.chance(AGAIN))
        await this.untilAnswered(random.pick(this.recent), true);
      else await this.untilAnswered(this.next(), false);
      await sleep(random.whole(0, pauseMs));
    }
    this.connection?.close();
  }

  private async read(): Promise<void> {
    const { random, urls, observes = false } = this.load.options;
    const { marketId } = this.load;
    const ofMarket = OF_MARKET.map((what) => `/markets/15m/${marketId}${what}`);
    const paths = observes
      ? ['/users/{id}/balance', `/markets/15m/${marketId}/orderbook`]
      : [...READS, ...ofMarket.slice(1)];
    const path = marketId === '' ? READS[0]! : random.pick(paths);
    const headers = { 'x-user-token': this.token };
    const calledMs = performance.now();
    try {
      const url = random.pick(urls()) + path.replace('{id}', this.id);
      const answer = await fetch(url, { headers });
      const json: Json = await answer.json();
      const what: string = json.marketId ?? json.userId;
      if (!observes || what === undefined) return;
      const value = json.UP === undefined ? balanceText(json) : bookText(json);
      this.observe({ what, sequence: json.sequence, value }, calledMs);
    } catch {
      this.load.retries++;
    }
  }

  private observe(seen: Seen, calledMs = Number.NEGATIVE_INFINITY): void {
    this.load.observed.push({ ...seen, calledMs, receivedMs: performance.now() });
  }

  private next(): Command {
    const { random } = this.load.options;
    const { marketId } = this.load;
    const ended = [...this.held].find((held) => held !== marketId);
    if (ended !== undefined && random.chance(0.2)) {
      this.held.delete(ended);
      return this.command(`/markets/15m/${ended}/claim`, {});
    }
    if (marketId === '' || random.chance(0.1))
      return this.command('/vaults/flex/stake', { amount: 1 });
    const market = `/markets/15m/${marketId}`;
    if (this.resting.length > 0 && random.chance(0.2)) {
      const order = this.resting.pop()!;
      const path = `/markets/15m/${order.marketId}/orders/${order.orderId}`;
      if (random.chance(0.5)) return this.command(path, {}, 'DELETE');
      return this.command(path, { shares: random.whole(500, 9_000) / 1_000 }, 'PATCH');
    }
    const outcome = random.pick(['UP', 'DOWN']);
    const shares = random.whole(1_000, 9_000) / 1_000;
    const price = random.whole(450, 550) / 1_000;
    if (this.held.has(marketId) && random.chance(0.3))
      return this.order(`${market}/sell`, { outcome, shares: random.whole(1, 2_000) / 1_000 });
    if (random.chance(0.3)) return this.order(`${market}/buy`, { outcome, amount: shares });
    const limit = { outcome, shares, price, timeInForce: 'GTC' };
    if (random.chance(0.7)) return this.order(`${market}/buy`, limit);
    const operations = [1, 2].map(() => ({ op: 'buy', marketId, ...limit }));
    return this.command('/batch', { operations, atomic: random.chance(0.5) });
  }

  /** An order needs no key: its time can identify it. */
  private order(path: string, fields: object): Command {
    if (this.repeating !== 'bare') return this.command(path, fields);
    const validUntilMs = LAST_MS - (++this.count * 1_000 + this.index);
    const name = orderName(validUntilMs);
    const body = { ...fields, validUntilMs };
    return { method: 'POST', path, body, headers: {}, name, calledMs: 0 };
  }

  private command(path: string, body: object, method: Command['method'] = 'POST'): Command {
    const number = `${++this.count}`;
    const headers: Record<string, string> =
      this.repeating === 'numbered' ? { 'client-sequence': number } : { 'idempotency-key': number };
    return { method, path, body, headers, name: keyName(this.userId, number), calledMs: 0 };
  }

  private async untilAnswered(command: Command, isAgain: boolean): Promise<void> {
    const { options, sent } = this.load;
    const isBare = Object.keys(command.headers).length === 0;
    sent.add(command.name);
    for (let attempt = options.random.whole(0, 9); ; attempt++) {
      const urls = options.urls();
      if (await this.attempt(urls[attempt % urls.length]!, command)) break;
      this.load.retries++;
      // Its outcome is unknown, and it is not sent again.
      if (isBare || (isAgain && this.load.isOver)) return;
      await sleep(RETRY_MS);
    }
    if (isBare || isAgain) return;
    this.recent.push(command);
    if (this.recent.length > KEPT) this.recent.shift();
  }

  /** Returns whether the answer is final. */
  private async attempt(url: string, command: Command): Promise<boolean> {
    const { random, lost = 0 } = this.load.options;
    const { name } = command;
    const sentMs = performance.now();
    if (command.calledMs === 0) command.calledMs = sentMs;
    try {
      const { status, text, isReplayed } = await this.ask(url, command);
      if (status === 429 || status >= 500 || random.chance(lost)) return false;
      const json: Json = text === '' ? {} : JSON.parse(text);
      const code: string = json.error?.code ?? '';
      const isStale = code === 'client_sequence_stale';
      if (code === '') this.learn(json);
      else this.load.refused.set(code, (this.load.refused.get(code) ?? 0) + 1);
      const { calledMs } = command;
      const receivedMs = performance.now();
      this.load.longestMs = Math.max(this.load.longestMs, receivedMs - sentMs);
      const acknowledgement = { name, status, text, isReplayed, isStale, calledMs, receivedMs };
      this.load.acknowledged.push(acknowledgement);
      return true;
    } catch {
      return false;
    }
  }

  /** A client on the stream still sends some of its orders over HTTP. */
  private async ask(url: string, command: Command): Promise<Answer> {
    const { clients, random, onStream = 0 } = this.load.options;
    const { method, path, body, headers } = command;
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const message = this.index < clients - onStream ? null : streamForm(command);
    if (message !== null && random.chance(ON_STREAM)) {
      if (this.connection?.isOpen !== true)
        this.connection = await StreamConnection.open(url, this.token, (seen) =>
          this.observe(seen),
        );
      this.connection.follow(this.load.marketId);
      const late = new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', reject);
      });
      return Promise.race([this.connection.ask(message), late]);
    }
    const answer = await fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json', 'x-user-token': this.token, ...headers },
      body: method === 'DELETE' ? null : JSON.stringify(body),
      signal,
    });
    const isReplayed = answer.headers.get('idempotency-replayed') === 'true';
    return { status: answer.status, text: await answer.text(), isReplayed };
  }

  private learn(json: Json): void {
    for (const { orderId, marketId, restingShares, fills } of json.results ?? [json]) {
      if (restingShares > 0) this.resting.push({ orderId, marketId });
      if (fills?.length > 0) this.held.add(marketId);
    }
  }
}

/** The command as a message of the stream, or null if it can only be sent over HTTP. */
function streamForm({ method, path, body, headers }: Command): object | null {
  const key = headers['idempotency-key'];
  const number = headers['client-sequence'];
  const repeated = {
    ...(key === undefined ? {} : { idempotencyKey: key }),
    ...(number === undefined ? {} : { clientSequence: Number(number) }),
  };
  if (path === '/batch') return { op: 'batch', ...body, ...repeated };
  const parts = /^\/markets\/15m\/([^/]+)\/(\w+)(?:\/(\w+))?$/.exec(path);
  if (parts === null) return null;
  const [, marketId, what, orderId] = parts;
  const op = what !== 'orders' ? what : method === 'PATCH' ? 'amend' : 'cancel';
  const named = orderId === undefined ? {} : { orderId };
  return { op: 'order', operation: { op, marketId, ...named, ...body }, ...repeated };
}
