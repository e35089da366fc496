/**
 * A client of an exchange that is killed repeatedly. It trades on one connection, one request at a
 * time, records what it sent and received, and after each restart finds out what became of the
 * unanswered request.
 *
 * Every attempt has a mark that identifies it in the journal (orders carry it as validUntilMs), and
 * is only sent again under its idempotency key or its number (Client-Sequence). A number that was
 * executed is refused ever after, so it is sent again at any age.
 */
import { Big } from 'big.js';
import { expect } from 'vitest';
import type { Random } from '../../../bench/workload/random.js';
import { type Answer, type ApiClient, PASSWORD } from '../../support/server.js';
import {
  expectDecimal,
  feeOn,
  HIGHEST_LOT_PRICE,
  type OutcomeName,
  type ResolutionName,
  UserLedger,
} from '../../trials/real-day/user-ledger.js';

export interface Attempt {
  /** Matches the journal's commands to attempts. */
  mark: string;
  method: 'POST' | 'DELETE';
  path: string;
  // biome-ignore lint/suspicious/noExplicitAny: the bodies of four routes
  body: any;
  key: string | null;
  /** The number in place of a key; 0: none. */
  clientSequence: number;
  marketId: string;
  answers: { status: number; text: string; isReplay: boolean; isStale: boolean }[];
  /** Sent but not answered: not known yet whether it was executed. */
  lostSends: number;
  /** The exchange's time when it was made, as known then. */
  madeAtMs: number;
}

/** How a client makes sure that nothing is executed twice; 'bare': not at all. */
export type Repeating = 'keyed' | 'numbered' | 'bare';

export type KillClientOptions = [
  floor: Floor,
  userId: string,
  token: string,
  repeating: Repeating,
  random: Random,
];

/** What all clients know about the running exchange. */
export interface Floor {
  api: ApiClient;
  /** The exchange's time when it was last read. */
  nowMs: number;
  /** The market to trade; empty if none is active. */
  marketId: string;
  resolved: Map<string, ResolutionName>;
  /** Counts attempts, for their marks. */
  attempts: number;
}

/**
 * Orders are valid until about the latest time that the API accepts; the milliseconds before it are
 * the marks.
 */
const LAST_MS = 8_640_000_000_000;
/** Prefixes of the marks of cancels and claims. */
const CANCEL = 'cancel:';
const CLAIM = 'claim:';
const LOST = ['UND_ERR_SOCKET', 'ECONNRESET', 'ECONNREFUSED', 'EPIPE'];
const STALE = 'client_sequence_stale';
/** How far a number is above the one before, at most. */
const STEP = 1_000;
/**
 * How many of a user's attempts are sent again after each restart: the last keyed ones, if they are
 * at most half a key's life old, and any numbered ones.
 */
const SENT_AGAIN = 3;
const SENT_AGAIN_WITHIN_MS = 1_800_000;

export function isConnectionLost(error: unknown): boolean {
  return error instanceof Error && LOST.includes((error as Error & { code?: string }).code ?? '');
}

export abstract class KillClient {
  readonly attempts: Attempt[] = [];
  /** The attempt that the last kill left unanswered. */
  protected lost: Attempt | null = null;
  /** The number of the newest attempt. */
  private lastNumber = 0;

  constructor(
    protected readonly floor: Floor,
    readonly userId: string,
    protected readonly token: string,
    readonly repeating: Repeating,
    protected readonly random: Random,
  ) {}

