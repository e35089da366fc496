/**
 * A trading client for tests over HTTP: registers, trades an active market at random, claims its
 * winnings, and keeps its books ({@link UserLedger}) from the answers.
 *
 * One request and one resting order at a time. A refusal is counted by its code and changes nothing
 * in the books; a code that no well-behaved client can get is an error.
 */
import { Big } from 'big.js';
import { expect } from 'vitest';
import type { Random } from '../../../bench/workload/random.js';
import type { ErrorCode } from '../../../gateway/http/errors.js';
import { type Answer, type ApiClient, PASSWORD } from '../../support/server.js';
import { expectDecimal, type OutcomeName, type ResolutionName, UserLedger } from './user-ledger.js';

/** Refusals that a correct client may get when others trade and time passes. */
const USUAL_REFUSALS: readonly ErrorCode[] = [
  'market_not_active',
  'insufficient_liquidity',
  'client_order_id_reused',
  'order_closed',
  'post_only_would_trade',
  'price_not_met',
  'amount_too_small',
  'insufficient_balance',
  'too_small_to_rest',
];

interface BookSide {
  bids: { price: number; shares: number }[];
  asks: { price: number; shares: number }[];
}

export class TradingClient {
  /** Counts by kind: orders by form, refusals by code, claims. */
  readonly counts = new Map<string, number>();
  /** Every referral code the user ever had, the current one last. */
  readonly codes: string[] = [];
  readonly token: string;
  private readonly path: string;

  private constructor(
    private readonly api: ApiClient,
    readonly userId: string,
    readonly username: string,
    signedIn: { token: string; referralCode: string },
    private readonly random: Random,
    readonly ledger: UserLedger,
  ) {
    this.token = signedIn.token;
    this.codes.push(signedIn.referralCode);
    this.path = `/users/${userId}`;
  }

  /** @param referralCode of the user that brought this one. */
  static async register(
    api: ApiClient,
    username: string,
    random: Random,
    referralCode?: string,
  ): Promise<TradingClient> {
    const body = {
      username,
      password: PASSWORD,
      ...(referralCode === undefined ? {} : { referralCode }),
    };
    const signedIn = await api.post('/auth/register', body);
    expect(signedIn.status, signedIn.text).toBe(201);
    const { userId, token } = signedIn.json;
    const balance = await api.get(`/users/${userId}/balance`, token);
    expect(balance.json.held).toBe(0);
    const ledger = new UserLedger(userId, balance.json.available, true);
    return new TradingClient(api, userId, username, signedIn.json, random, ledger);
  }

  /** One random action. Returns false when the market has ended. */
  async act(marketId: string): Promise<boolean> {
    const hasShares = (['UP', 'DOWN'] as const).some((outcome) =>
      this.ledger.shares(marketId, outcome).gt(0),
    );
    const rests = this.ledger.resting !== null;
    const action = this.random.weighted({
      buy: 5,
      sell: hasShares ? 3 : 0,
      rest: rests ? 0 : 4,
      cancel: rests ? 1 : 0,
    });
    switch (action) {
      case 'buy':
        return this.buy(marketId);
      case 'sell':
        return this.sell(marketId);
      case 'rest':
        return this.rest(marketId);
      case 'cancel':
        await this.endResting();
        return true;
    }
  }

  /** Cancels the resting order, if any, and enters what was filled. */
  async endResting(): Promise<void> {
    const { resting } = this.ledger;
    if (resting === null) return;
    const path = `/markets/15m/${resting.marketId}/orders/${resting.orderId}`;
    const cancelled = await this.api.delete(path, this.token);
    const isGone = cancelled.status === 409;
    if (isGone) expect(cancelled.json.error.code).toBe('order_closed');
    else expect(cancelled.status, cancelled.text).toBe(200);
    const order = await this.api.read(`${this.path}/orders/${resting.orderId}`, this.token);
    const { filledShares } = order.json;
    this.ledger.restingEnded(isGone ? null : cancelled.json.cancelledShares, filledShares);
    this.count(isGone ? 'resting orders gone' : 'resting orders cancelled');
  }

  /** Claims what the market owes by the books; sometimes claims when nothing is owed. */
  async claim(marketId: string, resolution: ResolutionName): Promise<void> {
    if (this.ledger.resting?.marketId === marketId) await this.endResting();
    const { shares, payout, refund } = this.ledger.owed(marketId, resolution);
    const isOwed = payout.plus(refund).gt(0);
    const answer =
      isOwed || this.random.chance(0.05)
        ? await this.api.post(`/markets/15m/${marketId}/claim`, {}, this.token)
        : null;
    this.ledger.paid(marketId, resolution);
    if (isOwed) {
      expect(answer!.status, answer!.text).toBe(200);
      const receipt = answer!.json;
      expect(receipt.resolution).toBe(resolution);
      expectDecimal(receipt.shares, shares, `shares claimed in ${marketId}`);
      expectDecimal(receipt.payout, payout, `payout of ${marketId}`);
      if (resolution === 'VOID')
        expectDecimal(receipt.refundedFees, refund, `refund of ${marketId}`);
      this.ledger.checkBalance(receipt);
      this.count(`claimed ${resolution}`);
    } else if (answer !== null) {
      expect(answer.json.error.code).toBe('nothing_to_claim');
      this.count('nothing to claim');
    }
  }

