/**
 * Draws the chart with uPlot: the price of this window filled up to the price to beat, the end of
 * the window before, the price to beat, and the running average of the last minute. It goes on when
 * a market ends; only the window moves.
 */
import { effect } from '@preact/signals';
import uPlot from 'uplot';
import type { Market } from '../../../client/types.js';
import { elapsedMs, exchangeNowMs } from '../model/clock.js';
import { market } from '../model/markets.js';
import { averageSoFar, chartPoints, pointsVersion, SETTLEMENT_MS } from '../model/prices.js';
import { assetPrice, clockSeconds, clockTime } from '../parts/format.js';

/** How much of the window before is shown. */
const LEAD_MS = 3 * 60_000;
const REDRAW_EVERY_MS = 100;
/** Indices of the price's two series. */
const BEFORE = 1;
const NOW = 2;

/** What is drawn; a window that has no market yet has no target. */
interface Frame {
  startMs: number;
  endMs: number;
  target: number | null;
}

let lastFrame: Frame = { startMs: 0, endMs: 1, target: null };

function frameOf(shown: Market | null): Frame {
  if (shown === null) {
    const nowMs = exchangeNowMs();
    return { startMs: nowMs, endMs: Math.max(nowMs, lastFrame.endMs + 1), target: null };
  }
  return { startMs: shown.startsAtMs, endMs: shown.endsAtMs, target: shown.startPrice };
}

function dataOf(frame: Frame, shown: Market | null): uPlot.AlignedData {
  const points = chartPoints().filter(({ atMs }) => atMs >= frame.startMs - LEAD_MS);
  const times = points.map(({ atMs }) => atMs / 1_000);
  const before = points.map(({ atMs, price }) => (atMs <= frame.startMs ? price : null));
  const now = points.map(({ atMs, price }) => (atMs >= frame.startMs ? price : null));
  // The two lines meet.
  const first = now.findIndex((price) => price !== null);
  if (first > 0) before[first] = now[first]!;
  const target = points.map(() => null) as (number | null)[];
  const average = points.map(({ atMs }) =>
    shown !== null && atMs > frame.endMs - SETTLEMENT_MS ? averageSoFar(shown, atMs) : null,
  );
  // The target goes through the whole window, also where there is no price yet.
  times.push(frame.endMs / 1_000);
  before.push(null);
  now.push(null);
  average.push(null);
  target.push(frame.target);
  if (first >= 0) target[first] = frame.target;
  return [times, before, now, target, average];
}

/** Around everything that is drawn, with the price to beat in it. */
function priceRange(data: uPlot.AlignedData): [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const series of data.slice(1))
    for (const value of series) {
      if (value == null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  if (low > high) return [0, 1];
  const room = Math.max((high - low) * 0.12, high * 0.00005);
  return [low - room, high + room];
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    up: of('up'),
    down: of('down'),
    upWash: of('up-wash'),
    downWash: of('down-wash'),
    soft: of('soft'),
    line: of('line'),
    text: of('text'),
    accent: of('accent'),
    sans: of('sans'),
  };
}

/** One colour above the price to beat, another below it. */
function split(
  plot: uPlot,
  target: number | null,
  above: string,
  below: string,
): CanvasGradient | string {
  if (target === null) return above;
  const { top, height } = plot.bbox;
  const at = (plot.valToPos(target, 'y', true) - top) / height;
  if (!Number.isFinite(at)) return above;
  const stop = Math.min(Math.max(at, 0), 1);
  const gradient = plot.ctx.createLinearGradient(0, top, 0, top + height);
  gradient.addColorStop(0, above);
  gradient.addColorStop(stop, above);
  gradient.addColorStop(stop, below);
  gradient.addColorStop(1, below);
  return gradient;
}

/** Draws until the returned function is called. `tell` gets what is under the pointer. */
export function drawChart(box: HTMLElement, tell: (text: string) => void): () => void {
  let frame = frameOf(market.peek());
  let data = dataOf(frame, market.peek());
  let plot = create();
  let drawnAtMs = 0;
  let timer: ReturnType<typeof setTimeout> | null = null;

  function create(): uPlot {
    const colour = colours();
    const axis = { stroke: colour.soft, font: `11px ${colour.sans}`, ticks: { show: false } };
    const grid = { stroke: colour.line, width: 1 };
    const options: uPlot.Options = {
      width: box.clientWidth,
      height: box.clientHeight,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      padding: [8, 8, 0, 0],
      scales: {
        x: { time: false, range: () => [(frame.startMs - LEAD_MS) / 1_000, frame.endMs / 1_000] },
        y: { range: () => priceRange(data) },
      },
      axes: [
        {
          ...axis,
          grid: { ...grid, show: true },
          size: 30,
          space: 70,
          incrs: [60, 180, 300],
          // The first would be cut off by the edge.
          values: (_, splits) =>
            splits.map((seconds) =>
              seconds * 1_000 > frame.startMs - LEAD_MS ? clockTime(seconds * 1_000) : '',
            ),
        },
        {
          ...axis,
          grid,
          side: 1,
          size: 76,
          values: (_, splits) => splits.map((price) => assetPrice(price)),
        },
      ],
      series: [
        {},
        { stroke: colour.soft, width: 1, points: { show: false } },
        {
          width: 2,
          points: { show: false },
          stroke: (self) => split(self, frame.target, colour.up, colour.down),
          fill: (self) => split(self, frame.target, colour.upWash, colour.downWash),
          fillTo: () => frame.target ?? 0,
        },
        { stroke: colour.text, width: 1, dash: [5, 4], spanGaps: true, points: { show: false } },
        { stroke: colour.accent, width: 2, points: { show: false } },
      ],
      hooks: {
        setCursor: [
          ({ cursor, data: drawn }) => {
            const { idx } = cursor;
            const price = idx == null ? null : (drawn[NOW]?.[idx] ?? drawn[BEFORE]?.[idx]);
            const at = idx == null ? undefined : drawn[0][idx];
            tell(
              price == null || at === undefined
                ? ''
                : `${clockSeconds(at * 1_000)}  ${assetPrice(price)}`,
            );
          },
        ],
      },
    };
    return new uPlot(options, data, box);
  }

  function redraw(): void {
    timer = null;
    drawnAtMs = elapsedMs();
    const shown = market.peek();
    frame = frameOf(shown);
    lastFrame = frame;
    data = dataOf(frame, shown);
    plot.setData(data);
  }

  const stopFollowing = effect(() => {
    void market.value;
    void pointsVersion.value;
    const waitMs = Math.max(0, drawnAtMs + REDRAW_EVERY_MS - elapsedMs());
    timer ??= setTimeout(redraw, waitMs);
  });
  const resized = new ResizeObserver(() => {
    if (box.clientWidth > 0) plot.setSize({ width: box.clientWidth, height: box.clientHeight });
  });
  resized.observe(box);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const recolour = () => {
    plot.destroy();
    plot = create();
  };
  dark.addEventListener('change', recolour);
  return () => {
    stopFollowing();
    if (timer !== null) clearTimeout(timer);
    resized.disconnect();
    dark.removeEventListener('change', recolour);
    plot.destroy();
  };
}
