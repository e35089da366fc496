/** "Check it yourself": recomputes the averages that settled a market from their prices. */
import { type MarketDetail, marketTicks, toMicros } from '../../../client/index.js';
import { publicApi } from '../model/exchange.js';
import { clockSeconds, exactDollars } from '../parts/format.js';
import { Panel, Table } from '../parts/panel.js';
import { Read, useReading } from '../parts/reading.js';
import { t } from '../words/words.js';
import { averageOf, type Tick } from './average.js';

export function CheckPanel({ of }: { of: MarketDetail }) {
  const reading = useReading(() => marketTicks(publicApi, of.id), `${of.id} ${of.status}`);
  return (
    <Panel title={t('Check it yourself')}>
      <div class="panel-body stack">
        <p class="soft">
          {t(
            "Each price counts for as long as it was the latest in the minute. Your browser computes the averages from the prices below and compares them with the exchange's.",
          )}
        </p>
        <Read of={reading}>
          {({ start, end, startPrice, endPrice }) => (
            <div class="columns">
              <Minute
                title={t('Price to beat')}
                prices={start}
                endsAtMs={of.startsAtMs}
                said={startPrice}
              />
              {end.length > 0 && (
                <Minute
                  title={t('End price')}
                  prices={end}
                  endsAtMs={of.endsAtMs}
                  said={endPrice}
                />
              )}
            </div>
          )}
        </Read>
      </div>
    </Panel>
  );
}

function Minute(props: {
  title: string;
  prices: readonly Tick[];
  endsAtMs: number;
  /** The exchange's average; `null` if it has none, as for a VOID market. */
  said: number | null;
}) {
  const { title, prices, endsAtMs, said } = props;
  const { ticks, micros } = averageOf(prices, endsAtMs);
  const isSame = said !== null && micros === toMicros(said);
  return (
    <div class="stack minute">
      <h3>{title}</h3>
      <p data-average>
        {micros === null
          ? t('There was no price.')
          : t("Your browser's result: {0}. ", exactDollars(micros))}
        {said !== null && t('The exchange says: {0}. ', exactDollars(toMicros(said)))}
        {said !== null && <strong>{isSame ? t('They agree.') : t('They differ.')}</strong>}
      </p>
      <Table
        label={t('Prices of the minute: {0}', title)}
        heads={[t('From'), t('Price'), t('Counts for')]}
        nothing={t('No price.')}
        rows={ticks.map(({ fromMs, forMs, price }, index) => ({
          key: `${index}`,
          cells: [
            clockSeconds(fromMs),
            exactDollars(toMicros(price)),
            `${(forMs / 1_000).toFixed(3)} s`,
          ],
        }))}
      />
    </div>
  );
}
