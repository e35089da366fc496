/** The engine alone: its rates compared with a bare ladder and a peer, and its longest commands. */
import { CommandKind, type CommandName } from '../../engine/interface/commands.js';
import { ResultHead } from '../../engine/interface/results.js';
import { Samples } from '../../test/support/processes/samples.js';
import {
  planWorkload,
  prepareEngine,
  type Workload,
} from '../../test/support/workload/workload.js';
import type { Start } from '../measure/race.js';
import { type Part, type Section, sectionOf } from '../measure/report.js';
import { asClientsSend } from '../workload/client-commands.js';
import { type Contestant, checkDigest, compare, engineStart } from './comparison.js';
import { growth } from './growth.js';
import { ladderStart } from './ladder.js';
import { messagesLoad, mixedLoad, roomy } from './loads.js';
import { endOfMarket } from './market-end.js';
import { partsOf } from './parts.js';
import { peerStart } from './peer.js';
import { singleOperations } from './single-operations.js';

/** Few chunks, because each one begins with caches filled by other contestants. */
const RACE = { rate: 'CommandsPerSecond', rounds: 7, warmUpRounds: 2, chunks: 8 } as const;
const LATENCY_RUNS = 3;
const KEYED = 0.3;
const BATCHABLE = 0.1;
const MORE_USERS = [100_000, 1_000_000];
/** In one market that does not end during the run. */
const PEERS_KIND = { assets: 1, windows: 0.9 };
/** The peer is slow, so a part of the commands suffices. */
const PEERS_SHARE = 0.2;

const NOTES = [
  "The engine alone, one thread, in memory; rates are by the thread's CPU time. With room for its maxima, as in an exchange: commands as records, with nothing to decode; the digest is checked after each run.",
  'The ladder is a bare order book in this language: price levels, orders in order of time, order ids; no users, money, positions, events or results. It goes through the orders that the engine accepted, and through the cancels, in turns with the engine. Its time is divided by all commands of the workload. A ratio to it of 0.1 is a tenth of its speed. Its trades are checked.',
  'The peer is nodejs-order-book from npm. It moves no money: like the ladder it knows neither users nor balances. Its trades are checked.',
];

export function benchEngine(workload: Workload): Section {
  // Run first, while the code is cold, as when a market ends for the first time after a start.
  const ends = endOfMarket();
  const { seed, commands } = workload.options;
  const loads = [mixedLoad(workload), messagesLoad(seed, commands)];
  const rates = [...loads.map(partsOf), mixed(workload), users(workload), peer(workload)];
  return sectionOf('engine', NOTES, [
    ...rates,
    latencies(workload),
    singleOperations(),
    ends,
    ...growth(),
  ]);
}

function startOf({ setup }: Workload, commands: Pick<Workload, 'commands' | 'digest'>): Start {
  return engineStart(() => roomy(prepareEngine(setup)), commands);
}

function contestant(name: string, figure: string, workload: Workload): Contestant {
  const { length: commands } = workload.commands;
  const ladder = ladderStart(workload.tape);
  return { name, figure, commands, start: startOf(workload, workload), ladder };
}

function mixed(workload: Workload): Part {
  const batchable = planWorkload({ ...workload.options, batchable: BATCHABLE });
  const unkeyed = contestant('unkeyed: a tenth in runs of 20 by one maker', 'unkeyed', batchable);
  return compare({
    ...RACE,
    title: `Mixed workload, ${workload.commands.length.toLocaleString('en-US')} commands`,
    versus: { of: 'speed', column: 'of the unkeyed' },
    contestants: [
      contestant('mixed', 'mixed', workload),
      unkeyed,
      {
        ...unkeyed,
        name: 'the same: 30% with keys, the runs as batches',
        figure: 'keyed',
        start: startOf(batchable, asClientsSend(batchable, KEYED)),
        versus: { base: 'unkeyed', figure: 'keyedOfUnkeyed' },
      },
    ],
  });
}

function users(workload: Workload): Part {
  const { options } = workload;
  const named = (count: number) => `${count.toLocaleString('en-US')} users`;
  const base = `users${options.users}`;
  return compare({
    ...RACE,
    // A million registrations take seconds.
    rounds: 5,
    warmUpRounds: 1,
    title: 'Mixed workload by number of users',
    versus: { of: 'time', column: `time / ${named(options.users)}` },
    contestants: [
      contestant(named(options.users), base, workload),
      ...MORE_USERS.map((count) => ({
        ...contestant(named(count), `users${count}`, planWorkload({ ...options, users: count })),
        versus: { base, figure: `users${count}Times` },
      })),
    ],
  });
}

function peer({ options }: Workload): Part {
  const commands = Math.ceil(options.commands * PEERS_SHARE);
  const workload = planWorkload({ ...options, ...PEERS_KIND, commands });
  const engine = contestant('engine', 'peerStream', workload);
  const start = peerStart(workload.tape);
  return compare({
    ...RACE,
    title: `The peer's kind of stream, ${commands.toLocaleString('en-US')} limit orders, market orders, cancels and prices in one market`,
    versus: { of: 'speed', column: 'of the peer' },
    contestants: [
      { ...engine, versus: { base: 'peer', figure: 'peerTimes' } },
      { ...engine, name: 'nodejs-order-book, moves no money', figure: 'peer', start },
    ],
  });
}

/**
 * A command that is long in every run is the engine's doing. Reading the clock adds about 50 ns.
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
      applyP999Micros: rows[0]![4] as number,
      applyMaxMicros: rows[0]![5] as number,
      applyMaxInEveryRunMicros: rows[0]![6] as number,
    },
  };
}

function timeEach(workload: Workload, latencyMs: Float64Array, kinds: Uint8Array): void {
  const { commands } = workload;
  const engine = roomy(prepareEngine(workload.setup));
  globalThis.gc?.();
  for (let i = 0; i < commands.length; i++) {
    const at = commands.at(i);
    const startedMs = performance.now();
    engine.applyRecord(commands.records, at);
    latencyMs[i] = performance.now() - startedMs;
    kinds[i] = engine.result.values[ResultHead.kind]!;
  }
  checkDigest(engine, workload.digest);
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
