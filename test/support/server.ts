/**
 * For tests over real HTTP: an exchange in this process (free port, temporary folder, a clock and
 * prices controlled by the test), and a small client that checks every answer against the routes'
 * schemas. A test stops what it starts.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { expect, inject } from 'vitest';
import { Code } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { RECENT_RESULT_WORDS } from '../../engine/interface/limits.js';
import { ResultHead } from '../../engine/interface/results.js';
import type { FairUseRates } from '../../gateway/access/fair-use/fair-use.js';
import type { Rate } from '../../gateway/access/fair-use/token-buckets.js';
import type { Route } from '../../gateway/http/route.js';
import type { Clock } from '../../gateway/inputs/clock.js';
import type { PriceFeed, PriceSink } from '../../gateway/inputs/feeds/price-feed.js';
import { createLog } from '../../gateway/observe/log.js';
import { ROUTES } from '../../gateway/resources/routes.js';
import { type Config, readConfig } from '../../gateway/start/config.js';
import { type Exchange, startExchange } from '../../gateway/start/exchange.js';
import { programContract } from '../gateway/contract/check.js';
import { ManualClock } from './clock.js';
import { ANY_SIZE_RESTS } from './engine-support.js';
import { eventually } from './eventually.js';

/** 2025-11-21 04:45 UTC, the start of a window. */
export const WINDOW_START_MS = 1_763_700_300_000;
export const WINDOW_MS = 900_000;
export const MARKET = 'btc-15m-1763700300';
export const PASSWORD = 'correct horse battery';
export const PARTNER_KEY = 'partner-key-of-the-tests';
export const PARTNER_KEYS = [
  { holder: 'acme', sha256: createHash('sha256').update(PARTNER_KEY).digest() },
];

/**
 * The default number of edge threads. In the trial `edges`, the tests of HTTP and of the stream run
 * at edges.
 */
export const EDGE_THREADS = inject('edgeThreads') ?? 0;
/** Marks intended differences at edges: see "Edges" in gateway/CONFIGURATION.md. */
export const AT_EDGES = EDGE_THREADS > 0;

/** A rate so slow that nothing is refilled within a test. */
export const only = (burst: number): Rate => ({ perSecond: 0.001, burst });
/** The given limits, and no others. */
export function rates(some: Partial<FairUseRates>): FairUseRates {
  const none = { user: null, address: null };
  return { orders: none, cancels: none, reads: none, signIns: none, ...some };
}

export class ManualFeed implements PriceFeed {
  private sink: PriceSink | null = null;

  constructor(private readonly clock: Clock) {}

  start(sink: PriceSink): void {
    this.sink = sink;
  }

  stop(): Promise<void> {
    this.sink = null;
    return Promise.resolve();
  }

  deliver(symbol: string, dollars: number): void {
    if (this.sink === null) throw new Error('the feed is not running');
    this.sink(symbol, Math.round(dollars * 1_000_000), this.clock.nowMs());
  }
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** undefined: no body, or not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field
  json: any;
}

/** The status and the code of a refusal, as in `401 missing_token`. */
export function codeOf({ status, json }: Pick<Answer, 'status' | 'json'>): string {
  return `${status} ${json?.error?.code}`;
}

export interface RequestOptions {
  token?: string | undefined;
  headers?: Record<string, string>;
  /** A body that is sent unchanged, instead of JSON. */
  raw?: string | Buffer;
}

export type Verb = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD' | 'OPTIONS' | 'PATCH';

export interface ClientOptions {
  /** The trusted certificates, for an address with https. */
  ca?: string[];
  /** The most connections; null if as many as requests need. */
  connections?: number | null;
}

/** A client of the API at `url`, which ends before /api. */
export class ApiClient {
  private readonly agent: Agent;

  constructor(
    readonly url: string,
    { ca, connections = null }: ClientOptions = {},
  ) {
    this.agent = new Agent({ connections, ...(ca === undefined ? {} : { connect: { ca } }) });
  }

  get(path: string, token?: string): Promise<Answer> {
    return this.send('GET', path, undefined, { token });
  }

  /**
   * A read from the follower, repeated while the follower is behind, for example after a start or
   * on a busy machine.
   */
  async read(path: string, token?: string): Promise<Answer> {
    let answer = await this.get(path, token);
    await eventually(async () => {
      if (answer.status !== 503) return true;
      answer = await this.get(path, token);
      return false;
    });
    return answer;
  }

  /** All entries of a list, from all its pages. The path ends in `?` or `&`. */
  async all(path: string, list: string, token?: string, limit = 50): Promise<Answer['json'][]> {
    const found: Answer['json'][] = [];
    for (let cursor = ''; ; ) {
      const { status, text, json } = await this.read(`${path}limit=${limit}${cursor}`, token);
      expect(status, text).toBe(200);
      expect(json[list].length).toBeLessThanOrEqual(limit);
      found.push(...json[list]);
      if (json.nextCursor === null) return found;
      cursor = `&cursor=${encodeURIComponent(json.nextCursor)}`;
    }
  }

