/**
 * Commands in columns of numbers, about 40 bytes each. The garbage collector has nothing to trace,
 * so millions of commands can be ready while something is timed.
 *
 * Always holds: `read(i)` returns the i-th appended command, field by field. There is one object
 * per kind, and each call overwrites it: a caller that keeps a command copies it. (The engine and
 * the sequencer keep none.)
 */
import {
  type AdvanceTime,
  type Buy,
  type Cancel,
  type Claim,
  type Command,
  CommandKind,
  type ObservePrice,
  type Sell,
} from '../../engine/interface/commands.js';
import type { Outcome, TimeInForce } from '../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../engine/interface/limits.js';
import { buyOrder, sellOrder } from './open-market.js';

/** The kinds that fit into the columns; their orders have no idempotency key and no deadline. */
export type WorkloadCommand = AdvanceTime | ObservePrice | Buy | Sell | Cancel | Claim;

const POST_ONLY = 8;
/** Overwritten by each read. */
const NOBODYS = { userId: 0, marketId: 0 };

export class CommandList {
  length = 0;
  readonly atMs: Float64Array;
  private readonly kinds: Uint8Array;
  /** userId, or asset. */
  private readonly subjects: Int32Array;
  private readonly marketIds: Int32Array;
  private readonly ticks: Uint16Array;
  /** Outcome, timeInForce × 2, POST_ONLY. */
  private readonly flags: Uint8Array;
  /** sizeLots, orderId, or observedAtMs. */
  private readonly numbers: Float64Array;
  /** budgetMicros, or priceMicros. */
  private readonly amounts: Float64Array;

  private readonly advanceTime: AdvanceTime = { kind: 'advanceTime' };
  private readonly observePrice: ObservePrice = {
    kind: 'observePrice',
    asset: 0,
    priceMicros: 0,
    observedAtMs: 0,
  };
  private readonly buy = buyOrder(NOBODYS);
  private readonly sell = sellOrder({ ...NOBODYS, sizeLots: 0 });
  private readonly cancel: Cancel = {
    kind: 'cancel',
    idempotencyKey: null,
    ...NOBODYS,
    orderId: 0,
  };
  private readonly claim: Claim = { kind: 'claim', idempotencyKey: null, ...NOBODYS };

  constructor(capacity: number) {
    this.atMs = new Float64Array(capacity);
    this.kinds = new Uint8Array(capacity);
    this.subjects = new Int32Array(capacity);
    this.marketIds = new Int32Array(capacity);
    this.ticks = new Uint16Array(capacity);
    this.flags = new Uint8Array(capacity);
    this.numbers = new Float64Array(capacity);
    this.amounts = new Float64Array(capacity);
  }

  get capacity(): number {
    return this.kinds.length;
  }

  append(command: WorkloadCommand, atMs: number): void {
    if (this.length === this.capacity)
      throw new RangeError(`the list holds ${this.capacity} commands`);
    const i = this.length++;
    this.kinds[i] = CommandKind[command.kind];
    this.atMs[i] = atMs;
    switch (command.kind) {
      case 'advanceTime':
        return;
      case 'observePrice':
        this.subjects[i] = command.asset;
        this.numbers[i] = command.observedAtMs;
        this.amounts[i] = command.priceMicros;
        return;
      case 'buy':
        this.amounts[i] = command.budgetMicros;
        this.appendOrder(i, command);
        return;
      case 'sell':
        this.appendOrder(i, command);
        return;
      case 'cancel':
        this.numbers[i] = command.orderId;
        this.appendOwner(i, command);
        return;
      case 'claim':
        this.appendOwner(i, command);
    }
  }

  private appendOwner(i: number, { userId, marketId }: Buy | Sell | Cancel | Claim): void {
    this.subjects[i] = userId;
    this.marketIds[i] = marketId;
  }

  private appendOrder(i: number, command: Buy | Sell): void {
    if (command.idempotencyKey !== null || command.validUntilMs !== MAX_TIME_MS) {
      throw new RangeError('the list has no column for idempotency keys and deadlines');
    }
    this.appendOwner(i, command);
    this.numbers[i] = command.sizeLots;
    this.ticks[i] = command.priceTicks;
    this.flags[i] =
      command.outcome | (command.timeInForce << 1) | (command.postOnly ? POST_ONLY : 0);
  }

  /** The i-th command, valid until the next read of the same kind. */
  read(i: number): Command {
    switch (this.kinds[i]) {
      case CommandKind.buy:
        this.buy.budgetMicros = this.amounts[i]!;
        return this.readOrder(i, this.buy);
      case CommandKind.sell:
        return this.readOrder(i, this.sell);
      case CommandKind.cancel:
        this.cancel.orderId = this.numbers[i]!;
        return this.readOwner(i, this.cancel);
      case CommandKind.claim:
        return this.readOwner(i, this.claim);
      case CommandKind.observePrice:
        this.observePrice.asset = this.subjects[i]!;
        this.observePrice.observedAtMs = this.numbers[i]!;
        this.observePrice.priceMicros = this.amounts[i]!;
        return this.observePrice;
      case CommandKind.advanceTime:
        return this.advanceTime;
      default:
        throw new RangeError(`the list has no command ${i}`);
    }
  }

  private readOrder(i: number, order: Buy | Sell): Command {
    const flags = this.flags[i]!;
    order.sizeLots = this.numbers[i]!;
    order.priceTicks = this.ticks[i]!;
    order.outcome = (flags & 1) as Outcome;
    order.timeInForce = ((flags >> 1) & 3) as TimeInForce;
    order.postOnly = (flags & POST_ONLY) !== 0;
    return this.readOwner(i, order);
  }

  private readOwner(i: number, command: Buy | Sell | Cancel | Claim): Command {
    command.userId = this.subjects[i]!;
    command.marketId = this.marketIds[i]!;
    return command;
  }
}
