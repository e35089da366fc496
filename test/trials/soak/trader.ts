/**
 * A user of the soak. It chooses requests at random from what it knows to own, and learns from the
 * answers. These depend on timing, so two runs with one seed are similar, not equal.
 */
import { requestBytes } from '../../../bench/http/load/messages.js';
import type { Random } from '../../../bench/workload/random.js';
import type { Floor, OpenMarket } from './floor.js';
import { type AttemptRecord, keyOf, numberOf, TradeSum, validUntilOf } from './record.js';

/** The weights of the requests. A claim comes first whenever there is something to claim. */
export const MIX = {
  'buy at market': 130,
  'buy at a limit': 60,
  'buy and rest': 140,
  'buy post-only': 40,
  'buy all or nothing': 30,
  'sell at market': 80,
  'sell and rest': 60,
  cancel: 100,
  'cancel all': 10,
  batch: 40,
  'stake and unstake': 12,
  orderbook: 90,
  balance: 40,
  positions: 40,
  trades: 25,
  'resting orders': 30,
  quote: 20,
  market: 15,
  'public trades': 8,
  'past markets': 5,
  leaderboard: 15,
  points: 4,
  profile: 4,
  'sign in': 2,
} as const;
export type Kind = keyof typeof MIX | 'claim';

type PathOf = (marketId: string, userId: string, random: Random) => string;

const READS = {
  orderbook: (marketId, _, random) =>
    `/markets/15m/${marketId}/orderbook?depth=${random.pick([5, 20, 100])}`,
  balance: (_, userId) => `/users/${userId}/balance`,
  positions: (_, userId) => `/users/${userId}/positions`,
  trades: (_, userId) => `/users/${userId}/trades`,
  'resting orders': (_, userId) => `/users/${userId}/orders`,
  quote: (marketId, _, random) =>
    `/markets/15m/${marketId}/quote?outcome=UP&amount=${random.whole(1, 500)}`,
  market: (marketId) => `/markets/${marketId}`,
  'public trades': (marketId) => `/markets/15m/${marketId}/trades`,
  'past markets': () => '/markets/15m/history?asset=BTC&limit=5',
  leaderboard: (_, __, random) =>
    `/leaderboard?metric=${random.pick(['profit', 'volume', 'points'])}&period=${random.pick(['all', 'day', 'week'])}`,
  points: (_, userId) => `/users/${userId}/points`,
  profile: (_, userId) => `/users/${userId}`,
} satisfies Partial<Record<Kind, PathOf>>;

export interface Operation {
  kind: Kind;
  request: Uint8Array;
  trader: Trader;
  /** The number in the record; 0: the request changes nothing. */
  attempt: number;
  repeating: Repeating;
}

/** What makes it safe to send a change again: a key, a Client-Sequence, or nothing. */
export type Repeating = 'keyed' | 'numbered' | 'bare';
const REPEATING = { keyed: 4, numbered: 2, bare: 4 } as const;

// biome-ignore lint/suspicious/noExplicitAny: the exchange's tests check the shape of answers
type Json = any;
type Fields = Record<string, unknown>;

/** How many resting orders a user remembers; the oldest rest until the market ends. */
const REMEMBERED = 40;

export interface TraderOptions {
  username: string;
  password: string;
  userId: string;
  token: string;
  /** Whether the user claims winnings. Otherwise they are paid automatically. */
  claims: boolean;
  floor: Floor;
  record: AttemptRecord;
  random: Random;
}

export class Trader {
  readonly taken = new TradeSum();
  private readonly positions = new Map<string, { UP: number; DOWN: number }>();
  private readonly resting: { orderId: string; marketId: string }[] = [];
  private readonly deposits: string[] = [];

  constructor(readonly options: TraderOptions) {}

  get userId(): string {
    return this.options.userId;
  }

  get userNumber(): number {
    return numberOf(this.userId);
  }

  /** Returns the next request. `nowMs` is real time. */
  next(kind: keyof typeof MIX, nowMs: number): Operation {
    const claimable = this.claimable(nowMs);
    if (claimable !== null) return this.claim(claimable);
    const { open } = this.options.floor;
    if (open.length === 0) return this.read('leaderboard', '/leaderboard');
    return this.choose(kind, this.options.random.pick(open));
  }

