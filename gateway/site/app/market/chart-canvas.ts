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
  /** Its left edge. */
  fromMs: number;
  startMs: number;
  endMs: number;
  target: number | null;
}

let lastFrame = framed(0, 1, null);

function framed(startMs: number, endMs: number, target: number | null): Frame {
  return { fromMs: startMs - LEAD_MS, startMs, endMs, target };
}

function frameOf(shown: Market | null): Frame {
  if (shown === null) {
    const nowMs = exchangeNowMs();
    return framed(nowMs, Math.max(nowMs, lastFrame.endMs + 1), null);
  }
  return framed(shown.startsAtMs, shown.endsAtMs, shown.startPrice);
}

function dataOf(frame: Frame, shown: Market | null): uPlot.AlignedData {
  const points = chartPoints().filter(({ atMs }) => atMs >= frame.fromMs);
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

/** What the plot shows now. */
interface Drawn {
  frame: Frame;
  data: uPlot.AlignedData;
}

function drawnOf(shown: Market | null): Drawn {
  const frame = frameOf(shown);
  return { frame, data: dataOf(frame, shown) };
}

type Colours = ReturnType<typeof colours>;

function axesOf(drawn: Drawn, colour: Colours): uPlot.Axis[] {
  const axis = { stroke: colour.soft, font: `11px ${colour.sans}`, ticks: { show: false } };
  const grid = { stroke: colour.line, width: 1 };
  // The first time would be cut off by the edge.
  const timeText = (ms: number) => (ms > drawn.frame.fromMs ? clockTime(ms) : '');
  return [
    {
      ...axis,
      grid: { ...grid, show: true },
      size: 30,
      space: 70,
      incrs: [60, 180, 300],
      values: (_, splits) => splits.map((seconds) => timeText(seconds * 1_000)),
    },
    {
      ...axis,
      grid,
      side: 1,
      size: 76,
      values: (_, splits) => splits.map((price) => assetPrice(price)),
    },
  ];
}

function seriesOf(drawn: Drawn, colour: Colours): uPlot.Series[] {
  const line = { width: 1, points: { show: false } };
  const thick = { ...line, width: 2 };
  return [
    {},
    { ...line, stroke: colour.soft },
    {
      ...thick,
      stroke: (self) => split(self, drawn.frame.target, colour.up, colour.down),
      fill: (self) => split(self, drawn.frame.target, colour.upWash, colour.downWash),
      fillTo: () => drawn.frame.target ?? 0,
    },
    { ...line, stroke: colour.text, dash: [5, 4], spanGaps: true },
    { ...thick, stroke: colour.accent },
  ];
}

/** The time and the price under the pointer; empty: nothing is drawn there. */
function textUnder({ cursor, data }: uPlot): string {
  const { idx } = cursor;
  const price = idx == null ? null : (data[NOW]?.[idx] ?? data[BEFORE]?.[idx]);
  const at = idx == null ? undefined : data[0][idx];
  if (price == null || at === undefined) return '';
  return `${clockSeconds(at * 1_000)}  ${assetPrice(price)}`;
}

function optionsOf(box: HTMLElement, drawn: Drawn, tell: (text: string) => void): uPlot.Options {
  const colour = colours();
  return {
    width: box.clientWidth,
    height: box.clientHeight,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    padding: [8, 8, 0, 0],
    scales: {
      x: { time: false, range: () => [drawn.frame.fromMs / 1_000, drawn.frame.endMs / 1_000] },
      y: { range: () => priceRange(drawn.data) },
    },
    axes: axesOf(drawn, colour),
    series: seriesOf(drawn, colour),
    hooks: { setCursor: [(plot) => tell(textUnder(plot))] },
  };
}

/** Draws until the returned function is called. `tell` gets what is under the pointer. */
export function drawChart(box: HTMLElement, tell: (text: string) => void): () => void {
  const drawn = drawnOf(market.peek());
  const create = () => new uPlot(optionsOf(box, drawn, tell), drawn.data, box);
  let plot = create();
  let drawnAtMs = 0;
  let timer: ReturnType<typeof setTimeout> | null = null;

  function redraw(): void {
    timer = null;
    drawnAtMs = elapsedMs();
    Object.assign(drawn, drawnOf(market.peek()));
    lastFrame = drawn.frame;
    plot.setData(drawn.data);
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
