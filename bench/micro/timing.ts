/** Timings with tinybench: one alternative after another, each warmed up. */
import { isDeepStrictEqual } from 'node:util';
import { Bench } from 'tinybench';
import { type Part, tableOf } from '../measure/report.js';

export interface Work {
  name: string;
  figure: string;
  /** The first alternative is the product's. */
  ways: Readonly<Record<string, () => unknown>>;
}

const SAMPLES_MIN = 10;
/** A sample has enough calls that reading the clock does not matter. */
export const SAMPLE_MS = 0.02;

export async function timed(title: string, works: readonly Work[], ms: number): Promise<Part> {
  const rows: Timing[] = [];
  for (const work of works) rows.push(...(await timesOf(work, ms)));
  return {
    table: tableOf<Timing>(title, rows, {
      what: ({ what }) => what,
      by: ({ by }) => by,
      'µs (median)': ({ micros }) => micros,
      'margin of error': ({ margin }) => `± ${margin.toFixed(1)}%`,
      'times the first': ({ timesFirst }) => timesFirst,
    }),
    figures: Object.fromEntries(rows.map(({ figure, micros }) => [figure, micros])),
  };
}

/** @throws Error if the alternatives gave different results */
export function mustAgree(name: string, results: readonly unknown[]): void {
  if (results.some((result) => !isDeepStrictEqual(result, results[0])))
    throw new Error(`${name}: the results differ`);
}

interface Timing {
  what: string;
  by: string;
  figure: string;
  micros: number;
  /** Of the mean, in percent, at 95% confidence. */
  margin: number;
  timesFirst: number;
}

async function timesOf({ name: what, figure, ways }: Work, ms: number): Promise<Timing[]> {
  const least = { iterations: SAMPLES_MIN, warmupIterations: SAMPLES_MIN };
  const setup = () => void globalThis.gc?.();
  const bench = new Bench({ ...least, time: ms, warmupTime: ms / 2, throws: true, setup });
  for (const [by, run] of Object.entries(ways)) await add(bench, by, run);
  await bench.run();
  let first = Number.NaN;
  return bench.tasks.map(({ name: by, result }) => {
    if (result.state !== 'completed') throw new Error(`${what}, ${by}: ${result.state}`);
    const { p50, rme: margin } = result.latency;
    const micros = p50 * 1_000;
    if (Number.isNaN(first)) first = micros;
    const ending = by.replace(/(?:^|\W+)(\w)/g, (_, letter: string) => letter.toUpperCase());
    return { what, by, figure: `${figure}${ending}Us`, micros, margin, timesFirst: micros / first };
  });
}

async function add(bench: Bench, by: string, run: () => unknown): Promise<void> {
  const result = run();
  if (result instanceof Promise) {
    await result;
    bench.add(by, run as () => Promise<unknown>, { async: true });
    return;
  }
  let calls = 1;
  while (sample(run, calls).overriddenIterationCost < SAMPLE_MS) calls *= 2;
  bench.add(by, () => sample(run, calls), { async: false });
}

/** So that V8 cannot optimize the work away. */
export const kept: { last: unknown } = { last: null };

function sample(run: () => unknown, calls: number) {
  const startedMs = performance.now();
  for (let i = 0; i < calls; i++) kept.last = run();
  const ms = performance.now() - startedMs;
  return { overriddenDuration: ms / calls, overriddenIterationCost: ms };
}
