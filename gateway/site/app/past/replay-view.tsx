/** One market, finished or not: its question, result and trades. */
import {
  type MarketDetail,
  market,
  marketTrades,
  toLots,
  toMicros,
  toTicks,
} from '../../../client/index.js';
import { publicApi } from '../model/exchange.js';
import { hasOpened } from '../model/markets.js';
import { route } from '../model/route.js';
import {
  assetPrice,
  cents,
  clockSeconds,
  priceDifference,
  shares,
  slotNameWithDay,
  window,
} from '../parts/format.js';
import { Figure, Money, Outcome, Panel } from '../parts/panel.js';
import { Paged, Read, useReading } from '../parts/reading.js';
import { t } from '../words/words.js';
import { CheckPanel } from './check.js';
import { ReplayPanel } from './replay.js';

export function ReplayView() {
  const marketId = route.value.subject;
  const reading = useReading(() => market(publicApi, marketId), marketId);
  return (
    <Read of={reading}>
      {(of) => (
        <>
          <div class="page-head">
            <h1>{slotNameWithDay(of.id)}</h1>
            <span class="soft">{window(of.startsAtMs, of.endsAtMs)}</span>
          </div>
          <div class="stack">
            <Result of={of} />
            {of.status === 'resolved' && hasOpened(of) && <ReplayPanel key={of.id} of={of} />}
            <CheckPanel of={of} />
            <Trades marketId={of.id} />
          </div>
        </>
      )}
    </Read>
  );
}

function Result({ of }: { of: MarketDetail }) {
  const { endPrice, startPrice } = of;
  return (
    <Panel title={t('Result')}>
      <dl class="figures panel-body">
        <Figure
          label={t('Result')}
          value={of.resolution === null ? of.status : <Outcome of={of.resolution} />}
          {...(of.voidReason !== null && { note: t('By an operator: {0}', of.voidReason) })}
        />
        <Figure
          label={t('Price to beat')}
          value={startPrice === null ? '\u2013' : assetPrice(startPrice)}
        />
        <Figure
          label={t('End price')}
          value={endPrice === null ? '\u2013' : assetPrice(endPrice)}
        />
        <Figure
          label={t('Difference')}
          value={
            endPrice === null || startPrice === null
              ? '\u2013'
              : priceDifference(endPrice - startPrice)
          }
        />
        <Figure label={t('Volume')} value={<Money micros={toMicros(of.volume)} />} />
      </dl>
    </Panel>
  );
}

function Trades({ marketId }: { marketId: string }) {
  return (
    <Paged
      title={t('Trades')}
      about={marketId}
      list="trades"
      read={(cursor) => marketTrades(publicApi, marketId, { cursor })}
      heads={[t('Taker'), t('Time'), t('Price'), t('Shares'), t('Value')]}
      nothing={t('Nothing was traded.')}
      rows={(trades) =>
        trades.map((each) => ({
          key: each.tradeId,
          cells: [
            <>
              {each.side === 'BUY' ? t('buys') : t('sells')} <Outcome of={each.outcome} />
            </>,
            clockSeconds(each.atMs),
            cents(toTicks(each.price)),
            shares(toLots(each.shares)),
            <Money key="value" micros={toMicros(each.value)} />,
          ],
        }))
      }
    />
  );
}
