/**
 * Reads orders from the bytes of a body straight into commands. It refuses nothing: what it does
 * not take, valid or not, is null here and goes through the schemas in requests.ts, which say what
 * is wrong.
 *
 * Always holds: a command made here equals the one that the schemas would make of the same bytes;
 * a test compares the two on random bodies.
 */
import type { Buy, Cancel, Claim, Sell } from '../../../engine/interface/commands.js';
import { Outcome, SelfTrade, TimeInForce } from '../../../engine/interface/domain.js';
import { CLIENT_ORDER_ID_BYTES } from '../../../engine/interface/fields.js';
import {
  MAX_CLIENT_ORDER_ID_LENGTH,
  MAX_ORDER_LOTS,
  MAX_ORDER_MICROS,
  MAX_PRICE_TICKS,
  MAX_TIME_MS,
  MIN_PRICE_TICKS,
} from '../../../engine/interface/limits.js';
import { type Assets, marketIdNumber } from '../../../engine/interface/notation.js';
import { bytesOfText, END, FAILED, type JsonScanner, namesOf, START } from '../../json/scanner.js';
import type { OrderPlace } from './commands.js';
import { SELF_TRADE_NAMES } from './requests.js';

const MICRO_PLACES = 6;
const LOT_PLACES = 3;
const TICK_PLACES = 3;

/** The bit of each field in {@link OrderReader.seen}. */
const BIT = {
  userId: 1,
  outcome: 2,
  amount: 4,
  shares: 8,
  price: 16,
  timeInForce: 32,
  postOnly: 64,
  validUntilMs: 128,
  op: 256,
  marketId: 512,
  orderId: 1024,
  clientOrderId: 2048,
  expiresAtMs: 4096,
  selfTrade: 8192,
} as const;
/** In the order of the bits. */
const FIELDS = namesOf(Object.keys(BIT));
const LIMIT_BITS =
  BIT.userId |
  BIT.price |
  BIT.timeInForce |
  BIT.postOnly |
  BIT.validUntilMs |
  BIT.clientOrderId |
  BIT.expiresAtMs |
  BIT.selfTrade;
const BUY_BITS = LIMIT_BITS | BIT.outcome | BIT.amount | BIT.shares;
const SELL_BITS = LIMIT_BITS | BIT.outcome | BIT.shares;
const SELL_REQUIRED = BIT.outcome | BIT.shares;
const OPERATION_BITS = BIT.op | BIT.marketId;

const OUTCOMES = ['UP', 'DOWN'] as const;
const OUTCOME_NAMES = namesOf(OUTCOMES);
const OUTCOME_VALUES = OUTCOMES.map((name) => Outcome[name]);
const TIMES_IN_FORCE = ['IOC', 'FOK', 'GTC'] as const;
const TIME_IN_FORCE_NAMES = namesOf(TIMES_IN_FORCE);
const TIME_IN_FORCE_VALUES = TIMES_IN_FORCE.map((name) => TimeInForce[name]);
/** In the order of their numbers. */
const SELF_TRADES = namesOf(SELF_TRADE_NAMES);
/** The operations of a batch. */
const Operation = { buy: 0, sell: 1, cancel: 2, claim: 3 } as const;
const OPERATIONS = namesOf(Object.keys(Operation));
const [U, O] = [117, 111];

/** The fields of one order. Those that were not sent have their defaults. */
export class OrderReader {
  private seen = 0;
  private outcome: Outcome = 0;
  private amountMicros = 0;
  private sizeLots = 0;
  private priceTicks = 0;
  private timeInForce: TimeInForce = TimeInForce.IOC;
  private postOnly = false;
  private validUntilMs = MAX_TIME_MS;
  private operation = 0;
  private marketId = 0;
  private orderId = 0;
  private clientOrderId: string | null = null;
  private expiresAtMs = MAX_TIME_MS;
  private selfTrade: SelfTrade = SelfTrade.CANCEL_RESTING;

  constructor(private readonly scanner: JsonScanner) {}

  /** The body of a buy; null: not taken. */
  buy(bytes: Uint8Array, place: OrderPlace): Buy | null {
    return this.readBody(bytes, place.userId, BUY_BITS) ? this.buyCommand(place) : null;
  }

