/** The market's question, the odds of both answers, and what decides it. */
import { useComputed } from '@preact/signals';
import type { Market } from '../../../client/types.js';
import { chances } from '../chart/odds.js';
import { best, book } from '../model/book.js';
import { now } from '../model/clock.js';
import {
  areKnown,
  asset,
  lastEnded,
  market,
  priceSource,
  startingMicros,
} from '../model/markets.js';
import { averageSoFar, pointsVersion, price, SETTLEMENT_MS } from '../model/prices.js';
import { isExpected } from '../model/session.js';
import { Figure } from '../parts/figure.js';
import {
  assetPrice,
  clockTime,
  dollars,
  duration,
  priceDifference,
  window,
} from '../parts/format.js';
import { Outcome } from '../parts/outcome.js';

export function MarketHead() {
  return (
    <section class="market-head" aria-labelledby="market-title">
      <Question />
      <Odds />
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

function questionText(): string {
  const shown = market.value;
  if (!areKnown.value || asset.value === '') return 'Loading the market';
  if (shown === null) return `${asset.value} is between two markets`;
  const target = assetPrice(shown.startPrice);
  return `Will ${shown.asset} be at or above ${target} at ${clockTime(shown.endsAtMs)}?`;
}

const SOURCES = {
  live: 'Prices come from several exchanges.',
  file: 'Prices are recorded, not live.',
  simulated: 'Prices are simulated.',
} as const;

function Question() {
  const shown = market.value;
  const source = priceSource.value;
  const start = startingMicros.value;
  return (
    <div class="market-title">
      <h1 id="market-title">{questionText()}</h1>
      <p class="soft">
        {shown === null ? (
          'The next market starts with its first price.'
        ) : (
          <>
            <span data-window>{window(shown.startsAtMs, shown.endsAtMs)}</span>. Each share of the
            right answer pays $1.00 (<a href="#/rules">rules</a>).
          </>
        )}{' '}
        {source !== null && SOURCES[source]}
      </p>
      {/* Room is reserved until the source is known, so that nothing below moves. */}
      {!isExpected.value && (source === null || start > 0) && (
        <p class="play-money" style={{ visibility: source === null ? 'hidden' : 'visible' }}>
          Play money: {dollars(start).replace('.00', '')} to start.
        </p>
      )}
      {shown?.paused && (
        <p class="hint" role="status">
          Trading is paused
        </p>
      )}
    </div>
  );
}

/** How likely each answer is, from the asset's price, with or without quotes. */
function Odds() {
  const of = chances.value;
  if (of === null)
    return (
      <div class="odds">
        <p class="odds-note">{quotesText()}</p>
      </div>
    );
  return (
    <div class="odds">
      <p>
        <Outcome of="UP" /> <strong>{of.UP}%</strong>
      </p>
      <span class="odds-bar" aria-hidden="true">
        <span style={{ width: `${of.UP}%` }} />
      </span>
      <p>
        <strong>{of.DOWN}%</strong> <Outcome of="DOWN" />
      </p>
      <p class="odds-note">{quotesText()}</p>
    </div>
  );
}

/** Explains the percentages; without quotes, names the leading answer. */
function quotesText(): string {
  const shown = market.value;
  const { bid, ask } = best.UP;
  if (shown === null || book.value === null) return NO_NOTE;
  if (bid.value !== null && ask.value !== null)
    return `The chance by the price of ${shown.asset}, not a quote`;
  const quotes = bid.value === null && ask.value === null ? 'No quotes' : 'Quotes on one side only';
  if (price.value === null) return quotes;
  const difference = price.value - shown.startPrice;
  const leader = difference < 0 ? 'DOWN' : 'UP';
  return `${quotes}; ${leader} leads by ${assetPrice(Math.abs(difference))}`;
}

const UNKNOWN = '\u2013';
/** Reserves the room of a note. */
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
      note={ends === undefined ? NO_NOTE : `Ends at ${clockTime(ends)}`}
    />
  );
}

function Target() {
  const shown = market.value;
  return (
    <Figure
      class="target"
      label="Price to beat"
      value={shown === null ? UNKNOWN : assetPrice(shown.startPrice)}
      note={shown === null || shown.startPriceFinal ? NO_NOTE : 'Being fixed'}
    />
  );
}

function PriceNow() {
  const shown = market.value;
  const current = price.value;
  const difference = shown === null || current === null ? null : current - shown.startPrice;
  const note = difference === null ? NO_NOTE : priceDifference(difference);
  return (
    <Figure
      class={difference === null ? '' : difference < 0 ? 'is-down' : 'is-up'}
      label={`${asset.value} now`}
      value={current === null ? UNKNOWN : assetPrice(current)}
      note={note}
    />
  );
}

/** The average that decides the market, once its last minute has begun. */
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
      class={difference === null ? 'unknown' : difference < 0 ? 'is-down' : 'is-up'}
      label="Last-minute average"
      value={value === null ? UNKNOWN : assetPrice(value)}
      note={leads ?? 'Decides who wins'}
    />
  );
}

/** What decided a resolved market. */
export function endText({ endPrice, voidReason }: Market): string {
  if (endPrice !== null) return ` at ${assetPrice(endPrice)}`;
  return voidReason === null ? ' without a price' : `, declared by an operator: ${voidReason}`;
}

/** The previous market's result. */
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
          {endText(last)} <a href={`#/market/${last.id}`}>See result</a>
        </>
      )}
    </p>
  );
}
