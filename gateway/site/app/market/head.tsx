/** The market's question, the odds of both answers, and what decides it. */
import { computed } from '@preact/signals';
import type { Market } from '../../../client/index.js';
import { chances } from '../chart/odds.js';
import { best, book } from '../model/book.js';
import { now } from '../model/clock.js';
import {
  areKnown,
  asset,
  chooseWindow,
  hasOpened,
  lastEnded,
  listed,
  market,
  priceSource,
  startingMicros,
} from '../model/markets.js';
import { averageSoFar, pointsVersion, price, SETTLEMENT_MS } from '../model/prices.js';
import { isExpected } from '../model/session.js';
import { results } from '../model/slots.js';
import { volume } from '../model/tape.js';
import { Choice } from '../parts/action.js';
import {
  assetPrice,
  clockTime,
  dollars,
  duration,
  priceDifference,
  shortDollars,
  window,
} from '../parts/format.js';
import { Figure, Outcome, Sign } from '../parts/panel.js';
import { mixed, t } from '../words/words.js';

export function MarketHead() {
  return (
    <section class="market-head" aria-labelledby="market-title">
      <Windows />
      <Question />
      <Odds />
      <dl class="figures">
        <Countdown />
        <Target />
        <PriceNow />
        <Average />
        <Volume />
      </dl>
      <LastResult />
    </section>
  );
}

function questionText(): string {
  const shown = market.value;
  if (!areKnown.value || asset.value === '') return t('Loading the market');
  if (shown === null) return t('No {0} market is open now', asset.value);
  const end = clockTime(shown.endsAtMs);
  if (!hasOpened(shown)) {
    const start = clockTime(shown.startsAtMs);
    return t('Will {0} at {1} be at or above its price at {2}?', shown.asset, end, start);
  }
  return t('Will {0} be at or above {1} at {2}?', shown.asset, assetPrice(shown.startPrice), end);
}

