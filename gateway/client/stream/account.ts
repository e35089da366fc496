/**
 * A local account, built from the events of the channel `user`, or of `account:<userId>` for a
 * sub-account.
 *
 * Invariant: it equals the exchange's account at `sequence`. Each message's events must add up to
 * its balance. If they do not, or if an event is unknown, the account requests a snapshot.
 */
import { toLots, toMicros, toTicks } from '../amounts.js';
import type { Order, Position } from '../routes.js';
import type { OutcomeName, SideName } from '../terms.js';
import type { ChannelMessage, Place, UserEvent } from './messages.js';
import type { Stream } from './stream.js';

export interface RestingOrder {
  orderId: string;
  clientOrderId: string | null;
  marketId: string;
  side: SideName;
  outcome: OutcomeName;
  priceTicks: number;
  lots: number;
}

type Named = Pick<Order, 'orderId' | 'clientOrderId' | 'marketId' | 'side' | 'outcome' | 'price'>;

/** An account as JSON, to save and to continue from. */
export interface SavedAccount extends Place {
  availableMicros: number;
  heldMicros: number;
  orders: RestingOrder[];
  positions: [marketId: string, outcomes: Position[]][];
}

export interface MoneyChange {
  availableMicros: number;
  heldMicros: number;
}

export class Account {
  sequence = 0;
  channelSequence: number | null = null;
  availableMicros = 0;
  heldMicros = 0;
  readonly orders = new Map<string, RestingOrder>();
  readonly positions = new Map<string, Position[]>();

  /** Returns false if the account is no longer certain and needs a snapshot. */
  apply(message: ChannelMessage<'user' | 'account'>): boolean {
    const { balance, positions } = message.data;
    const isKnown = message.type === 'snapshot' ? this.reset(message) : this.enter(message);
    for (const { marketId, outcomes } of positions) {
      if (outcomes.length === 0) this.positions.delete(marketId);
      else this.positions.set(marketId, outcomes);
    }
    this.sequence = message.sequence;
    this.channelSequence = message.channelSequence;
    const available = toMicros(balance.available);
    const held = toMicros(balance.held);
    const agrees = available === this.availableMicros && held === this.heldMicros;
    this.availableMicros = available;
    this.heldMicros = held;
    return isKnown && agrees;
  }

  /** Shares of an outcome, including those offered for sale. */
  lots(marketId: string, outcome: OutcomeName): number {
    const found = this.positions.get(marketId)?.find((position) => position.outcome === outcome);
    return found === undefined ? 0 : toLots(found.shares);
  }

  toJSON(): SavedAccount {
    const { sequence, channelSequence, availableMicros, heldMicros } = this;
    const [orders, positions] = [[...this.orders.values()], [...this.positions]];
    return { sequence, channelSequence, availableMicros, heldMicros, orders, positions };
  }

  static from(saved: SavedAccount): Account {
    const { orders, positions, ...rest } = saved;
    const account = Object.assign(new Account(), rest);
    for (const order of orders) account.orders.set(order.orderId, order);
    for (const [marketId, outcomes] of positions) account.positions.set(marketId, outcomes);
    return account;
  }

  private reset(message: ChannelMessage<'user' | 'account'> & { type: 'snapshot' }): boolean {
    const { balance, orders } = message.data;
    this.availableMicros = toMicros(balance.available);
    this.heldMicros = toMicros(balance.held);
    this.positions.clear();
    this.orders.clear();
    for (const order of orders) this.rest(order, order.shares);
    return true;
  }

  private enter(message: ChannelMessage<'user' | 'account'> & { type: 'delta' }): boolean {
    let isKnown = true;
    for (const event of message.data.events) {
      const change = moneyChange(event);
      this.availableMicros += change?.availableMicros ?? 0;
      this.heldMicros += change?.heldMicros ?? 0;
      this.changeOrders(event);
      if (change === null) isKnown = false;
    }
    return isKnown;
  }

  private changeOrders(event: UserEvent): void {
    if (event.type === 'order_rested') this.rest(event, event.shares);
    else if (event.type === 'order_cancelled') this.orders.delete(event.orderId);
    else if (event.type === 'order_amended') this.amend(event);
    else if (event.type === 'fill' && event.role === 'maker') {
      const order = this.orders.get(event.orderId);
      if (order === undefined) return;
      order.lots -= toLots(event.shares);
      if (order.lots === 0) this.orders.delete(event.orderId);
    }
  }