  /** Checks that the balance over HTTP equals the books and nothing is held. */
  async checkBalance(): Promise<void> {
    const { json } = await this.api.get(`${this.path}/balance`, this.token);
    expectDecimal(json.available, this.ledger.total, `balance of ${this.userId}`);
    expect([json.held, json.total]).toEqual([0, json.available]);
    const orders = await this.api.get(`${this.path}/orders`, this.token);
    const positions = await this.api.get(`${this.path}/positions`);
    expect([orders.json.orders, positions.json.positions]).toEqual([[], []]);
  }

  private async buy(marketId: string): Promise<boolean> {
    const { random } = this;
    const amount = random.whole(1, 40_000_000) / 1_000_000;
    const form = random.weighted({ plain: 6, limited: 2, fok: 1, exact: 1 });
    const price = random.whole(300, 900) / 1_000;
    const bounds = {
      plain: { amount },
      limited: { amount, price },
      fok: { amount, timeInForce: 'FOK' },
      exact: { shares: random.whole(1, 30_000) / 1_000, price },
    }[form];
    const body = { userId: this.userId, outcome: this.outcome(), ...bounds };
    const asked =
      'amount' in bounds
        ? { amount: new Big(amount) }
        : { budget: new Big(bounds.shares).times(price) };
    return this.order(marketId, 'buy', form, { body, asked });
  }

  private async sell(marketId: string): Promise<boolean> {
    const free = (outcome: OutcomeName) => this.ledger.freeShares(marketId, outcome);
    const outcome = this.random.pick(
      (['UP', 'DOWN'] as const).filter((name) => free(name).gt(0)).concat('UP'),
    );
    const lots = free(outcome).times(1_000).toNumber();
    if (lots === 0) return true;
    const shares = (this.random.chance(0.3) ? lots : this.random.whole(1, lots)) / 1_000;
    return this.order(marketId, 'sell', 'plain', { body: { outcome, shares }, asked: {} });
  }

  /**
   * A limit order that mostly rests, inside the spread if there is one, so that others match it
   * first.
   */
  private async rest(marketId: string): Promise<boolean> {
    const { random } = this;
    const orderbook = await this.api.get(`/markets/15m/${marketId}/orderbook?depth=1`);
    expect(orderbook.status, orderbook.text).toBe(200);
    const outcome = this.outcome();
    const book: BookSide = orderbook.json[outcome];
    const bid = Math.round((book.bids[0]?.price ?? 0.4) * 1_000);
    const ask = Math.round((book.asks[0]?.price ?? 0.6) * 1_000);
    const lots = this.ledger.freeShares(marketId, outcome).times(1_000).toNumber();
    const sells = lots > 0 && random.chance(0.5);
    const ticks = sells ? ask - random.whole(0, 3) : bid + random.whole(0, 3);
    const price = Math.min(Math.max(ticks, 1), 999) / 1_000;
    const shares = random.whole(1, sells ? lots : 40_000) / 1_000;
    const postOnly = random.chance(0.3);
    const body = { outcome, shares, price, timeInForce: 'GTC', ...(postOnly ? { postOnly } : {}) };
    const asked = sells
      ? { price: new Big(price) }
      : { price: new Big(price), budget: new Big(shares).times(price) };
    return this.order(marketId, sells ? 'sell' : 'buy', 'GTC', { body, asked });
  }

  private async order(
    marketId: string,
    side: 'buy' | 'sell',
    form: string,
    order: { body: object; asked: { amount?: Big; budget?: Big; price?: Big } },
  ): Promise<boolean> {
    const answer = await this.api.post(`/markets/15m/${marketId}/${side}`, order.body, this.token);
    if (answer.status === 200) {
      this.ledger.order(answer.json, order.asked);
      this.count(`${side} ${form} ${answer.json.status}`);
      return true;
    }
    return this.refused(answer);
  }

  private refused(answer: Answer): boolean {
    const { code } = answer.json.error;
    expect(USUAL_REFUSALS, answer.text).toContain(code);
    this.count(code);
    return code !== 'market_not_active';
  }

  private outcome(): OutcomeName {
    return this.random.pick(['UP', 'DOWN'] as const);
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}
