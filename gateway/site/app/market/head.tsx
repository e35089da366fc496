/** What the market is about: its window, the time left, the price to beat and the price now. */
import { useComputed } from '@preact/signals';
import { now } from '../model/clock.js';
import { areKnown, asset, isSimulated, lastEnded, market } from '../model/markets.js';
import { averageSoFar, pointsVersion, price, SETTLEMENT_MS } from '../model/prices.js';
import { Figure } from '../parts/figure.js';
import {
  clockTime,
  duration,
  assetPrice as money,
  priceDifference,
  window,
} from '../parts/format.js';
import { Outcome } from '../parts/outcome.js';

export function MarketHead() {
  const shown = market.value;
  const title =
    shown === null ? `${asset.value} is between two markets` : `${shown.asset} up or down`;
  return (
    <section class="market-head" aria-labelledby="market-title">
      <div class="market-title">
        <h1 id="market-title">
          {areKnown.value && asset.value !== '' ? title : 'Loading the market'}
        </h1>
        <p class="soft">
          {shown === null
            ? 'The next one starts with its first price.'
            : window(shown.startsAtMs, shown.endsAtMs)}
          {isSimulated.value && ' Prices are simulated.'}
        </p>
        {shown?.paused && (
          <p class="hint" role="status">
            Trading is paused
          </p>
        )}
      </div>
      <dl class="figures">
        <Countdown />
        <Target />
        <PriceNow />
        <Average />
      </dl>
      <LastResult />
    </section>
  );
}

const UNKNOWN = '\u2013';
/** Takes the room of a note. */
const NO_NOTE = '\u00a0';

function Countdown() {
  const left = useComputed(() => {
    const shown = market.value;
    return shown === null ? UNKNOWN : duration(shown.endsAtMs - now.value);
  });
  const isLast = useComputed(
    () => (market.value?.endsAtMs ?? Infinity) - now.value < SETTLEMENT_MS,
  );
  const ends = market.value?.endsAtMs;
  return (
    <Figure
      class={isLast.value ? 'urgent' : ''}
      label="Time left"
      value={left.value}
      note={ends === undefined ? NO_NOTE : `ends ${clockTime(ends)}`}
    />
  );
}

function Target() {
  const shown = market.value;
  return (
    <Figure
      label="Price to beat"
      value={shown === null ? UNKNOWN : money(shown.startPrice)}
      note={shown === null || shown.startPriceFinal ? NO_NOTE : 'being fixed'}
    />
  );
}

function PriceNow() {
  const shown = market.value;
  const current = price.value;
  const difference = shown === null || current === null ? null : current - shown.startPrice;
  const note =
    difference === null ? NO_NOTE : `${difference < 0 ? '▼' : '▲'} ${priceDifference(difference)}`;
  return (
    <Figure
      class={difference === null ? '' : difference < 0 ? 'is-down' : 'is-up'}
      label={`${asset.value} now`}
      value={current === null ? UNKNOWN : money(current)}
      note={note}
    />
  );
}

/** What the market settles by, once its last minute has begun. */
function Average() {
  const average = useComputed(() => {
    const shown = market.value;
    void pointsVersion.value;
    const exact = shown === null ? null : averageSoFar(shown, now.value);
    return exact === null ? null : Math.floor(exact * 100) / 100;
  });
  const shown = market.value;
  const value = average.value;
  const difference = shown === null || value === null ? null : value - shown.startPrice;
  const leads = difference === null ? undefined : difference >= 0 ? 'UP leads' : 'DOWN leads';
  return (
    <Figure
      class={difference === null ? '' : difference < 0 ? 'is-down' : 'is-up'}
      label="Average, last minute"
      value={value === null ? UNKNOWN : money(value)}
      note={leads ?? 'decides the market'}
    />
  );
}

/** How the market before ended. */
function LastResult() {
  const last = lastEnded.value;
  const shown = market.value;
  if (last === null || (shown !== null && last.endsAtMs !== shown.startsAtMs))
    return <p class="last-result">{'\u00a0'}</p>;
  return (
    <p class="last-result" role="status">
      {window(last.startsAtMs, last.endsAtMs)}:{' '}
      {last.resolution === null ? (
        'being decided'
      ) : (
        <>
          <Outcome of={last.resolution} />
          {last.endPrice === null ? ' without a price' : ` at ${money(last.endPrice)}`}{' '}
          <a href={`#/market/${last.id}`}>How it went</a>
        </>
      )}
    </p>
  );
}