  /** Takes in the first answer to a change. */
  answered({ kind }: Operation, status: number, json: Json): void {
    if (status >= 300) return;
    switch (kind) {
      case 'batch':
        for (const result of json.results) if ('fills' in result) this.ordered(result);
        return;
      case 'stake and unstake':
        if (status === 201) this.deposits.push(json.depositId);
        return;
      case 'cancel':
      case 'cancel all':
      case 'claim':
        return;
      default:
        this.ordered(json);
    }
  }

  private choose(kind: keyof typeof MIX, market: OpenMarket): Operation {
    switch (kind) {
      case 'buy at market':
      case 'buy at a limit':
      case 'buy and rest':
      case 'buy post-only':
      case 'buy all or nothing':
        return this.buy(kind, market);
      case 'sell at market':
      case 'sell and rest':
        return this.sell(kind, market);
      case 'cancel':
        return this.cancel(market);
      case 'cancel all':
        return this.change(kind, 'DELETE', `/markets/15m/${market.id}/orders`, undefined, 'keyed');
      case 'batch':
        return this.batch(market);
      case 'stake and unstake':
        return this.vault();
      case 'sign in': {
        const { username, password } = this.options;
        return this.operation(kind, 0, 'bare', 'POST', '/auth/login', { username, password });
      }
      default:
        return this.read(kind, READS[kind](market.id, this.userId, this.options.random));
    }
  }

  private buy(kind: Kind, market: OpenMarket): Operation {
    return this.order(kind, `/markets/15m/${market.id}/buy`, this.buyFields(kind, market));
  }

  private buyFields(kind: Kind, market: OpenMarket): Fields {
    const { random } = this.options;
    const outcome = random.pick(['UP', 'DOWN']);
    const shares = random.whole(100, 20_000) / 1_000;
    const limit = (least: number, most: number) => {
      return { outcome, shares, price: this.price(market, outcome, random.whole(least, most)) };
    };
    switch (kind) {
      case 'buy at market':
        return { outcome, amount: random.whole(10_000, 9_000_000) / 1_000_000 };
      case 'buy at a limit':
        return limit(0, 15);
      case 'buy all or nothing':
        return { ...limit(0, 20), timeInForce: 'FOK' };
      case 'buy post-only':
        return { ...limit(-40, -3), timeInForce: 'GTC', postOnly: true };
      default:
        return { ...limit(-25, 6), timeInForce: 'GTC' };
    }
  }

  private sell(kind: Kind, market: OpenMarket): Operation {
    const fields = this.sellFields(kind, market);
    if (fields === null) return this.buy('buy at market', market);
    return this.order(kind, `/markets/15m/${market.id}/sell`, fields);
  }

  private sellFields(kind: Kind, market: OpenMarket): Fields | null {
    const { random } = this.options;
    const position = this.positions.get(market.id);
    const outcome = (position?.UP ?? 0) > (position?.DOWN ?? 0) ? 'UP' : 'DOWN';
    const lots = Math.round((position?.[outcome] ?? 0) * 1_000);
    if (lots === 0) return null;
    const shares = random.whole(1, lots) / 1_000;
    if (kind === 'sell at market') return { outcome, shares };
    const price = this.price(market, outcome, random.whole(-6, 25));
    return { outcome, shares, price, timeInForce: 'GTC' };
  }

  private cancel(market: OpenMarket): Operation {
    // The newest order is the most likely to rest still.
    const order = this.resting.pop();
    if (order === undefined) return this.buy('buy and rest', market);
    const path = `/markets/15m/${order.marketId}/orders/${order.orderId}`;
    const repeating = this.repeating();
    const operation = this.change('cancel', 'DELETE', path, undefined, repeating);
    if (repeating === 'bare')
      this.options.record.cancelsWithoutKey(operation.attempt, numberOf(order.orderId));
    return operation;
  }

