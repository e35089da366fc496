/**
 * The leaderboards that follow from all users' trades, computed with big.js from HTTP and none of
 * the engine's code.
 *
 * Profit: a sale realizes its value less its shares' part of the cost (floored to a micro-dollar);
 * fees count against it when paid; a settlement realizes the payout, and on VOID the refunded fees,
 * less the remaining cost. Volume: the value of the trades that paid a fee. Points: 100 per dollar
 * of fees on trades at 0.03 to 0.97, at settlement; none on VOID. A user is listed by profit in a
 * period when anything counted, and by the others with more than 0. Nobody is referred.
 */
import { Big } from 'big.js';
import type { OutcomeName, ResolutionName } from './decimals.js';

export interface HttpTrade {
  tradeId: string;
  marketId: string;
  outcome: OutcomeName;
  side: 'BUY' | 'SELL';
  price: number;
  shares: number;
  value: number;
  fee: number;
  role: 'taker' | 'maker';
  atMs: number;
}

export interface Participant {
  userId: string;
  username: string;
  /** Trades, oldest first. */
  trades: HttpTrade[];
}

export interface DecidedMarket {
  resolution: ResolutionName;
  /** Time of settlement. */
  settledAtMs: number;
}

/** The exchange's own account, which is not ranked. */
const HOUSE = 'house';

export type MetricName = 'profit' | 'volume' | 'points';
export const METRICS: readonly MetricName[] = ['profit', 'volume', 'points'];

export interface ExpectedEntry {
  rank: number;
  userId: string;
  username: string;
  value: number;
}

/** One contribution to a user's standing. */
interface Count {
  atMs: number;
  profit: Big;
  volume: Big;
  points: Big;
}

interface Holding {
  UP: { shares: Big; cost: Big };
  DOWN: { shares: Big; cost: Big };
  fees: Big;
  pointFees: Big;
}

const ZERO = new Big(0);
const POINTS_PER_DOLLAR = 100;
const floorToMicros = (money: Big): Big => money.round(6, Big.roundDown);

export class ExpectedStandings {
  private readonly counts = new Map<string, Count[]>();

  constructor(
    private readonly participants: readonly Participant[],
    markets: ReadonlyMap<string, DecidedMarket>,
  ) {
    for (const { userId } of participants) this.counts.set(userId, []);
    for (const participant of participants) this.follow(participant, markets);
  }

  /**
   * The ranking by contributions from `fromMs` on: highest first; among equals, earlier
   * registrations first.
   */
  board(metric: MetricName, fromMs: number): ExpectedEntry[] {
    const ranked = this.participants.filter(({ username }) => username !== HOUSE);
    const entries = ranked.flatMap(({ userId, username }) => {
      const counts = this.counts.get(userId)!.filter(({ atMs }) => atMs >= fromMs);
      const value = counts.reduce((sum, count) => sum.plus(count[metric]), ZERO);
      const isListed = metric === 'profit' ? counts.length > 0 : value.gt(0);
      return isListed ? [{ userId, username, value }] : [];
    });
    entries.sort((a, b) => b.value.cmp(a.value) || numberOf(a.userId) - numberOf(b.userId));
    // Equal values share a rank.
    const rankOf = (value: Big) => entries.findIndex((one) => one.value.eq(value)) + 1;
    return entries.map((entry) => ({
      rank: rankOf(entry.value),
      ...entry,
      value: entry.value.toNumber(),
    }));
  }

  /** The user's all-time total. */
  total(userId: string, metric: MetricName): number {
    return this.counts
      .get(userId)!
      .reduce((sum, count) => sum.plus(count[metric]), ZERO)
      .toNumber();
  }

  private follow(participant: Participant, markets: ReadonlyMap<string, DecidedMarket>): void {
    const holdings = new Map<string, Holding>();
    for (const trade of participant.trades) {
      const holding = holdings.get(trade.marketId) ?? emptyHolding();
      holdings.set(trade.marketId, holding);
      const profit = tradeProfit(holding, trade);
      const paid = trade.side === 'BUY' && trade.role === 'taker';
      const volume = new Big(paid ? trade.value : 0);
      this.count(participant.userId, { atMs: trade.atMs, profit, volume });
    }
    for (const [marketId, holding] of holdings)
      this.settle(participant, holding, markets.get(marketId)!);
  }

  private settle({ userId }: Participant, holding: Holding, market: DecidedMarket): void {
    const { UP, DOWN, fees, pointFees } = holding;
    const { resolution, settledAtMs: atMs } = market;
    const isVoid = resolution === 'VOID';
    const payout = isVoid ? UP.shares.plus(DOWN.shares).times('0.5') : holding[resolution].shares;
    const refund = isVoid ? fees : ZERO;
    if (UP.shares.plus(DOWN.shares).plus(refund).gt(0)) {
      this.count(userId, { atMs, profit: payout.plus(refund).minus(UP.cost).minus(DOWN.cost) });
    }
    const points = isVoid ? ZERO : pointFees.times(POINTS_PER_DOLLAR);
    if (points.gt(0)) this.count(userId, { atMs, points });
  }

  private count(userId: string, counted: Partial<Count> & { atMs: number }): void {
    this.counts.get(userId)!.push({ profit: ZERO, volume: ZERO, points: ZERO, ...counted });
  }
}

/** Enters a trade; returns the realized profit. */
function tradeProfit(holding: Holding, trade: HttpTrade): Big {
  const held = holding[trade.outcome];
  const value = new Big(trade.value);
  const fee = new Big(trade.fee);
  holding.fees = holding.fees.plus(fee);
  if (trade.price >= 0.03 && trade.price <= 0.97) holding.pointFees = holding.pointFees.plus(fee);
  if (trade.side === 'BUY') {
    held.shares = held.shares.plus(trade.shares);
    held.cost = held.cost.plus(value);
    return ZERO.minus(fee);
  }
  const part = floorToMicros(held.cost.times(trade.shares).div(held.shares));
  held.shares = held.shares.minus(trade.shares);
  held.cost = held.cost.minus(part);
  return value.minus(part).minus(fee);
}

function emptyHolding(): Holding {
  const nothing = () => ({ shares: ZERO, cost: ZERO });
  return { UP: nothing(), DOWN: nothing(), fees: ZERO, pointFees: ZERO };
}

const numberOf = (userId: string) => Number(userId.slice(1));
