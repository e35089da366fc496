/**
 * The workload of the benchmarks: what an exchange sees on a busy day, made from a seed. Some hundred makers quote around the
 * middle of every market with limit orders and cancel them; ten thousand takers, few of them busy and many idle, buy for an amount and
 * sell what they own; prices come every second, windows end, markets resolve, winnings are claimed.
 *
 * It is planned by running an engine beside it, so that it cancels orders that really rest and sells shares that are really owned. That
 * happens before anything is timed: the plan is a tape of commands (command-tape.ts).
 *
 * Always holds: the same options give the same plan. An engine that runs `setup` and the tape ends with the plan's digest; whoever runs
 * it checks that, so that no benchmark measures an engine that did something else.
 */

import { Engine } from '../../engine/engine.js';
import { CODES } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { MarketStatus, Outcome, TimeInForce, WINDOW_MS } from '../../engine/interface/domain.js';
import { MAX_ORDER_LOTS, MAX_TIME_MS, MICROS_PER_DOLLAR } from '../../engine/interface/limits.js';
import { OrderResult, ResultHead } from '../../engine/interface/results.js';
import { percent, type Section } from '../report.js';
import { CommandTape, type TapeCommand } from './command-list.js';
import { type EventCounts, follow, LiveOrders } from './live-orders.js';
import { Random } from './random.js';

export interface WorkloadOptions {
  seed: string;
  /** On the tape; the setup comes on top. */
  commands: number;
  users: number;
  assets: number;
  /** Quarter hours that the tape takes; it ends some seconds after the last of them. */
  windows: number;
  /** Resting orders per market that makers strive for. */
  restingTarget: number;
}

export const STANDARD: Omit<WorkloadOptions, 'seed' | 'commands'> = {
  users: 10_000,
  assets: 4,
  windows: 4,
  restingTarget: 1_500,
};

export interface TimedCommand {
  command: Command;
  atMs: number;
}

export interface Statistics {
  /** `buy GTC`, `cancel`, …: how many, and how many of them had each result code. */
  byKind: ReadonlyMap<string, ReadonlyMap<string, number>>;
  orders: number;
  /** Orders that traded at once with at least one resting order. */
  crossing: number;
  events: EventCounts;
  mostResting: number;
}

export interface Workload {
  options: WorkloadOptions;
  setup: readonly TimedCommand[];
  tape: CommandTape;
  digest: string;
  statistics: Statistics;
}

/** A quarter hour's start. */
const START_MS = 1_763_700_300_000;
/** When the tape begins: the first markets are open, with prices. */
const TAPE_AFTER_MS = 5_000;
/** How long after the last window's end it goes on, so that the ends are in it. */
const TAIL_MS = 15_000;
const PRICE_EVERY_MS = 1_000;
const FUNDS_MICROS = 500_000 * MICROS_PER_DOLLAR;
const MAKERS = 500;
/** The referral code that the engine makes for user 1 (RULES.md, Accounts). */
const FIRST_CODE = 'Q000001';
/** How far the asset must move for an outcome to be nearly certain, in parts of its price. */
const CERTAIN_AT = 0.004;

/** What is drawn, in parts per thousand; the rest are claims, as long as there are any. */
const WEIGHTS = { rest: 400, cancel: 330, buy: 180, sell: 70 };
/** Cancels of orders that are gone, in parts per thousand of the cancels. */
const LATE_CANCELS = 30;

/** The users, the assets and their first prices: everything before the tape. */
export function setupOf(options: WorkloadOptions): TimedCommand[] {
  const setup: TimedCommand[] = [];
  for (let asset = 0; asset < options.assets; asset++) {
    setup.push({ command: { kind: 'listAsset', symbol: `ASSET${asset}` }, atMs: START_MS });
  }
  for (let user = 1; user <= options.users; user++) {
    setup.push({
      command: {
        kind: 'register',
        username: `trader-${user}`,
        credential: '',
        // Every second one was referred by the first.
        referralCode: user > 1 && user % 2 === 0 ? FIRST_CODE : '',
        grantMicros: FUNDS_MICROS,
        partner: null,
      },
      atMs: START_MS,
    });
  }
  return setup;
}