  /** The body of a sell; null: not taken. */
  sell(bytes: Uint8Array, place: OrderPlace): Sell | null {
    return this.readBody(bytes, place.userId, SELL_BITS) ? this.sellCommand(place) : null;
  }

  /** The next operation of a batch; null: not taken. */
  nextOperation(assets: Assets, userId: number): Buy | Sell | Cancel | Claim | null {
    if (!this.readFields(userId, assets) || (this.seen & OPERATION_BITS) !== OPERATION_BITS)
      return null;
    const { marketId } = this;
    const others = this.seen & ~OPERATION_BITS;
    const place = { userId, idempotencyKey: null, marketId };
    switch (this.operation) {
      case Operation.buy:
        return (others & ~BUY_BITS) === 0 ? this.buyCommand(place) : null;
      case Operation.sell:
        return (others & ~SELL_BITS) === 0 ? this.sellCommand(place) : null;
      case Operation.cancel: {
        const { clientOrderId } = this;
        const named = others & ~BIT.userId;
        if (named !== BIT.orderId && named !== BIT.clientOrderId) return null;
        const orderId = named === BIT.orderId ? this.orderId : 0;
        return { kind: 'cancel', userId, idempotencyKey: null, marketId, orderId, clientOrderId };
      }
      case Operation.claim:
        if ((others & ~BIT.userId) !== 0) return null;
        return { kind: 'claim', userId, idempotencyKey: null, marketId };
      default:
        return null;
    }
  }

  private readBody(bytes: Uint8Array, userId: number, allowed: number): boolean {
    const { scanner } = this;
    scanner.begin(bytes);
    const isRead = this.readFields(userId, null);
    return scanner.finish() && isRead && (this.seen & ~allowed) === 0;
  }

  /**
   * Reads an object. A repeated field, another user or a value out of range fails. `assets`: null
   * where no market is named.
   */
  private readFields(userId: number, assets: Assets | null): boolean {
    const { scanner } = this;
    this.seen = 0;
    this.priceTicks = 0;
    this.timeInForce = TimeInForce.IOC;
    this.postOnly = false;
    this.validUntilMs = MAX_TIME_MS;
    this.clientOrderId = null;
    this.expiresAtMs = MAX_TIME_MS;
    this.selfTrade = SelfTrade.CANCEL_RESTING;
    scanner.openObject();
    let index = START;
    for (;;) {
      index = scanner.field(FIELDS, index);
      if (index === END) return scanner.isFine;
      if (index === FAILED || (this.seen & (1 << index)) !== 0) return false;
      this.seen |= 1 << index;
      if (!this.readValue(1 << index, userId, assets)) return false;
    }
  }

  private readValue(bit: number, userId: number, assets: Assets | null): boolean {
    const { scanner } = this;
    switch (bit) {
      case BIT.userId:
        return scanner.id(U) === userId;
      case BIT.outcome: {
        const index = scanner.word(OUTCOME_NAMES);
        this.outcome = OUTCOME_VALUES[index]!;
        return index !== FAILED;
      }
      case BIT.amount:
        this.amountMicros = scanner.decimal(MICRO_PLACES);
        return this.amountMicros > 0 && this.amountMicros <= MAX_ORDER_MICROS;
      case BIT.shares:
        this.sizeLots = scanner.decimal(LOT_PLACES);
        return this.sizeLots > 0 && this.sizeLots <= MAX_ORDER_LOTS;
      case BIT.price:
        this.priceTicks = scanner.decimal(TICK_PLACES);
        return this.priceTicks >= MIN_PRICE_TICKS && this.priceTicks <= MAX_PRICE_TICKS;
      case BIT.timeInForce: {
        const index = scanner.word(TIME_IN_FORCE_NAMES);
        this.timeInForce = TIME_IN_FORCE_VALUES[index]!;
        return index !== FAILED;
      }
      case BIT.postOnly: {
        const value = scanner.boolean();
        this.postOnly = value === 1;
        return value !== FAILED;
      }
      case BIT.validUntilMs:
        this.validUntilMs = scanner.decimal(0);
        return this.validUntilMs >= 0 && this.validUntilMs <= MAX_TIME_MS;
      case BIT.expiresAtMs:
        this.expiresAtMs = scanner.decimal(0);
        return this.expiresAtMs >= 0 && this.expiresAtMs <= MAX_TIME_MS;
      case BIT.selfTrade: {
        const index = scanner.word(SELF_TRADES);
        this.selfTrade = index as SelfTrade;
        return index !== FAILED;
      }
      case BIT.op:
        this.operation = scanner.word(OPERATIONS);
        return this.operation !== FAILED;
      case BIT.marketId:
        if (assets === null) return false;
        this.marketId = markets.nextNumber(assets, scanner);
        return scanner.isFine;
      case BIT.clientOrderId:
        scanner.text();
        this.clientOrderId = scanner.isFine ? clientOrderIdOf(scanner) : null;
        return this.clientOrderId !== null;
      case BIT.orderId:
        this.orderId = scanner.id(O);
        return this.orderId !== FAILED;
      default:
        return false;
    }
  }

