/**
 * The workload of the benchmarks: a busy day of an exchange, made from a seed. Some hundred makers
 * quote around the middle of every market with limit orders and cancel them. Ten thousand takers, a
 * few busy and many idle, buy for an amount and sell what they own. Prices come every second,
 * windows end, markets resolve, and winnings are claimed.
 *
 * The planner runs an engine, so the plan cancels resting orders and sells owned shares. It plans
 * before anything is timed, and makes a list of commands (command-list.ts).
 *
 * Invariant: equal options give equal plans. An engine that runs the setup and the commands ends
 * with the plan's digest. Every benchmark checks the digest, so that it measures an engine that did
 * the planned work.
 */
import { Engine } from '../../../engine/engine.js';
import { CODES } from '../../../engine/interface/codes.js';
import type { Buy, Command, Sell } from '../../../engine/interface/commands.js';
import {
  MarketStatus,
  Outcome,
  Side,
  TimeInForce,
  WINDOW_MS,
} from '../../../engine/interface/domain.js';
import { MAX_GRANTED_MICROS, MICROS_PER_DOLLAR } from '../../../engine/interface/limits.js';
import { OrderResult, ResultHead } from '../../../engine/interface/results.js';
import { CommandList } from './command-list.js';
import { type EventCounts, follow, type LiveOrder, LiveOrders } from './live-orders.js';
import {
  buyOrder,
  mustApply,
  registration,
  WINDOW_START_MS as START_MS,
  sellOrder,
} from './open-market.js';
import { OrderTape } from './order-tape.js';
import { Random } from './random.js';

export interface WorkloadOptions {
  seed: string;
  /** The number of commands, without the setup. */
  commands: number;
  users: number;
  assets: number;
  /** The number of quarter hours; the commands end some seconds after the last one. */
  windows: number;
  /** The number of resting orders per market that makers aim for. */
  restingTarget: number;
  /** The share of commands that come in runs of {@link BATCH} quotes and cancels by one user. */
  batchable: number;
}

export const STANDARD: Omit<WorkloadOptions, 'seed' | 'commands'> = {
  users: 10_000,
  assets: 4,
  windows: 4,
  restingTarget: 1_500,
  batchable: 0,
};
export const BATCH = 20;

export interface TimedCommand {
  command: Command;
  atMs: number;
}

export interface Statistics {
  /** Counts of commands by label (`buy GTC`, `cancel`) and result code. */
  byKind: ReadonlyMap<string, ReadonlyMap<string, number>>;
  orders: number;
  /** Orders that traded immediately. */
  crossing: number;
  events: EventCounts;
  mostResting: number;
}

export interface Workload {
  options: WorkloadOptions;
  setup: Iterable<TimedCommand>;
  commands: CommandList;
  digest: string;
  /** The same orders and cancels for a book without users and money. */
  tape: OrderTape;
  /** The indexes of the first commands of the runs of {@link BATCH} commands of one user. */
  batchStarts: ReadonlySet<number>;
  statistics: Statistics;
}

/** By then, the first markets are open and have prices. */
const FIRST_COMMAND_AFTER_MS = 5_000;
/** The commands continue after the last window's end, so that they include the ends. */
const TAIL_MS = 15_000;
const PRICE_EVERY_MS = 1_000;
/** The most funds of a user, because the exchange limits the total. */
const FUNDS_MICROS = 500_000 * MICROS_PER_DOLLAR;
/** The minimum number of makers; a twentieth of the users if that is more. */
const MAKERS = 500;
/** The number of makers that send their quotes in batches. */
const BATCHING_MAKERS = 20;
/** The move of the asset, as a share of its price, that makes an outcome nearly certain. */
const CERTAIN_AT = 0.004;

/** Weights in parts per thousand; the rest are claims, as long as there are any. */
const WEIGHTS = { rest: 400, cancel: 330, buy: 180, sell: 70 };
/** Cancels of orders that have ended, in parts per thousand of the cancels. */
const LATE_CANCELS = 30;

