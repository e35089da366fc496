/** Writing answers into the socket's memory, by hand and with JSON.stringify. */
import { z } from 'zod';
import type { Engine } from '../../engine/engine.js';
import type { Batch as BatchCommand } from '../../engine/interface/commands.js';
import { MICROS_PER_SET } from '../../engine/interface/limits.js';
import { type Assets, marketIdText, outcomeName } from '../../engine/interface/notation.js';
import {
  FIRST_OPERATION,
  nextOperation,
  ORDER_RESULT_LENGTH,
} from '../../engine/interface/results.js';
import type { DepthLevel, DepthView } from '../../engine/interface/views.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { resultFields } from '../../gateway/commands/receipt.js';
import {
  averagePriceMicros,
  lots,
  micros,
  microsOrNull,
  ticks,
} from '../../gateway/json/decimal.js';
import { sequence, timeMs } from '../../gateway/json/response-fields.js';
import { jsonText, type Writable } from '../../gateway/json/serializer.js';
import { batchReceipt } from '../../gateway/resources/batch/receipts.js';
import { orderbookBytes } from '../../gateway/resources/markets/orderbook.js';
import type { Orderbook } from '../../gateway/resources/markets/schemas.js';
import { type OrderCommand, orderReceipt } from '../../gateway/resources/orders/order-receipt.js';
import { RECEIPTS } from '../../gateway/resources/orders/receipts.js';
import { BuyReceipt, type CancelReceipt } from '../../gateway/resources/orders/schemas.js';
import { type Market, OPERATIONS } from './market.js';
import { mustAgree, type Work } from './timing.js';

const LEVELS = 20;
const Buy = z.strictObject({ type: z.literal('buy'), ...BuyReceipt.shape });
const Batch = z.strictObject({ results: z.array(Buy), sequence, atMs: timeMs });

export function writing({ engine, marketId, buy, cancel, batch }: Market): Work[] {
  const depth = engine.depth(marketId, LEVELS)!;
  return [
    written<typeof BuyReceipt>('the receipt of a buy with three fills', 'writeReceipt', {
      hand: () => orderReceipt(engine, buy.result, 0, buy.command),
      value: () => buyOf(engine, buy.result, 0, buy.command),
    }),
    written<typeof CancelReceipt>('the receipt of a cancel', 'writeCancelReceipt', {
      hand: () => RECEIPTS.cancel(engine, cancel.result, 0, cancel.command),
      value: () => cancelOf(engine, cancel.result),
    }),
    written<typeof Batch>(
      `the receipts of a batch of ${OPERATIONS}, half of them with a fill`,
      'writeBatch',
      {
        hand: () => batchReceipt(engine, batch.result, 0, batch.command),
        value: () => batchOf(engine, batch.result, batch.command),
      },
    ),
    written<typeof Orderbook>(`an order book of ${LEVELS} levels a side`, 'writeBook', {
      hand: () => orderbookBytes(engine, marketId, depth, asOf(engine)),
      value: () => bookOf(engine, marketId, depth),
    }),
  ];
}

/** Stands for the memory that uWebSockets.js copies an answer to. */
const socket = Buffer.allocUnsafeSlow(1024 * 1024);

function send(answer: string | Uint8Array): number {
  if (typeof answer === 'string') return socket.write(answer, 'latin1');
  socket.set(answer);
  return answer.length;
}

function written<Schema extends z.ZodType>(
  name: string,
  figure: string,
  { hand, value }: { hand: () => string | Uint8Array; value: () => Writable<Schema> },
): Work {
  const ways = {
    hand: () => send(hand()),
    'JSON.stringify': () => send(jsonText<Schema>(value())),
  };
  mustAgree(
    name,
    Object.values(ways).map((way) => socket.toString('latin1', 0, way())),
  );
  return { name, figure, ways };
}