  /** Trades until the connection is lost or the exchange says that it stops. */
  async run(): Promise<void> {
    for (;;) {
      const attempt = this.next();
      if (attempt === null) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        if (!(await this.isThere())) return;
        continue;
      }
      // One that was refused at a stop is tried again.
      if (attempt.answers.length === 0) this.attempts.push(attempt);
      try {
        const answer = await this.send(attempt);
        if (answer.status === 503) {
          this.refused(attempt);
          return;
        }
        this.answered(attempt, answer);
      } catch (error) {
        if (!isConnectionLost(error)) throw error;
        attempt.lostSends++;
        this.lost = attempt;
        return;
      }
    }
  }

  /**
   * After a restart: finds out what became of the lost attempt, and checks that keys return the
   * same answers.
   */
  async findOut(): Promise<void> {
    const { lost } = this;
    this.lost = null;
    if (lost !== null) await this.settle(lost);
    if (this.repeating === 'numbered') await this.sendNumbersAgain();
    const isKept = ({ key, answers, madeAtMs }: Attempt) =>
      key !== null &&
      answers.at(-1)?.status !== 503 &&
      this.floor.nowMs - madeAtMs < SENT_AGAIN_WITHIN_MS;
    for (const attempt of this.attempts.filter(isKept).slice(-SENT_AGAIN)) {
      const first = attempt.answers.find((answer) => answer.status !== 503)!;
      const { status, text, headers } = await this.send(attempt);
      expect({ status, text }).toEqual({ status: first.status, text: first.text });
      expect(headers['idempotency-replayed']).toBe('true');
    }
    await this.checkState();
  }

  /** Sends a lost attempt again if that is safe, and otherwise finds out what became of it. */
  private async settle(lost: Attempt): Promise<void> {
    if (lost.key === null && lost.clientSequence === 0) return this.findOutBySelf(lost);
    const answer = await this.send(lost);
    if (!isStale(answer)) return this.answered(lost, answer);
    expect(answer.json.error.details).toEqual({ last: lost.clientSequence });
    await this.wasExecuted(lost);
  }

  /** However long ago they were executed, they are refused. */
  private async sendNumbersAgain(): Promise<void> {
    const isExecuted = ({ answers }: Attempt) =>
      answers.length > 0 && answers.at(-1)!.status !== 503;
    const executed = this.attempts.filter(isExecuted);
    if (executed.length === 0) return;
    const last = executed.at(-1)!.clientSequence;
    for (let i = 0; i < SENT_AGAIN; i++) {
      const answer = await this.send(this.random.pick(executed));
      expect(answer.status, answer.text).toBe(409);
      const error = { code: STALE, details: { last } };
      expect(answer.json.error).toMatchObject(error);
    }
  }

  /** The next request; null: nothing to do. */
  protected abstract next(): Attempt | null;

  /** The exchange was stopping, and has not executed it. */
  protected refused(_attempt: Attempt): void {}

  /** The first answer to this attempt, which may have been sent again. */
  protected abstract answered(attempt: Attempt, answer: Answer): void;

  /** Finds out over HTTP what became of an attempt that cannot be sent again. */
  protected abstract findOutBySelf(attempt: Attempt): Promise<void>;

  /** Its number shows that it was executed, but not with what result. */
  protected wasExecuted(attempt: Attempt): Promise<void> {
    return this.findOutBySelf(attempt);
  }

  protected abstract checkState(): Promise<void>;

  protected order(side: 'buy' | 'sell', fields: object): Attempt {
    const { marketId } = this.floor;
    const validUntilMs = LAST_MS - ++this.floor.attempts;
    const clientOrderId = `kill:${this.floor.attempts}`;
    return {
      ...this.attempt(`${validUntilMs}`, marketId),
      path: `/markets/15m/${marketId}/${side}`,
      body: { ...fields, validUntilMs, clientOrderId },
    };
  }

  protected attempt(
    mark: string,
    marketId: string,
    repeating = this.repeating,
  ): Omit<Attempt, 'path'> {
    const isNumbered = repeating === 'numbered';
    if (isNumbered) this.lastNumber += this.random.whole(1, STEP);
    return {
      mark,
      method: 'POST',
      body: {},
      key: repeating === 'keyed' ? `key:${mark}` : null,
      clientSequence: isNumbered ? this.lastNumber : 0,
      marketId,
      answers: [],
      lostSends: 0,
      madeAtMs: this.floor.nowMs,
    };
  }

  protected async read(path: string): Promise<Answer> {
    const answer = await this.floor.api.read(path, this.token);
    expect(answer.status, answer.text).toBe(200);
    return answer;
  }

  private async send(attempt: Attempt): Promise<Answer> {
    const { method, path, body, key, clientSequence } = attempt;
    const headers: Record<string, string> = {};
    if (key !== null) headers['idempotency-key'] = key;
    if (clientSequence > 0) headers['client-sequence'] = `${clientSequence}`;
    const answer = await this.floor.api.send(method, path, body, { token: this.token, headers });
    const { status, text } = answer;
    const isReplay = answer.headers['idempotency-replayed'] === 'true';
    attempt.answers.push({ status, text, isReplay, isStale: isStale(answer) });
    return answer;
  }

  private async isThere(): Promise<boolean> {
    try {
      return (await this.floor.api.get('/health')).status === 200;
    } catch (error) {
      if (!isConnectionLost(error)) throw error;
      return false;
    }
  }
}

