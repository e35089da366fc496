/** Receipts of buys, sells and amendments as JSON bytes, because batches contain many of them. */
import { type BatchOperation, CommandKind } from '../../../engine/interface/commands.js';
import { OrderStatus, Side, TimeInForce } from '../../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { type Assets, outcomeName } from '../../../engine/interface/notation.js';
import {
  AMEND_ORDER_AT,
  AmendResult,
  amountFor,
  clientOrderIdInAmendment,
  isForAmount,
  ORDER_RESULT_LENGTH,
  OrderResult,
  placedLots,
  ResultHead,
} from '../../../engine/interface/results.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import type { ReceiptWriter } from '../../commands/receipt.js';
import { AsciiWriter, ascii, type Piece } from '../../json/ascii-writer.js';
import { END_REASONS } from '../../json/cancel-reasons.js';
import { averagePriceMicros } from '../../json/decimal.js';
import { marketName } from '../last-market.js';
import { SELF_TRADE_NAMES } from './fields.js';

/** Except for dropped orders. A cancelled order is `cancelled` whatever it filled. */
const STATUS_NAMES: Partial<Record<OrderStatus, string>> = {
  [OrderStatus.FILLED]: 'filled',
  [OrderStatus.RESTING]: 'resting',
  [OrderStatus.STOPPED_UNFILLED]: 'cancelled',
  [OrderStatus.STOPPED]: 'cancelled',
  [OrderStatus.ORDER_GROUP]: 'cancelled',
};

function stateOf(status: OrderStatus, reason = END_REASONS[status] ?? null): string {
  const name = STATUS_NAMES[status] ?? 'partially_filled';
  return `"status":"${name}","isOpen":${name === 'resting'},"reason":${JSON.stringify(reason)}`;
}

/** By status. The last one is for a partially filled order with nothing resting. */
const STATES = Object.values(OrderStatus).map((status) =>
  stateOf(status === OrderStatus.PARTIALLY_FILLED ? OrderStatus.RESTING : status),
);
const UNFILLED = STATES.push(stateOf(OrderStatus.PARTIALLY_FILLED)) - 1;

/** From `side` to the name `shares`, by side, outcome and state. */
const KINDS = ['BUY', 'SELL'].flatMap((side) =>
  [0, 1].flatMap((outcome) =>
    STATES.map((state) =>
      ascii(`","side":"${side}","outcome":"${outcomeName(outcome)}",${state},"shares":`),
    ),
  ),
);

const ORDER_ID = ascii('{"orderId":"o');
const NO_CLIENT_ORDER_ID = ascii('","clientOrderId":null');
const CLIENT_ORDER_ID = ascii('","clientOrderId":"');
const KEPT_PRIORITY = ascii(',"keptPriority":true');
const LOST_PRIORITY = ascii(',"keptPriority":false');
const MARKET_ID = ascii(',"marketId":"');
const USER_ID = ascii('","userId":"u');
const AVERAGE_PRICE = ascii(',"averagePrice":');
const SPENT = ascii(',"spent":');
const RECEIVED = ascii(',"received":');
const FEE = ascii(',"fee":');
const TOTAL = ascii(',"total":');
const UNSPENT = ascii(',"unspent":');
/** From the filled shares to the name `unspent`, for orders without fills. */
const NOTHING_BOUGHT = ascii('0,"averagePrice":null,"spent":0,"fee":0,"total":0,"unspent":');
const NOTHING_SOLD = ascii('0,"averagePrice":null,"received":0,"fee":0,"total":0,"unspent":');
const RESTING_SHARES = ascii(',"restingShares":');
const SHARES_AHEAD = ascii(',"sharesAhead":');
const NONE_AHEAD = ascii(',"sharesAhead":null');
const ORIGINAL_SHARES = ascii(',"originalShares":');
const LIMIT = ascii(',"price":');
const AMOUNT = ascii(',"amount":');
const NO_AMOUNT = ascii(',"amount":null');
const NOT_ASKED = { shares: ascii(',"originalShares":null'), price: ascii(',"price":null') };
const TERMS = Object.keys(TimeInForce).flatMap((timeInForce) =>
  [false, true].map((postOnly) =>
    ascii(`,"timeInForce":"${timeInForce}","postOnly":${postOnly},"expiresAtMs":`),
  ),
);
const NULL = ascii('null');
const NOTHING = ascii('');
const UNGROUPED = SELF_TRADE_NAMES.map((name) => ascii(`,"selfTrade":"${name}","groupId":null`));
const GROUPED = SELF_TRADE_NAMES.map((name) => ascii(`,"selfTrade":"${name}","groupId":"g`));
const FILLS = ascii(',"fills":[');
const TRADE_ID = ascii('{"tradeId":"t');
const PRICE = ascii('","price":');
const SHARES = ascii(',"shares":');
const BALANCE = ascii('],"balance":{"available":');
const NO_FILLS = ascii(',"fills":[],"balance":{"available":');
const HELD = ascii(',"held":');
const POSITION_UP = ascii('},"position":{"UP":');
const POSITION_DOWN = ascii(',"DOWN":');
const SEQUENCE = ascii('},"sequence":');
const AT_MS = ascii(',"atMs":');
const COMMA = 44;
const BRACE = 125;
const QUOTE = 34;

