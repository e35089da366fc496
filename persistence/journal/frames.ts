/**
 * Frames: the encoding of commands in the journal, each with the time that the sequencer gave it.
 *
 * Frames follow each other without a separator. A command's sequence is its place in the journal,
 * and is not in the frame. A frame is
 *
 *   time    atMs, six bytes (bytes.ts has the encodings)
 *   byte    the command's kind, as {@link CommandKind} numbers it
 *   byte    flags, below
 *   ...     the fields, in the order in which {@link FrameWriter} writes them
 *
 * An operation of a batch is a frame without the time. Fields are integers and texts; fields with
 * few values are in the flags. A bit that a kind does not use is 0:
 *
 *   1       KEYED      the idempotency key follows the userId (else it is null)
 *   2       DOWN       the outcome is DOWN (else UP)
 *   4, 8    timeInForce, 0 to 2
 *   16      POST_ONLY
 *   32      UNBOUNDED  validUntilMs is 8,640,000,000,000, and left out (most orders have none)
 *   64      ATOMIC
 *   128     OF_PARTNER the name of the partner who registers the user comes last (else it is null)
 *
 * Always holds: a command that was written reads back equal, field by field. A command that cannot
 * (a fraction, a negative, half a surrogate pair, an outcome that does not exist) is refused with a
 * {@link FrameError}, and nothing is written. The meaning of numbers and the order of fields never
 * change; a new kind gets a new number.
 */
import type {
  BatchOperation,
  Buy,
  Command,
  Sell,
  UserCommand,
} from '../../engine/interface/commands.js';
import { CommandKind } from '../../engine/interface/commands.js';
import { Outcome, TimeInForce } from '../../engine/interface/domain.js';
import { MAX_BATCH_OPERATIONS, MAX_CREDENTIAL_LENGTH } from '../../engine/interface/limits.js';
import { ByteReader, ByteWriter, MAX_TEXT_BYTES } from '../storage/bytes.js';

const KEYED = 1;
const DOWN = 2;
const TIME_IN_FORCE_SHIFT = 2;
const TIME_IN_FORCE = 3 << TIME_IN_FORCE_SHIFT;
const POST_ONLY = 16;
const UNBOUNDED = 32;
const ATOMIC = 64;
const OF_PARTNER = 128;
const ORDER_FLAGS = KEYED | DOWN | TIME_IN_FORCE | POST_ONLY | UNBOUNDED;

/** Part of the format: it does not change, even if the engine's MAX_TIME_MS does. */
const UNBOUNDED_MS = 8_640_000_000_000;

/** More operations than the engine accepts, so that refused batches are journalled too. */
export const MAX_FRAME_OPERATIONS = 1_000;

if (MAX_CREDENTIAL_LENGTH * 3 > MAX_TEXT_BYTES || MAX_BATCH_OPERATIONS > MAX_FRAME_OPERATIONS) {
  throw new Error('a command that the engine accepts does not fit into a frame');
}

/** A command that cannot be encoded, or bytes that are not a frame. */
export class FrameError extends Error {
  override name = 'FrameError';
}

/** Appends frames to a buffer that grows. Allocates nothing per command. */
export class FrameWriter {
  private readonly bytes = new ByteWriter(64 * 1024);
  /** Frames written since the last clear. */
  count = 0;

  get length(): number {
    return this.bytes.length;
  }

  /** The frames. Valid until the next append or clear. */
  view(): Buffer {
    return this.bytes.buffer.subarray(0, this.bytes.length);
  }

  clear(): void {
    this.bytes.length = 0;
    this.count = 0;
  }

  /** @throws FrameError when the command would not read back equal; then nothing is written. */
  append(command: Command, atMs: number): void {
    const start = this.bytes.length;
    try {
      this.bytes.time(atMs);
      this.command(command);
      this.count++;
    } catch (error) {
      this.bytes.length = start;
      throw new FrameError(
        `the command ${command.kind} has no frame: ${(error as Error).message}`,
        {
          cause: error,
        },
      );
    }
  }

