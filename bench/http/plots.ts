/**
 * The figures of the HTTP benchmark as pictures (SVG): rate and latency by connections, latency by
 * offered rate, and CPU time per request by thread. Only `--plot` loads the charting library.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EChartsOption, SeriesOption } from 'echarts';
import { THREADS, type ThreadCpu, totalMs } from '../measure/thread-cpu.js';

export const SERVERS = ['bare handler', 'exchange', 'plain design'] as const;
export type Server = (typeof SERVERS)[number];

/** One number of connections, in a closed loop. */
export interface ConnectionsPoint {
  connections: number;
  server: Server;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** One rate by schedule. */
export interface OfferedPoint {
  offeredPerSecond: number;
  p50Ms: number;
  p99Ms: number;
}

export interface CpuPoint {
  server: Server;
  /** Milliseconds per request. */
  cpu: ThreadCpu;
}

export interface PlotData {
  connections: readonly ConnectionsPoint[];
  offered: readonly OfferedPoint[];
  cpu: readonly CpuPoint[];
}

const SIZE = { width: 760, height: 420 };
const COLORS: Record<Server, string> = {
  'bare handler': '#7f7f7f',
  exchange: '#1f77b4',
  'plain design': '#d95f02',
};
const THREAD_NAMES: Record<(typeof THREADS)[number], string> = {
  main: 'main thread',
  pool: 'SQLite threads',
  workers: 'follower',
  others: "V8's threads",
};
const THREAD_COLORS: Record<(typeof THREADS)[number], readonly [string, string]> = {
  main: ['#1f77b4', '#9ecae1'],
  pool: ['#d95f02', '#fdae6b'],
  workers: ['#2ca02c', '#a1d99b'],
  others: ['#7f7f7f', '#d9d9d9'],
};

/** By file name. */
export function optionsOf(data: PlotData): Record<string, EChartsOption> {
  return {
    'rate-by-connections.svg': lines('Buys a second by connections', 'connections', 'buys/s', [
      ...SERVERS.map((server) => connectionsLine(data, server, server, 'perSecond', 'solid')),
    ]),
    'latency-by-connections.svg': lines(
      'Latency of a buy by connections',
      'connections',
      'ms',
      SERVERS.flatMap((server) => [
        connectionsLine(data, server, `${server}, p50`, 'p50Ms', 'dashed'),
        connectionsLine(data, server, `${server}, p99`, 'p99Ms', 'solid'),
      ]),
    ),
    'latency-by-offered-rate.svg': offeredChart(data),
    'cpu-per-request.svg': cpuChart(data),
  };
}

/** Draws the pictures into a folder, and returns the names of the files. */
export async function plot(folder: string, data: PlotData): Promise<string[]> {
  const { init } = await import('echarts');
  mkdirSync(folder, { recursive: true });
  const options = Object.entries(optionsOf(data));
  for (const [file, option] of options) {
    const chart = init(null, null, { renderer: 'svg', ssr: true, ...SIZE });
    chart.setOption(option);
    writeFileSync(join(folder, file), `${chart.renderToSVGString()}\n`);
    chart.dispose();
  }
  return options.map(([file]) => file);
}

function lines(title: string, x: string, y: string, series: SeriesOption[]): EChartsOption {
  return {
    ...frame(title),
    xAxis: { ...axis('log', x), logBase: 2 },
    yAxis: axis('log', y),
    series,
  };
}

function axis<Type extends 'log' | 'value'>(type: Type, name: string) {
  return { type, name, nameLocation: 'middle', nameGap: type === 'log' ? 46 : 40 } as const;
}

function frame(title: string, subtext = ''): EChartsOption {
  return {
    animation: false,
    backgroundColor: '#ffffff',
    title: { text: title, subtext, left: 'center', top: 8, itemGap: 4 },
    legend: { top: 54, itemWidth: 28, textStyle: { fontSize: 11 } },
    grid: { top: 112, left: 84, right: 40, bottom: 64 },
  };
}

function connectionsLine(
  { connections }: PlotData,
  server: Server,
  name: string,
  value: 'perSecond' | 'p50Ms' | 'p99Ms',
  type: 'solid' | 'dashed',
): SeriesOption {
  const points = connections
    .filter((point) => point.server === server)
    .sort((a, b) => a.connections - b.connections);
  return {
    type: 'line',
    name,
    color: COLORS[server],
    lineStyle: { type },
    data: points.map((point) => [point.connections, point[value]]),
  };
}

function offeredChart({ offered }: PlotData): EChartsOption {
  const points = [...offered].sort((a, b) => a.offeredPerSecond - b.offeredPerSecond);
  const line = (
    name: string,
    value: 'p50Ms' | 'p99Ms',
    type: 'solid' | 'dashed',
  ): SeriesOption => ({
    type: 'line',
    name,
    color: COLORS.exchange,
    lineStyle: { type },
    data: points.map((point) => [point.offeredPerSecond, point[value]]),
  });
  return lines('Latency of a buy by offered rate, from when it was due', 'buys/s offered', 'ms', [
    line('p50', 'p50Ms', 'dashed'),
    line('p99', 'p99Ms', 'solid'),
  ]);
}

/** The plain design takes so much more that it is named and not drawn. */
function cpuChart({ cpu }: PlotData): EChartsOption {
  const drawn = cpu.filter(({ server }) => server !== 'plain design');
  const plain = cpu.filter(({ server }) => server === 'plain design');
  const bar = (thread: (typeof THREADS)[number], part: 'userMs' | 'systemMs'): SeriesOption => ({
    type: 'bar',
    stack: 'cpu',
    barMaxWidth: 160,
    name: `${THREAD_NAMES[thread]}, ${part === 'userMs' ? 'program' : 'kernel'}`,
    color: THREAD_COLORS[thread][part === 'userMs' ? 0 : 1],
    data: drawn.map((point) => Math.round(point.cpu[thread][part] * 10_000) / 10),
  });
  return {
    ...frame(
      'CPU time of a buy by thread',
      plain
        .map((point) => `plain design: ${Math.round(allMs(point.cpu) * 1_000)} µs in all`)
        .join(),
    ),
    xAxis: { type: 'category', data: drawn.map(({ server }) => server) },
    yAxis: axis('value', 'µs'),
    series: THREADS.flatMap((thread) => [bar(thread, 'userMs'), bar(thread, 'systemMs')]),
  };
}

function allMs(cpu: ThreadCpu): number {
  return THREADS.reduce((sum, thread) => sum + totalMs(cpu[thread]), 0);
}