const SOURCES = {
  live: t('Prices come from several exchanges.'),
  file: t('Prices are recorded, not live.'),
  simulated: t('Prices are simulated.'),
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
          t('The next market starts with its first price.')
        ) : (
          <>
            <span data-window>{window(shown.startsAtMs, shown.endsAtMs)}</span>.{' '}
            {!hasOpened(shown) &&
              t('It takes orders already. The price to beat is fixed as it starts. ')}
            {mixed(
              'Each share of the right answer pays $1.00 ({0}).',
              <a href="#/rules">{t('rules')}</a>,
            )}
          </>
        )}{' '}
        {source !== null && SOURCES[source]}
      </p>
      {/* Reserves room until the source is known, so that nothing below moves. */}
      {!isExpected.value && (source === null || start > 0) && (
        <p class="play-money" style={{ visibility: source === null ? 'hidden' : 'visible' }}>
          {t('Play money: {0} to start.', shortDollars(start))}
        </p>
      )}
      {shown?.paused && (
        <p class="hint" role="status">
          {t('Trading is paused')}
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
  const isQuoted = bid.value !== null && ask.value !== null;
  if (isQuoted && !hasOpened(shown)) return NO_NOTE;
  if (isQuoted) return t('Estimated from the price of {0}; not a price to trade at', shown.asset);
  const quotes =
    bid.value === null && ask.value === null ? t('No quotes') : t('Quotes on one side only');
  if (price.value === null || !hasOpened(shown)) return quotes;
  const difference = price.value - shown.startPrice;
  const leader = difference < 0 ? 'DOWN' : 'UP';
  return t('{0}; {1} leads by {2}', quotes, leader, assetPrice(Math.abs(difference)));
}

const UNKNOWN = '\u2013';
/** A blank note, so that the layout does not jump when a note appears. */
const NO_NOTE = '\u00a0';

/** When the shown market ends or, before its start, starts. */
const untilMs = computed(() => {
  const shown = market.value;
  if (shown === null) return null;
  return hasOpened(shown) ? shown.endsAtMs : shown.startsAtMs;
});
const left = computed(() =>
  untilMs.value === null ? UNKNOWN : duration(untilMs.value - now.value),
);
const isLast = computed(() => (untilMs.value ?? Infinity) - now.value < SETTLEMENT_MS);

/** The question and the clock, for a ticket that covers the head. */
export function ShortHead() {
  return (
    <p class="short-head">
      <span>{questionText()}</span>{' '}
      <strong class={isLast.value ? 'urgent' : ''}>{left.value}</strong>
    </p>
  );
}

function Countdown() {
  const shown = market.value;
  const isNext = shown !== null && !hasOpened(shown);
  const until = clockTime(untilMs.value ?? 0);
  const next = shown === listed.value[0] ? t('Next market in') : t('Starts in');
  const note = isNext ? t('Starts at {0}', until) : t('Ends at {0}', until);
  return (
    <Figure
      class={isLast.value ? 'urgent' : ''}
      label={isNext ? next : t('Time left')}
      value={left.value}
      note={shown === null ? NO_NOTE : note}
    />
  );
}

function Target() {
  const shown = market.value;
  const start = shown === null ? UNKNOWN : t('from {0}', clockTime(shown.startsAtMs));
  const target = shown?.startPrice ?? null;
  const note =
    target === null
      ? t('Fixed at the start')
      : shown!.startPriceFinal
        ? NO_NOTE
        : t('Not final yet');
  return (
    <Figure
      class="target"
      label={t('Price to beat')}
      value={target === null ? start : assetPrice(target)}
      note={note}
    />
  );
}

function PriceNow() {
  const target = market.value?.startPrice ?? null;
  const latest = price.value;
  const difference = target === null || latest === null ? null : latest - target;
  const note = difference === null ? NO_NOTE : priceDifference(difference);
  return (
    <Figure
      class={difference === null ? '' : difference < 0 ? 'is-down' : 'is-up'}
      label={t('{0} now', asset.value || t('Price'))}
      value={latest === null ? UNKNOWN : assetPrice(latest)}
      note={note}
    />
  );
}

/** To the cent; `null` before the last minute. */
const average = computed(() => {
  const shown = market.value;
  void pointsVersion.value;
  const exact = shown === null ? null : averageSoFar(shown, now.value);
  return exact === null ? null : Math.floor(exact * 100) / 100;
});

function Average() {
  const shown = market.value;
  const target = shown?.startPrice ?? null;
  const value = average.value;
  const from = shown === null ? UNKNOWN : t('from {0}', clockTime(shown.endsAtMs - SETTLEMENT_MS));
  const difference = target === null || value === null ? null : value - target;
  const leads = difference === null ? undefined : difference >= 0 ? t('UP leads') : t('DOWN leads');
  return (
    <Figure
      class={difference === null ? 'unknown' : difference < 0 ? 'is-down' : 'is-up'}
      label={t('Last-minute average')}
      value={value === null ? from : assetPrice(value)}
      note={leads ?? t('Decides who wins')}
    />
  );
}

function Volume() {
  const micros = volume.value;
  return (
    <Figure
      label={t('Volume')}
      name="volume"
      value={micros === null ? UNKNOWN : dollars(micros)}
      note={t('In this market')}
    />
  );
}

function Windows() {
  const options = listed.value.map(({ id, startsAtMs, startPrice }) => ({
    value: id,
    label: `${clockTime(startsAtMs)}${startPrice === null ? '' : t(' now')}`,
  }));
  return (
    <div class="windows">
      <Choice
        label={t('Window')}
        class="small"
        options={options}
        chosen={market.value?.id ?? ''}
        onChoose={chooseWindow}
      />
      <ol class="last-results" aria-label={t('Last results, the newest first')}>
        {results.value.map(({ id, startsAtMs, resolution }) => (
          <li key={id}>
            <a
              class={`slot ${resolution!.toLowerCase()}`}
              href={`#/market/${id}`}
              title={`${clockTime(startsAtMs)}: ${resolution}`}
              aria-label={`${clockTime(startsAtMs)}: ${resolution}`}
            >
              <Sign of={resolution!} />
            </a>
          </li>
        ))}
      </ol>
    </div>
  );
}

function endText({ endPrice, voidReason }: Market): string {
  if (endPrice !== null) return t(' at {0}', assetPrice(endPrice));
  return voidReason === null
    ? t(' without a price')
    : t(', declared by an operator: {0}', voidReason);
}

function LastResult() {
  const last = lastEnded.value;
  if (last === null) return <p class="last-result">{NO_NOTE}</p>;
  return (
    <p class="last-result" role="status">
      {window(last.startsAtMs, last.endsAtMs)}:{' '}
      {last.resolution === null ? (
        t('being decided')
      ) : (
        <>
          <Outcome of={last.resolution} />
          {endText(last)} <a href={`#/market/${last.id}`}>{t('See result')}</a>
        </>
      )}
    </p>
  );
}
