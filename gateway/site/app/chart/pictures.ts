/** The contents of a market's charts: the price against the price to beat, and the odds of UP. */
import { type Market, toTicks, type UserTrade } from '../../../client/index.js';
import { SETTLEMENT_MS } from '../model/prices.js';
import { assetPrice, clockSeconds, clockTime, priceDifference } from '../parts/format.js';
import { t } from '../words/words.js';
import { type Picture, type Point, pointAt } from './plot.js';

const MINUTE_MS = 60_000;
/** How much of the previous market is shown, so that a line leads to the start. */
const LEAD_MS = MINUTE_MS;
/** A young market's chart extends at least this far beyond the start. */
const AHEAD_MS = 3 * MINUTE_MS;

type Of = Pick<Market, 'id' | 'startsAtMs' | 'endsAtMs' | 'startPrice'>;
type Trades = readonly Pick<UserTrade, 'atMs' | 'outcome' | 'side' | 'price'>[];

/** `nowMs` is the current time, or a finished market's end. */
function frameOf({ startsAtMs, endsAtMs }: Of, nowMs: number) {
  const elapsedMs = Math.max(nowMs - startsAtMs, 0);
  const toMs = Math.min(endsAtMs, startsAtMs + Math.max(elapsedMs * 1.5, AHEAD_MS));
  return { toMs, timeText: clockTime, timeStepMs: MINUTE_MS };
}

/** A price in ticks as a chance: 543 is 54%. */
const perCent = (ticks: number) => `${Math.round(ticks / 10)}%`;

const colourOf = ({ outcome }: Trades[number]) => (outcome === 'UP' ? 'up' : 'down');

/** For each price, the average since `fromMs`. A price counts while it is the last known one. */
function averageFrom(fromMs: number, points: readonly Point[]): Point[] {
  let [sum, coveredMs] = [0, 0];
  return points.flatMap(({ atMs }, index) => {
    const before = points[index - 1];
    const beganMs = Math.max(before?.atMs ?? atMs, fromMs);
    if (before === undefined || atMs <= beganMs) return [];
    sum += before.value * (atMs - beganMs);
    coveredMs += atMs - beganMs;
    return [{ atMs, value: sum / coveredMs }];
  });
}

/** Without a start price, the picture has no price to beat. */
export function pricePicture(
  of: Of,
  points: readonly Point[],
  nowMs: number,
  trades: Trades = [],
): Picture {
  const { startsAtMs, endsAtMs, startPrice } = of;
  const fromMs = startsAtMs - LEAD_MS;
  const drawn = points.filter(({ atMs }) => atMs >= fromMs && atMs <= endsAtMs);
  const isOf = ({ atMs }: Point) => atMs >= startsAtMs;
  const before = drawn.filter(({ atMs }) => atMs <= startsAtMs);
  const during = drawn.filter(isOf);
  if (during[0] !== undefined) before.push(during[0]);
  const average = averageFrom(endsAtMs - SETTLEMENT_MS, during);
  return {
    ...frameOf(of, nowMs),
    fromMs,
    lines: [
      { points: before, colour: 'soft' },
      { points: average, colour: 'accent', width: 2 },
      { points: during, colour: 'up', width: 2 },
    ],
    target:
      startPrice === null
        ? undefined
        : { value: startPrice, label: t('Price to beat {0}', assetPrice(startPrice)) },
    shade: { fromMs: endsAtMs - SETTLEMENT_MS, toMs: endsAtMs, label: t('Last-minute average') },
    marks: trades.flatMap((each) => {
      const value = pointAt(during, each.atMs)?.value;
      return value === undefined ? [] : [{ atMs: each.atMs, value, colour: colourOf(each) }];
    }),
    textAt: (atMs) => {
      const found = (pointAt(during, atMs) ?? pointAt(before, atMs))?.value;
      if (found === undefined) return '';
      const mean = pointAt(average, atMs);
      return [
        clockSeconds(atMs),
        assetPrice(found),
        ...(startPrice === null ? [] : [priceDifference(found - startPrice)]),
        ...(mean === undefined ? [] : [t('average {0}', assetPrice(mean.value))]),
      ].join('  ');
    },
    valueText: assetPrice,
  };
}

export function oddsPicture(
  of: Of,
  points: readonly Point[],
  nowMs: number,
  trades: Trades = [],
  breakEven: number | null = null,
): Picture {
  return {
    ...frameOf(of, nowMs),
    fromMs: of.startsAtMs,
    lines: [{ points: points.filter(({ atMs }) => atMs <= of.endsAtMs), colour: 'up', width: 2 }],
    target:
      breakEven === null
        ? { value: 500, label: '50%' }
        : { value: breakEven, label: t('Your break-even {0}', perCent(breakEven)) },
    range: [0, 1_000],
    marks: trades.map((each) => {
      const ticks = toTicks(each.price);
      const value = each.outcome === 'UP' ? ticks : 1_000 - ticks;
      return { atMs: each.atMs, value, colour: colourOf(each) };
    }),
    textAt: (atMs) => {
      const up = Math.round(pointAt(points, atMs)?.value ?? 0);
      return `${clockSeconds(atMs)}  UP ${perCent(up)}  DOWN ${perCent(1_000 - up)}`;
    },
    valueText: perCent,
  };
}
