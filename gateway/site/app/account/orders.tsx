/** The user's closed orders, newest first: what was filled, and why each one ended. */
import { type OrderRecord, orders, toLots, toMicros, toTicks } from '../../../client/index.js';
import { balance } from '../model/account.js';
import { api } from '../model/exchange.js';
import { user } from '../model/session.js';
import { averageCents, cents, dayAndTime, shares, slotName } from '../parts/format.js';
import { Outcome } from '../parts/panel.js';
import { Paged } from '../parts/reading.js';
import { t } from '../words/words.js';
import { OrdersPanel } from './holdings.js';

/** Orders without a limit have the worst price. */
const WORST_TICKS = { BUY: 999, SELL: 1 } as const;

function limitOf({ side, price }: OrderRecord): string {
  const ticks = toTicks(price);
  return ticks === WORST_TICKS[side] ? t('Market') : cents(ticks);
}

const ENDS: Record<NonNullable<OrderRecord['reason']> | 'filled', string> = {
  filled: t('Filled'),
  requested: t('Cancelled'),
  self_trade: t('Would have met your own order'),
  market_ended: t('Market ended'),
  expired: t('Expired'),
  cancel_after: t('Auto-cancel'),
  operator: t('Cancelled by the operator'),
  disconnected: t('Connection lost'),
  order_group: t('Order group full'),
  unfilled: t('No more offers or bids at your price'),
  trade_limit: t('Reached the limit of trades for one order'),
  too_small_to_rest: t('Rest too small for the book'),
};

export function OrdersList() {
  const userId = user.value?.userId ?? '';
  return (
    <div class="stack">
      <OrdersPanel />
      <Paged
        title={t('Closed orders')}
        about={userId}
        news={balance.value}
        list="orders"
        read={(cursor) => orders(api, userId, { status: 'closed', cursor })}
        heads={[t('Order'), t('Placed'), t('Price'), t('Filled'), t('Average'), t('Ended')]}
        nothing={t('No closed orders yet.')}
        rows={(closed) =>
          closed.map((each) => ({
            key: each.orderId,
            cells: [
              <>
                {each.side === 'BUY' ? t('Buy') : t('Sell')} <Outcome of={each.outcome} />{' '}
                <a href={`#/market/${each.marketId}`}>{slotName(each.marketId)}</a>
              </>,
              dayAndTime(each.placedAtMs),
              limitOf(each),
              shares(toLots(each.filledShares)),
              each.averagePrice === null ? '\u2013' : averageCents(toMicros(each.averagePrice)),
              ENDS[each.reason ?? 'filled'],
            ],
          }))
        }
      />
    </div>
  );
}