  /** A metric, by its name and labels as in the text. */
  async metric(name: string): Promise<number> {
    return metricIn((await this.get('/metrics')).text, name);
  }

  post(path: string, body: unknown, token?: string): Promise<Answer> {
    return this.send('POST', path, body, { token });
  }

  put(path: string, body: unknown, token?: string): Promise<Answer> {
    return this.send('PUT', path, body, { token });
  }

  delete(path: string, token?: string): Promise<Answer> {
    return this.send('DELETE', path, undefined, { token });
  }

  async send(
    method: Verb,
    path: string,
    body?: unknown,
    options: RequestOptions = {},
  ): Promise<Answer> {
    const headers: Record<string, string> = {};
    const content = options.raw ?? (body === undefined ? undefined : JSON.stringify(body));
    if (content !== undefined) headers['content-type'] = 'application/json';
    if (options.token !== undefined) headers['x-user-token'] = options.token;
    const response = await request(`${this.url}/api${path}`, {
      method,
      headers: { ...headers, ...options.headers },
      body: content ?? null,
      dispatcher: this.agent,
    });
    const text = await response.body.text();
    const answer: Answer = {
      status: response.statusCode,
      headers: response.headers,
      text,
      json: text !== '' && isJson(response.headers) ? JSON.parse(text) : undefined,
    };
    this.check(method, path, answer);
    return answer;
  }

  close(): Promise<void> {
    return this.agent.destroy();
  }

  /** Checks an answer against the description of the API. */
  private check(method: Verb, path: string, answer: Answer): void {
    const route = routeOf(method, path);
    programContract().check(method, path, answer);
    // A parsed object has its fields in schema order.
    const schema = route?.responses[answer.status];
    if (schema != null && answer.json !== undefined) {
      expect(JSON.stringify(answer.json)).toBe(JSON.stringify(schema.parse(answer.json)));
    }
  }
}

export function metricIn(text: string, name: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  if (line === undefined) throw new Error(`no such metric: ${name}`);
  return Number(line.slice(name.length + 1));
}

function isJson(headers: Answer['headers']): boolean {
  return headers['content-type'] === 'application/json';
}

/** The route that serves a request; static segments come first, as in the router. */
export function routeOf(method: string, path: string): Route | undefined {
  const segments = path.split('?')[0]!.split('/');
  const matching = ROUTES.filter((route) => {
    const pattern = route.path.split('/');
    const fits = pattern.every((part, i) => part.startsWith(':') || part === segments[i]);
    return route.method === method && pattern.length === segments.length && fits;
  });
  return matching.sort((a, b) => a.path.split(':').length - b.path.split(':').length)[0];
}

/** The path of a route, with ids that exist or could exist. */
export function pathOf({ path }: Pick<Route, 'path'>, { userId }: { userId: string }): string {
  const ids: Record<string, string> = {
    orderId: 'o1',
    depositId: 'd1',
    tokenId: 'k1',
    symbol: 'BTC',
  };
  return path
    .replace(/^\/markets\/:id|:marketId/, (place) => place.replace(/:\w+/, MARKET))
    .replace(/:(\w+)/g, (_, name: string) => ids[name] ?? userId);
}

export interface Trader {
  userId: string;
  token: string;
  username: string;
}

export class TestServer {
  private constructor(
    readonly folder: string,
    readonly exchange: Exchange,
    readonly api: ApiClient,
    readonly clock: ManualClock,
    readonly feed: ManualFeed,
    /** The lines of the log, from warnings on. */
    readonly logged: string[],
    readonly config: Config,
  ) {}

  /**
   * Starts an exchange without a house and snapshots, and with cheap password hashes. `folder`:
   * from an earlier server, to continue its journal.
   */
  static async start(
    overrides: Partial<Config> = {},
    folder?: string,
    atMs = WINDOW_START_MS,
  ): Promise<TestServer> {
    const dataFolder = folder ?? (await mkdtemp(join(tmpdir(), 'exchange-')));
    const standard = readConfig({
      PORT: '0',
      ASSETS: 'BTC,ETH',
      HOUSE: 'off',
      PASSWORD_COST_LOG2: '10',
      FAIR_USE: 'off',
    });
    // The hash of a snapshot is a command, at a moment that depends on the machine. Tests that
    // count commands or compare states would see it.
    const snapshotEveryMs = Number.POSITIVE_INFINITY;
    const config = {
      ...standard,
      dataFolder,
      snapshotEveryMs,
      // Each reservation makes V8 collect garbage. Child processes reserve, as in production.
      reservesMemory: false,
      edgeThreads: EDGE_THREADS,
      ...overrides,
    };
    const clock = new ManualClock(atMs);
    const feed = new ManualFeed(clock);
    let api: ApiClient | null = null;
    // No more answers will come: ends the pending requests and fails the run with the reason.
    const onFatal = (error: Error) => {
      void api?.close();
      setImmediate(() => {
        throw error;
      });
    };
    const logged: string[] = [];
    const log = createLog('warn', { write: (line) => logged.push(line) });
    const exchange = await startExchange({
      config,
      log,
      onFatal,
      inputs: { clock, feed, venues: [] },
    });
    api = new ApiClient(`http://127.0.0.1:${exchange.port}`);
    return new TestServer(dataFolder, exchange, api, clock, feed, logged, config);
  }

