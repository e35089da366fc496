/** `npm run bench`: measures the parts of the exchange and prints results, machine and seed. */
import '../persistence/compiler-flags.js';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { benchEngine } from './engine/bench.js';
import { benchHttp, CONNECTIONS } from './http/bench.js';
import { benchEdges } from './http/edges/bench.js';
import { benchOrderEntry } from './http/order-entry/bench.js';
import { benchStream } from './http/stream-bench.js';
import { benchJournal } from './journal/bench.js';
import { benchFollower } from './journal/follower.js';
import { benchRecovery } from './journal/recovery.js';
import { commandLine, listOf, numberFrom, oneOf, wholeNumberFrom } from './measure/command-line.js';
import { describeMachine, machineLine } from './measure/machine.js';
import { printSection, type Section } from './measure/report.js';
import { benchMicro } from './micro/bench.js';
import { benchPostgres } from './replication/bench.js';
import { describeWorkload } from './workload/description.js';
import { planWorkload, STANDARD, type Workload } from './workload/workload.js';

const SECTIONS = [
  'engine',
  'micro',
  'journal',
  'recovery',
  'follower',
  'http',
  'stream',
  'entry',
  'edge',
  'postgres',
] as const;

interface Settings {
  only: readonly (typeof SECTIONS)[number][];
  seed: string;
  commands: number;
  seconds: number;
  connections: readonly number[];
  folder: string;
  profile?: string;
  plot?: string;
  json?: string;
}

function readArguments(): Settings {
  return commandLine('bench', 'Measures the exchange and prints the results.')
    .option('--only <list>', `sections to run, of ${SECTIONS.join(',')}`, listOf(oneOf(SECTIONS)), [
      ...SECTIONS,
    ])
    .option('--seed <text>', 'seed of the workload', '1')
    .option(
      '--commands <n>',
      'length of the workload',
      wholeNumberFrom(1_000, 100_000_000),
      500_000,
    )
    .option(
      '--seconds <n>',
      'duration of each loop of journal, follower, http, stream, entry and edge',
      numberFrom(0.1, 3_600),
      3,
    )
    .option(
      '--connections <list>',
      'numbers of connections for http; figures use the first',
      listOf(wholeNumberFrom(1, 10_000)),
      [...CONNECTIONS],
    )
    .option('--folder <path>', 'parent of temporary data folders', tmpdir())
    .option('--profile <path>', 'folder for a CPU profile of the exchange in the http section')
    .option('--plot <folder>', 'folder for pictures (SVG) of the http section')
    .option('--json <file>', 'also write the results as JSON')
    .parse()
    .opts<Settings>();
}

async function run(settings: Settings): Promise<void> {
  const { only, seed, commands, seconds, connections, folder, profile, plot, json } = settings;
  const machine = describeMachine();
  console.log(machineLine(machine));
  const sections: Section[] = [];
  const add = (section: Section) => {
    printSection(section, console.log);
    sections.push(section);
  };
  let planned: Workload | null = null;
  /** Plans and describes the workload before the first section that runs it. */
  const workload = () => {
    if (planned === null) {
      planned = planWorkload({ ...STANDARD, seed, commands });
      add(describeWorkload(planned));
    }
    return planned;
  };
  const options = {
    parent: folder,
    seed,
    seconds,
    connections,
    profileFolder: profile ?? null,
    plotFolder: plot ?? null,
  };
  const benches = {
    engine: () => benchEngine(workload()),
    micro: () => benchMicro(options),
    journal: () => benchJournal(workload(), options),
    recovery: () => benchRecovery(options),
    follower: () => benchFollower(workload(), options),
    http: () => benchHttp(options),
    stream: () => benchStream(options),
    entry: () => benchOrderEntry(options),
    edge: () => benchEdges(options),
    postgres: () => benchPostgres(workload(), options),
  };
  for (const name of only) add(await benches[name]());
  if (json === undefined) return;
  const content = { machine, settings: { only, seed, commands, seconds }, sections };
  writeFileSync(json, `${JSON.stringify(content, null, 2)}\n`);
}

await run(readArguments());
