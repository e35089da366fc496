/**
 * The minute around a market's end at ten times the normal rate, on the built program: orders and
 * cancels over HTTP and over the stream, in the market that ends and in the next one.
 *
 * Every request is answered; each answer is the one that the journal gives; what is executed in the
 * market comes before its end and what is refused for the end after it; the stream has every trade,
 * in order; every balance shown is the journal's, and money is conserved.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eachEvent } from '../../../bench/measure/events.js';
import { Random } from '../../../bench/workload/random.js';
import type { Engine } from '../../../engine/engine.js';
import { CODES } from '../../../engine/interface/codes.js';
import type { Command } from '../../../engine/interface/commands.js';
import { marketIdText } from '../../../engine/interface/notation.js';
import { ResultHead } from '../../../engine/interface/results.js';
import { type Message, StreamClient } from '../../gateway/stream/support.js';
import { eventually, NO_MARKET_MS } from '../../support/eventually.js';
import { extent, SEED } from '../../support/extent.js';
import { replayJournal } from '../../support/journal-fixture.js';
import { type ChildServer, Exchanges } from '../../support/programs.js';
import { type ApiClient, PASSWORD } from '../../support/server.js';
import { answerOf } from '../../trials/soak/answers.js';

const ENDS = extent(10, 1);
/** Requests a second of real time, and how many times as many in the minute around the end. */
const NORMAL_RATE = 30;
const TIMES = 10;
/** A market lasts 30 s, and the minute around its end 2 s. */
const SPEED = 30;
const HALF_MINUTE_MS = 30_000;
/** What a market must have left, so that there is trading in it before the minute of its end. */
const LEFT_MS = 120_000;
const WINDOW_MS = 900_000;
const TRADERS = 12;
/** The first of them send over the stream. */
const STREAMING = 4;
const LAST_MS = 8_640_000_000_000;
const UNLIMITED = '1000000/1000000';
const REFUSALS = [
  'market_not_active',
  'market_not_found',
  'insufficient_liquidity',
  'insufficient_shares',
  'too_small_to_rest',
  'order_closed',
  'price_not_met',
  'post_only_would_trade',
];

interface Attempt {
  /** Identifies it in the journal. */
  mark: string;
  marketId: string;
  /** Whether an order in the market had been executed before it was sent. */
  wasOpen: boolean;
  /** null: not answered yet. */
  status: number | null;
  body: Message;
}

interface Seen {
  userId: string;
  sequence: number;
  availableMicros: number;
  heldMicros: number;
}

const exchanges = new Exchanges();
let server: ChildServer;
let api: ApiClient;
const random = new Random(SEED);
const attempts: Attempt[] = [];
const open = new Set<string>();
const seen: Seen[] = [];
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

beforeAll(async () => {
  server = exchanges.spawn({
    ASSETS: 'BTC',
    FEED_SPEED: `${SPEED}`,
    STARTING_BALANCE: '100000',
    ORDERS_PER_USER: UNLIMITED,
    ORDERS_PER_ADDRESS: UNLIMITED,
    CANCELS_PER_USER: UNLIMITED,
    CANCELS_PER_ADDRESS: UNLIMITED,
    READS_PER_USER: UNLIMITED,
    READS_PER_ADDRESS: UNLIMITED,
    SIGN_INS_PER_ADDRESS: UNLIMITED,
    LOG_LEVEL: 'warn',
  });
  api = await exchanges.listening(server);
});
afterAll(() => exchanges.end());

class Trader {
  private readonly resting: { marketId: string; orderId: string }[] = [];
  private lastId = 0;
  /** Requests over the stream, in the order in which they were sent. */
  private readonly unanswered: Attempt[] = [];
  private lastSequence = 0;

  constructor(
    readonly userId: string,
    readonly token: string,
    readonly stream: StreamClient | null,
  ) {
    stream?.socket.on('message', (data) => {
      const message = JSON.parse(data.toString());
      if (message.type === 'receipt' || message.type === 'error') this.receipt(message);
    });
  }

  send(marketId: string): void {
    const order = random.chance(0.25) ? this.resting.pop() : undefined;
    const at = order?.marketId ?? marketId;
    const number = attempts.length;
    const operation = order === undefined ? orderOf(at, number) : { op: 'cancel', ...order };
    const mark = order === undefined ? `${operation.validUntilMs}` : `cancel:${order.orderId}`;
    const attempt = { mark, marketId: at, wasOpen: open.has(at), status: null, body: null };
    attempts.push(attempt);
    if (this.stream === null) void this.sendOverHttp(attempt, operation);
    else {
      this.unanswered.push(attempt);
      this.stream.send({ op: 'order', id: `${++this.lastId}`, operation });
    }
  }

  private async sendOverHttp(attempt: Attempt, { op, ...fields }: Message): Promise<void> {
    const { marketId, orderId, ...body } = fields;
    const path = `/markets/15m/${marketId}`;
    const { token } = this;
    const { status, json } =
      op === 'cancel'
        ? await api.send('DELETE', `${path}/orders/${orderId}`, {}, { token })
        : await api.send('POST', `${path}/${op}`, body, { token });
    this.answered(attempt, status, status === 200 ? json : json.error);
  }

