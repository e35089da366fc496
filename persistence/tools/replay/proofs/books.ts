/**
 * A second set of books, kept from events alone: each market's income and payments, and the
 * exchange's funds. After every batch they must agree with the engine's funds.
 *
 * The vault's share of a market's fees leaves the escrow at the resolution, but the event
 * `feesShared` comes later, when the last position is settled. Between the two, the books do not
 * know the share, so the market's escrow and the yield due may differ by it.
 */
import type { Engine } from '../../../../engine/engine.js';
import { MatchType, Resolution } from '../../../../engine/interface/domain.js';
import type { EventRecord } from '../../../../engine/interface/events.js';
import { MICROS_PER_SET } from '../../../../engine/interface/limits.js';
import { microsText } from '../../../../engine/interface/notation.js';
import type { FundsView } from '../../../../engine/interface/views.js';
import { changesOf } from '../../../history/account/changes.js';
import { marketName } from '../output/fields.js';

const dollarsText = (micros: number) => `$${microsText(micros)}`;

export class MarketBook {
  resolution: Resolution = Resolution.NONE;
  /** Everything is paid, and the engine has removed the market. */
  closed = false;
  feesMicros = 0;
  /** Whether the four parts below are final. */
  feesShared = false;
  vaultMicros = 0;
  referrersMicros = 0;
  makersMicros = 0;
  treasuryMicros = 0;
  refundedMicros = 0;
  claimedMicros = 0;
  automaticMicros = 0;
  collateralMicros = 0;
  /** Fees less what has left the escrow; the vault's share leaves with `feesShared`. */
  escrowMicros = 0;

  constructor(readonly marketId: number) {}
}

export class Books {
  readonly markets = new Map<number, MarketBook>();
  private readonly open = new Map<number, MarketBook>();
  private netDepositsMicros = 0;
  private availableMicros = 0;
  private heldMicros = 0;
  private stakedMicros = 0;
  private yieldPaidMicros = 0;
  private vaultRemainderMicros = 0;
  private vaultSharesMicros = 0;
  private treasuryMicros = 0;

  add(event: EventRecord): void {
    for (const change of changesOf(event)) {
      this.availableMicros += change.availableMicros;
      this.heldMicros += change.heldMicros;
    }
    switch (event.type) {
      case 'deposited':
        this.netDepositsMicros += event.amountMicros;
        break;
      case 'withdrawn':
        this.netDepositsMicros -= event.amountMicros;
        break;
      case 'staked':
        this.stakedMicros += event.amountMicros;
        break;
      case 'unstaked':
        this.stakedMicros -= event.amountMicros;
        this.yieldPaidMicros += event.yieldMicros;
        break;
      case 'yieldClaimed':
        this.yieldPaidMicros += event.yieldMicros;
        break;
      case 'vaultRemainder':
        this.vaultRemainderMicros += event.amountMicros;
        this.treasuryMicros += event.amountMicros;
        break;
      case 'marketListed':
        this.addMarket(event.marketId);
        break;
      case 'marketOpened':
        if (!this.markets.has(event.marketId)) this.addMarket(event.marketId);
        break;
      case 'marketResolved':
        this.market(event.marketId).resolution = event.resolution as Resolution;
        break;
      case 'trade':
        this.addTrade(event);
        break;
      case 'setsSplit': {
        const market = this.market(event.marketId);
        market.feesMicros += event.feeMicros;
        market.escrowMicros += event.feeMicros;
        addSets(market, event.sizeLots);
        break;
      }
      case 'setsMerged':
        addSets(this.market(event.marketId), 0 - event.sizeLots);
        break;
      case 'referralEarned': {
        const market = this.market(event.marketId);
        market.referrersMicros += event.amountMicros;
        market.escrowMicros -= event.amountMicros;
        break;
      }
      case 'makerShareEarned': {
        const market = this.market(event.marketId);
        market.makersMicros += event.amountMicros;
        market.escrowMicros -= event.amountMicros;
        break;
      }
      case 'feesShared':
        this.shareFees(event);
        break;
      case 'claimed':
        this.addPayout(event);
        break;
      case 'marketClosed':
        this.market(event.marketId).closed = true;
        break;
    }
  }

  /** Compares the books with the engine. A closed, empty market is not checked again. */
  problems(engine: Engine): string[] {
    const funds = engine.funds();
    return [...this.fundProblems(funds), ...this.marketProblems(engine, funds)];
  }

  private fundProblems(funds: FundsView): string[] {
    const problems: string[] = [];
    const expect = (name: string, actualMicros: number, expectedMicros: number) => {
      if (actualMicros !== expectedMicros)
        problems.push(differs(name, actualMicros, expectedMicros));
    };
    expect('available funds of users', funds.availableMicros, this.availableMicros);
    expect('held funds of users', funds.heldMicros, this.heldMicros);
    expect('stakes in the vault', funds.stakedMicros, this.stakedMicros);
    expect('treasury', funds.treasuryMicros, this.treasuryMicros);
    expect('deposits less withdrawals', funds.netDepositsMicros, this.netDepositsMicros);
    const pots = Object.entries(funds).filter(([name]) => name !== 'netDepositsMicros');
    const sum = pots.reduce((total, [, micros]) => total + micros, 0);
    if (sum !== funds.netDepositsMicros) {
      problems.push(
        `money is not conserved: all funds are ${dollarsText(sum)}, deposits less withdrawals are ${dollarsText(funds.netDepositsMicros)}`,
      );
    }
    for (const [name, micros] of pots) if (micros < 0) problems.push(`${name} is negative`);
    return problems;
  }