function isStale({ status, json }: Answer): boolean {
  return status === 409 && json.error.code === STALE;
}

/** The token is the password's or a named one, which has to survive every kill. */
export async function register(
  api: ApiClient,
  username: string,
  isNamed: boolean,
): Promise<{ userId: string; token: string }> {
  const { status, text, json } = await api.post('/auth/register', { username, password: PASSWORD });
  expect(status, text).toBe(201);
  if (!isNamed) return json;
  const named = await api.post('/auth/tokens', { name: 'bot', scope: 'trade' }, json.token);
  expect(named.status, named.text).toBe(201);
  return { userId: json.userId, token: named.json.token };
}

/** Buys, sells and claims; its orders never rest, so its books are exact after every answer. */
export class KillTaker extends KillClient {
  private readonly ledger: UserLedger;
  private readonly claimed = new Set<string>();
  /**
   * A claim that was refused. It must be repeated: what nobody has claimed after a day, which takes
   * twelve minutes here, is paid without a claim.
   */
  private unclaimed: Attempt | null = null;

  constructor(
    ...[floor, userId, token, repeating, random, balance]: [...KillClientOptions, balance: number]
  ) {
    super(floor, userId, token, repeating, random);
    this.ledger = new UserLedger(userId, balance);
  }

  protected next(): Attempt | null {
    const claim = this.nextClaim();
    const { marketId } = this.floor;
    if (claim !== null || marketId === '') return claim;
    const outcome = this.random.pick(['UP', 'DOWN'] as const);
    const lots = this.ledger.shares(marketId, outcome).times(1_000).toNumber();
    if (lots > 0 && this.random.chance(0.4)) {
      return this.order('sell', { outcome, shares: this.random.whole(1, lots) / 1_000 });
    }
    return this.order('buy', { outcome, amount: this.random.whole(10_000, 3_000_000) / 1_000_000 });
  }

  protected answered(attempt: Attempt, { status, json, text }: Answer): void {
    if (attempt.mark.startsWith(CLAIM)) this.claimAnswered(attempt.marketId, status, json);
    else if (status === 200) {
      const { amount } = attempt.body;
      this.ledger.order(json, amount === undefined ? {} : { amount: new Big(amount) });
    } else {
      const refusals = ['market_not_active', 'insufficient_liquidity', 'amount_too_small'];
      expect(refusals, text).toContain(json.error.code);
    }
  }

  /**
   * The volume of a buy and the money of a sale, which pays no fee, show whether the order was
   * executed and for how much; money and shares must then match.
   */
  protected async findOutBySelf({ marketId, body, path }: Attempt): Promise<void> {
    const { ledger } = this;
    const isBuy = path.endsWith('/buy');
    const value = isBuy
      ? new Big((await this.read(`/users/${this.userId}`)).json.volume).minus(ledger.volume)
      : new Big((await this.read(`/users/${this.userId}/balance`)).json.available).minus(
          ledger.total,
        );
    if (value.eq(0)) return;
    const outcome = body.outcome as OutcomeName;
    const money = isBuy ? await this.paidFor(value, new Big(body.amount)) : value;
    const now = await this.sharesNow(marketId, outcome);
    // Shares of the losing outcome are no longer listed and are worth nothing.
    const changed = now === null ? new Big(0) : now.minus(ledger.shares(marketId, outcome)).abs();
    ledger.found(isBuy ? 'BUY' : 'SELL', { marketId, outcome, shares: changed, value, money });
    if (isBuy) {
      expect(value.lte(body.amount), `${value} spent of ${body.amount}`).toBe(true);
      if (now !== null) expect(changed.gt(value), 'a share costs less than a dollar').toBe(true);
    } else if (now !== null) {
      expect(
        changed.lte(body.shares) && changed.gt(value),
        `${changed} sold of ${body.shares}`,
      ).toBe(true);
    }
  }

