/** The trades of an account, newest first. */
import { type Api, toLots, toMicros, toTicks, userTrades } from '../../../client/index.js';
import { balance } from '../model/account.js';
import { api } from '../model/exchange.js';
import { user } from '../model/session.js';
import { cents, dayAndTime, shares, slotName } from '../parts/format.js';
import { Money, Outcome } from '../parts/panel.js';
import { Paged } from '../parts/reading.js';
import { t } from '../words/words.js';

export function TradesList() {
  return <UserTrades of={user.value?.userId ?? ''} from={api} news={balance.value} />;
}

/** @param props.from the API with the user's session, or without one */
export function UserTrades(props: { of: string; from: Api; news?: unknown }) {
  const userId = props.of;
  return (
    <Paged
      title={t('Trades')}
      about={userId}
      news={props.news}
      list="trades"
      read={(cursor) => userTrades(props.from, userId, { cursor })}
      heads={[t('Trade'), t('Time'), t('Role'), t('Price'), t('Shares'), t('Value'), t('Fee')]}
      nothing={t('No trades yet.')}
      rows={(trades) =>
        trades.map((each) => ({
          key: `${each.tradeId} ${each.orderId}`,
          cells: [
            <>
              {each.side === 'BUY' ? t('Bought') : t('Sold')} <Outcome of={each.outcome} />{' '}
              <a href={`#/market/${each.marketId}`}>{slotName(each.marketId)}</a>
            </>,
            dayAndTime(each.atMs),
            each.role,
            cents(toTicks(each.price)),
            shares(toLots(each.shares)),
            <Money key="value" micros={toMicros(each.value)} />,
            <Money key="fee" micros={toMicros(each.fee)} />,
          ],
        }))
      }
    />
  );
}