/** Handles only orders that are filled or rest. */
function buyOf(
  assets: Assets,
  result: NumberBuffer,
  at: number,
  { sizeLots, priceTicks, timeInForce, postOnly }: OrderCommand,
): Writable<typeof BuyReceipt> {
  const buy = resultFields('buy', result, at);
  const fills = Array.from({ length: buy.fillCount }, (_, i) => {
    const from = at + ORDER_RESULT_LENGTH + i * 3;
    const [tradeId, atTicks, filledLots] = result.values.subarray(from, from + 3);
    return { tradeId: `t${tradeId}`, price: ticks(atTicks!), shares: lots(filledLots!) };
  });
  return {
    orderId: `o${buy.orderId}`,
    clientOrderId: null,
    marketId: marketIdText(assets, buy.marketId),
    userId: `u${buy.userId}`,
    side: 'BUY',
    outcome: outcomeName(buy.outcome),
    status: buy.filledLots > 0 ? 'filled' : 'resting',
    isOpen: buy.filledLots === 0,
    reason: null,
    shares: lots(buy.filledLots),
    averagePrice: microsOrNull(averagePriceMicros(buy.valueMicros, buy.filledLots)),
    spent: micros(buy.valueMicros),
    fee: micros(buy.feeMicros),
    total: micros(buy.valueMicros + buy.feeMicros),
    unspent: micros(buy.unspentMicros),
    restingShares: lots(buy.restingLots),
    sharesAhead: buy.restingLots > 0 ? lots(buy.aheadLots) : null,
    originalShares: lots(sizeLots),
    price: ticks(priceTicks),
    amount: null,
    timeInForce: (['IOC', 'FOK', 'GTC'] as const)[timeInForce],
    postOnly,
    expiresAtMs: null,
    selfTrade: 'cancel_resting',
    groupId: null,
    fills,
    balance: { available: micros(buy.availableMicros), held: micros(buy.heldMicros) },
    position: { UP: lots(buy.upLots), DOWN: lots(buy.downLots) },
    sequence: buy.sequence,
    atMs: buy.atMs,
  };
}

function cancelOf(assets: Assets, result: NumberBuffer): Writable<typeof CancelReceipt> {
  const cancel = resultFields('cancel', result);
  return {
    orderId: `o${cancel.orderId}`,
    marketId: marketIdText(assets, cancel.marketId),
    userId: `u${cancel.userId}`,
    status: 'cancelled',
    isOpen: false,
    reason: 'requested',
    cancelledShares: lots(cancel.cancelledLots),
    balance: { available: micros(cancel.availableMicros), held: micros(cancel.heldMicros) },
    sequence: cancel.sequence,
    atMs: cancel.atMs,
  };
}

function batchOf(
  assets: Assets,
  result: NumberBuffer,
  { operations }: BatchCommand,
): Writable<typeof Batch> {
  let at = FIRST_OPERATION;
  const results = operations.map((operation) => {
    const bought = buyOf(assets, result, at, operation as OrderCommand);
    const receipt = { type: 'buy' as const, ...bought };
    at = nextOperation(result.values, at);
    return receipt;
  });
  const { sequence, atMs } = resultFields('batch', result);
  return { results, sequence, atMs };
}

function asOf({ sequence, nowMs: atMs }: Engine) {
  return { sequence, atMs };
}

function bookOf(engine: Engine, marketId: number, depth: DepthView): Writable<typeof Orderbook> {
  const side = (levels: readonly DepthLevel[], priceOf: (upTicks: number) => number) =>
    levels.map((level) => ({
      price: ticks(priceOf(level.priceTicks)),
      shares: lots(level.sizeLots),
    }));
  const up = (upTicks: number) => upTicks;
  const down = (upTicks: number) => MICROS_PER_SET - upTicks;
  return {
    marketId: marketIdText(engine, marketId),
    ...asOf(engine),
    UP: { bids: side(depth.bids, up), asks: side(depth.asks, up) },
    DOWN: { bids: side(depth.asks, down), asks: side(depth.bids, down) },
  };
}
