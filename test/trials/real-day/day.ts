/**
 * A day of real prices, or its beginning, that users trade over HTTP: they register, trade, claim,
 * refer each other, stake and unstake, and keep their own books.
 *
 * The seed repeats their choices. How much is traded depends on the machine.
 */
import { Big } from 'big.js';
import { Random } from '../../../bench/workload/random.js';
import { eventually } from '../../support/eventually.js';
import type { ApiClient } from '../../support/server.js';
import { DAY_MS, QUARTER_MS } from './day-prices.js';
import { floorToMicros, type Income } from './expected-income.js';
import type { Participant } from './expected-standings.js';
import { MarketWatch } from './market-watch.js';
import { type Neighbourhood, SideBusiness } from './side-business.js';
import { TradingClient } from './trading-client.js';

/** Users register in groups; from the second group on, most of them with an earlier user's code. */
const GROUP = 20;

/** What the exchange of the day must be started with. */
export const STARTING_BALANCE = 10_000;
export const HOUSE_FUNDS = 1_000_000;

export interface DayOptions {
  /** For the users. */
  api: ApiClient;
  /** For the watch over the markets. */
  watchApi: ApiClient;
  seed: string;
  users: number;
  /**
   * Every second user does not claim in this many first markets, so winnings are paid automatically
   * a day later.
   */
  patientMarkets: number;
}

/** Times of the exchange. */
export interface Span {
  /** Where the first market starts that is traded. */
  fromMs: number;
  /** Markets that start then or later are not traded. */
  tradeUntilMs: number;
  /** When the users have claimed everything and stop. */
  watchUntilMs: number;
}

export class RealDay {
  readonly watch: MarketWatch;
  readonly clients: TradingClient[] = [];
  /** Each user's referrer. */
  readonly referrers = new Map<string, string | null>();
  /** Each user's automatic income: parts of other users' fees, and unclaimed winnings. */
  readonly incomes = new Map<string, Income[]>();
  /** What HTTP reports about each user at the end. */
  readonly participants: Participant[] = [];
  private readonly random: Random;
  private readonly others: Neighbourhood = { depositIds: [], ownerOfCode: new Map() };

  constructor(readonly options: DayOptions) {
    this.random = new Random(`${options.seed}:registration`);
    this.watch = new MarketWatch(options.watchApi);
  }

  get api(): ApiClient {
    return this.options.api;
  }

  /** Begins the watch and registers the users. */
  async open(): Promise<void> {
    this.watch.start();
    for (let first = 0; first < this.options.users; first += GROUP) await this.registerGroup(first);
  }

  /** All users trade and claim, until the watch is over. */
  async live(span: Span): Promise<void> {
    const { seed, patientMarkets } = this.options;
    const lives = this.clients.map((client, i) => {
      const patientUntilMs = i % 2 === 1 ? span.fromMs + patientMarkets * QUARTER_MS : 0;
      return this.liveAs(client, new Random(`${seed}:${i}`), { ...span, patientUntilMs });
    });
    await Promise.all(lives);
    await this.watch.stop();
  }

  /** Enters the automatic payments, of markets that the exchange has since forgotten. */
  async enterPayments(): Promise<number> {
    let payments = 0;
    for (const { ledger } of this.clients) {
      for (const id of ledger.marketIds()) {
        const { resolution, endsAtMs } = this.watch.resolved.get(id)!;
        const path = `/markets/15m/${id}/orderbook`;
        await eventually(async () => (await this.api.get(path)).status === 404);
        const { payout } = ledger.owed(id, resolution!);
        if (payout.gt(0)) payments++;
        this.incomes.get(ledger.userId)!.push({ endsAtMs: endsAtMs + DAY_MS, amount: payout });
        ledger.paid(id, resolution!);
      }
    }
    return payments;
  }

