/**
 * A finished market as a still chart, and its replay by button or slider, with price, book and
 * trades at every event.
 */
import { type ReadonlySignal, useComputed, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import {
  type MarketDetail,
  type MarketEvent,
  marketEvents,
  toLots,
  toTicks,
} from '../../../client/index.js';
import { pricePicture } from '../chart/pictures.js';
import { PlotView } from '../chart/plot-view.js';
import { elapsedMs } from '../model/clock.js';
import { publicApi, sentenceOf } from '../model/exchange.js';
import type { Opened } from '../model/markets.js';
import { pricesOf } from '../model/prices.js';
import { Action, bound, Choice } from '../parts/action.js';
import {
  assetPrice,
  cents,
  clockSeconds,
  priceDifference,
  shares,
  whole,
} from '../parts/format.js';
import { Outcome, Panel, Table } from '../parts/panel.js';
import { mixed, t } from '../words/words.js';
import { type Moment, type MomentLevel, momentAfter } from './moment.js';

const LEVELS = 8;
const STEP_MS = 100;
/** Playback starts this long before the window. */
const LEAD_MS = 3 * 60_000;
const SPEEDS = ['10', '30', '120'].map((value) => ({ value, label: `${value}×` }));

export function ReplayPanel({ of }: { of: Opened<MarketDetail> }) {
  const events = useSignal<readonly MarketEvent[]>([]);
  const isWhole = useSignal(false);
  const problem = useSignal('');
  // Playback can start after the first page, while the others are read.
  const load = async () => {
    let cursor: string | null = null;
    try {
      do {
        const page: Awaited<ReturnType<typeof marketEvents>> = await marketEvents(
          publicApi,
          of.id,
          { cursor },
        );
        events.value = [...events.peek(), ...page.events];
        cursor = page.nextCursor;
      } while (cursor !== null);
      isWhole.value = true;
    } catch (error) {
      if (events.peek().length === 0) throw error;
      problem.value = t('The rest of the replay could not be read. {0}', sentenceOf(error));
    }
  };
  const still = useComputed(() => pricePicture(of, pricesOf(of.priceHistory), of.endsAtMs));
  return (
    <Panel title={t('{0} against the price to beat', of.asset)}>
      {events.value.length > 0 ? (
        <>
          <Player of={of} events={events} isWhole={isWhole} />
          <p class="problem panel-note" role="alert">
            {problem.value}
          </p>
        </>
      ) : (
        <>
          <PlotView of={still} />
          <p class="panel-body actions">
            {isWhole.value ? (
              <span class="soft">{t('Nothing happened in this market.')}</span>
            ) : (
              <Action class="plain strong" run={load}>
                {t('Replay this market')}
              </Action>
            )}
          </p>
        </>
      )}
    </Panel>
  );
}

function Player(props: {
  of: Opened<MarketDetail>;
  /** The events read so far; at least one. */
  events: ReadonlySignal<readonly MarketEvent[]>;
  isWhole: ReadonlySignal<boolean>;
}) {
  const { of, events, isWhole } = props;
  const count = useSignal(1);
  const isPlaying = useSignal(true);
  const speed = useSignal('30');
  const moment = useComputed(() => momentAfter(events.value, count.value));
  const prices = useComputed(() =>
    events.value.flatMap((each) =>
      each.type === 'price' ? [{ atMs: each.atMs, value: each.price }] : [],
    ),
  );
  const picture = useComputed(() => {
    const { atMs } = moment.value;
    return pricePicture(
      of,
      prices.value.filter((each) => each.atMs <= atMs),
      of.endsAtMs,
    );
  });
  const isRunning = isPlaying.value;
  useEffect(() => {
    if (!isRunning) return;
    // Start no earlier than the lead time. Orders placed long before appear immediately.
    let reachedMs = Math.max(events.peek()[count.peek() - 1]!.atMs, of.startsAtMs - LEAD_MS);
    let beforeMs = elapsedMs();
    const timer = setInterval(() => {
      // The interval ends only after the next paint, and must not undo a move of the slider.
      if (!isPlaying.peek()) return;
      const nowMs = elapsedMs();
      reachedMs += (nowMs - beforeMs) * Number(speed.peek());
      beforeMs = nowMs;
      const read = events.peek();
      let next = count.peek();
      while (next < read.length && read[next]!.atMs <= reachedMs) next++;
      count.value = next;
      if (next < read.length) return;
      if (isWhole.peek()) isPlaying.value = false;
      else reachedMs = read[next - 1]!.atMs;
    }, STEP_MS);
    return () => clearInterval(timer);
  }, [isRunning, events, isWhole, count, isPlaying, speed]);
  const play = () => {
    if (!isPlaying.peek() && count.peek() === events.peek().length) count.value = 1;
    isPlaying.value = !isPlaying.peek();
  };
  const shown = moment.value;
  const place = [whole(count.value), whole(events.value.length)] as const;
  const text = t('{0}, event {1} of {2}', clockSeconds(shown.atMs), ...place);
  return (
    <>
      <PlotView of={picture} />
      <div class="panel-body stack replay">
        <p class="actions">
          <button type="button" class="plain strong" onClick={play}>
            {isPlaying.value ? t('Pause') : t('Play')}
          </button>
          <Choice label={t('Speed')} class="small" options={SPEEDS} {...bound(speed)} />
        </p>
        <div class="field">
          <label for="moment">{text}</label>
          <input
            id="moment"
            type="range"
            min={1}
            max={events.value.length}
            value={count.value}
            aria-valuetext={text}
            onInput={({ currentTarget }) => {
              isPlaying.value = false;
              count.value = Number(currentTarget.value);
            }}
          />
        </div>
        <p>
          {of.asset} <strong>{shown.price === null ? '\u2013' : assetPrice(shown.price)}</strong>
          {shown.price !== null && (
            <span class="soft">
              {' '}
              {mixed('{0} against the price to beat', priceDifference(shown.price - of.startPrice))}
            </span>
          )}
          {t(', journal entry')} <span data-moment-sequence>{whole(shown.sequence)}</span>
        </p>
        <div class="columns">
          <Levels title={t('Bids for UP')} levels={shown.bids} />
          <Levels title={t('Offers of UP')} levels={shown.asks} />
          <Tape of={shown} />
        </div>
      </div>
    </>
  );
}

function Levels({ title, levels }: { title: string; levels: readonly MomentLevel[] }) {
  return (
    <div>
      <h3>{title}</h3>
      <Table
        label={title}
        heads={[t('Price'), t('Shares')]}
        nothing={t('None.')}
        rows={levels.slice(0, LEVELS).map(({ ticks, lots }) => ({
          key: `${ticks}`,
          cells: [cents(ticks), shares(lots)],
        }))}
      />
    </div>
  );
}

function Tape({ of }: { of: Moment }) {
  return (
    <div>
      <h3>{t('Last trades')}</h3>
      <Table
        label={t('Last trades')}
        heads={[t('Taker'), t('Time'), t('Price'), t('Shares')]}
        nothing={t('No trades yet.')}
        rows={of.trades.map((each) => ({
          key: each.tradeId,
          cells: [
            <>
              {each.side === 'BUY' ? t('buys') : t('sells')} <Outcome of={each.outcome} />
            </>,
            clockSeconds(each.atMs),
            cents(toTicks(each.price)),
            shares(toLots(each.shares)),
          ],
        }))}
      />
    </div>
  );
}