/** An engine that has run the setup. */
export function prepareEngine(setup: readonly TimedCommand[]): Engine {
  const engine = new Engine();
  for (const { command, atMs } of setup) {
    engine.apply(command, atMs);
    const code = CODES[engine.result.values[ResultHead.code]!];
    if (code !== 'ok') throw new Error(`the setup's ${command.kind} is refused: ${code}`);
  }
  return engine;
}

export function planWorkload(options: WorkloadOptions): Workload {
  return new Planner(options).plan();
}

class Planner {
  private readonly engine: Engine;
  private readonly setup: TimedCommand[];
  private readonly tape: CommandTape;
  private readonly random: Random;
  private readonly orders = new LiveOrders();
  private readonly claimable: { userId: number; marketId: number }[] = [];
  private readonly owners: { userId: number; marketId: number }[] = [];
  private readonly pricesMicros: number[];
  private readonly byKind = new Map<string, Map<string, number>>();
  private readonly events: EventCounts = { trades: 0, matches: [0, 0, 0], byEvent: new Map() };
  private orderCount = 0;
  private crossing = 0;
  private nextPricesAtMs = START_MS;
  private nowMs = START_MS;

  constructor(private readonly options: WorkloadOptions) {
    this.random = new Random(options.seed);
    this.setup = setupOf(options);
    this.engine = prepareEngine(this.setup);
    this.tape = new CommandTape(options.commands);
    this.pricesMicros = Array.from({ length: options.assets }, () => 90_000 * MICROS_PER_DOLLAR);
  }

  plan(): Workload {
    const { options, tape } = this;
    const spanMs = options.windows * WINDOW_MS + TAIL_MS - TAPE_AFTER_MS;
    this.observePrices(START_MS);
    while (tape.length < options.commands) {
      this.nowMs = START_MS + TAPE_AFTER_MS + Math.floor((tape.length / options.commands) * spanMs);
      if (this.nextPricesAtMs <= this.nowMs) this.observePrices(this.nextPricesAtMs);
      else if (this.engine.nextDueMs() <= this.nowMs) this.give({ kind: 'advanceTime' });
      else this.trade();
    }
    return {
      options,
      setup: this.setup,
      tape,
      digest: this.engine.digest(),
      statistics: {
        byKind: this.byKind,
        orders: this.orderCount,
        crossing: this.crossing,
        events: this.events,
        mostResting: this.orders.most,
      },
    };
  }

  /** A second's price of each asset: a random walk. */
  private observePrices(observedAtMs: number): void {
    for (let asset = 0; asset < this.options.assets && this.tape.length < this.options.commands; asset++) {
      const step = (this.random.next() - 0.5) * 0.0001;
      const priceMicros = Math.max(MICROS_PER_DOLLAR, Math.round(this.pricesMicros[asset]! * (1 + step)));
      this.pricesMicros[asset] = priceMicros;
      this.give({ kind: 'observePrice', asset, priceMicros, observedAtMs });
    }
    this.nextPricesAtMs = observedAtMs + PRICE_EVERY_MS;
  }

  /** What some trader does now. */
  private trade(): void {
    const marketId = this.engine.activeMarket(this.below(this.options.assets));
    const draw = this.below(1_000);
    if (marketId === 0) this.give({ kind: 'advanceTime' });
    else if (draw < WEIGHTS.rest) this.quote(marketId);
    else if (draw < WEIGHTS.rest + WEIGHTS.cancel) this.cancel(marketId);
    else if (draw < WEIGHTS.rest + WEIGHTS.cancel + WEIGHTS.buy) this.buy(marketId);
    else if (draw < WEIGHTS.rest + WEIGHTS.cancel + WEIGHTS.buy + WEIGHTS.sell) this.sell(marketId);
    else this.claim(marketId);
  }

  /** A maker's limit order near the middle; makers who see a full book cancel instead. */
  private quote(marketId: number): void {
    const { restingTarget } = this.options;
    if (this.orders.in(marketId).length > restingTarget * 1.25) this.cancelOne(marketId);
    else this.rest(marketId);
  }

  private cancel(marketId: number): void {
    const { restingTarget } = this.options;
    if (this.orders.in(marketId).length < restingTarget * 0.75) this.rest(marketId);
    else if (this.below(1_000) < LATE_CANCELS) this.cancelGone(marketId);
    else this.cancelOne(marketId);
  }

