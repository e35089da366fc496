/** The finished markets of an asset, newest first. */
import { toMicros } from '../../../client/amounts.js';
import { markets } from '../../../client/index.js';
import { publicApi } from '../model/exchange.js';
import { asset, assets, remember } from '../model/markets.js';
import { go, route } from '../model/route.js';
import { Choice } from '../parts/choice.js';
import { assetPrice, dayAndTime, dollars, priceDifference } from '../parts/format.js';
import { Outcome } from '../parts/outcome.js';
import { Paged } from '../parts/paged.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';

export default function PastView() {
  const named = route.value.subject.toUpperCase();
  const of = assets.value.includes(named) ? named : asset.value;
  const options = assets.value.map((each) => ({ value: each, label: each }));
  return (
    <>
      <div class="page-head">
        <h1>Past markets</h1>
        <Choice
          label="Asset"
          options={options}
          chosen={of}
          onChoose={(chosen) => {
            remember(chosen);
            go(`#/past/${chosen}`);
          }}
        />
      </div>
      <Panel title={`${of}, decided`}>
        <Paged
          about={of}
          read={async (cursor) => {
            const query = { asset: of, status: 'resolved', limit: 50, cursor } as const;
            const page = await markets(publicApi, query);
            return { entries: page.markets, nextCursor: page.nextCursor };
          }}
        >
          {(entries) => (
            <Table
              label="Past markets"
              heads={['Window', 'Result', 'Price to beat', 'End price', 'Difference', 'Traded']}
              nothing="No market of this asset has been decided yet."
              rows={entries.map((each) => ({
                key: each.id,
                cells: [
                  <a key="window" href={`#/market/${each.id}`}>
                    {dayAndTime(each.startsAtMs)}
                  </a>,
                  each.resolution === null ? '' : <Outcome key="result" of={each.resolution} />,
                  assetPrice(each.startPrice),
                  each.endPrice === null ? '\u2013' : assetPrice(each.endPrice),
                  each.endPrice === null
                    ? '\u2013'
                    : priceDifference(each.endPrice - each.startPrice),
                  dollars(toMicros(each.volume)),
                ],
              }))}
            />
          )}
        </Paged>
      </Panel>
    </>
  );
}
