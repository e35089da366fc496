/** `npm run bench`: measures the parts of the exchange and prints results, machine and seed. */
import '../persistence/compiler-flags.js';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import {
  commandLine,
  listOf,
  numberFrom,
  oneOf,
  wholeNumberFrom,
} from '../test/support/processes/command-line.js';
import { describeMachine, machineLine } from '../test/support/processes/machine.js';
import { planWorkload, STANDARD, type Workload } from '../test/support/workload/workload.js';
import { benchEngine } from './engine/bench.js';
import { benchHttp, CONNECTIONS } from './http/bench.js';
import { benchStream } from './http/stream-bench.js';
import { benchJournal } from './journal/bench.js';
import { benchFollower } from './journal/follower.js';
import { benchRecovery } from './journal/recovery.js';
import { printSection, type Section } from './measure/report.js';
import { benchMicro } from './micro/bench.js';
import { benchQuickly } from './quick.js';
import { describeWorkload } from './workload/description.js';

const SECTIONS = ['engine', 'micro', 'journal', 'recovery', 'follower', 'http', 'stream'] as const;

interface Settings {
  full?: true;
  only?: readonly (typeof SECTIONS)[number][];
  seed: string;
  commands: number;
  seconds: number;
  connections: readonly number[];
  folder: string;
  profile?: string;
  json?: string;
}

function readArguments(): Settings {
  return commandLine('bench', 'Measures the exchange and prints the results.')
    .option('--full', 'all sections, in twelve minutes; otherwise one table, in two')
    .option('--only <list>', `these sections, of ${SECTIONS.join(',')}`, listOf(oneOf(SECTIONS)))
    .option('--seed <text>', 'seed of the workload', '1')
    .option(
      '--commands <n>',
      'length of the workload',
      wholeNumberFrom(1_000, 100_000_000),
      500_000,
    )
    .option(
      '--seconds <n>',
      'duration of each loop of journal, follower, http and stream',
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
    .option('--json <file>', 'also write the results as JSON')
    .parse()
    .opts<Settings>();
}

async function run(settings: Settings): Promise<void> {
  const { full, seed, commands, seconds, connections, folder, profile, json } = settings;
  const only = settings.only ?? (full ? SECTIONS : []);
  const machine = describeMachine();
  console.log(machineLine(machine));
  const sections: Section[] = [];
  const add = (section: Section) => {
    printSection(section, console.log);
    sections.push(section);
  };
  let planned: Workload | null = null;
  /** Planned when the first section needs it. */
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
  };
  const benches = {
    engine: () => benchEngine(workload()),
    micro: () => benchMicro(options),
    journal: () => benchJournal(workload(), options),
    recovery: () => benchRecovery(options),
    follower: () => benchFollower(workload(), options),
    http: () => benchHttp(options),
    stream: () => benchStream(options),
  };
  if (only.length === 0) add(await benchQuickly(options));
  for (const name of only) add(await benches[name]());
  if (json === undefined) return;
  const content = { machine, settings: { only, seed, commands, seconds }, sections };
  writeFileSync(json, `${JSON.stringify(content, null, 2)}\n`);
}

await run(readArguments());
