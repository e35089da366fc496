/** One's own trades, newest first. */
import { toLots, toMicros, toTicks } from '../../../client/amounts.js';
import { userTrades } from '../../../client/index.js';
import { balance } from '../model/account.js';
import { api } from '../model/exchange.js';
import { user } from '../model/session.js';
import { cents, dayAndTime, shares } from '../parts/format.js';
import { slotName } from '../parts/market-name.js';
import { Money } from '../parts/money.js';
import { Outcome } from '../parts/outcome.js';
import { Paged } from '../parts/paged.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';

export function TradesList() {
  const userId = user.value?.userId ?? '';
  return (
    <Panel title="Trades">
      <Paged
        about={userId}
        news={balance.value}
        read={async (cursor) => {
          const { trades, nextCursor } = await userTrades(api, userId, { cursor });
          return { entries: trades, nextCursor };
        }}
      >
        {(trades) => (
          <Table
            label="Trades"
            heads={['Trade', 'Time', 'Role', 'Price', 'Shares', 'Value', 'Fee']}
            nothing="No trades yet."
            rows={trades.map((each) => ({
              key: `${each.tradeId} ${each.orderId}`,
              cells: [
                <>
                  {each.side === 'BUY' ? 'Bought' : 'Sold'} <Outcome of={each.outcome} />{' '}
                  <a href={`#/market/${each.marketId}`}>{slotName(each.marketId)}</a>
                </>,
                dayAndTime(each.atMs),
                each.role,
                cents(toTicks(each.price)),
                shares(toLots(each.shares)),
                <Money key="value" micros={toMicros(each.value)} />,
                <Money key="fee" micros={toMicros(each.fee)} />,
              ],
            }))}
          />
        )}
      </Paged>
    </Panel>
  );
}