  /** An amended order that loses priority leaves the book. Other events report its new place. */
  private amend(event: UserEvent & { type: 'order_amended' }): void {
    if (event.keptPriority && event.shares > 0) this.rest(event, event.shares);
    else this.orders.delete(event.orderId);
  }

  private rest(order: Named, shares: number): void {
    const { orderId, clientOrderId, marketId, side, outcome, price } = order;
    const [priceTicks, lots] = [toTicks(price), toLots(shares)];
    const resting = { orderId, clientOrderId, marketId, side, outcome, priceTicks, lots };
    this.orders.set(orderId, resting);
  }
}

/** How an event changes the balance; `null` if the event is unknown. */
export function moneyChange(event: UserEvent): MoneyChange | null {
  switch (event.type) {
    case 'order_rested':
      return held(event, 1);
    case 'order_cancelled':
      return held(event, -1);
    case 'order_amended': {
      const { oldPrice, oldShares, keptPriority } = event;
      const before = held({ ...event, price: oldPrice, shares: oldShares }, -1);
      const after = held(event, keptPriority ? 1 : 0);
      return {
        availableMicros: before.availableMicros + after.availableMicros,
        heldMicros: before.heldMicros + after.heldMicros,
      };
    }
    case 'fill': {
      const value = toMicros(event.value);
      if (event.side === 'SELL') return free(value);
      if (event.role === 'maker') return { availableMicros: 0, heldMicros: -value };
      return free(-value - toMicros(event.fee));
    }
    case 'sets_split':
      return free(-toMicros(event.shares) - toMicros(event.fee));
    case 'sets_merged':
      return free(toMicros(event.shares));
    case 'claimed':
      return free(toMicros(event.payout) + toMicros(event.refundedFees));
    case 'deposited':
    case 'transferred_in':
    case 'referral_earned':
    case 'maker_share_earned':
      return free(toMicros(event.amount));
    case 'withdrawn':
    case 'transferred_out':
    case 'staked':
      return free(-toMicros(event.amount));
    case 'unstaked':
      return free(toMicros(event.amount) + toMicros(event.yield));
    case 'yield_claimed':
      return free(toMicros(event.yield));
    case 'order_ended':
    case 'cancel_after_fired':
    case 'order_group_tripped':
    case 'user_frozen':
    case 'position_settled':
    case 'points_credited':
      return free(0);
    default:
      return null;
  }
}

function free(micros: number): MoneyChange {
  return { availableMicros: micros, heldMicros: 0 };
}

/** A resting buy holds its price, and a resting sale its shares. */
function held(order: { side: SideName; price: number; shares: number }, sign: number): MoneyChange {
  const micros = order.side === 'BUY' ? sign * toTicks(order.price) * toLots(order.shares) : 0;
  return { availableMicros: -micros, heldMicros: micros };
}

export interface AccountListener {
  /** Called after each message with its events in order. A snapshot has none. */
  onChange?: (account: Account, events: readonly UserEvent[]) => void;
  /** Called if events were missed: the account is right, but sums of events are incomplete. */
  onGap?: () => void;
  /** Called if the channel was refused or the stream has ended; see Subscriber. */
  onEnd?: (error: Error | null) => void;
}

/** Follows the user, or "account:<userId>". `saved`: an earlier run's account, to continue. */
export function followAccount(
  stream: Stream,
  listener: AccountListener = {},
  saved: SavedAccount | null = null,
  channel: 'user' | `account:${string}` = 'user',
): { account: Account; stop: () => void } {
  const account = saved === null ? new Account() : Account.from(saved);
  const onGap = () => listener.onGap?.();
  const onMessage = (message: ChannelMessage<'user' | 'account'>) => {
    const isCertain = account.apply(message);
    listener.onChange?.(account, message.type === 'delta' ? message.data.events : []);
    if (isCertain) return;
    onGap();
    stream.restart(channel);
  };
  const stop = stream.subscribe(channel, { onMessage, onGap, onEnd: listener.onEnd }, saved);
  return { account, stop };
}
