/**
 * A user's books, kept with big.js from HTTP answers alone, and nothing of the engine's code: what
 * the account should hold in money and in shares, by the rules that the API states.
 *
 * How fills of the user's own resting orders get in, which no answer to the user's commands tells:
 * a cancel's receipt says what was still resting, so the rest was filled; when there is nothing
 * left to cancel, the profile's volume (the value of all trades of the user) has grown by price ×
 * shares filled, which gives the shares, because a user of these tests has one resting order at a
 * time. Both are taken, and have to agree.
 *
 * What the books cannot know at once is what others earn the user (a referrer's part of their
 * fees): what a receipt's balance has beyond the books is noted with the receipt, to be explained
 * in the end; of a user who refers nobody it must be nothing.
 *
 * Always holds: while nothing of the user rests, every receipt's balance (but for that), position
 * and volume are those of the books.
 */
import { Big } from 'big.js';
import { expect } from 'vitest';

export type OutcomeName = 'UP' | 'DOWN';
export type ResolutionName = OutcomeName | 'VOID';

/** The part of a buy's or sell's receipt that the books read. */
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
}

export interface Balance {
  available: number;
  held: number;
}

/**
 * Money that a receipt's balance had beyond the books. `atMs` null: the receipt did not say when.
 */
export interface Beyond {
  sequence: number;
  atMs: number | null;
  amount: Big;
}

/** A deposit in the vault, as receipts told of it. */
export interface LedgerDeposit {
  depositId: string;
  amount: Big;
  stakedAtMs: number;
  earnsFromMs: number;
  /** Of the receipt that made it; null while it is open, of the one that closed it. */
  sequence: number;
  closedSequence: number | null;
  /** Yield that was paid, when it was claimed and when the deposit was closed. */
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

/** What a lot costs at most: what is left of an amount that is used up is less. */
export const HIGHEST_LOT_PRICE = new Big('0.000999');

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
  /** The value of all trades, as taker and as maker. */
  volume = ZERO;
  feesPaid = ZERO;
  resting: RestingOrder | null = null;
  /** What the user took, by trade. */
  readonly taken = new Map<string, { price: number; shares: number }>();
  makerShares = ZERO;
  /** Fees paid as taker, by market, for ever. */
  readonly feesByMarket = new Map<string, Big>();
  readonly deposits = new Map<string, LedgerDeposit>();
  readonly beyond: Beyond[] = [];
  private readonly markets = new Map<string, MarketBook>();

  constructor(
    readonly userId: string,
    startingBalance: number,
    /** Whether others can earn the user money. */
    private readonly canRefer = false,
  ) {
    this.total = new Big(startingBalance);
  }

  /** Shares by the books, those of a resting sell included. */
  shares(marketId: string, outcome: OutcomeName): Big {
    return this.markets.get(marketId)?.[outcome] ?? ZERO;
  }

  /** Shares that no resting sell offers. */
  freeShares(marketId: string, outcome: OutcomeName): Big {
    const { resting } = this;
    const offered =
      resting?.side === 'SELL' && resting.marketId === marketId && resting.outcome === outcome
        ? resting.shares
        : ZERO;
    return this.shares(marketId, outcome).minus(offered);
  }

  /** The markets that still owe the user something, or might. */
  marketIds(): string[] {
    return [...this.markets.keys()];
  }

  /**
   * Enters an order that was accepted. `amount`: of a buy that named one; `budget`: what a buy of
   * shares costs at most; `price`: its limit, when it may rest.
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
    this.volume = this.volume.plus(value);
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
      };
    }
  }

  /**
   * Enters an order that was executed but never answered, as reads show it. `money`: what it took
   * or gave, fee included.
   */
  found(
    side: 'BUY' | 'SELL',
    order: { marketId: string; outcome: OutcomeName; shares: Big; value: Big; money: Big },
  ): void {
    const { marketId, value, money } = order;
    const fee = money.minus(value).abs();
    const book = this.book(marketId);
    this.volume = this.volume.plus(value);
    this.feesPaid = this.feesPaid.plus(fee);
    book.feesPaid = book.feesPaid.plus(fee);
    this.move(side, order);
  }

  /**
   * The resting order is over: `cancelledShares` as the cancel's receipt said, or null when it was
   * gone already; `volume` as the profile says since.
   */
  restingEnded(cancelledShares: number | null, volume: number): void {
    const { price, shares, marketId, side, outcome, orderId } = this.resting!;
    const value = new Big(volume).minus(this.volume);
    const filled = value.div(price);
    expect(
      filled.round(3).eq(filled) && filled.gte(0) && filled.lte(shares),
      `${orderId} filled`,
    ).toBe(true);
    if (cancelledShares !== null)
      expectDecimal(cancelledShares, shares.minus(filled), `rest of ${orderId}`);
    this.resting = null;
    this.volume = this.volume.plus(value);
    this.makerShares = this.makerShares.plus(filled);
    this.move(side, { marketId, outcome, shares: filled, money: value });
  }

  /** What the market pays the user: the claim's shares, payout and refunded fees. */
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

  /** The market has paid, because of a claim or by itself; nothing of it is left in the books. */
  paid(marketId: string, resolution: ResolutionName): void {
    const { payout, refund } = this.owed(marketId, resolution);
    this.total = this.total.plus(payout).plus(refund);
    this.markets.delete(marketId);
  }

  /** A deposit was made. */
  staked(receipt: DepositReceipt): void {
    const { depositId, stakedAtMs, earnsFromMs, sequence } = receipt;
    if (this.deposits.has(depositId)) throw new Error(`${depositId} was made twice`);
    const amount = new Big(receipt.amount);
    this.total = this.total.minus(amount);
    const deposit = { depositId, amount, stakedAtMs, earnsFromMs, sequence };
    this.deposits.set(depositId, { ...deposit, closedSequence: null, yields: [] });
    this.checkBalance(receipt);
  }

  /** A deposit's yield was claimed. */
  yieldClaimed(receipt: DepositReceipt & { claimed: number }): void {
    this.payYield(receipt, receipt.claimed);
    this.checkBalance(receipt);
  }

  /** A deposit was closed, and its yield paid with it. */
  unstaked(receipt: DepositReceipt & { returned: number; yieldPaid: number }): void {
    const deposit = this.payYield(receipt, receipt.yieldPaid);
    expectDecimal(receipt.returned, deposit.amount, `returned of ${deposit.depositId}`);
    deposit.closedSequence = receipt.sequence;
    this.total = this.total.plus(deposit.amount);
    this.checkBalance(receipt);
  }

  /** A receipt's balance, unless an order rests: how much of that is filled is not known then. */
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

  /** Enters the fills; their value. */
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