  /** Answers come in the order of the requests. */
  private receipt({ type, id, replayed, ...body }: Message): void {
    const attempt = this.unanswered.shift()!;
    expect(Number(id)).toBe(this.lastId - this.unanswered.length);
    if (type === 'receipt') {
      expect(replayed).toBe(false);
      expect(body.sequence).toBeGreaterThan(this.lastSequence);
      this.lastSequence = body.sequence;
    }
    this.answered(attempt, type === 'receipt' ? 200 : 0, body);
  }

  private answered(attempt: Attempt, status: number, body: Message): void {
    expect(attempt.status, 'answered twice').toBeNull();
    attempt.status = status;
    attempt.body = body;
    if (status !== 200) return;
    open.add(attempt.marketId);
    const { marketId, orderId, restingShares } = body;
    if (restingShares > 0) this.resting.push({ marketId, orderId });
  }
}

function orderOf(marketId: string, number: number): Message {
  const outcome = random.pick(['UP', 'DOWN']);
  const validUntilMs = LAST_MS - 1 - number;
  const common = { marketId, outcome, validUntilMs };
  if (random.chance(0.2)) return { op: 'sell', ...common, shares: random.whole(1, 3) };
  const price = random.whole(400, 560) / 1_000;
  const timeInForce = random.pick(['GTC', 'GTC', 'IOC', 'FOK']);
  return { op: 'buy', ...common, price, shares: random.whole(1, 5), timeInForce };
}

async function meet(index: number): Promise<Trader> {
  const username = `trader-${index}`;
  const { json } = await api.post('/auth/register', { username, password: PASSWORD });
  const port = Number(new URL(api.url).port);
  const stream =
    index < STREAMING ? await StreamClient.connect(port, { 'x-user-token': json.token }) : null;
  return new Trader(json.userId, json.token, stream);
}

interface Open {
  id: string;
  endsAtMs: number;
  /** The exchange's time. */
  nowMs: () => number;
}

/**
 * The active market, once it has time left. An exchange that begins in the last minute of a quarter
 * hour has none at first.
 */
async function marketWithTimeLeft(): Promise<Open> {
  let found: Open | undefined;
  await eventually(async () => {
    const { json } = await api.get('/markets/15m');
    const readAtMs = performance.now();
    const nowMs = () => json.serverTimeMs + (performance.now() - readAtMs) * SPEED;
    const [market] = json.markets;
    if (market === undefined || market.endsAtMs - nowMs() < LEFT_MS) return false;
    found = { id: market.id, endsAtMs: market.endsAtMs, nowMs };
  }, NO_MARKET_MS);
  return found!;
}

async function tradeThroughEnd(
  traders: readonly Trader[],
  { id, endsAtMs, nowMs }: Open,
): Promise<void> {
  const next = `btc-15m-${endsAtMs / 1_000}`;
  let dueMs = performance.now();
  while (nowMs() < endsAtMs + 2 * HALF_MINUTE_MS) {
    const isMinute = Math.abs(nowMs() - endsAtMs) < HALF_MINUTE_MS;
    for (; dueMs <= performance.now(); dueMs += 1_000 / (NORMAL_RATE * (isMinute ? TIMES : 1)))
      random.pick(traders).send(isMinute && random.chance(0.3) ? next : id);
    await sleep(2);
  }
}

async function look(traders: readonly Trader[]): Promise<void> {
  for (const { userId, token } of traders) {
    const { json } = await api.get(`/users/${userId}/balance`, token);
    const micros = (dollars: number) => Math.round(dollars * 1_000_000);
    const [availableMicros, heldMicros] = [micros(json.available), micros(json.held)];
    seen.push({ userId, sequence: json.sequence, availableMicros, heldMicros });
  }
}

