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
  return partsOf(event).filter(
    ({ availableMicros, heldMicros }) => availableMicros !== 0 || heldMicros !== 0,
  );
}

function partsOf(event: EventRecord): MoneyChange[] {
  switch (event.type) {
    case 'deposited': {
      const cause = event.source === DepositSource.GRANT ? 'play money' : 'deposit';
      return [change(event.userId, cause, event.amountMicros)];
    }
    case 'withdrawn':
      return [change(event.userId, 'withdrawal', -event.amountMicros)];
    case 'orderRested':
      return event.side === Side.BUY ? [hold(event, 'hold', 1)] : [];
    case 'orderCancelled':
      return event.side === Side.BUY ? [hold(event, 'release', -1)] : [];
    case 'orderAmended':
      return event.side === Side.BUY ? partsOfAmendment(event) : [];
    case 'trade':
      return partsOfTrade(event);
    case 'claimed': {
      const cause = event.automatic === 1 ? 'automatic payout' : 'claim';
      const refund = change(event.userId, 'refund of fees', event.refundMicros);
      return [change(event.userId, cause, event.payoutMicros), refund];
    }
    case 'referralEarned':
      return [change(event.referrerId, 'referral', event.amountMicros)];
    case 'staked':
      return [change(event.userId, 'stake', -event.amountMicros)];
    case 'unstaked': {
      const earned = change(event.userId, 'yield', event.yieldMicros);
      return [change(event.userId, 'unstake', event.amountMicros), earned];
    }
    case 'yieldClaimed':
      return [change(event.userId, 'yield', event.yieldMicros)];
    case 'assetListed':
    case 'priceObserved':
    case 'priceHeld':
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
    case 'tokenCreated':
    case 'tokenRevoked':
    case 'tokenExpired':
    case 'cancelAfterFired':
    case 'marketPaused':
    case 'userFrozen':
    case 'rulesChanged':
      return [];
  }
}

/** The taker pays or receives available money. A maker who buys pays from the order's hold. */
function partsOfTrade(trade: EventRecord<'trade'>): MoneyChange[] {
  const { takerId, makerId } = trade;
  const takerMicros = trade.sizeLots * ticksIn(trade.takerOutcome, trade.upTicks);
  const makerMicros = trade.sizeLots * ticksIn(trade.makerOutcome, trade.upTicks);
  const taker =
    trade.takerSide === Side.BUY
      ? change(takerId, 'bought', -takerMicros)
      : change(takerId, 'sold', takerMicros);
  const maker =
    trade.makerSide === Side.BUY
      ? change(makerId, 'bought as maker', 0, -makerMicros)
      : change(makerId, 'sold as maker', makerMicros);
  return [taker, change(takerId, 'fee', -trade.feeMicros), maker];
}

/** The hold of what rests on where it was is smaller; that of an order placed anew is released. */
function partsOfAmendment(event: EventRecord<'orderAmended'>): MoneyChange[] {
  const { userId, oldSizeLots, oldPriceTicks, sizeLots, priceTicks, keptPriority } = event;
  const left = keptPriority === 1 ? sizeLots * priceTicks : 0;
  const released = oldSizeLots * oldPriceTicks - left;
  return [change(userId, 'release', released, -released)];
}

/** The value of a buy order becomes held (sign 1), or available again (-1). */
function hold(
  { userId, sizeLots, priceTicks }: EventRecord<'orderRested' | 'orderCancelled'>,
  cause: Cause,
  sign: 1 | -1,
): MoneyChange {
  const heldMicros = sign * sizeLots * priceTicks;
  return change(userId, cause, -heldMicros, heldMicros);
}

function change(
  userId: number,
  cause: Cause,
  availableMicros: number,
  heldMicros = 0,
): MoneyChange {
  return { userId, cause, availableMicros, heldMicros };
}
