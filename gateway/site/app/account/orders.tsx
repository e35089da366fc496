/** The user's closed orders, newest first: what was filled, and why each one ended. */
import { type OrderRecord, orders, toLots, toMicros, toTicks } from '../../../client/index.js';
import { balance } from '../model/account.js';
import { api } from '../model/exchange.js';
import { user } from '../model/session.js';
import { averageCents, cents, dayAndTime, shares, slotName } from '../parts/format.js';
import { Outcome, Panel } from '../parts/panel.js';
import { Paged } from '../parts/reading.js';
import { OrdersPanel } from './holdings.js';

/** Orders without a limit have the worst price. */
const WORST_TICKS = { BUY: 999, SELL: 1 } as const;

function limitOf({ side, price }: OrderRecord): string {
  const ticks = toTicks(price);
  return ticks === WORST_TICKS[side] ? 'Market' : cents(ticks);
}

const ENDS: Record<NonNullable<OrderRecord['reason']> | 'filled', string> = {
  filled: 'Filled',
  requested: 'Cancelled',
  self_trade: 'Would have met your own order',
  market_ended: 'Market ended',
  expired: 'Expired',
  cancel_after: 'Auto-cancel',
  operator: 'Cancelled by the operator',
  disconnected: 'Connection lost',
  order_group: 'Order group full',
  unfilled: 'No more could fill',
  trade_limit: 'Too many trades at once',
  too_small_to_rest: 'Rest too small for the book',
};

export function OrdersList() {
  const userId = user.value?.userId ?? '';
  return (
    <div class="stack">
      <OrdersPanel />
      <Panel title="Closed orders">
        <Paged
          about={userId}
          news={balance.value}
          list="orders"
          read={(cursor) => orders(api, userId, { status: 'closed', cursor })}
          label="Closed orders"
          heads={['Order', 'Placed', 'Price', 'Filled', 'Average', 'Ended']}
          nothing="No closed orders yet."
          rows={(closed) =>
            closed.map((each) => ({
              key: each.orderId,
              cells: [
                <>
                  {each.side === 'BUY' ? 'Buy' : 'Sell'} <Outcome of={each.outcome} />{' '}
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
      </Panel>
    </div>
  );
}
