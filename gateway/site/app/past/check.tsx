/** "Check it yourself": recomputes the averages that settled a market from their prices. */
import { type MarketDetail, marketTicks, toMicros } from '../../../client/index.js';
import { publicApi } from '../model/exchange.js';
import { clockSeconds, exactDollars } from '../parts/format.js';
import { Panel, Table } from '../parts/panel.js';
import { Read, useReading } from '../parts/reading.js';
import { averageOf, type Tick } from './average.js';

export function CheckPanel({ of }: { of: MarketDetail }) {
  const reading = useReading(() => marketTicks(publicApi, of.id), `${of.id} ${of.status}`);
  return (
    <Panel title="Check it yourself">
      <div class="panel-body stack">
        <p class="soft">
          Each price counts for as long as it was the latest in the minute. Your browser computes
          the averages from the prices below and compares them with the exchange's.
        </p>
        <Read of={reading}>
          {({ start, end, startPrice, endPrice }) => (
            <div class="columns">
              <Minute
                title="Price to beat"
                prices={start}
                endsAtMs={of.startsAtMs}
                said={startPrice}
              />
              {end.length > 0 && (
                <Minute title="End price" prices={end} endsAtMs={of.endsAtMs} said={endPrice} />
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
        {micros === null ? 'There was no price.' : `Computed here: ${exactDollars(micros)}. `}
        {said !== null && `The exchange says: ${exactDollars(toMicros(said))}. `}
        {said !== null && <strong>{isSame ? 'They agree.' : 'They differ.'}</strong>}
      </p>
      <Table
        label={`Prices of the minute: ${title}`}
        heads={['From', 'Price', 'Counts for']}
        nothing="No price."
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