  private command(command: Command): void {
    const bytes = this.bytes;
    switch (command.kind) {
      case 'buy':
      case 'sell':
      case 'cancel':
      case 'claim':
        this.operation(command);
        break;
      case 'batch': {
        const { operations } = command;
        if (operations.length > MAX_FRAME_OPERATIONS) throw new RangeError('too many operations');
        this.user(CommandKind.batch, flagIf(command.atomic, ATOMIC), command);
        bytes.integer(operations.length);
        for (let i = 0; i < operations.length; i++) this.operation(operations[i]!);
        break;
      }
      case 'observePrice':
        this.head(CommandKind.observePrice, 0);
        bytes.integer(command.asset);
        bytes.integer(command.priceMicros);
        bytes.integer(command.observedAtMs);
        break;
      case 'advanceTime':
        this.head(CommandKind.advanceTime, 0);
        break;
      case 'cancelAll':
        this.user(CommandKind.cancelAll, 0, command);
        bytes.integer(command.marketId);
        break;
      case 'stake':
        this.user(CommandKind.stake, 0, command);
        bytes.integer(command.amountMicros);
        break;
      case 'unstake':
        this.user(CommandKind.unstake, 0, command);
        bytes.integer(command.depositId);
        break;
      case 'claimYield':
        this.user(CommandKind.claimYield, 0, command);
        bytes.integer(command.depositId);
        break;
      case 'setReferralCode':
        this.user(CommandKind.setReferralCode, 0, command);
        bytes.text(command.code);
        break;
      case 'deposit':
      case 'withdraw':
        this.head(CommandKind[command.kind], 0);
        bytes.integer(command.userId);
        bytes.integer(command.amountMicros);
        bytes.text(command.partner);
        bytes.text(command.reference);
        break;
      case 'register':
        this.head(CommandKind.register, command.partner === null ? 0 : OF_PARTNER);
        bytes.text(command.username);
        bytes.text(command.credential);
        bytes.text(command.referralCode);
        bytes.integer(command.grantMicros);
        if (command.partner !== null) bytes.text(command.partner);
        break;
      case 'setCredential':
        this.head(CommandKind.setCredential, 0);
        bytes.integer(command.userId);
        bytes.text(command.credential);
        break;
      case 'listAsset':
        this.head(CommandKind.listAsset, 0);
        bytes.text(command.symbol);
        break;
      default:
        noFrame(command);
    }
  }

  private operation(operation: BatchOperation): void {
    const bytes = this.bytes;
    switch (operation.kind) {
      case 'buy':
        this.order(CommandKind.buy, operation);
        bytes.integer(operation.budgetMicros);
        break;
      case 'sell':
        this.order(CommandKind.sell, operation);
        break;
      case 'cancel':
        this.user(CommandKind.cancel, 0, operation);
        bytes.integer(operation.marketId);
        bytes.integer(operation.orderId);
        break;
      case 'claim':
        this.user(CommandKind.claim, 0, operation);
        bytes.integer(operation.marketId);
        break;
      default:
        noFrame(operation);
    }
  }

  private order(kind: number, order: Buy | Sell): void {
    const unbounded = order.validUntilMs === UNBOUNDED_MS;
    this.user(kind, orderFlags(order) | flagIf(unbounded, UNBOUNDED), order);
    const bytes = this.bytes;
    bytes.integer(order.marketId);
    bytes.integer(order.sizeLots);
    bytes.integer(order.priceTicks);
    if (!unbounded) bytes.integer(order.validUntilMs);
  }

  private user(kind: number, flags: number, command: UserCommand): void {
    const key = command.idempotencyKey;
    this.head(kind, key === null ? flags : flags | KEYED);
    this.bytes.integer(command.userId);
    if (key !== null) this.bytes.text(key);
  }

  private head(kind: number, flags: number): void {
    this.bytes.byte(kind);
    this.bytes.byte(flags);
  }
}

/** Reads frames one after another: {@link open}, then {@link next} until it is null. */
export class FrameReader {
  private readonly bytes = new ByteReader();
  /** Time of the command that {@link next} returned last. */
  atMs = 0;

