/**
 * The price against the price to beat. The drawing is loaded after the page, into a box that has
 * its size from the start; beside it stands a table with a price for every minute, for those who
 * cannot see it.
 */
import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { isLost } from '../model/exchange.js';
import { asset, market } from '../model/markets.js';
import { chartPoints, pointsVersion } from '../model/prices.js';
import { assetPrice, clockTime, priceDifference } from '../parts/format.js';

const MINUTE_MS = 60_000;

export function Chart() {
  const box = useRef<HTMLDivElement>(null);
  const readout = useSignal('');
  const draw = useSignal<typeof import('./chart-canvas.js').drawChart | null>(null);
  // Again, if the exchange was away.
  useSignalEffect(() => {
    if (isLost.value || draw.peek() !== null) return;
    import('./chart-canvas.js').then(
      (loaded) => {
        draw.value = loaded.drawChart;
      },
      () => {},
    );
  });
  const drawChart = draw.value;
  useEffect(
    () =>
      drawChart?.(box.current!, (text) => {
        readout.value = text;
      }),
    [drawChart, readout],
  );
  return (
    <section class="panel chart-panel" aria-labelledby="chart-title">
      <header class="panel-head">
        <h2 id="chart-title">{asset.value} against the price to beat</h2>
        <span class="soft readout" aria-hidden="true">
          {readout}
        </span>
      </header>
      <div class="chart" ref={box} aria-hidden="true" />
      <MinuteTable />
    </section>
  );
}

/** The last price of each minute of this market. */
function MinuteTable() {
  const minutes = useComputed(() => {
    void pointsVersion.value;
    const shown = market.value;
    if (shown === null) return '';
    const last = new Map<number, number>();
    for (const { atMs, price } of chartPoints()) {
      if (atMs < shown.startsAtMs) continue;
      const minute = Math.floor((atMs - shown.startsAtMs) / MINUTE_MS);
      // The current minute would change this table several times a second.
      last.set(minute, price);
    }
    const newest = Math.max(...last.keys());
    last.delete(newest);
    return [...last].map(([minute, price]) => `${minute} ${price}`).join(';');
  });
  const shown = market.value;
  if (shown === null || minutes.value === '') return null;
  return (
    <table class="unseen">
      <caption>{`${shown.asset} at the end of each minute of this market`}</caption>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Price</th>
          <th scope="col">Against the price to beat</th>
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
