/** The user's holdings, the result of each market in a period, and a chart of both. */
import { useComputed, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { deposits, startAgain, toMicros } from '../../../client/index.js';
import { Holdings } from '../account/holdings.js';
import { type Picture, type Point, pointAt } from '../chart/plot.js';
import { PlotView } from '../chart/plot-view.js';
import { balance, orders, positions, trueAt, worthMicros } from '../model/account.js';
import { now } from '../model/clock.js';
import { api } from '../model/exchange.js';
import { mayStartAgain, startingMicros } from '../model/markets.js';
import { user } from '../model/session.js';
import { SLOT_MS, today } from '../model/slots.js';
import { Action, bound, Choice } from '../parts/action.js';
import {
  clockTime,
  dayAndTime,
  daysBefore,
  dollars,
  gain,
  perCent,
  shortDollars,
  slotNameWithDay,
  startOf,
} from '../parts/format.js';
import { Figure, Gain, Money, Panel, Table } from '../parts/panel.js';
import { Read, type Reading, useReading } from '../parts/reading.js';
import { t } from '../words/words.js';
import { profitOf, readFlows } from './flows.js';

type Period = 'today' | 'yesterday' | 'week';
const PERIODS = [
  { value: 'today', label: t('Today') },
  { value: 'yesterday', label: t('Yesterday') },
  { value: 'week', label: t('7 days') },
] as const;
const DAYS_BACK: Record<Period, number> = { today: 0, yesterday: 1, week: 6 };
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * 60_000;
const AGAIN_MS = 2_000;
const UNKNOWN = '\u2013';

interface Result {
  marketId: string;
  endsAtMs: number;
  /** `null` without bids for shares that the user still holds there. */
  profitMicros: number | null;
}

export function Portfolio() {
  const money = balance.value;
  const worth = useComputed(() =>
    positions.value.reduce((sum, of) => sum + (worthMicros(of) ?? 0), 0),
  );
  const unsaleable = useComputed(
    () => positions.value.filter((of) => worthMicros(of) === null).length,
  ).value;
  const userId = user.value?.userId ?? '';
  const stakes = useReading(async () => (await deposits(api, userId)).deposits, userId);
  useAgain(stakes);
  const staked = stakes.value.value?.reduce((sum, { amount }) => sum + toMicros(amount), 0) ?? null;
  const total =
    money === null || staked === null
      ? null
      : money.availableMicros + money.heldMicros + worth.value + staked;
  const isBroke =
    mayStartAgain.value &&
    total !== null &&
    total < Math.floor(startingMicros.value / 10) &&
    staked === 0 &&
    positions.value.length + orders.value.length === 0;
  const shown = (micros: number | null | undefined) =>
    micros == null ? UNKNOWN : <Money micros={micros} />;
  return (
    <div class="stack">
      <Panel title={t('Now')}>
        <dl class="figures panel-body" data-sequence={trueAt.value}>
          <Figure class="large" label={t('Portfolio value')} value={shown(total)} name="total" />
          <Figure label={t('Available')} value={shown(money?.availableMicros)} name="available" />
          <Figure label={t('In open orders')} value={shown(money?.heldMicros)} name="held" />
          {staked !== null && staked > 0 && <Figure label={t('Staked')} value={shown(staked)} />}
          <Figure
            label={t('Positions')}
            value={shown(money && worth.value)}
            note={
              unsaleable === 0
                ? '\u00a0'
                : t('Positions without bids, not counted: {0}', unsaleable)
            }
          />
        </dl>
        {isBroke && (
          <p class="panel-body">
            <Action class="plain strong" run={() => startAgain(api, userId)}>
              {t('Start again with {0}', shortDollars(startingMicros.value))}
            </Action>{' '}
            <span class="soft">{t('Play money, once a day.')}</span>
          </p>
        )}
      </Panel>
      {total !== null && <Results totalMicros={total} />}
      <Holdings />
    </div>
  );
}

/** Reads again when the balance has changed, but not at every fill. */
function useAgain({ again }: Pick<Reading<unknown>, 'again'>): void {
  useEffect(() => {
    let read = balance.peek();
    const timer = setInterval(() => {
      if (balance.peek() !== read) void again();
      read = balance.peek();
    }, AGAIN_MS);
    return () => clearInterval(timer);
  }, [again]);
}

function Results({ totalMicros }: { totalMicros: number }) {
  const period = useSignal<Period>('today');
  const fromMs = daysBefore(today.value, DAYS_BACK[period.value]);
  const toMs = period.value === 'yesterday' ? today.value : Number.POSITIVE_INFINITY;
  const userId = user.value?.userId ?? '';
  // A market that ends in the period may begin before it.
  const reading = useReading(
    async () => ({ flows: await readFlows(userId, { fromMs: fromMs - SLOT_MS }) }),
    `${userId} ${fromMs}`,
  );
  useAgain(reading);
  return (
    <Panel
      title={t('Results')}
      extra={<Choice label={t('Period')} class="small" options={PERIODS} {...bound(period)} />}
    >
      <Read of={reading}>
        {({ flows }) => {
          if (flows === null)
            return (
              <p class="nothing">
                {t(
                  'There are too many trades to add up here. Choose a shorter period, or download your statement.',
                )}
              </p>
            );
          const all = [...flows.keys()]
            .map((marketId) => {
              const endsAtMs = startOf(marketId) + SLOT_MS;
              return { marketId, endsAtMs, profitMicros: profitOf(flows, marketId) };
            })
            .filter(({ endsAtMs }) => endsAtMs > fromMs)
            .sort((one, other) => one.endsAtMs - other.endsAtMs);
          return (
            <Shown
              of={all.filter(({ endsAtMs }) => endsAtMs <= toMs)}
              all={all}
              fromMs={fromMs}
              toMs={toMs}
              totalMicros={totalMicros}
            />
          );
        }}
      </Read>
    </Panel>
  );
}

interface ShownProps {
  /** Results in the period, oldest first. */
  of: readonly Result[];
  /** Results in the period and since then. */
  all: readonly Result[];
  fromMs: number;
  toMs: number;
  totalMicros: number;
}

function Shown(props: ShownProps) {
  const { of } = props;
  const nowMs = useComputed(() => now.value - (now.value % MINUTE_MS)).value;
  const profit = of.reduce((sum, { profitMicros }) => sum + (profitMicros ?? 0), 0);
  const over = of.filter(({ endsAtMs }) => endsAtMs <= nowMs);
  const won = over.filter(({ profitMicros }) => (profitMicros ?? 0) > 0).length;
  return (
    <>
      <dl class="figures panel-body">
        <Figure label={t('Profit, fees included')} name="profit" value={<Gain micros={profit} />} />
        <Figure
          label={t('Win rate')}
          name="win-rate"
          value={over.length === 0 ? UNKNOWN : perCent(won / over.length)}
          note={t('{0} of {1} markets', won, over.length)}
        />
      </dl>
      {of.length > 0 && <Line {...props} nowMs={nowMs} />}
      <Table
        label={t('Results')}
        heads={[t('Market'), t('Ended'), t('Profit')]}
        nothing={t('You held no shares in this period.')}
        rows={[...of].reverse().map(({ marketId, endsAtMs, profitMicros }) => ({
          key: marketId,
          cells: [
            <a key="market" href={`#/market/${marketId}`}>
              {slotNameWithDay(marketId)}
            </a>,
            endsAtMs <= nowMs ? clockTime(endsAtMs) : t('open'),
            profitMicros === null ? UNKNOWN : <Gain key="profit" micros={profitMicros} />,
          ],
        }))}
      />
    </>
  );
}

/** The value after each market. The pointer also shows the profit since the beginning. */
function Line({ of, all, fromMs, toMs, totalMicros, nowMs }: ShownProps & { nowMs: number }) {
  const sum = (results: readonly Result[]) =>
    results.reduce((total, { profitMicros }) => total + (profitMicros ?? 0), 0);
  const endMs = Math.min(toMs, nowMs);
  let value = totalMicros - sum(all);
  const start = value;
  const points: Point[] = [{ atMs: fromMs, value }];
  for (const { endsAtMs, profitMicros } of of) {
    const atMs = Math.min(endsAtMs, endMs);
    points.push({ atMs, value });
    value += profitMicros ?? 0;
    points.push({ atMs, value });
  }
  points.push({ atMs: endMs, value });
  const first = of[0]!.endsAtMs - SLOT_MS;
  const next: Picture = {
    fromMs: Math.max(fromMs, first - HOUR_MS),
    toMs: endMs,
    lines: [{ points, colour: 'up', width: 2 }],
    target: { value: start, label: t('Start {0}', dollars(start)) },
    textAt: (atMs) => {
      const then = pointAt(points, atMs)?.value ?? start;
      return `${clockTime(atMs)}  ${dollars(then)}  ${gain(then - start)}`;
    },
    valueText: dollars,
    timeText: endMs - fromMs > 25 * HOUR_MS ? dayAndTime : clockTime,
    timeStepMs: SLOT_MS,
  };
  const picture = useSignal(next);
  useEffect(() => {
    picture.value = next;
  });
  return <PlotView of={picture} class="low" />;
}
