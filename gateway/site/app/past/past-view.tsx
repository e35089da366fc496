/** An asset's finished markets, newest first. */
import { markets, toMicros } from '../../../client/index.js';
import { publicApi } from '../model/exchange.js';
import { asset, assets, ended, remember } from '../model/markets.js';
import { go, route } from '../model/route.js';
import { user } from '../model/session.js';
import { Choice } from '../parts/action.js';
import { assetPrice, dayAndTime, priceDifference } from '../parts/format.js';
import { Gain, Money, Outcome } from '../parts/panel.js';
import { Paged } from '../parts/reading.js';
import { type Flows, profitOf, readFlows } from '../results/flows.js';
import { t } from '../words/words.js';

/** After this time, an ended market has paid everything. */
const PAID_WITHIN_MS = 25 * 60 * 60_000;

export function PastView() {
  const named = route.value.subject.toUpperCase();
  const of = assets.value.includes(named) ? named : asset.value;
  const userId = user.value?.userId;
  const decided = ended.value.get(of);
  const options = assets.value.map((each) => ({ value: each, label: each }));
  return (
    <>
      <div class="page-head">
        <h1>{t('Past markets')}</h1>
        <Choice
          label={t('Asset')}
          options={options}
          chosen={of}
          onChoose={(chosen) => {
            remember(chosen);
            go(`#/past/${chosen}`);
          }}
        />
      </div>
      <Paged
        title={t('Past {0} markets', of)}
        about={`${of} ${userId}`}
        news={decided?.resolution && decided.id}
        list="entries"
        read={async (cursor) => {
          const query = { asset: of, status: 'resolved', limit: 50, cursor } as const;
          const page = await markets(publicApi, query);
          const [newest, oldest] = [page.markets[0], page.markets.at(-1)];
          const flows =
            userId === undefined || newest === undefined || oldest === undefined
              ? null
              : await readFlows(userId, {
                  fromMs: oldest.startsAtMs,
                  toMs: newest.endsAtMs + PAID_WITHIN_MS,
                });
          const entries = page.markets.map((market) => ({ market, flows }));
          return { entries, nextCursor: page.nextCursor };
        }}
        heads={[
          t('Market'),
          t('Result'),
          t('Price to beat'),
          t('End price'),
          t('Difference'),
          t('Volume'),
          ...(userId === undefined ? [] : [t('Your result')]),
        ]}
        nothing={t('No {0} market has been decided yet.', of)}
        rows={(entries) =>
          entries.map(({ market: each, flows }) => ({
            key: each.id,
            cells: [
              <a key="window" href={`#/market/${each.id}`}>
                {dayAndTime(each.startsAtMs)}
              </a>,
              each.resolution === null ? '' : <Outcome key="result" of={each.resolution} />,
              each.startPrice === null ? '\u2013' : assetPrice(each.startPrice),
              each.endPrice === null ? '\u2013' : assetPrice(each.endPrice),
              each.endPrice === null || each.startPrice === null
                ? '\u2013'
                : priceDifference(each.endPrice - each.startPrice),
              <Money key="volume" micros={toMicros(each.volume)} />,
              ...(userId === undefined ? [] : [<Own key="own" of={each.id} in={flows} />]),
            ],
          }))
        }
      />
    </>
  );
}

function Own(props: { of: string; in: Flows }) {
  if (props.in === null) return <span class="soft">{t('Too many trades')}</span>;
  const micros = profitOf(props.in, props.of);
  if (micros === null) return <>{'\u2013'}</>;
  return <Gain micros={micros} />;
}