export type OrderCommand = Extract<BatchOperation, { kind: 'buy' | 'sell' }>;
export type AmendCommand = Extract<BatchOperation, { kind: 'amend' }>;

export function writeOrderReceipt(
  out: AsciiWriter,
  assets: Assets,
  { values }: NumberBuffer,
  at: number,
  command: OrderCommand,
): void {
  out.integer(ORDER_ID, values[at + OrderResult.orderId]!);
  writeClientOrderId(out, command.clientOrderId ?? null);
  writePlace(out, assets, values, at);
  writeOrder(out, values, at, values[at + ResultHead.kind] === CommandKind.buy);
  writeAhead(out, values, at, true);
  writeTerms(out, values, at, command);
  writeEnd(out, values, at);
  writeTime(out, values, at);
}

export function writeAmendReceipt(
  out: AsciiWriter,
  assets: Assets,
  result: NumberBuffer,
  at: number,
  { sizeLots, priceTicks }: AmendCommand,
): void {
  const { values } = result;
  const order = at + AMEND_ORDER_AT;
  const side = values[at + AmendResult.side]!;
  const keptPriority = values[at + AmendResult.keptPriority]!;
  out.integer(ORDER_ID, values[order + OrderResult.orderId]!);
  writeClientOrderId(out, clientOrderIdInAmendment(result, at));
  out.put(keptPriority === 1 ? KEPT_PRIORITY : LOST_PRIORITY);
  writePlace(out, assets, values, order);
  writeOrder(out, values, order, side === Side.BUY);
  writeAhead(out, values, order, keptPriority === 0);
  if (sizeLots === 0) out.put(NOT_ASKED.shares);
  else out.lots(ORIGINAL_SHARES, sizeLots);
  if (priceTicks === 0) out.put(NOT_ASKED.price);
  else out.ticks(LIMIT, priceTicks);
  writeEnd(out, values, order);
  writeTime(out, values, at);
}

function writeTerms(
  out: AsciiWriter,
  values: Float64Array,
  at: number,
  command: OrderCommand,
): void {
  const { sizeLots, expiresAtMs = MAX_TIME_MS, groupId = 0, selfTrade = 0 } = command;
  const filledLots = values[at + OrderResult.filledLots]!;
  const restingLots = values[at + OrderResult.restingLots]!;
  const status = values[at + OrderResult.status]!;
  out.lots(ORIGINAL_SHARES, placedLots(sizeLots, filledLots, restingLots, status));
  out.ticks(LIMIT, command.priceTicks);
  if (command.kind === 'buy')
    if (isForAmount(sizeLots)) {
      const unspentMicros = values[at + OrderResult.unspentMicros]!;
      const lots = filledLots + restingLots;
      out.micros(AMOUNT, amountFor(command.budgetMicros, unspentMicros, lots));
    } else out.put(NO_AMOUNT);
  out.put(TERMS[command.timeInForce * 2 + Number(command.postOnly)]!);
  if (expiresAtMs === MAX_TIME_MS) out.put(NULL);
  else out.integer(NOTHING, expiresAtMs);
  if (groupId === 0) {
    out.put(UNGROUPED[selfTrade]!);
    return;
  }
  out.integer(GROUPED[selfTrade]!, groupId);
  out.byte(QUOTE);
}

function writeClientOrderId(out: AsciiWriter, clientOrderId: string | null): void {
  if (clientOrderId === null) {
    out.put(NO_CLIENT_ORDER_ID);
    return;
  }
  out.put(CLIENT_ORDER_ID);
  out.text(clientOrderId);
  out.byte(QUOTE);
}

