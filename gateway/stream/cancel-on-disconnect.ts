/**
 * Cancels a user's resting orders when a connection with cancelOnDisconnect ends.
 *
 * Invariant: exactly the orders resting when the connection ends are cancelled. A refused command
 * is retried until it succeeds or trading is halted. Commands are submitted in an event-loop turn
 * of their own, never inside the code that closed the connection.
 */
import { type Sequencer, SubmitRefused } from '../../persistence/sequencer.js';
import type { Log } from '../observe/log.js';
import type { Submitter } from '../observe/watched-sequencer.js';
import { TradingHalted } from '../observe/watched-sequencer.js';

const RETRY_MS = 10;

export class CancelOnDisconnect {
  /** The newest order to cancel, by user. */
  private readonly lastOrders = new Map<number, number>();
  private immediate: NodeJS.Immediate | null = null;
  private timer: NodeJS.Timeout | null = null;
  private done: (() => void) | null = null;
  private readonly run = (): void => this.cancelAll();

  constructor(
    private readonly sequencer: Submitter & Pick<Sequencer, 'releaseAt'>,
    private readonly log: Log,
    private readonly fail: (error: unknown) => void,
  ) {}

  add(userId: number): void {
    const { engine } = this.sequencer;
    if (engine.orderCount(userId) === 0) return;
    this.lastOrders.set(userId, engine.lastOrderId);
    if (this.timer === null) this.immediate ??= setImmediate(this.run);
  }

  stop(): void {
    if (this.immediate !== null) clearImmediate(this.immediate);
    if (this.timer !== null) clearTimeout(this.timer);
  }

  finish(): Promise<void> {
    return new Promise((resolve) => {
      this.done = resolve;
      this.resolveIfDone();
    });
  }

  private cancelAll(): void {
    this.immediate = null;
    this.timer = null;
    try {
      for (const [userId, lastOrderId] of this.lastOrders) {
        this.cancelOrdersOf(userId, lastOrderId);
        this.lastOrders.delete(userId);
      }
    } catch (error) {
      if (error instanceof TradingHalted) this.giveUp(error);
      else if (error instanceof SubmitRefused) this.timer = setTimeout(this.run, RETRY_MS);
      else this.fail(error);
    }
    this.resolveIfDone();
  }

  private giveUp(error: TradingHalted): void {
    this.log.warn(
      { users: [...this.lastOrders.keys()], reason: error.message },
      'orders were not cancelled on disconnect',
    );
    this.lastOrders.clear();
  }

  private cancelOrdersOf(userId: number, lastOrderId: number): void {
    const { engine } = this.sequencer;
    const restingBefore = engine.orderCount(userId);
    this.sequencer.submit({ kind: 'cancelDisconnected', userId, lastOrderId });
    const cancelled = restingBefore - engine.orderCount(userId);
    const release = () => {
      this.log.info({ user: userId, orders: cancelled }, 'orders were cancelled on disconnect');
    };
    this.sequencer.releaseAt(engine.sequence, { release });
  }

  private resolveIfDone(): void {
    if (this.lastOrders.size === 0) this.done?.();
  }
}
