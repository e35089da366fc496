/**
 * The effect of events on accounts: every micro-dollar that an account gains or loses, or that
 * becomes held or available, is in exactly one change of one event. `explain` compares the sum with
 * the engine's balance after each command, and `audit` that over all accounts after each batch.
 */
import { DepositSource, Side, ticksIn } from '../../../engine/interface/domain.js';
import type { EventRecord } from '../../../engine/interface/events.js';

/** Why an account's money changed. */
export const CAUSES = [
  'play money',
  'deposit',
  'withdrawal',
  'bought',
  'bought as maker',
  'fee',
  'sold',
  'sold as maker',
  'hold',
  'release',
  'claim',
  'automatic payout',
  'refund of fees',
  'referral',
  'stake',
  'unstake',
  'yield',
] as const;
export type Cause = (typeof CAUSES)[number];

export interface MoneyChange {
  userId: number;
  cause: Cause;
  availableMicros: number;
  heldMicros: number;
}

/** The changes of an event; most kinds have none. */
export function changesOf(event: EventRecord): MoneyChange[] {
  switch (event.type) {
    case 'deposited': {
      const cause = event.source === DepositSource.GRANT ? 'play money' : 'deposit';
      return available(event.userId, cause, event.amountMicros);
    }
    case 'withdrawn':
      return available(event.userId, 'withdrawal', 0 - event.amountMicros);
    case 'orderRested':
      return event.side === Side.BUY
        ? [hold(event, 'hold', event.sizeLots * event.priceTicks)]
        : [];
    case 'orderCancelled':
      return event.side === Side.BUY
        ? [hold(event, 'release', 0 - event.sizeLots * event.priceTicks)]
        : [];
    case 'trade':
      return changesOfTrade(event);
    case 'claimed': {
      const cause = event.automatic === 1 ? 'automatic payout' : 'claim';
      return [
        ...available(event.userId, cause, event.payoutMicros),
        ...available(event.userId, 'refund of fees', event.refundMicros),
      ];
    }
    case 'referralEarned':
      return available(event.referrerId, 'referral', event.amountMicros);
    case 'staked':
      return available(event.userId, 'stake', 0 - event.amountMicros);
    case 'unstaked':
      return [
        ...available(event.userId, 'unstake', event.amountMicros),
        ...available(event.userId, 'yield', event.yieldMicros),
      ];
    case 'yieldClaimed':
      return available(event.userId, 'yield', event.yieldMicros);
    case 'assetListed':
    case 'priceObserved':
    case 'marketOpened':
    case 'startPriceFixed':
    case 'marketEnded':
    case 'marketResolved':
    case 'feesShared':
    case 'marketClosed':
    case 'userRegistered':
    case 'credentialSet':
    case 'positionSettled':
    case 'pointsCredited':
    case 'vaultRemainder':
    case 'referralCodeSet':
      return [];
  }
}

/** The taker pays or receives available money. A maker who buys pays from the order's hold. */
function changesOfTrade(trade: EventRecord<'trade'>): MoneyChange[] {
  const takerMicros = trade.sizeLots * ticksIn(trade.takerOutcome, trade.upTicks);
  const makerMicros = trade.sizeLots * ticksIn(trade.makerOutcome, trade.upTicks);
  const taker =
    trade.takerSide === Side.BUY
      ? available(trade.takerId, 'bought', 0 - takerMicros)
      : available(trade.takerId, 'sold', takerMicros);
  const fee = available(trade.takerId, 'fee', 0 - trade.feeMicros);
  const maker: MoneyChange =
    trade.makerSide === Side.BUY
      ? {
          userId: trade.makerId,
          cause: 'bought as maker',
          availableMicros: 0,
          heldMicros: 0 - makerMicros,
        }
      : {
          userId: trade.makerId,
          cause: 'sold as maker',
          availableMicros: makerMicros,
          heldMicros: 0,
        };
  return [...taker, ...fee, maker];
}

function available(userId: number, cause: Cause, availableMicros: number): MoneyChange[] {
  return availableMicros === 0 ? [] : [{ userId, cause, availableMicros, heldMicros: 0 }];
}

function hold(order: { userId: number }, cause: Cause, heldMicros: number): MoneyChange {
  return { userId: order.userId, cause, availableMicros: 0 - heldMicros, heldMicros };
}
