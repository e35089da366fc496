/**
 * The house: an ordinary account without privileges that quotes both sides of every market. This
 * file has its account and its schedule; market-maker.ts decides the quotes.
 *
 * Invariant: it submits commands only after a price, when the caller no longer needs the engine's
 * result, and in its own turns of the event loop.
 */
import type { Logger } from 'pino';
import type { Engine } from '../../../engine/engine.js';
import { CODES } from '../../../engine/interface/codes.js';
import type { Command } from '../../../engine/interface/commands.js';
import { ResultHead } from '../../../engine/interface/results.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import { SubmitRefused } from '../../../persistence/sequencer.js';
import type { Submitter } from '../../observe/watched-sequencer.js';
import type { Clock } from '../clock.js';
import { MarketMaker } from './market-maker.js';
import type { ObservedPrice } from './prices.js';

export const HOUSE_USERNAME = 'house';

/** True even if the house has no account. */
export function isNameOfHouse(username: string): boolean {
  return username.toLowerCase() === HOUSE_USERNAME;
}
/** Exchange time between reviews without a price; minimum real time between reviews. */
const REVIEW_MS = 500;
const REVIEW_REAL_MS = 25;

interface HouseOptions {
  sequencer: Submitter;
  clock: Clock;
  log: Logger;
  /** The account's starting balance, and the base of its limits. */
  fundsMicros: number;
}

export class House {
  private readonly engine: Engine;
  /** null: not started or stopped. */
  private maker: MarketMaker | null = null;
  private userId = 0;
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly options: HouseOptions) {
    this.engine = options.sequencer.engine;
  }

  /**
   * Cancels orders left by a crash.
   * @throws if a user who can sign in has the name, or if the account cannot be created
   */
  start(): void {
    const { engine } = this;
    const { sequencer, log, fundsMicros } = this.options;
    const isTaken = engine.findUser(HOUSE_USERNAME) !== 0;
    this.userId = isTaken ? houseUserId(engine) : this.register();
    if (this.userId === 0)
      throw new Error(`the name "${HOUSE_USERNAME}" belongs to a user who can sign in`);
    cancelHouseOrders(sequencer);
    if (!engine.account(this.userId)!.autoClaim)
      sequencer.submit({
        kind: 'setAutoClaim',
        userId: this.userId,
        idempotencyKey: null,
        enabled: true,
      });
    const submit = (command: Command) => this.submit(command);
    this.maker = new MarketMaker({ engine, submit, log, fundsMicros, userId: this.userId });
    this.arm();
  }

  /** Call after each price, before any other command. `price`: as the engine stored it, or null. */
  observe(asset: number, price: ObservedPrice | null): void {
    if (price === null) this.maker?.review(asset, this.nowMs());
    else this.maker?.observe(asset, price, this.nowMs());
  }

  noteFills(): void {
    this.maker?.noteFills();
  }

  /** Cancels all quotes if the sequencer still accepts commands, then submits nothing more. */
  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.maker?.withdraw();
    this.maker = null;
  }

  private register(): number {
    this.options.sequencer.submit({
      kind: 'register',
      username: HOUSE_USERNAME,
      credential: '',
      referralCode: '',
      grantMicros: this.options.fundsMicros,
      partner: null,
    });
    const code = CODES[this.engine.result.values[ResultHead.code]!];
    if (code !== 'ok') throw new Error(`the house's account cannot be created: ${code}`);
    return this.engine.findUser(HOUSE_USERNAME);
  }

  private nowMs(): number {
    return Math.max(this.engine.nowMs, this.options.clock.nowMs());
  }

  /** For reviews that no price triggers: stale prices, filled quotes. */
  private arm(): void {
    const { clock } = this.options;
    const nowMs = this.nowMs();
    const delayMs = Math.max(REVIEW_REAL_MS, clock.delayUntilMs(nowMs + REVIEW_MS));
    this.timer = setTimeout(() => {
      for (let asset = 0; asset < this.engine.assetCount; asset++)
        this.maker?.review(asset, this.nowMs());
      this.arm();
    }, delayMs);
  }

  /** null: the sequencer accepts no command now; the next review tries again. */
  private submit(command: Command): NumberBuffer | null {
    try {
      return this.options.sequencer.submit(command);
    } catch (error) {
      if (!(error instanceof SubmitRefused)) throw error;
      this.options.log.warn({ reason: error.message }, 'house: a command was refused');
      return null;
    }
  }
}

/** Call at every startup, even without a house: the prices are outdated. @throws SubmitRefused */
export function cancelHouseOrders(sequencer: Submitter): void {
  const userId = houseUserId(sequencer.engine);
  const marketIds = new Set(sequencer.engine.orders(userId).map((order) => order.marketId));
  for (const marketId of marketIds)
    sequencer.submit({ kind: 'cancelAll', userId, idempotencyKey: null, marketId });
}

/** 0: no such user, or a user who can sign in has the name. */
function houseUserId(engine: Engine): number {
  const userId = engine.findUser(HOUSE_USERNAME);
  return engine.credential(userId) === '' ? userId : 0;
}