  private rest(marketId: number): void {
    const userId = 1 + this.below(Math.min(MAKERS, this.options.users));
    const outcome = this.below(2) as Outcome;
    const position = this.engine.position(userId, marketId);
    const freeLots =
      position === null
        ? 0
        : outcome === Outcome.UP
          ? position.upLots - position.upHeldLots
          : position.downLots - position.downHeldLots;
    const sells = freeLots >= 1_000 && this.below(3) > 0;
    // One in twenty is priced through the middle; the others around it, most of them close.
    const away =
      this.below(20) === 0
        ? 0 - this.below(10)
        : 1 + Math.min(this.below(40), this.below(40), this.below(40));
    const fairTicks = this.fairTicks(marketId, outcome);
    const priceTicks = Math.min(999, Math.max(1, sells ? fairTicks + away : fairTicks - away));
    const sizeLots = 1_000 * (1 + this.below(200));
    const common = { userId, idempotencyKey: null, marketId, outcome, priceTicks, validUntilMs: MAX_TIME_MS };
    const limit = { ...common, timeInForce: TimeInForce.GTC, postOnly: away > 0 && this.below(3) === 0 };
    if (sells) this.give({ kind: 'sell', ...limit, sizeLots: Math.min(sizeLots, freeLots) });
    else this.give({ kind: 'buy', ...limit, sizeLots, budgetMicros: sizeLots * priceTicks });
  }

  private cancelOne(marketId: number): void {
    const orders = this.orders.in(marketId);
    const { userId, orderId } = orders[this.below(orders.length)]!;
    this.give({ kind: 'cancel', userId, idempotencyKey: null, marketId, orderId });
  }

  private cancelGone(marketId: number): void {
    const gone = this.orders.lastGone(this.below(1_000));
    if (gone === null) {
      this.cancelOne(marketId);
      return;
    }
    const { userId, orderId } = gone;
    this.give({ kind: 'cancel', userId, idempotencyKey: null, marketId: gone.marketId, orderId });
  }

  /** A taker buys for an amount: most at any price, some with a limit, few all or nothing. */
  private buy(marketId: number): void {
    const userId = this.someTaker();
    const outcome = this.below(2) as Outcome;
    const draw = this.below(100);
    const dollars = (1 + this.below(20)) * (this.below(20) === 0 ? 25 : 1);
    const limitTicks = Math.min(999, this.fairTicks(marketId, outcome) + 20);
    const traded = this.give({
      kind: 'buy',
      userId,
      idempotencyKey: null,
      marketId,
      outcome,
      budgetMicros: dollars * MICROS_PER_DOLLAR,
      sizeLots: MAX_ORDER_LOTS,
      priceTicks: draw < 75 ? 999 : limitTicks,
      timeInForce: draw < 95 ? TimeInForce.IOC : TimeInForce.FOK,
      postOnly: false,
      validUntilMs: MAX_TIME_MS,
    });
    if (traded) this.owners.push({ userId, marketId });
  }

  /** Someone who bought sells all or a part of it at any price. */
  private sell(marketId: number): void {
    while (this.owners.length > 0) {
      const index = this.below(this.owners.length);
      const owner = this.owners[index]!;
      this.owners[index] = this.owners.at(-1)!;
      this.owners.pop();
      const position = this.engine.position(owner.userId, owner.marketId);
      const isActive = this.engine.market(owner.marketId)?.status === MarketStatus.ACTIVE;
      if (position === null || !isActive) continue;
      const upFree = position.upLots - position.upHeldLots;
      const downFree = position.downLots - position.downHeldLots;
      const outcome = upFree >= downFree ? Outcome.UP : Outcome.DOWN;
      const freeLots = Math.max(upFree, downFree);
      if (freeLots === 0) continue;
      this.give({
        kind: 'sell',
        userId: owner.userId,
        idempotencyKey: null,
        marketId: owner.marketId,
        outcome,
        sizeLots: this.below(2) === 0 ? freeLots : 1 + this.below(freeLots),
        priceTicks: 1,
        timeInForce: TimeInForce.IOC,
        postOnly: false,
        validUntilMs: MAX_TIME_MS,
      });
      return;
    }
    this.buy(marketId);
  }