/** From side to restingShares. */
function writeOrder(out: AsciiWriter, values: Float64Array, at: number, isBuy: boolean): void {
  const outcome = values[at + OrderResult.outcome]!;
  const status = values[at + OrderResult.status]!;
  const restingLots = values[at + OrderResult.restingLots]!;
  const state = status === OrderStatus.PARTIALLY_FILLED && restingLots === 0 ? UNFILLED : status;
  const kind = KINDS[((isBuy ? 0 : 2) + outcome) * STATES.length + state]!;
  if (values[at + OrderResult.filledLots]! > 0) writeTraded(out, values, at, kind, isBuy);
  else {
    out.put(kind);
    out.micros(isBuy ? NOTHING_BOUGHT : NOTHING_SOLD, values[at + OrderResult.unspentMicros]!);
  }
  out.lots(RESTING_SHARES, restingLots);
}

/** `isAtBack`: a newly placed order rests at the back of the queue. */
function writeAhead(out: AsciiWriter, values: Float64Array, at: number, isAtBack: boolean): void {
  if (isAtBack && values[at + OrderResult.restingLots]! > 0)
    out.lots(SHARES_AHEAD, values[at + OrderResult.aheadLots]!);
  else out.put(NONE_AHEAD);
}

/** From fills to position. */
function writeEnd(out: AsciiWriter, values: Float64Array, at: number): void {
  const fillCount = values[at + OrderResult.fillCount]!;
  if (fillCount > 0) writeFills(out, values, at + ORDER_RESULT_LENGTH, fillCount);
  out.micros(fillCount > 0 ? BALANCE : NO_FILLS, values[at + OrderResult.availableMicros]!);
  out.micros(HELD, values[at + OrderResult.heldMicros]!);
  out.lots(POSITION_UP, values[at + OrderResult.upLots]!);
  out.lots(POSITION_DOWN, values[at + OrderResult.downLots]!);
}

function writePlace(out: AsciiWriter, assets: Assets, values: Float64Array, at: number): void {
  out.put(MARKET_ID);
  out.text(marketName(assets, values[at + OrderResult.marketId]!));
  out.integer(USER_ID, values[at + OrderResult.userId]!);
}

function writeTime(out: AsciiWriter, values: Float64Array, at: number): void {
  out.integer(SEQUENCE, values[at + ResultHead.sequence]!);
  out.integer(AT_MS, values[at + ResultHead.atMs]!);
  out.byte(BRACE);
}

/** From side to unspent. */
function writeTraded(
  out: AsciiWriter,
  values: Float64Array,
  at: number,
  kind: Piece,
  isBuy: boolean,
): void {
  const filledLots = values[at + OrderResult.filledLots]!;
  const valueMicros = values[at + OrderResult.valueMicros]!;
  const feeMicros = values[at + OrderResult.feeMicros]!;
  out.lots(kind, filledLots);
  out.micros(AVERAGE_PRICE, averagePriceMicros(valueMicros, filledLots)!);
  out.micros(isBuy ? SPENT : RECEIVED, valueMicros);
  out.micros(FEE, feeMicros);
  out.micros(TOTAL, isBuy ? valueMicros + feeMicros : valueMicros - feeMicros);
  out.micros(UNSPENT, values[at + OrderResult.unspentMicros]!);
}

/** From triples of trade id, ticks and lots. Does not close the bracket. */
function writeFills(out: AsciiWriter, values: Float64Array, start: number, count: number): void {
  out.put(FILLS);
  for (let i = 0; i < count; i++) {
    const at = start + i * 3;
    if (i > 0) out.byte(COMMA);
    out.integer(TRADE_ID, values[at]!);
    out.ticks(PRICE, values[at + 1]!);
    out.lots(SHARES, values[at + 2]!);
    out.byte(BRACE);
  }
}

const single = new AsciiWriter();

export const orderReceipt: ReceiptWriter<Uint8Array> = (assets, result, at, command) => {
  single.clear();
  writeOrderReceipt(single, assets, result, at, command as OrderCommand);
  return single.take();
};

export const amendReceipt: ReceiptWriter<Uint8Array> = (assets, result, at, command) => {
  single.clear();
  writeAmendReceipt(single, assets, result, at, command as AmendCommand);
  return single.take();
};
