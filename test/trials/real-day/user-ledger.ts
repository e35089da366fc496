/**
 * A user's books, kept with big.js from HTTP answers alone: the money and shares that the account
 * should have by the rules of the API.
 *
 * Fills of the user's resting orders are in no answer to the user's commands. A cancel's receipt
 * says what was still resting, so the rest was filled, and the order's own record says what it has
 * filled. Both ways must agree.
 *
 * Referral income is not known at once: what a receipt's balance has beyond the books is recorded
 * and explained at the end, and must be zero for a user without referrals. While nothing rests,
 * balance (apart from that), position and volume of every receipt equal the books.
 */
import { Big } from 'big.js';
import { expect } from 'vitest';

export type OutcomeName = 'UP' | 'DOWN';
export type ResolutionName = OutcomeName | 'VOID';

/** The part of a buy or sell receipt that the books read. */
export interface OrderReceipt {
  orderId: string;
  marketId: string;
  side: 'BUY' | 'SELL';
  outcome: OutcomeName;
  status: string;
  shares: number;
  spent?: number;
  received?: number;
  fee: number;
  total: number;
  unspent: number;
  restingShares: number;
  fills: { tradeId: string; price: number; shares: number }[];
  balance: Balance;
  position: { UP: number; DOWN: number };
  sequence: number;
  atMs: number;
}

export interface RestingOrder {
  orderId: string;
  marketId: string;
  side: 'BUY' | 'SELL';
  outcome: OutcomeName;
  price: Big;
  shares: Big;
  /** What it took when it was placed. */
  taken: Big;
}

export interface Balance {
  available: number;
  held: number;
}

/**
 * Money that a receipt's balance has beyond the books. `atMs` is null if the receipt has no time.
 */
export interface Beyond {
  sequence: number;
  atMs: number | null;
  amount: Big;
}

/** A vault deposit, from its receipts. */
export interface LedgerDeposit {
  depositId: string;
  amount: Big;
  stakedAtMs: number;
  earnsFromMs: number;
  /** The sequences of the receipts that made it and closed it; null while it is open. */
  sequence: number;
  closedSequence: number | null;
  /** Yield paid, when claimed and when the deposit was closed. */
  yields: { sequence: number; amount: Big }[];
}

interface DepositReceipt {
  depositId: string;
  amount: number;
  claimedYield: number;
  stakedAtMs: number;
  earnsFromMs: number;
  balance: Balance;
  sequence: number;
}

interface MarketBook {
  UP: Big;
  DOWN: Big;
  feesPaid: Big;
}

const ZERO = new Big(0);
const MICRO_PLACES = 6;

/** The most that a lot can cost. If less than this is left, an amount is used up. */
const HIGHEST_LOT_PRICE = new Big('0.000999');

/** 0.5% of an amount, rounded up to a micro-dollar. */
export function feeOn(amount: Big): Big {
  return amount.times('0.005').round(MICRO_PLACES, Big.roundUp);
}

export function expectDecimal(actual: number, expected: Big, what: string): void {
  expect(`${what}: ${new Big(actual).toFixed()}`).toBe(`${what}: ${expected.toFixed()}`);
}

export class UserLedger {
  /** Available and held money. */
  total: Big;
  /** The value of all trades, as taker and maker. */
  volume = ZERO;
  feesPaid = ZERO;
  resting: RestingOrder | null = null;
  /** The user's trades as taker, by id. */
  readonly taken = new Map<string, { price: number; shares: number }>();
  makerShares = ZERO;
  /** Fees paid as taker, by market, never reset. */
  readonly feesByMarket = new Map<string, Big>();
  readonly deposits = new Map<string, LedgerDeposit>();
  readonly beyond: Beyond[] = [];
  private readonly markets = new Map<string, MarketBook>();

  constructor(
    readonly userId: string,
    startingBalance: number,
    /** Whether the user may have referral income. */
    private readonly canRefer = false,
  ) {
    this.total = new Big(startingBalance);
  }

  /** Shares by the books, including those of a resting sell. */
  shares(marketId: string, outcome: OutcomeName): Big {
    return this.markets.get(marketId)?.[outcome] ?? ZERO;
  }

  /** Shares that are not offered by a resting sell. */
  freeShares(marketId: string, outcome: OutcomeName): Big {
    const { resting } = this;
    const offered =
      resting?.side === 'SELL' && resting.marketId === marketId && resting.outcome === outcome
        ? resting.shares
        : ZERO;
    return this.shares(marketId, outcome).minus(offered);
  }