  /** Opens {@link MARKET} at a start price of 100,000 dollars. Orders of any size rest. */
  static async withMarket(overrides: Partial<Config> = {}): Promise<TestServer> {
    const server = await TestServer.start(overrides);
    server.submit(ANY_SIZE_RESTS);
    server.feed.deliver('BTC', 100_000);
    return server;
  }

  /** Stops the server. Its folder remains, for another server. */
  async close(): Promise<void> {
    await this.api.close();
    await this.exchange.stop();
  }

  async stop(): Promise<void> {
    await this.close();
    await rm(this.folder, { recursive: true });
  }

  async register(username: string, referralCode?: string): Promise<Trader> {
    const body = {
      username,
      password: PASSWORD,
      ...(referralCode === undefined ? {} : { referralCode }),
    };
    return this.registered(body, {});
  }

  /** Registers a user of the partner with {@link PARTNER_KEY}. */
  registerByPartner(username: string): Promise<Trader> {
    const headers = { authorization: `Bearer ${PARTNER_KEY}` };
    return this.registered({ username, password: PASSWORD }, headers);
  }

  /** Registers a user of the partner who has a dollar left. */
  async registerPoor(username: string): Promise<Trader> {
    const trader = await this.registerByPartner(username);
    const userId = Number(trader.userId.slice(1));
    const amountMicros =
      this.exchange.sequencer.engine.account(userId)!.availableMicros - 1_000_000;
    const transfer = { userId, amountMicros, reference: `out of ${username}` };
    this.submit({ kind: 'withdraw', partner: PARTNER_KEYS[0]!.holder, ...transfer });
    return trader;
  }

  /**
   * Repeats a registration that was refused for overload, as happens on a busy machine. The refusal
   * executed nothing.
   */
  private async registered(body: object, headers: Record<string, string>): Promise<Trader> {
    let answer = await this.api.send('POST', '/auth/register', body, { headers });
    await eventually(async () => {
      if (answer.status !== 503) return true;
      answer = await this.api.send('POST', '/auth/register', body, { headers });
      return false;
    });
    const { status, json, text } = answer;
    expect(status, text).toBe(201);
    return { userId: json.userId, token: json.token, username: json.username };
  }

  buy({ token }: { token: string }, body: object, marketId = MARKET): Promise<Answer> {
    return this.api.post(`/markets/15m/${marketId}/buy`, body, token);
  }

  /** The API's answers about traders and a market's book, without the sequence. */
  async shown(traders: readonly Trader[], marketId = MARKET): Promise<object[]> {
    const parts = ['balance', 'orders', 'positions', 'referral', 'vaults'];
    const own = traders.flatMap(({ userId, token }) =>
      parts.map((part) => this.api.get(`/users/${userId}/${part}`, token)),
    );
    const book = this.api.get(`/markets/15m/${marketId}/orderbook`);
    const answers = await Promise.all([...own, book, this.api.get('/vaults')]);
    return answers.map(({ status, json }) => {
      expect(status).toBe(200);
      return { ...json, sequence: 0 };
    });
  }

  /** Moves time to `atMs`, with a price of the asset every half minute and at the end. */
  async passTime(atMs: number, dollars: number, symbol = 'BTC'): Promise<void> {
    while (this.clock.nowMs() < atMs) {
      this.clock.set(Math.min(atMs, this.clock.nowMs() + 30_000));
      this.feed.deliver(symbol, dollars);
    }
    await this.advance();
  }

  /** Runs all work that is due. */
  async advance(): Promise<void> {
    const { engine } = this.exchange.sequencer;
    do {
      this.submit({ kind: 'advanceTime' });
      expect(engine.result.values[ResultHead.code]).toBe(Code.ok);
    } while (engine.nextDueMs() <= this.clock.nowMs());
    await this.durable();
  }

  submit(command: Command): void {
    this.exchange.sequencer.submit(command);
  }

  /**
   * Drops the results of used keys from memory, as many later commands would: their answers then
   * come from the history.
   */
  dropResults(): void {
    const { engine } = this.exchange.sequencer;
    engine.keepRecentResults(0);
    engine.keepRecentResults(RECENT_RESULT_WORDS);
  }

  /** Waits until every submitted command is durable. */
  durable(): Promise<void> {
    return eventually(() => this.exchange.sequencer.backlog === 0);
  }

  /** Waits until the follower has all durable commands, so that reads of history succeed. */
  async followed(): Promise<void> {
    await this.durable();
    await eventually(async () => {
      const { text } = await this.api.get('/metrics');
      return /^exchange_follower_lag_commands 0$/m.test(text);
    });
  }

  /** Identifies a state: the journal's end and the engine's digest. */
  async state(): Promise<{ sequence: number; digest: string }> {
    const { json } = await this.api.get('/status');
    return { sequence: json.sequence, digest: json.digest };
  }
}
