/**
 * Messages (messages.ts) as commands of an exchange, and the exchange's reports on them: a bid buys
 * UP, and an ask buys DOWN at 1000 less its price, so all trades are mints. Bids and asks have
 * different users, so no order meets its own user's.
 */
import { CODES } from '../../../engine/interface/codes.js';
import type { Command } from '../../../engine/interface/commands.js';
import { Outcome, Side, TimeInForce } from '../../../engine/interface/domain.js';
import { decodeEvents, type EventRecord } from '../../../engine/interface/events.js';
import { MICROS_PER_DOLLAR, MICROS_PER_SET } from '../../../engine/interface/limits.js';
import {
  AMEND_ORDER_AT,
  OrderResult,
  RESULT_HEAD_LENGTH,
  ResultHead,
} from '../../../engine/interface/results.js';
import { CommandList } from './command-list.js';
import { type Message, messagesOf, type StreamOptions } from './messages.js';
import { buyOrder, openingOf, openMarket, WINDOW_START_MS } from './open-market.js';
import { OrderTape } from './order-tape.js';

const USERS_OF_A_SIDE = 200;
const FUNDS_MICROS = 1_000_000 * MICROS_PER_DOLLAR;
export const MESSAGES_AT_MS = WINDOW_START_MS + 1_000;

export function marketForMessages() {
  return openMarket(2 * USERS_OF_A_SIDE, FUNDS_MICROS);
}

/** The commands that open the exchange. */
export function setupForMessages() {
  return openingOf(2 * USERS_OF_A_SIDE, FUNDS_MICROS);
}

interface Order {
  userId: number;
  isBid: boolean;
  /** The exchange's order id; 0 if the message was refused or not sent. */
  orderId: number;
  filledLots: number;
}

export class MessageOrders {
  /** Orders by the message's id, and by the exchange's id. */
  private readonly orders: Order[] = [];
  private readonly idsOf: number[] = [];

  constructor(private readonly marketId: number) {}

  commandOf(message: Message): Command {
    const { marketId } = this;
    if (message.kind === 'new') {
      const { id, isBid, ticks, lots, rests } = message;
      const userId = 1 + (id % USERS_OF_A_SIDE) + (isBid ? 0 : USERS_OF_A_SIDE);
      this.orders[id] = { userId, isBid, orderId: 0, filledLots: 0 };
      return buyOrder({
        userId,
        marketId,
        outcome: isBid ? Outcome.UP : Outcome.DOWN,
        priceTicks: isBid ? ticks : MICROS_PER_SET - ticks,
        sizeLots: lots,
        timeInForce: rests ? TimeInForce.GTC : TimeInForce.IOC,
      });
    }
    const { userId, isBid, orderId, filledLots } = this.orders[message.id]!;
    const named = { userId, idempotencyKey: null, marketId, orderId };
    if (message.kind === 'cancel') return { kind: 'cancel', ...named };
    const priceTicks = isBid ? message.ticks : MICROS_PER_SET - message.ticks;
    return { kind: 'amend', ...named, sizeLots: filledLots + message.lots, priceTicks };
  }

  /** `maker@ticks*lots` of each trade, then the resting lots; or `gone`. */
  reportOf(message: Message, result: ArrayLike<number>, events: readonly EventRecord[]): string {
    const code = CODES[result[ResultHead.code]!]!;
    if (code === 'order_closed') return 'gone';
    if (code === 'insufficient_liquidity') return '0';
    if (code !== 'ok') throw new Error(`the exchange refuses ${JSON.stringify(message)}: ${code}`);
    const order = this.orders[message.id]!;
    if (message.kind === 'cancel') return `cancelled ${result[RESULT_HEAD_LENGTH + 3]}`;
    const at = message.kind === 'modify' ? AMEND_ORDER_AT : 0;
    order.orderId = result[at + OrderResult.orderId]!;
    this.idsOf[order.orderId] = message.id;
    const fills = events.flatMap((event) => {
      if (event.type !== 'trade') return [];
      const makerId = this.idsOf[event.makerOrderId]!;
      this.orders[makerId]!.filledLots += event.sizeLots;
      order.filledLots += event.sizeLots;
      return [`${makerId}@${event.upTicks}*${event.sizeLots}`];
    });
    return [...fills, result[at + OrderResult.restingLots]].join(' ');
  }
}

/** Converts a stream to commands, with the digest after them and a tape for the ladder. */
export function planMessages(options: StreamOptions) {
  const { engine, marketId } = marketForMessages();
  const orders = new MessageOrders(marketId);
  const commands = new CommandList(options.count);
  const tape = new OrderTape();
  const tapeIds: number[] = [];
  for (const message of messagesOf(options)) {
    const command = orders.commandOf(message);
    commands.append(command, MESSAGES_AT_MS);
    engine.apply(command, MESSAGES_AT_MS);
    const { values } = engine.result;
    const events = decodeEvents(engine.events);
    const report = orders.reportOf(message, values, events);
    tape.trades += events.filter(({ type }) => type === 'trade').length;
    if (message.kind !== 'new') tape.cancel(tapeIds[message.id]!);
    if (message.kind === 'cancel' || report === 'gone' || values[ResultHead.code] !== 0) continue;
    const at = message.kind === 'modify' ? AMEND_ORDER_AT : 0;
    tape.order({
      marketId,
      side: Side.BUY,
      outcome: values[at + OrderResult.outcome] as Outcome,
      priceTicks: 'priceTicks' in command ? command.priceTicks : 0,
      lots: values[at + OrderResult.filledLots]! + values[at + OrderResult.restingLots]!,
      rests: values[at + OrderResult.restingLots]! > 0,
    });
    tapeIds[message.id] = tape.orders;
  }
  const { bids, asks } = engine.depth(marketId, MICROS_PER_SET)!;
  tape.restingLots = [...bids, ...asks].reduce((sum, { sizeLots }) => sum + sizeLots, 0);
  return { commands, tape, digest: engine.digest() };
}