  open(frames: Buffer): void {
    this.bytes.open(frames);
  }

  /**
   * The next command, null after the last.
   * @throws FrameError when the bytes are not a frame. The rest of them cannot be read either.
   */
  next(): Command | null {
    const { bytes } = this;
    if (bytes.atEnd) return null;
    const start = bytes.position;
    try {
      this.atMs = bytes.time();
      return this.command(bytes.byte(), bytes.byte());
    } catch (error) {
      throw new FrameError(`no frame at byte ${start}: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  private command(kindByte: number, flags: number): Command {
    const { bytes } = this;
    const kind = kindByte as (typeof CommandKind)[keyof typeof CommandKind];
    this.checkFlags(kind, flags);
    switch (kind) {
      case CommandKind.buy:
      case CommandKind.sell:
      case CommandKind.cancel:
      case CommandKind.claim:
        return this.operation(kind, flags);
      case CommandKind.batch: {
        const { userId, idempotencyKey } = this.user(flags);
        const operations: BatchOperation[] = [];
        const count = bytes.integer();
        if (count > MAX_FRAME_OPERATIONS) throw bytes.malformed('too many operations');
        for (let i = 0; i < count; i++) operations.push(this.nested());
        return {
          kind: 'batch',
          userId,
          idempotencyKey,
          operations,
          atomic: (flags & ATOMIC) !== 0,
        };
      }
      case CommandKind.observePrice:
        return {
          kind: 'observePrice',
          asset: bytes.integer(),
          priceMicros: bytes.integer(),
          observedAtMs: bytes.integer(),
        };
      case CommandKind.advanceTime:
        return { kind: 'advanceTime' };
      case CommandKind.cancelAll:
        return { kind: 'cancelAll', ...this.user(flags), marketId: bytes.integer() };
      case CommandKind.stake:
        return { kind: 'stake', ...this.user(flags), amountMicros: bytes.integer() };
      case CommandKind.unstake:
        return { kind: 'unstake', ...this.user(flags), depositId: bytes.integer() };
      case CommandKind.claimYield:
        return { kind: 'claimYield', ...this.user(flags), depositId: bytes.integer() };
      case CommandKind.setReferralCode:
        return { kind: 'setReferralCode', ...this.user(flags), code: bytes.text() };
      case CommandKind.deposit:
        return { kind: 'deposit', ...this.transfer() };
      case CommandKind.withdraw:
        return { kind: 'withdraw', ...this.transfer() };
      case CommandKind.register:
        return {
          kind: 'register',
          username: bytes.text(),
          credential: bytes.text(),
          referralCode: bytes.text(),
          grantMicros: bytes.integer(),
          partner: (flags & OF_PARTNER) === 0 ? null : bytes.text(),
        };
      case CommandKind.setCredential:
        return { kind: 'setCredential', userId: bytes.integer(), credential: bytes.text() };
      case CommandKind.listAsset:
        return { kind: 'listAsset', symbol: bytes.text() };
      default:
        return noKind(kind);
    }
  }

  private nested(): BatchOperation {
    const kind = this.bytes.byte();
    const flags = this.bytes.byte();
    switch (kind) {
      case CommandKind.buy:
      case CommandKind.sell:
      case CommandKind.cancel:
      case CommandKind.claim:
        this.checkFlags(kind, flags);
        return this.operation(kind, flags);
      default:
        throw this.bytes.malformed(`kind ${kind} is not allowed in a batch`);
    }
  }

  private operation(
    kind: (typeof CommandKind)[BatchOperation['kind']],
    flags: number,
  ): BatchOperation {
    const { bytes } = this;
    const { userId, idempotencyKey } = this.user(flags);
    const marketId = bytes.integer();
    switch (kind) {
      case CommandKind.buy: {
        const order = this.order(flags);
        const budgetMicros = bytes.integer();
        return { kind: 'buy', userId, idempotencyKey, marketId, budgetMicros, ...order };
      }
      case CommandKind.sell:
        return { kind: 'sell', userId, idempotencyKey, marketId, ...this.order(flags) };
      case CommandKind.cancel:
        return { kind: 'cancel', userId, idempotencyKey, marketId, orderId: bytes.integer() };
      case CommandKind.claim:
        return { kind: 'claim', userId, idempotencyKey, marketId };
    }
  }

  private order(flags: number): Omit<Sell, 'kind' | 'marketId' | keyof UserCommand> {
    const { bytes } = this;
    return {
      outcome: (flags & DOWN) === 0 ? Outcome.UP : Outcome.DOWN,
      sizeLots: bytes.integer(),
      priceTicks: bytes.integer(),
      timeInForce: ((flags & TIME_IN_FORCE) >> TIME_IN_FORCE_SHIFT) as TimeInForce,
      postOnly: (flags & POST_ONLY) !== 0,
      validUntilMs: (flags & UNBOUNDED) === 0 ? bytes.integer() : UNBOUNDED_MS,
    };
  }

  private user(flags: number): UserCommand {
    const { bytes } = this;
    return { userId: bytes.integer(), idempotencyKey: (flags & KEYED) === 0 ? null : bytes.text() };
  }

  private transfer(): { userId: number; amountMicros: number; partner: string; reference: string } {
    const { bytes } = this;
    return {
      userId: bytes.integer(),
      amountMicros: bytes.integer(),
      partner: bytes.text(),
      reference: bytes.text(),
    };
  }

  private checkFlags(kind: number, flags: number): void {
    const allowed = ALLOWED_FLAGS[kind];
    if (allowed === undefined) throw this.bytes.malformed(`no command has the kind ${kind}`);
    if ((flags & ~allowed) !== 0 || (flags & TIME_IN_FORCE) === TIME_IN_FORCE) {
      throw this.bytes.malformed(`flags ${flags} do not fit the kind ${kind}`);
    }
  }
}

/** The flags that a frame may have, by kind. */
const ALLOWED_FLAGS = flagsByNumber({
  advanceTime: 0,
  listAsset: 0,
  observePrice: 0,
  register: OF_PARTNER,
  setCredential: 0,
  deposit: 0,
  withdraw: 0,
  buy: ORDER_FLAGS,
  sell: ORDER_FLAGS,
  cancel: KEYED,
  cancelAll: KEYED,
  claim: KEYED,
  stake: KEYED,
  unstake: KEYED,
  claimYield: KEYED,
  setReferralCode: KEYED,
  batch: KEYED | ATOMIC,
});

function flagsByNumber(flags: Record<Command['kind'], number>): readonly (number | undefined)[] {
  const byNumber: (number | undefined)[] = new Array<undefined>(256).fill(undefined);
  for (const [name, allowed] of Object.entries(flags)) {
    byNumber[CommandKind[name as Command['kind']]] = allowed;
  }
  return byNumber;
}

function orderFlags(order: Buy | Sell): number {
  const { outcome, timeInForce } = order;
  if (outcome !== Outcome.UP && outcome !== Outcome.DOWN)
    throw new RangeError(`no outcome: ${outcome}`);
  if (
    timeInForce !== TimeInForce.IOC &&
    timeInForce !== TimeInForce.FOK &&
    timeInForce !== TimeInForce.GTC
  ) {
    throw new RangeError(`no timeInForce: ${timeInForce}`);
  }
  return (
    flagIf(outcome === Outcome.DOWN, DOWN) |
    (timeInForce << TIME_IN_FORCE_SHIFT) |
    flagIf(order.postOnly, POST_ONLY)
  );
}

function flagIf(value: boolean, flag: number): number {
  if (value === true) return flag;
  if (value === false) return 0;
  throw new RangeError(`neither true nor false: ${value}`);
}

function noFrame(command: never): never {
  throw new RangeError(`no such kind: ${(command as { kind: unknown }).kind}`);
}

function noKind(kind: never): never {
  throw new RangeError(`no command has the kind ${kind}`);
}
