/**
 * Cancels the resting orders of users whose connection has ended, if they asked for it.
 *
 * Always holds: an order that rests when the connection ends is cancelled, also when the sequencer takes nothing at that
 * moment: it is tried again until it does, unless trading has been stopped altogether. Commands are sent from a turn of their
 * own, never from within whatever closed the connection. A process that is killed cannot do this; what its users had resting
 * is there after the restart.
 */
import { SubmitRefused } from '../../persistence/sequencer.js';
import type { Log } from '../log.js';
import type { Submitter } from '../submitter.js';
import { TradingHalted } from '../watched-sequencer.js';

const RETRY_MS = 10;

export class CancelOnDisconnect {
  private readonly users = new Set<number>();
  private immediate: NodeJS.Immediate | null = null;
  private timer: NodeJS.Timeout | null = null;
  private done: (() => void) | null = null;
  private readonly run = (): void => this.cancelAll();

  constructor(
    private readonly sequencer: Submitter,
    private readonly log: Log,
    private readonly fail: (error: unknown) => void,
  ) {}

  add(userId: number): void {
    this.users.add(userId);
    if (this.timer === null) this.immediate ??= setImmediate(this.run);
  }

  /** Tries no more: the exchange is about to end. */
  stop(): void {
    if (this.immediate !== null) clearImmediate(this.immediate);
    if (this.timer !== null) clearTimeout(this.timer);
  }

  /** Resolves when all are cancelled. */
  finish(): Promise<void> {
    return new Promise((resolve) => {
      this.done = resolve;
      this.tellIfDone();
    });
  }

  private cancelAll(): void {
    this.immediate = null;
    this.timer = null;
    try {
      for (const userId of this.users) {
        this.cancelOrdersOf(userId);
        this.users.delete(userId);
      }
    } catch (error) {
      if (error instanceof TradingHalted) this.giveUp(error);
      else if (error instanceof SubmitRefused) this.timer = setTimeout(this.run, RETRY_MS);
      else this.fail(error);
    }
    this.tellIfDone();
  }

  /** The orders stay where they are, and nobody can trade with them either. */
  private giveUp(error: TradingHalted): void {
    this.log.warn(
      { users: [...this.users], reason: error.message },
      'orders were not cancelled on disconnect',
    );
    this.users.clear();
  }

  private cancelOrdersOf(userId: number): void {
    const orders = this.sequencer.engine.orders(userId);
    if (orders.length === 0) return;
    for (const marketId of new Set(orders.map((order) => order.marketId))) {
      this.sequencer.submit({ kind: 'cancelAll', userId, idempotencyKey: null, marketId });
    }
    this.log.info({ user: userId, orders: orders.length }, 'orders were cancelled on disconnect');
  }

  private tellIfDone(): void {
    if (this.users.size === 0) this.done?.();
  }
}