  private buyCommand({ userId, idempotencyKey, marketId }: OrderPlace): Buy | null {
    const { seen, priceTicks, sizeLots, amountMicros, outcome } = this;
    const hasAmount = (seen & BIT.amount) !== 0;
    const hasShares = (seen & BIT.shares) !== 0;
    if ((seen & BIT.outcome) === 0 || hasAmount === hasShares || !this.isLimitAllowed())
      return null;
    if (hasShares && (priceTicks === 0 || sizeLots * priceTicks > MAX_ORDER_MICROS)) return null;
    const { timeInForce, postOnly, validUntilMs } = this;
    return {
      kind: 'buy',
      userId,
      idempotencyKey,
      marketId,
      outcome,
      budgetMicros: hasAmount ? amountMicros : sizeLots * priceTicks,
      sizeLots: hasShares ? sizeLots : MAX_ORDER_LOTS,
      priceTicks: priceTicks === 0 ? MAX_PRICE_TICKS : priceTicks,
      timeInForce,
      postOnly,
      validUntilMs,
      clientOrderId: this.clientOrderId,
      expiresAtMs: this.expiresAtMs,
      selfTrade: this.selfTrade,
    };
  }

  private sellCommand({ userId, idempotencyKey, marketId }: OrderPlace): Sell | null {
    const { seen, priceTicks, sizeLots, outcome, timeInForce, postOnly, validUntilMs } = this;
    if ((seen & SELL_REQUIRED) !== SELL_REQUIRED || !this.isLimitAllowed()) return null;
    return {
      kind: 'sell',
      userId,
      idempotencyKey,
      marketId,
      outcome,
      sizeLots,
      priceTicks: priceTicks === 0 ? MIN_PRICE_TICKS : priceTicks,
      timeInForce,
      postOnly,
      validUntilMs,
      clientOrderId: this.clientOrderId,
      expiresAtMs: this.expiresAtMs,
      selfTrade: this.selfTrade,
    };
  }

  /** The rules across the fields that every order has. */
  private isLimitAllowed(): boolean {
    if (this.timeInForce === TimeInForce.GTC) return this.priceTicks !== 0;
    return !this.postOnly && (this.seen & BIT.expiresAtMs) === 0;
  }
}

/** The scanner's last text; null if it is no clientOrderId. */
function clientOrderIdOf(scanner: JsonScanner): string | null {
  const length = scanner.textTo - scanner.textFrom;
  if (length < 1 || length > MAX_CLIENT_ORDER_ID_LENGTH) return null;
  return scanner.textOf(CLIENT_ORDER_ID_BYTES);
}

/** Remembers the market that was named last: most operations of a batch name the same one. */
const markets = {
  assets: null as Assets | null,
  /** In quotes. */
  name: new Uint8Array(0),
  marketId: 0,

  /** The market whose name is next in the text; 0: none can have this name. */
  nextNumber(assets: Assets, scanner: JsonScanner): number {
    if (this.assets === assets && scanner.skipText(this.name)) return this.marketId;
    scanner.text();
    if (!scanner.isFine) return 0;
    const name = Buffer.from(scanner.textBytes()).toString('latin1');
    const marketId = marketIdNumber(assets, name);
    if (marketId === 0) return 0;
    this.assets = assets;
    this.name = bytesOfText(`"${name}"`);
    this.marketId = marketId;
    return marketId;
  },
};