  private marketProblems(engine: Engine, funds: FundsView): string[] {
    const problems: string[] = [];
    let collateral = 0;
    let escrow = 0;
    let unshared = 0;
    for (const market of this.open.values()) {
      const held = engine.marketFunds(market.marketId);
      const problem = marketProblem(engine, market);
      if (problem !== null) problems.push(`${marketName(market.marketId, engine)}: ${problem}`);
      else if (market.closed) this.open.delete(market.marketId);
      if (held === null) continue;
      collateral += held.collateralMicros;
      escrow += held.feeEscrowMicros;
      unshared += market.escrowMicros - held.feeEscrowMicros;
    }
    if (collateral !== funds.collateralMicros)
      problems.push("the markets' collateral does not add up to the total");
    if (escrow !== funds.feeEscrowMicros)
      problems.push("the markets' fee escrow does not add up to the total");
    const yieldDue =
      this.vaultSharesMicros + unshared - this.yieldPaidMicros - this.vaultRemainderMicros;
    if (yieldDue !== funds.yieldDueMicros)
      problems.push(differs('yield due', funds.yieldDueMicros, yieldDue));
    return problems;
  }

  private addMarket(marketId: number): MarketBook {
    const market = new MarketBook(marketId);
    this.markets.set(marketId, market);
    this.open.set(marketId, market);
    return market;
  }

  private market(marketId: number): MarketBook {
    const market = this.markets.get(marketId);
    if (market === undefined)
      throw new Error(`an event names the market ${marketId}, which was never listed or opened`);
    return market;
  }

  private addTrade(trade: EventRecord<'trade'>): void {
    const market = this.market(trade.marketId);
    market.feesMicros += trade.feeMicros;
    market.escrowMicros += trade.feeMicros;
    if (trade.matchType === MatchType.TRANSFER) return;
    addSets(market, trade.matchType === MatchType.MINT ? trade.sizeLots : 0 - trade.sizeLots);
  }

  private shareFees(event: EventRecord<'feesShared'>): void {
    const market = this.market(event.marketId);
    market.feesShared = true;
    market.vaultMicros = event.vaultMicros;
    market.treasuryMicros = event.treasuryMicros;
    market.escrowMicros -= event.vaultMicros + event.treasuryMicros;
    this.vaultSharesMicros += event.vaultMicros;
    this.treasuryMicros += event.treasuryMicros;
  }

  private addPayout(event: EventRecord<'claimed'>): void {
    const market = this.market(event.marketId);
    if (event.automatic === 1) market.automaticMicros += event.payoutMicros;
    else market.claimedMicros += event.payoutMicros;
    market.refundedMicros += event.refundMicros;
    market.collateralMicros -= event.payoutMicros;
    market.escrowMicros -= event.refundMicros;
  }
}

/** Adds complete sets; negative `lots` remove them. */
function addSets(market: MarketBook, lots: number): void {
  market.collateralMicros += lots * MICROS_PER_SET;
}

function differs(name: string, actualMicros: number, expectedMicros: number): string {
  return `${name}: ${dollarsText(actualMicros)}, but the events give ${dollarsText(expectedMicros)}`;
}

function marketProblem(engine: Engine, book: MarketBook): string | null {
  if (book.closed) return closedProblem(book);
  const held = engine.marketFunds(book.marketId);
  const view = engine.market(book.marketId);
  if (held === null || view === null) return 'the engine has removed it before it was closed';
  if (held.collateralMicros !== book.collateralMicros)
    return `collateral is ${dollarsText(held.collateralMicros)}, but the events give ${dollarsText(book.collateralMicros)}`;
  const setsMicros = view.openInterestLots * MICROS_PER_SET;
  if (book.resolution === Resolution.NONE && book.collateralMicros !== setsMicros)
    return 'collateral is not the value of its complete sets';
  const unsharedMicros = book.escrowMicros - held.feeEscrowMicros;
  const mayBeUnshared = book.resolution !== Resolution.NONE && !book.feesShared;
  if (unsharedMicros !== 0 && !(mayBeUnshared && unsharedMicros > 0))
    return `fee escrow is ${dollarsText(held.feeEscrowMicros)}, but the events give ${dollarsText(book.escrowMicros)}`;
  return null;
}

/** All money that was paid in was paid out, shared or refunded. */
function closedProblem(book: MarketBook): string | null {
  if (book.collateralMicros !== 0)
    return `it was closed with collateral of ${dollarsText(book.collateralMicros)}`;
  if (book.escrowMicros !== 0)
    return `it was closed with fees of ${dollarsText(book.escrowMicros)} in escrow`;
  return null;
}
