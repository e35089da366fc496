/**
 * The commands of a year, day by day: every window of one asset, and users that come, trade and
 * leave. Each user comes with a partner's deposit, trades for {@link STAY_DAYS} and withdraws the
 * balance; user 1 stays. Half of the orders rest, and half have a key.
 */
import type { Engine } from '../../../engine/engine.js';
import type { Command } from '../../../engine/interface/commands.js';
import { marketIdOf, Outcome, TimeInForce, WINDOW_MS } from '../../../engine/interface/domain.js';
import { MICROS_PER_DOLLAR } from '../../../engine/interface/limits.js';
import type { TimedCommand } from '../../support/history-oracle.js';
import {
  buyOrder,
  observedPrice,
  registration,
  WINDOW_START_MS,
} from '../../support/workload/open-market.js';
import { Random } from '../../support/workload/random.js';

export const DAY_MS = 86_400_000;
const STAY_DAYS = 60;
const USERS_A_DAY = 50;
const PRICES_A_WINDOW = 15;
const FUNDS_MICROS = 10_000 * MICROS_PER_DOLLAR;
const PARTNER = 'acme';
/** The start of the first day. */
export const YEAR_START_MS = Math.ceil(WINDOW_START_MS / DAY_MS) * DAY_MS;

export class YearPlan {
  private readonly random: Random;
  private orders = 0;

  constructor(
    /** The engine at the end of the day before the planned one. */
    private readonly engine: Engine,
    private readonly ordersAWindow: number,
    seed: string,
  ) {
    this.random = new Random(seed);
  }

  /** @param day from 0 */
  dayOf(day: number): TimedCommand[] {
    const startMs = YEAR_START_MS + day * DAY_MS;
    const commands: TimedCommand[] = [];
    const give = (atMs: number, ...some: Command[]) => {
      for (const command of some) commands.push({ command, atMs });
    };
    if (day === 0) give(startMs, { kind: 'listAsset', symbol: 'BTC' });
    give(startMs, observedPrice(startMs));
    const first = day * USERS_A_DAY + 1;
    for (let userId = first; userId < first + USERS_A_DAY; userId++)
      give(startMs, { ...registration(userId, 0), partner: PARTNER }, this.deposit(userId));
    for (let userId = first - STAY_DAYS * USERS_A_DAY; userId < first; userId++)
      if (userId > 1 && this.isLeaving(userId, day)) give(startMs, this.withdrawal(userId));
    const last = first + USERS_A_DAY - 1;
    const oldest = Math.max(2, last - STAY_DAYS * USERS_A_DAY + USERS_A_DAY);
    for (let atMs = startMs; atMs < startMs + DAY_MS; atMs += WINDOW_MS)
      for (let minute = 0; minute < PRICES_A_WINDOW; minute++) {
        const nowMs = atMs + minute * (WINDOW_MS / PRICES_A_WINDOW);
        if (nowMs > startMs) give(nowMs, observedPrice(nowMs));
        const share = this.ordersAWindow / PRICES_A_WINDOW;
        const due = Math.floor((minute + 1) * share) - Math.floor(minute * share);
        for (let n = 0; n < due; n++) give(nowMs, this.order(nowMs, oldest, last));
      }
    return commands;
  }

  private isLeaving(userId: number, day: number): boolean {
    const cameOn = Math.floor((userId - 1) / USERS_A_DAY);
    return cameOn + STAY_DAYS === day && this.engine.account(userId)!.availableMicros > 0;
  }

  private deposit(userId: number): Command {
    const reference = `in-${userId}`;
    return { kind: 'deposit', userId, amountMicros: FUNDS_MICROS, partner: PARTNER, reference };
  }

  private withdrawal(userId: number): Command {
    const { availableMicros: amountMicros } = this.engine.account(userId)!;
    return { kind: 'withdraw', userId, amountMicros, partner: PARTNER, reference: `out-${userId}` };
  }

  /** An order; user 1 places one in fifty. */
  private order(nowMs: number, oldest: number, last: number): Command {
    const { random } = this;
    const userId = random.chance(0.02) ? 1 : random.whole(oldest, last);
    const rests = random.chance(0.5);
    return buyOrder({
      userId,
      marketId: marketIdOf(0, nowMs - (nowMs % WINDOW_MS)),
      idempotencyKey: random.chance(0.5) ? `order-${++this.orders}` : null,
      outcome: rests ? Outcome.UP : Outcome.DOWN,
      timeInForce: rests ? TimeInForce.GTC : TimeInForce.IOC,
      ...(rests
        ? { sizeLots: 1_000 * random.whole(3, 20), priceTicks: random.whole(400, 499) }
        : {}),
      budgetMicros: MICROS_PER_DOLLAR * (rests ? 100 : 5),
    });
  }
}