/** Generated again for each reader, so that a million registrations take no memory. */
export function setupOf(options: WorkloadOptions): Iterable<TimedCommand> {
  const fundsMicros = Math.min(FUNDS_MICROS, Math.floor(MAX_GRANTED_MICROS / options.users));
  return {
    *[Symbol.iterator]() {
      for (let asset = 0; asset < options.assets; asset++) {
        yield { command: { kind: 'listAsset', symbol: `ASSET${asset}` }, atMs: START_MS };
      }
      for (let user = 1; user <= options.users; user++) {
        yield { command: registration(user, fundsMicros), atMs: START_MS };
      }
    },
  };
}

export function prepareEngine(setup: Iterable<TimedCommand>): Engine {
  const engine = new Engine();
  for (const { command, atMs } of setup) mustApply(engine, command, atMs);
  return engine;
}

export function planWorkload(options: WorkloadOptions): Workload {
  return new Planner(options).plan();
}

class Planner {
  private readonly engine: Engine;
  private readonly setup: Iterable<TimedCommand>;
  private readonly commands: CommandList;
  private readonly random: Random;
  private readonly tape = new OrderTape();
  private readonly batchStarts = new Set<number>();
  private readonly makers: number;
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
    this.makers = Math.min(options.users, Math.max(MAKERS, Math.floor(options.users / 20)));
    this.engine = prepareEngine(this.setup);
    this.commands = new CommandList(options.commands);
    this.pricesMicros = Array.from({ length: options.assets }, () => 90_000 * MICROS_PER_DOLLAR);
  }

  plan(): Workload {
    const { options, commands } = this;
    const spanMs = options.windows * WINDOW_MS + TAIL_MS - FIRST_COMMAND_AFTER_MS;
    this.observePrices(START_MS);
    while (commands.length < options.commands) {
      const passedMs = Math.floor((commands.length / options.commands) * spanMs);
      this.nowMs = START_MS + FIRST_COMMAND_AFTER_MS + passedMs;
      if (this.nextPricesAtMs <= this.nowMs) this.observePrices(this.nextPricesAtMs);
      else if (this.engine.nextDueMs() <= this.nowMs) this.give({ kind: 'advanceTime' });
      else this.trade();
    }
    this.tape.trades = this.events.trades;
    this.tape.restingLots = this.orders.lots;
    return {
      options,
      setup: this.setup,
      commands,
      digest: this.engine.digest(),
      tape: this.tape,
      batchStarts: this.batchStarts,
      statistics: {
        byKind: this.byKind,
        orders: this.orderCount,
        crossing: this.crossing,
        events: this.events,
        mostResting: this.orders.most,
      },
    };
  }

  private observePrices(observedAtMs: number): void {
    for (let asset = 0; asset < this.options.assets; asset++) {
      if (this.commands.length === this.options.commands) break;
      const step = (this.random.next() - 0.5) * 0.0001;
      const moved = Math.round(this.pricesMicros[asset]! * (1 + step));
      const priceMicros = Math.max(MICROS_PER_DOLLAR, moved);
      this.pricesMicros[asset] = priceMicros;
      this.give({ kind: 'observePrice', asset, priceMicros, observedAtMs });
    }
    this.nextPricesAtMs = observedAtMs + PRICE_EVERY_MS;
  }

  private trade(): void {
    const marketId = this.engine.activeMarket(this.below(this.options.assets));
    const draw = this.below(1_000);
    if (marketId === 0) this.give({ kind: 'advanceTime' });
    else if (this.batchComes()) this.quoteMany(marketId);
    else if (draw < WEIGHTS.rest) this.quote(marketId);
    else if (draw < WEIGHTS.rest + WEIGHTS.cancel) this.cancel(marketId);
    else if (draw < WEIGHTS.rest + WEIGHTS.cancel + WEIGHTS.buy) this.buy(marketId);
    else if (draw < WEIGHTS.rest + WEIGHTS.cancel + WEIGHTS.buy + WEIGHTS.sell) this.sell(marketId);
    else this.claim(marketId);
  }

  /** Places a maker's limit order near the middle; if the book is full, cancels one instead. */
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

  private batchComes(): boolean {
    const { batchable, commands } = this.options;
    if (batchable === 0 || commands - this.commands.length < BATCH) return false;
    return this.random.chance(batchable / (batchable + BATCH * (1 - batchable)));
  }

  /** A maker cancels up to half a batch of its resting orders and places new quotes. */
  private quoteMany(marketId: number): void {
    const start = this.commands.length;
    this.batchStarts.add(start);
    const userId = 1 + this.below(Math.min(BATCHING_MAKERS, this.makers));
    const quotes = this.orders.in(marketId).filter((order) => order.userId === userId);
    for (const order of quotes.slice(0, BATCH / 2)) this.cancelOrder(order);
    while (this.commands.length < start + BATCH) this.rest(marketId, userId);
  }

  private rest(marketId: number, userId = 1 + this.below(this.makers)): void {
    const outcome = this.below(2) as Outcome;
    const freeLots = this.freeLots(userId, marketId)[outcome];
    const sells = freeLots >= 1_000 && this.below(3) > 0;
    // One in twenty is priced through the middle. Most of the others are close to it.
    const isThrough = this.below(20) === 0;
    const near = () => 1 + Math.min(this.below(40), this.below(40), this.below(40));
    const away = isThrough ? 0 - this.below(10) : near();
    const fairTicks = this.fairTicks(marketId, outcome);
    const priceTicks = Math.min(999, Math.max(1, sells ? fairTicks + away : fairTicks - away));
    const sizeLots = 1_000 * (1 + this.below(200));
    const postOnly = away > 0 && this.below(3) === 0;
    const limit = { userId, marketId, outcome, priceTicks, timeInForce: TimeInForce.GTC, postOnly };
    if (sells) this.give(sellOrder({ ...limit, sizeLots: Math.min(sizeLots, freeLots) }));
    else this.give(buyOrder({ ...limit, sizeLots }));
  }

  /** The shares that a user could sell, by outcome. */
  private freeLots(userId: number, marketId: number): [up: number, down: number] {
    const position = this.engine.position(userId, marketId);
    if (position === null) return [0, 0];
    const { upLots, upHeldLots, downLots, downHeldLots } = position;
    return [upLots - upHeldLots, downLots - downHeldLots];
  }

  private cancelOne(marketId: number): void {
    const orders = this.orders.in(marketId);
    this.cancelOrder(orders[this.below(orders.length)]!);
  }

  private cancelGone(marketId: number): void {
    const gone = this.orders.lastGone(this.below(1_000));
    if (gone === null) this.cancelOne(marketId);
    else this.cancelOrder(gone);
  }

  private cancelOrder({ userId, marketId, orderId }: LiveOrder): void {
    this.give({ kind: 'cancel', userId, idempotencyKey: null, marketId, orderId });
  }

  /** A taker buys for an amount: usually at any price, sometimes with a limit, rarely FOK. */
  private buy(marketId: number): void {
    const userId = this.someTaker();
    const outcome = this.below(2) as Outcome;
    const draw = this.below(100);
    const dollars = (1 + this.below(20)) * (this.below(20) === 0 ? 25 : 1);
    const limitTicks = Math.min(999, this.fairTicks(marketId, outcome) + 20);
    const order = buyOrder({
      userId,
      marketId,
      outcome,
      budgetMicros: dollars * MICROS_PER_DOLLAR,
      priceTicks: draw < 75 ? 999 : limitTicks,
      timeInForce: draw < 95 ? TimeInForce.IOC : TimeInForce.FOK,
    });
    if (this.give(order)) this.owners.push({ userId, marketId });
  }

  /** A taker with shares sells all or part of them at any price. */
  private sell(marketId: number): void {
    while (this.owners.length > 0) {
      const index = this.below(this.owners.length);
      const owner = this.owners[index]!;
      this.owners[index] = this.owners.at(-1)!;
      this.owners.pop();
      if (this.engine.market(owner.marketId)?.status !== MarketStatus.ACTIVE) continue;
      const [upFree, downFree] = this.freeLots(owner.userId, owner.marketId);
      const outcome = upFree >= downFree ? Outcome.UP : Outcome.DOWN;
      const freeLots = Math.max(upFree, downFree);
      if (freeLots === 0) continue;
      const sizeLots = this.below(2) === 0 ? freeLots : 1 + this.below(freeLots);
      this.give(sellOrder({ ...owner, outcome, sizeLots }));
      return;
    }
    this.buy(marketId);
  }

  private claim(marketId: number): void {
    const winner = this.claimable.pop();
    if (winner === undefined) this.buy(marketId);
    else this.give({ kind: 'claim', idempotencyKey: null, ...winner });
  }

  /** The outcome's value, derived from the distance of the asset's price to its start price. */
  private fairTicks(marketId: number, outcome: Outcome): number {
    const { asset, startPriceMicros } = this.engine.market(marketId)!;
    const moved = this.pricesMicros[asset]! / startPriceMicros! - 1;
    const up = Math.min(950, Math.max(50, 500 + Math.round((moved / CERTAIN_AT) * 450)));
    return outcome === Outcome.UP ? up : 1_000 - up;
  }

  /** A few users are busy and many are idle: squares a uniform draw. */
  private someTaker(): number {
    const draw = this.random.next();
    return 1 + Math.floor(draw * draw * this.options.users);
  }

  private below(count: number): number {
    return this.random.whole(0, count - 1);
  }

  /** Appends a command, applies it and processes its events. Returns whether it traded. */
  private give(command: Command): boolean {
    const { engine } = this;
    this.commands.append(command, this.nowMs);
    engine.apply(command, this.nowMs);
    const result = engine.result.values;
    this.count(command, CODES[result[ResultHead.code]!]!);
    follow(engine.events, this.orders, this.events, {
      cancelled: (orderId) => this.tape.cancel(orderId),
      claimable: (userId, marketId) => this.claimable.push({ userId, marketId }),
    });
    const isOk = result[ResultHead.code] === 0;
    if (command.kind === 'cancel' && !isOk) this.tape.cancel(command.orderId);
    if (command.kind !== 'buy' && command.kind !== 'sell') return false;
    this.orderCount++;
    if (isOk) this.addToTape(command);
    const traded = isOk && result[OrderResult.fillCount]! > 0;
    if (traded) this.crossing++;
    return traded;
  }

  private addToTape(order: Buy | Sell): void {
    const { values } = this.engine.result;
    this.tape.order({
      ...order,
      side: order.kind === 'buy' ? Side.BUY : Side.SELL,
      lots: values[OrderResult.filledLots]! + values[OrderResult.restingLots]!,
      rests: order.timeInForce === TimeInForce.GTC,
    });
    if (values[OrderResult.orderId] === this.tape.orders) return;
    throw new Error(`the tape gives order ${values[OrderResult.orderId]} another id`);
  }

  private count(command: Command, code: string): void {
    const kind = labelOf(command);
    let codes = this.byKind.get(kind);
    if (codes === undefined) {
      codes = new Map();
      this.byKind.set(kind, codes);
    }
    codes.set(code, (codes.get(code) ?? 0) + 1);
  }
}

function labelOf(command: Command): string {
  if (command.kind !== 'buy' && command.kind !== 'sell') return command.kind;
  const names = { [TimeInForce.IOC]: 'IOC', [TimeInForce.FOK]: 'FOK', [TimeInForce.GTC]: 'GTC' };
  return `${command.kind} ${names[command.timeInForce]}${command.postOnly ? ' post-only' : ''}`;
}
