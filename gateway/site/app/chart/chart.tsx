/**
 * The live chart of a market: the price against the price to beat, or the odds. A table with a
 * price per minute is for users who cannot see the chart.
 */
import { computed, useComputed, useSignal } from '@preact/signals';
import { exchangeNowMs } from '../model/clock.js';
import { asset, current, lastEnded, market } from '../model/markets.js';
import { chartPoints, pointsVersion } from '../model/prices.js';
import { bound, Choice } from '../parts/action.js';
import { assetPrice, clockTime, priceDifference } from '../parts/format.js';
import { breakEvenTicks, ownTrades } from '../results/fees.js';
import { t } from '../words/words.js';
import { odds } from './odds.js';
import { oddsPicture, pricePicture } from './pictures.js';
import type { Picture } from './plot.js';
import { PlotView } from './plot-view.js';

const MINUTE_MS = 60_000;
const KINDS = [
  { value: 'price', label: t('Price') },
  { value: 'odds', label: t('Chance') },
] as const;
const NOTHING: Picture = {
  fromMs: 0,
  toMs: MINUTE_MS,
  lines: [{ points: [], colour: 'up' }],
  valueText: () => '',
  textAt: () => '',
  timeText: () => '',
  timeStepMs: MINUTE_MS,
};

/** Whether the chosen window has not started: the active market's price to beat is not its own. */
const isNext = computed(() => current.value !== null && market.value !== current.value);

export function Chart() {
  const kind = useSignal<'price' | 'odds'>('price');
  const picture = useComputed(() => {
    // Between two markets, keep showing the last one.
    const shown = current.value ?? lastEnded.value;
    void pointsVersion.value;
    if (shown === null) return NOTHING;
    const trades = ownTrades.value.filter(({ marketId }) => marketId === shown.id);
    if (kind.value === 'price') {
      const drawn = isNext.value ? { ...shown, startPrice: null } : shown;
      return pricePicture(drawn, chartPoints(), exchangeNowMs(), trades);
    }
    const points = odds.value.marketId === shown.id ? odds.value.points : [];
    return oddsPicture(shown, points, exchangeNowMs(), trades, breakEvenTicks(shown.id));
  });
  const name = asset.value || t('Price');
  return (
    <section class="panel chart-panel" aria-labelledby="chart-title">
      <header class="panel-head">
        <h2 id="chart-title">
          {kind.value === 'odds'
            ? t('Chance of UP')
            : isNext.value
              ? name
              : t('{0} against the price to beat', name)}
        </h2>
        <Choice label={t('Chart')} class="small" options={KINDS} {...bound(kind)} />
      </header>
      <PlotView of={picture} />
      <MinuteTable />
    </section>
  );
}

/** The last price of each completed minute of this market. */
function MinuteTable() {
  const minutes = useComputed(() => {
    void pointsVersion.value;
    const shown = current.value;
    if (shown === null) return '';
    const last = new Map<number, number>();
    for (const { atMs, value } of chartPoints()) {
      if (atMs < shown.startsAtMs) continue;
      const minute = Math.floor((atMs - shown.startsAtMs) / MINUTE_MS);
      // The current minute, removed below, would change this table several times a second.
      last.set(minute, value);
    }
    const newest = Math.max(...last.keys());
    last.delete(newest);
    return [...last].map(([minute, price]) => `${minute} ${price}`).join(';');
  });
  const shown = current.value;
  if (shown === null || isNext.value || minutes.value === '') return null;
  return (
    <table class="unseen">
      <caption>{t('{0} at the end of each minute of this market', shown.asset)}</caption>
      <thead>
        <tr>
          <th scope="col">{t('Time')}</th>
          <th scope="col">{t('Price')}</th>
          <th scope="col">{t('Against the price to beat')}</th>
        </tr>
      </thead>
      <tbody>
        {minutes.value.split(';').map((each) => {
          const [minute = 0, price = 0] = each.split(' ').map(Number);
          return (
            <tr key={minute}>
              <td>{clockTime(shown.startsAtMs + (minute + 1) * MINUTE_MS)}</td>
              <td>{assetPrice(price)}</td>
              <td>{priceDifference(price - shown.startPrice)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