  /**
   * Enters a tenth of the fees that each user paid in each market into the referrer's books.
   * Returns what each has earned.
   */
  enterReferrals(): Map<string, Big> {
    const { clients, referrers, incomes } = this;
    const earned = new Map(clients.map(({ userId }) => [userId, new Big(0)]));
    for (const { userId, ledger } of clients) {
      const referrer = clients.find((client) => client.userId === referrers.get(userId));
      if (referrer === undefined) continue;
      for (const [id, fees] of ledger.feesByMarket) {
        const { resolution, endsAtMs } = this.watch.resolved.get(id)!;
        const amount = resolution === 'VOID' ? new Big(0) : floorToMicros(fees.times('0.1'));
        incomes.get(referrer.userId)!.push({ endsAtMs, amount });
        referrer.ledger.total = referrer.ledger.total.plus(amount);
        earned.set(referrer.userId, earned.get(referrer.userId)!.plus(amount));
      }
    }
    return earned;
  }

  /** What the users did, and how often. */
  counted(): Record<string, number> {
    const sums: Record<string, number> = {};
    for (const client of this.clients) {
      for (const [what, count] of client.counts) sums[what] = (sums[what] ?? 0) + count;
    }
    const rested = this.clients.reduce((sum, { ledger }) => sum + ledger.makerShares.toNumber(), 0);
    sums['shares filled while resting'] = Math.round(rested);
    return Object.fromEntries(Object.entries(sums).sort());
  }

  /** Registers some users, most with a referral code, and some of them change their own code. */
  private async registerGroup(first: number): Promise<void> {
    const codes = [...this.others.ownerOfCode.keys()];
    const registering = Array.from({ length: GROUP }, (_, i) => this.register(first + i, codes));
    const group = await Promise.all(registering);
    this.clients.push(...group);
    const changing = group.slice(0, GROUP / 4).map((client) => this.sideOf(client, this.random));
    await Promise.all(changing.map((side) => side.changeCode()));
  }

  private async register(number: number, codes: readonly string[]): Promise<TradingClient> {
    const { random, others } = this;
    const name = `trader-${number}`;
    // In random case, because codes ignore it.
    const code =
      codes.length > 0 && random.chance(0.8) ? random.pick(codes).toLowerCase() : undefined;
    const own = new Random(this.options.seed + name);
    const client = await TradingClient.register(this.api, name, own, code);
    const { userId } = client;
    const referrer = code === undefined ? null : others.ownerOfCode.get(code.toUpperCase())!;
    this.referrers.set(userId, referrer);
    this.incomes.set(userId, []);
    others.ownerOfCode.set(client.codes[0]!, userId);
    return client;
  }

  private sideOf(client: TradingClient, random: Random): SideBusiness {
    return new SideBusiness(this.api, client, random, this.others);
  }

  /** Trades each new market and claims what was resolved. */
  private async liveAs(
    client: TradingClient,
    random: Random,
    span: Span & { patientUntilMs: number },
  ): Promise<void> {
    const { watch } = this;
    const claimed = new Set<string>();
    const side = this.sideOf(client, random);
    while (watch.nowMs < span.watchUntilMs) {
      watch.check();
      const { active } = watch;
      if (active !== null && active.startsAtMs < span.tradeUntilMs)
        await trade(client, active.id, random);
      if (random.chance(0.1)) await side.act();
      await this.claimResolved(client, claimed, span.patientUntilMs);
      await new Promise((resolve) => setTimeout(resolve, random.whole(100, 1_900)));
    }
    await this.claimResolved(client, claimed, span.patientUntilMs);
    await client.endResting();
  }

  /** What starts before `patientUntilMs` is left. */
  private async claimResolved(
    client: TradingClient,
    claimed: Set<string>,
    patientUntilMs: number,
  ): Promise<void> {
    for (const { id, startsAtMs, resolution } of this.watch.resolved.values()) {
      if (claimed.has(id) || startsAtMs < patientUntilMs) continue;
      claimed.add(id);
      await client.claim(id, resolution!);
    }
  }
}

/** Once or several times. */
async function trade(client: TradingClient, marketId: string, random: Random): Promise<void> {
  while ((await client.act(marketId)) && random.chance(0.4));
}