test(`${ENDS} ends of a market at ${TIMES} times the rate, SEED=${SEED}`, {
  timeout: 120_000 + ENDS * 60_000,
}, async () => {
  const traders: Trader[] = [];
  for (let i = 0; i < TRADERS; i++) traders.push(await meet(i));
  const watch = await StreamClient.connect(Number(new URL(api.url).port));
  const ended: string[] = [];
  const followed = new Map<string, number>();
  for (let i = 0; i < ENDS; i++) {
    const market = await marketWithTimeLeft();
    const [snapshot] = await watch.subscribe(`trades:${market.id}`);
    if (i === 0) await watch.subscribe('markets');
    followed.set(market.id, snapshot.sequence);
    await tradeThroughEnd(traders, market);
    ended.push(market.id);
  }
  await eventually(() => attempts.every(({ status }) => status !== null));
  const isResolved = ({ change, marketId }: Message) =>
    change === 'resolved' && marketId === ended.at(-1);
  await eventually(() => {
    watch.check();
    return watch.messages.some(({ data }) => data?.changes?.some(isResolved));
  });
  await look(traders);
  await watch.caughtUp();
  for (const { stream } of traders) stream?.check();
  for (const { stream } of traders) stream?.socket.close();
  watch.socket.close();
  expect(await server.stop()).toBe(0);

  const codes = new Map<string, number>();
  for (const { status, body, wasOpen } of attempts) {
    const code = status === 200 ? 'ok' : body.code;
    codes.set(code, (codes.get(code) ?? 0) + 1);
    if (code !== 'ok') expect(REFUSALS, JSON.stringify(body)).toContain(code);
    if (code === 'market_not_found') expect(wasOpen, 'it was there before').toBe(false);
  }
  const trades = await checkJournal(followed);
  for (const marketId of ended) checkStream(watch.messages, marketId, trades.get(marketId)!);
  process.stdout.write(
    `${attempts.length} requests, ${JSON.stringify(Object.fromEntries(codes))}; ` +
      `${ended.map((id) => trades.get(id)!.length)} trades on the stream\n`,
  );
  // On a slow machine there are fewer, but some came before the end and some after it.
  expect(codes.get('ok')).toBeGreaterThan(10);
  expect(codes.get('market_not_active')).toBeGreaterThan(10);
});

/** The trades in each followed market after the stream's snapshot, by the journal. */
async function checkJournal(followed: Map<string, number>): Promise<Map<string, number[]>> {
  const trades = new Map([...followed.keys()].map((id) => [id, [] as number[]]));
  const byMark = new Map(attempts.map((attempt) => [attempt.mark, attempt]));
  expect(byMark.size).toBe(attempts.length);
  const bySequence = new Map<number, Seen[]>();
  for (const each of seen)
    bySequence.set(each.sequence, [...(bySequence.get(each.sequence) ?? []), each]);
  let lastMs = 0;
  const engine = await replayJournal(exchanges.folder, (engine, command) => {
    expect(engine.nowMs).toBeGreaterThanOrEqual(lastMs);
    lastMs = engine.nowMs;
    eachEvent(engine.events, (name, field) => {
      if (name !== 'trade') return;
      const marketId = marketIdText(engine, field('marketId'));
      if (engine.sequence > (followed.get(marketId) ?? Number.POSITIVE_INFINITY))
        trades.get(marketId)!.push(field('tradeId'));
    });
    for (const { userId, availableMicros, heldMicros } of bySequence.get(engine.sequence) ?? [])
      expect(engine.account(Number(userId.slice(1)))).toMatchObject({
        availableMicros,
        heldMicros,
      });
    bySequence.delete(engine.sequence);
    const mark = markOf(command);
    const attempt = mark === null ? undefined : byMark.get(mark);
    if (attempt === undefined) return;
    byMark.delete(mark!);
    checkAnswer(engine, command, attempt);
  });
  engine.checkInvariants();
  expect([...bySequence.keys()], 'sequences that were shown but are missing').toEqual([]);
  // Only an unknown market is refused without a command.
  const without = [...byMark.values()].filter(({ body }) => body.code !== 'market_not_found');
  expect(without, 'answered, but not in the journal').toEqual([]);
  return trades;
}

function markOf(command: Command): string | null {
  if (command.kind === 'buy' || command.kind === 'sell') return `${command.validUntilMs}`;
  return command.kind === 'cancel' ? `cancel:o${command.orderId}` : null;
}

/** The answer is the journal's, and an order is on the right side of its market's end. */
function checkAnswer(engine: Engine, command: Command, { status, body, marketId }: Attempt): void {
  const expected = JSON.parse(Buffer.from(answerOf(engine, command).body as string).toString());
  expect(body).toEqual(status === 200 ? expected : expected.error);
  if (command.kind === 'cancel') return;
  const code = CODES[engine.result.values[ResultHead.code]!]!;
  const endsAtMs = Number(marketId.split('-').at(-1)) * 1_000 + WINDOW_MS;
  if (code === 'market_not_active') expect(engine.nowMs).toBeGreaterThanOrEqual(endsAtMs);
  else expect(engine.nowMs).toBeLessThan(endsAtMs);
}

/** Every trade in order, then the end, then the resolution. */
function checkStream(messages: readonly Message[], marketId: string, expected: number[]): void {
  const channel = `trades:${marketId}`;
  const deltas = messages.filter((each) => each.channel === channel && each.type === 'delta');
  const shown = deltas.flatMap(({ data }) => data.trades).map(({ tradeId }) => tradeId);
  expect(shown).toEqual(expected.map((tradeId) => `t${tradeId}`));
  const changeAt = (wanted: string) =>
    messages.find(({ data }) =>
      data?.changes?.some((each: Message) => each.change === wanted && each.marketId === marketId),
    )!.sequence;
  expect(deltas.at(-1)!.sequence).toBeLessThanOrEqual(changeAt('ended'));
  expect(changeAt('ended')).toBeLessThanOrEqual(changeAt('resolved'));
}