  /**
   * What a buy took from the balance: its value, plus the fee on that or, if it may be used up, on
   * its amount.
   */
  private async paidFor(value: Big, amount: Big): Promise<Big> {
    const { json } = await this.read(`/users/${this.userId}/balance`);
    const paid = this.ledger.total.minus(json.available);
    const bases = amount.minus(value).lt(HIGHEST_LOT_PRICE) ? [value, amount] : [value];
    expect(bases.map((base) => value.plus(feeOn(base)).toFixed())).toContain(paid.toFixed());
    return paid;
  }

  /** A claim that was executed has paid. */
  protected override async wasExecuted(attempt: Attempt): Promise<void> {
    const { marketId } = attempt;
    if (attempt.mark.startsWith(CLAIM))
      this.ledger.paid(marketId, this.floor.resolved.get(marketId)!);
    else await this.findOutBySelf(attempt);
  }

  protected async checkState(): Promise<void> {
    const { json } = await this.read(`/users/${this.userId}/balance`);
    expectDecimal(json.available, this.ledger.total, `balance of ${this.userId}`);
    expect(json.held).toBe(0);
    const profile = await this.read(`/users/${this.userId}`);
    expectDecimal(profile.json.volume, this.ledger.volume, `volume of ${this.userId}`);
    const orders = await this.read(`/users/${this.userId}/orders`);
    expect(orders.json.orders).toEqual([]);
    const { marketId } = this.floor;
    if (marketId === '') return;
    for (const outcome of ['UP', 'DOWN'] as const) {
      const shares = await this.sharesNow(marketId, outcome);
      if (shares !== null)
        expect(shares.toFixed()).toBe(this.ledger.shares(marketId, outcome).toFixed());
    }
  }

  protected override refused(attempt: Attempt): void {
    if (attempt.mark.startsWith(CLAIM)) this.unclaimed = attempt;
  }

  private nextClaim(): Attempt | null {
    const { unclaimed } = this;
    this.unclaimed = null;
    if (unclaimed !== null) return unclaimed;
    for (const marketId of this.ledger.marketIds()) {
      if (!this.floor.resolved.has(marketId) || this.claimed.has(marketId)) continue;
      this.claimed.add(marketId);
      const path = `/markets/15m/${marketId}/claim`;
      const repeating = this.repeating === 'numbered' ? 'numbered' : 'keyed';
      return {
        ...this.attempt(`${CLAIM}${this.userId}:${marketId}`, marketId, repeating),
        path,
      };
    }
    return null;
  }

  private claimAnswered(marketId: string, status: number, json: Answer['json']): void {
    const resolution = this.floor.resolved.get(marketId)!;
    const { payout } = this.ledger.owed(marketId, resolution);
    if (payout.eq(0)) expect(json.error.code).toBe('nothing_to_claim');
    else {
      expect([status, json.resolution]).toEqual([200, resolution]);
      expectDecimal(json.payout, payout, `payout of ${marketId}`);
    }
    this.ledger.paid(marketId, resolution);
  }

  /** null when the market's positions no longer show the user's shares of this outcome. */
  private async sharesNow(marketId: string, outcome: OutcomeName): Promise<Big | null> {
    const { json } = await this.read(`/users/${this.userId}/positions`);
    const market = await this.floor.api.read(`/markets/${marketId}`);
    const { status, resolution } = market.json;
    // A void market pays for both outcomes, and is listed until it is claimed.
    if (status === 'resolved' && resolution !== 'VOID' && resolution !== outcome) return null;
    const found = json.positions.find(
      // biome-ignore lint/suspicious/noExplicitAny: an entry of the answer
      (each: any) => each.marketId === marketId && each.outcome === outcome,
    );
    return new Big(found?.shares ?? 0);
  }
}