  /** The markets that owe the user something, or might. */
  marketIds(): string[] {
    return [...this.markets.keys()];
  }

  /**
   * Enters an accepted order. `amount`: of a buy by amount; `budget`: the most that a buy of shares
   * can cost; `price`: its limit, if it may rest.
   */
  order(receipt: OrderReceipt, asked: { amount?: Big; budget?: Big; price?: Big } = {}): void {
    const { side, outcome, marketId, orderId } = receipt;
    const value = this.take(receipt);
    const budget = asked.amount ?? asked.budget;
    const isUsedUp = asked.amount !== undefined && receipt.status === 'filled';
    if (isUsedUp)
      expect(asked.amount!.minus(value).lt(HIGHEST_LOT_PRICE), `${orderId} is filled`).toBe(true);
    const fee = side === 'BUY' ? feeOn(isUsedUp ? asked.amount! : value) : ZERO;
    const shares = new Big(receipt.shares);
    const restingShares = new Big(receipt.restingShares);
    expectDecimal(receipt.spent ?? receipt.received!, value, `value of ${orderId}`);
    expectDecimal(receipt.fee, fee, `fee of ${orderId}`);
    expectDecimal(receipt.total, value.plus(fee), `total of ${orderId}`);
    if (budget !== undefined) {
      const held = asked.price === undefined ? ZERO : restingShares.times(asked.price);
      expectDecimal(receipt.unspent, budget.minus(value).minus(held), `unspent of ${orderId}`);
    }
    const hadResting = this.resting !== null;
    const book = this.book(marketId);
    if (side === 'BUY') this.volume = this.volume.plus(value);
    this.feesPaid = this.feesPaid.plus(fee);
    book.feesPaid = book.feesPaid.plus(fee);
    this.feesByMarket.set(marketId, (this.feesByMarket.get(marketId) ?? ZERO).plus(fee));
    this.move(side, { marketId, outcome, shares, money: value.plus(fee) });
    if (!hadResting) this.checkReceipt(receipt, restingShares, asked.price);
    if (restingShares.gt(0)) {
      if (hadResting) throw new Error('these books follow one resting order at a time');
      this.resting = {
        orderId,
        marketId,
        side,
        outcome,
        price: asked.price!,
        shares: restingShares,
        taken: shares,
      };
    }
  }

  /**
   * The resting order has ended: `cancelledShares` from the cancel's receipt, or null if it was
   * already gone; `filledShares` from the order's record since then.
   */
  restingEnded(cancelledShares: number | null, filledShares: number): void {
    const { price, shares, taken, marketId, side, outcome, orderId } = this.resting!;
    const filled = new Big(filledShares).minus(taken);
    const value = filled.times(price);
    expect(filled.gte(0) && filled.lte(shares), `${orderId} filled`).toBe(true);
    if (cancelledShares !== null)
      expectDecimal(cancelledShares, shares.minus(filled), `rest of ${orderId}`);
    this.resting = null;
    this.makerShares = this.makerShares.plus(filled);
    this.move(side, { marketId, outcome, shares: filled, money: value });
  }

  /** What the market pays the user: shares, payout and refunded fees of a claim. */
  owed(marketId: string, resolution: ResolutionName): { shares: Big; payout: Big; refund: Big } {
    const { UP, DOWN, feesPaid } = this.markets.get(marketId) ?? {
      UP: ZERO,
      DOWN: ZERO,
      feesPaid: ZERO,
    };
    if (resolution !== 'VOID') {
      const shares = resolution === 'UP' ? UP : DOWN;
      return { shares, payout: shares, refund: ZERO };
    }
    const shares = UP.plus(DOWN);
    return { shares, payout: shares.times('0.5'), refund: feesPaid };
  }

  /** The market has paid, by a claim or automatically; removes it from the books. */
  paid(marketId: string, resolution: ResolutionName): void {
    const { payout, refund } = this.owed(marketId, resolution);
    this.total = this.total.plus(payout).plus(refund);
    this.markets.delete(marketId);
  }