  private claim(marketId: number): void {
    const winner = this.claimable.pop();
    if (winner === undefined) this.buy(marketId);
    else this.give({ kind: 'claim', idempotencyKey: null, ...winner });
  }

  /** What the outcome is worth, from how far the asset is from its start price. */
  private fairTicks(marketId: number, outcome: Outcome): number {
    const { asset, startPriceMicros } = this.engine.market(marketId)!;
    const moved = this.pricesMicros[asset]! / startPriceMicros - 1;
    const up = Math.min(950, Math.max(50, 500 + Math.round((moved / CERTAIN_AT) * 450)));
    return outcome === Outcome.UP ? up : 1_000 - up;
  }

  /** Few are busy, many are idle: the square of an even draw. */
  private someTaker(): number {
    const draw = this.random.next();
    return 1 + Math.floor(draw * draw * this.options.users);
  }

  private below(count: number): number {
    return this.random.whole(0, count - 1);
  }

  /** Puts a command on the tape, applies it and learns from it; returns whether it traded at once. */
  private give(command: TapeCommand): boolean {
    const { engine } = this;
    this.tape.append(command, this.nowMs);
    engine.apply(command, this.nowMs);
    const result = engine.result.values;
    this.count(command, CODES[result[ResultHead.code]!]!);
    follow(engine.events, this.orders, this.events, (userId, marketId) =>
      this.claimable.push({ userId, marketId }),
    );
    if (command.kind !== 'buy' && command.kind !== 'sell') return false;
    this.orderCount++;
    const traded = result[ResultHead.code] === 0 && result[OrderResult.fillCount]! > 0;
    if (traded) this.crossing++;
    return traded;
  }

  private count(command: TapeCommand, code: string): void {
    const kind = labelOf(command);
    let codes = this.byKind.get(kind);
    if (codes === undefined) {
      codes = new Map();
      this.byKind.set(kind, codes);
    }
    codes.set(code, (codes.get(code) ?? 0) + 1);
  }
}

function labelOf(command: TapeCommand): string {
  if (command.kind !== 'buy' && command.kind !== 'sell') return command.kind;
  const how =
    command.timeInForce === TimeInForce.IOC ? 'IOC' : command.timeInForce === TimeInForce.FOK ? 'FOK' : 'GTC';
  return `${command.kind} ${how}${command.postOnly ? ' post-only' : ''}`;
}

/** What the workload is made of, for the report. */
export function describeWorkload({ options, tape, digest, statistics }: Workload): Section {
  const { byKind, orders, crossing, events, mostResting } = statistics;
  const [transfers, mints, merges] = events.matches;
  const kinds = [...byKind].map(([kind, codes]) => {
    const count = [...codes.values()].reduce((sum, n) => sum + n, 0);
    const answers = [...codes]
      .sort((a, b) => b[1] - a[1])
      .map(([code, n]) => `${code} ${percent(n / count)}`);
    return { kind, count, answers: answers.join(', ') };
  });
  kinds.sort((a, b) => b.count - a.count);
  return {
    name: 'workload',
    notes: [
      `seed ${options.seed}: ${tape.length.toLocaleString('en-US')} commands of ${options.users.toLocaleString('en-US')} users in ${options.assets} assets over ${options.windows} quarter hours, market ends included; digest ${digest}.`,
      `${percent(crossing / orders)} of the orders trade at once, with ${(events.trades / crossing).toFixed(2)} resting orders each; ${mostResting.toLocaleString('en-US')} orders rest at most.`,
      `${events.trades.toLocaleString('en-US')} trades: ${percent(transfers / events.trades)} transfers, ${percent(mints / events.trades)} mints, ${percent(merges / events.trades)} merges.`,
    ],
    tables: [
      {
        title: 'Commands and their results',
        columns: ['command', 'count', 'share', 'results'],
        rows: kinds.map(({ kind, count, answers }) => [kind, count, percent(count / tape.length), answers]),
      },
      {
        title: 'Events',
        columns: ['event', 'count'],
        rows: [...events.byEvent].sort((a, b) => b[1] - a[1]),
      },
    ],
    figures: { crossingShare: crossing / orders, tradesPerCommand: events.trades / tape.length },
  };
}