interface PlacedOrder {
  marketId: string;
  outcome: OutcomeName;
  price: number;
  shares: number;
}

/** Rests bids for either outcome, and cancels some. */
export class KillMaker extends KillClient {
  /** Every order known to have rested, by id. */
  private readonly placed = new Map<string, PlacedOrder>();
  /** Those for which no cancel was sent. */
  private readonly live = new Set<string>();
  private readonly cancelled = new Set<string>();
  /** Orders without an answer; each may exist or not. */
  private readonly perhaps: PlacedOrder[] = [];

  protected next(): Attempt | null {
    const { random, floor } = this;
    if (floor.marketId === '') return null;
    const mine = [...this.live].filter((id) => this.placed.get(id)!.marketId === floor.marketId);
    if (mine.length > 12 || (mine.length > 2 && random.chance(0.4)))
      return this.cancel(random.pick(mine));
    const price = random.whole(350, 480) / 1_000;
    const shares = random.whole(3_000, 20_000) / 1_000;
    return this.order('buy', {
      outcome: random.pick(['UP', 'DOWN']),
      price,
      shares,
      timeInForce: 'GTC',
    });
  }

  protected answered({ method, mark, body }: Attempt, { status, json, text }: Answer): void {
    if (method === 'DELETE') {
      if (status !== 200) expect(json.error.code, text).toBe('order_closed');
      this.cancelled.add(mark.slice(CANCEL.length));
    } else if (status === 200) {
      const { orderId, restingShares: shares, marketId } = json;
      if (shares > 0)
        this.rests(orderId, { marketId, outcome: body.outcome, price: body.price, shares });
    } else expect(json.error.code, text).toBe('market_not_active');
  }

  protected async findOutBySelf({ method, marketId, body }: Attempt): Promise<void> {
    if (method === 'POST') this.perhaps.push({ ...body, marketId });
  }

  /** An order whose cancel was executed does not rest any more. */
  protected override async wasExecuted(attempt: Attempt): Promise<void> {
    if (attempt.method === 'DELETE') this.cancelled.add(attempt.mark.slice(CANCEL.length));
    else await this.findOutBySelf(attempt);
  }

  /** Every listed order was placed once, as listed, and its cancel was not acknowledged. */
  protected async checkState(): Promise<void> {
    const { json } = await this.read(`/users/${this.userId}/orders?limit=200`);
    let held = new Big(0);
    for (const { orderId, marketId, side, outcome, price, shares } of json.orders) {
      held = held.plus(new Big(price).times(shares));
      expect([side, this.cancelled.has(orderId)]).toEqual(['BUY', false]);
      if (!this.placed.has(orderId)) {
        this.rests(orderId, this.unanswered({ marketId, outcome, price, shares }));
      }
      const placed = this.placed.get(orderId)!;
      expect([marketId, outcome, price]).toEqual([placed.marketId, placed.outcome, placed.price]);
      expect(shares).toBeLessThanOrEqual(placed.shares);
    }
    const balance = (await this.read(`/users/${this.userId}/balance`)).json;
    // Others may have traded with it meanwhile.
    if (balance.sequence === json.sequence)
      expectDecimal(balance.held, held, `held of ${this.userId}`);
  }

  private rests(orderId: string, order: PlacedOrder): void {
    this.placed.set(orderId, order);
    this.live.add(orderId);
  }

  /** The unanswered order that matches a listed one, and is removed from the list. */
  private unanswered(listed: PlacedOrder): PlacedOrder {
    const at = this.perhaps.findIndex(
      ({ marketId, outcome, price, shares }) =>
        marketId === listed.marketId &&
        outcome === listed.outcome &&
        price === listed.price &&
        shares >= listed.shares,
    );
    expect(at, `${JSON.stringify(listed)} was sent`).not.toBe(-1);
    return this.perhaps.splice(at, 1)[0]!;
  }

  private cancel(orderId: string): Attempt {
    const { marketId } = this.placed.get(orderId)!;
    this.live.delete(orderId);
    return {
      ...this.attempt(CANCEL + orderId, marketId),
      method: 'DELETE',
      path: `/markets/15m/${marketId}/orders/${orderId}`,
    };
  }
}