  /** Enters a new deposit. */
  staked(receipt: DepositReceipt): void {
    const { depositId, stakedAtMs, earnsFromMs, sequence } = receipt;
    if (this.deposits.has(depositId)) throw new Error(`${depositId} was created twice`);
    const amount = new Big(receipt.amount);
    this.total = this.total.minus(amount);
    const deposit = { depositId, amount, stakedAtMs, earnsFromMs, sequence };
    this.deposits.set(depositId, { ...deposit, closedSequence: null, yields: [] });
    this.checkBalance(receipt);
  }

  /** Enters a claim of yield. */
  yieldClaimed(receipt: DepositReceipt & { claimed: number }): void {
    this.payYield(receipt, receipt.claimed);
    this.checkBalance(receipt);
  }

  /** Enters the end of a deposit, with its yield. */
  unstaked(receipt: DepositReceipt & { returned: number; yieldPaid: number }): void {
    const deposit = this.payYield(receipt, receipt.yieldPaid);
    expectDecimal(receipt.returned, deposit.amount, `returned of ${deposit.depositId}`);
    deposit.closedSequence = receipt.sequence;
    this.total = this.total.plus(deposit.amount);
    this.checkBalance(receipt);
  }

  /** Checks a receipt's balance, unless an order rests, whose fills are not known yet. */
  checkBalance({
    balance,
    sequence,
    atMs,
  }: {
    balance: Balance;
    sequence: number;
    atMs?: number;
  }): void {
    if (this.resting !== null) return;
    expect(balance.held, `held at ${sequence}`).toBe(0);
    this.checkAvailable(balance, { held: ZERO, sequence, atMs: atMs ?? null });
  }

  private checkAvailable(
    balance: Balance,
    { held, ...at }: { held: Big; sequence: number; atMs: number | null },
  ): void {
    const amount = new Big(balance.available).minus(this.total.minus(held));
    if (!this.canRefer)
      expectDecimal(balance.available, this.total.minus(held), `available at ${at.sequence}`);
    this.beyond.push({ ...at, amount });
  }

  private payYield(
    { depositId, sequence, amount, claimedYield }: DepositReceipt,
    paid: number,
  ): LedgerDeposit {
    const deposit = this.deposits.get(depositId)!;
    deposit.yields.push({ sequence, amount: new Big(paid) });
    const sum = deposit.yields.reduce((yields, { amount }) => yields.plus(amount), ZERO);
    expectDecimal(amount, deposit.amount, `amount of ${depositId}`);
    expectDecimal(claimedYield, sum, `claimed yield of ${depositId}`);
    this.total = this.total.plus(paid);
    return deposit;
  }

  private book(marketId: string): MarketBook {
    const known = this.markets.get(marketId);
    if (known !== undefined) return known;
    const book = { UP: ZERO, DOWN: ZERO, feesPaid: ZERO };
    this.markets.set(marketId, book);
    return book;
  }

  /** Enters the fills and returns their value. */
  private take({ orderId, shares, fills }: OrderReceipt): Big {
    let value = ZERO;
    let sum = ZERO;
    for (const { tradeId, price, shares } of fills) {
      if (this.taken.has(tradeId)) throw new Error(`${tradeId} was reported twice`);
      this.taken.set(tradeId, { price, shares });
      value = value.plus(new Big(price).times(shares));
      sum = sum.plus(shares);
    }
    expectDecimal(shares, sum, `shares of ${orderId}`);
    return value;
  }

  private move(
    side: 'BUY' | 'SELL',
    moved: { marketId: string; outcome: OutcomeName; shares: Big; money: Big },
  ): void {
    const book = this.book(moved.marketId);
    const sign = side === 'BUY' ? 1 : -1;
    book[moved.outcome] = book[moved.outcome].plus(moved.shares.times(sign));
    this.total = this.total.minus(moved.money.times(sign));
  }

  private checkReceipt(receipt: OrderReceipt, restingShares: Big, price: Big | undefined): void {
    const { orderId, marketId, side, balance, position, sequence, atMs } = receipt;
    const held = side === 'BUY' && price !== undefined ? restingShares.times(price) : ZERO;
    expectDecimal(balance.held, held, `held after ${orderId}`);
    this.checkAvailable(balance, { held, sequence, atMs });
    expectDecimal(position.UP, this.shares(marketId, 'UP'), `UP after ${orderId}`);
    expectDecimal(position.DOWN, this.shares(marketId, 'DOWN'), `DOWN after ${orderId}`);
  }
}
