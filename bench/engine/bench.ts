/** The engine alone: commands per second, single operations, and the longest commands. */
import { Bench } from 'tinybench';
import type { Engine } from '../../engine/engine.js';
import { CommandKind, type CommandName } from '../../engine/interface/commands.js';
import { ResultHead } from '../../engine/interface/results.js';
import { type Part, percent, type Section, sectionOf } from '../measure/report.js';
import { Samples } from '../measure/samples.js';
import { prepareEngine, type Workload } from '../workload/workload.js';
import { growth } from './growth.js';
import { endOfMarket } from './market-end.js';
import { singleOperations } from './single-operations.js';

const RUNS = 6;
const WARM_UP_RUNS = 2;
const LATENCY_RUNS = 3;

export async function benchEngine(workload: Workload): Promise<Section> {
  // First, while the code is cold, as it is when a market ends for the first time after a start.
  const ends = endOfMarket();
  const rate = await mixedRate(workload);
  const latency = latencies(workload);
  const single = await singleOperations();
  const grown = growth();
  const note =
    'The engine alone, one thread, in memory: commands as records; the digest is checked after each run.';
  return sectionOf('engine', [note], [rate, latency, single, ends, grown]);
}

function runCommands(engine: Engine, workload: Workload): void {
  const { records } = workload.commands;
  for (let at = 0; at < records.length; ) at = engine.applyRecord(records, at);
}

function checkDigest(engine: Engine, workload: Workload): void {
  if (engine.digest() === workload.digest) return;
  throw new Error(
    `the engine ended with the digest ${engine.digest()}, the plan with ${workload.digest}`,
  );
}

async function mixedRate(workload: Workload): Promise<Part> {
  let engine = prepareEngine(workload.setup);
  const bench = new Bench({
    iterations: RUNS,
    time: 0,
    warmupIterations: WARM_UP_RUNS,
    warmupTime: 0,
    throws: true,
    retainSamples: true,
  });
  bench.add('mixed', () => runCommands(engine, workload), {
    async: false,
    beforeEach: () => {
      engine = prepareEngine(workload.setup);
      globalThis.gc?.();
    },
    afterEach: () => checkDigest(engine, workload),
  });
  await bench.run();
  const { result } = bench.getTask('mixed')!;
  if (result.state !== 'completed') throw new Error(`the benchmark is ${result.state}`);
  const { length } = workload.commands;
  const rateOf = (latencyMs: number) => (length / latencyMs) * 1_000;
  const { p50, min, max, rme } = result.latency;
  return {
    table: {
      title: `Mixed workload, ${RUNS} runs of ${length.toLocaleString('en-US')} commands after ${WARM_UP_RUNS} to warm up (tinybench)`,
      columns: ['', 'commands/s', 'ns/command'],
      rows: [
        ['median run', rateOf(p50), (p50 / length) * 1e6],
        ['best run', rateOf(min), (min / length) * 1e6],
        ['worst run', rateOf(max), (max / length) * 1e6],
        ['margin of error of the mean', `± ${percent(rme / 100)}`, ''],
      ],
    },
    figures: { mixedCommandsPerSecond: rateOf(p50) },
  };
}

/**
 * Times each command, in several runs of the same commands. Reading the clock adds about 50 ns. The
 * longest of one run may be due to the machine; what is long in every run is due to the engine.
 */
function latencies(workload: Workload): Part {
  const { commands } = workload;
  const kinds = new Uint8Array(commands.length);
  const last = new Float64Array(commands.length);
  const least = new Float64Array(commands.length).fill(Number.POSITIVE_INFINITY);
  for (let run = 0; run < LATENCY_RUNS; run++) {
    timeEach(workload, last, kinds);
    for (let i = 0; i < commands.length; i++) least[i] = Math.min(least[i]!, last[i]!);
  }
  const rows = [latencyRow('all', last, least, () => true)];
  for (const [name, number] of Object.entries(CommandKind) as [CommandName, number][]) {
    const row = latencyRow(name, last, least, (i) => kinds[i] === number);
    if (row[1] !== 0) rows.push(row);
  }
  return {
    table: {
      title: `Latency of a single apply on the same workload, in microseconds: the last of ${LATENCY_RUNS} runs, and the longest that was so long in every run`,
      columns: ['command', 'count', 'p50', 'p99', 'p99.9', 'longest', 'in every run'],
      rows,
    },
    figures: {
      applyP50Micros: rows[0]![2] as number,
      applyP99Micros: rows[0]![3] as number,
      applyMaxMicros: rows[0]![5] as number,
      applyMaxInEveryRunMicros: rows[0]![6] as number,
    },
  };
}

function timeEach(workload: Workload, latencyMs: Float64Array, kinds: Uint8Array): void {
  const { commands } = workload;
  const engine = prepareEngine(workload.setup);
  globalThis.gc?.();
  for (let i = 0; i < commands.length; i++) {
    const at = commands.at(i);
    const startedMs = performance.now();
    engine.applyRecord(commands.records, at);
    latencyMs[i] = performance.now() - startedMs;
    kinds[i] = engine.result.values[ResultHead.kind]!;
  }
  checkDigest(engine, workload);
}

function latencyRow(
  name: string,
  last: Float64Array,
  least: Float64Array,
  belongs: (i: number) => boolean,
): (string | number)[] {
  const samples = new Samples();
  const floor = new Samples();
  for (let i = 0; i < last.length; i++) {
    if (!belongs(i)) continue;
    samples.add(last[i]! * 1_000);
    floor.add(least[i]! * 1_000);
  }
  const percentiles = [0.5, 0.99, 0.999, 1].map((share) => samples.percentile(share));
  return [name, samples.count, ...percentiles, floor.max()];
}