  private batch(market: OpenMarket): Operation {
    const { random } = this.options;
    const marketId = market.id;
    const attempt = this.options.record.begin();
    const first = {
      ...this.buyFields('buy and rest', market),
      validUntilMs: validUntilOf(attempt),
    };
    const operations: Fields[] = [{ op: 'buy', marketId, ...first }];
    for (let more = random.whole(1, 9); more > 0; more--) {
      const order = random.chance(0.3) ? this.resting.pop() : undefined;
      if (order !== undefined) operations.push({ op: 'cancel', ...order });
      else {
        const kind = random.pick(['buy at market', 'buy and rest', 'buy post-only'] as const);
        operations.push({ op: 'buy', marketId, ...this.buyFields(kind, market) });
      }
    }
    const body = { operations, atomic: random.chance(0.2) };
    return this.operation('batch', attempt, this.repeating(), 'POST', '/batch', body);
  }

  private vault(): Operation {
    const { random } = this.options;
    const kind = 'stake and unstake';
    const deposit = this.deposits.length > 2 ? this.deposits.shift()! : null;
    if (deposit !== null)
      return this.change(kind, 'POST', `/vaults/deposits/${deposit}/unstake`, {}, 'keyed');
    return this.change(
      kind,
      'POST',
      '/vaults/flex/stake',
      { amount: random.whole(1, 50) },
      'keyed',
    );
  }

  private claim(marketId: string): Operation {
    this.positions.delete(marketId);
    return this.change('claim', 'POST', `/markets/15m/${marketId}/claim`, {}, 'keyed');
  }

  /** A market to claim in. Forgets markets whose winnings this user does not claim. */
  private claimable(nowMs: number): string | null {
    const { floor, claims } = this.options;
    for (const marketId of this.positions.keys()) {
      if (floor.isOpen(marketId) || !floor.isResolved(marketId, nowMs)) continue;
      if (claims) return marketId;
      this.positions.delete(marketId);
    }
    return null;
  }

  private ordered(receipt: Json): void {
    const { floor } = this.options;
    const { orderId, marketId, outcome } = receipt;
    this.positions.set(marketId, receipt.position);
    addFills(this.taken, receipt);
    const last = receipt.fills.at(-1);
    if (last !== undefined) floor.traded(marketId, outcome, last.price);
    if (receipt.restingShares > 0) this.resting.push({ orderId, marketId });
    if (this.resting.length > REMEMBERED) this.resting.shift();
  }

  /** The last price plus an offset, within the bounds, in dollars. */
  private price(market: OpenMarket, outcome: string, offsetTicks: number): number {
    const ticks = (outcome === 'UP' ? market.upTicks : 1_000 - market.upTicks) + offsetTicks;
    return Math.min(999, Math.max(1, ticks)) / 1_000;
  }

  private repeating(): Repeating {
    return this.options.random.weighted(REPEATING);
  }

  private order(kind: Kind, path: string, fields: Fields): Operation {
    const { record } = this.options;
    const attempt = record.begin();
    const body = { ...fields, validUntilMs: validUntilOf(attempt) };
    return this.operation(kind, attempt, this.repeating(), 'POST', path, body);
  }

  private change(
    kind: Kind,
    method: 'POST' | 'DELETE',
    path: string,
    body: Fields | undefined,
    repeating: Repeating,
  ): Operation {
    return this.operation(kind, this.options.record.begin(), repeating, method, path, body);
  }

  private read(kind: Kind, path: string): Operation {
    return this.operation(kind, 0, 'bare', 'GET', path, undefined);
  }

  private operation(
    kind: Kind,
    attempt: number,
    repeating: Repeating,
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body: Fields | undefined,
  ): Operation {
    const headers: Record<string, string> = { 'x-user-token': this.options.token };
    if (repeating === 'keyed') headers['Idempotency-Key'] = keyOf(attempt);
    if (repeating === 'numbered') headers['Client-Sequence'] = `${attempt}`;
    const request = requestBytes({ method, path, headers, body });
    return { kind, request, trader: this, attempt, repeating };
  }
}

export function addFills(sum: TradeSum, receipt: Json): void {
  const { orderId, fills } = receipt;
  for (const fill of fills) sum.addShown({ ...fill, orderId });
}
