/**
 * `npm run bench`: measures the engine, the journal, recovery, the follower and the whole exchange
 * over HTTP and the stream, and prints the results with machine and seed. Each section can be run
 * by itself.
 */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { benchEngine } from './engine/bench.js';
import { benchHttp, CONNECTIONS } from './http/bench.js';
import { benchStream } from './http/stream-bench.js';
import { benchJournal } from './journal/bench.js';
import { benchFollower } from './journal/follower.js';
import { benchRecovery } from './journal/recovery.js';
import { numberOf, readOrExit } from './measure/command-line.js';
import { describeMachine, machineLine } from './measure/machine.js';
import { printSection, type Section } from './measure/report.js';
import { describeWorkload } from './workload/description.js';
import { planWorkload, STANDARD, type Workload } from './workload/workload.js';

const SECTIONS = ['engine', 'journal', 'recovery', 'follower', 'http', 'stream'] as const;
type SectionName = (typeof SECTIONS)[number];

const USAGE = `npm run bench -- [options]
  --only <list>         sections to run, of ${SECTIONS.join(',')} (default: all)
  --seed <text>         seed of the workload (default: 1)
  --commands <n>        length of the workload (default: 500000)
  --seconds <n>         duration of each loop of journal, follower, http and stream (default: 3)
  --connections <list>  numbers of connections for http; figures use the first (default: ${CONNECTIONS.join(',')})
  --folder <path>       parent of temporary data folders (default: the system's)
  --profile <path>      folder for a CPU profile of the exchange in the http section
  --json <file>         also write the results as JSON`;

interface Settings {
  sections: readonly SectionName[];
  seed: string;
  commands: number;
  seconds: number;
  connections: number[];
  /** The folder in which temporary folders are created. */
  parent: string;
  profileFolder: string | null;
  jsonFile: string | null;
}

/** @throws Error with the reason, for the operator. */
function readArguments(): Settings {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: SECTIONS.join(',') },
      seed: { type: 'string', default: '1' },
      commands: { type: 'string', default: '500000' },
      seconds: { type: 'string', default: '3' },
      connections: { type: 'string', default: CONNECTIONS.join(',') },
      folder: { type: 'string', default: tmpdir() },
      profile: { type: 'string' },
      json: { type: 'string' },
    },
  });
  const sections = values.only.split(',').map((name) => {
    const known = SECTIONS.find((section) => section === name);
    if (known === undefined) throw new Error(`--only knows ${SECTIONS.join(', ')}, not ${name}`);
    return known;
  });
  return {
    sections,
    seed: values.seed,
    commands: Math.floor(numberOf('--commands', values.commands, 1_000, 100_000_000)),
    seconds: numberOf('--seconds', values.seconds, 0.1, 3_600),
    connections: values.connections
      .split(',')
      .map((value) => Math.floor(numberOf('--connections', value, 1, 10_000))),
    parent: values.folder,
    profileFolder: values.profile ?? null,
    jsonFile: values.json ?? null,
  };
}

async function run(settings: Settings): Promise<void> {
  const machine = describeMachine();
  console.log(machineLine(machine));
  const sections: Section[] = [];
  const add = (section: Section) => {
    printSection(section, console.log);
    sections.push(section);
  };
  for (const name of settings.sections) {
    await addSection(name, settings, add);
  }
  if (settings.jsonFile !== null) {
    const { sections: only, seed, commands, seconds } = settings;
    const content = { machine, settings: { only, seed, commands, seconds }, sections };
    writeFileSync(settings.jsonFile, `${JSON.stringify(content, null, 2)}\n`);
  }
}

async function addSection(
  name: SectionName,
  settings: Settings,
  add: (section: Section) => void,
): Promise<void> {
  switch (name) {
    case 'engine':
      return add(await benchEngine(workloadOf(settings, add)));
    case 'journal':
      return add(await benchJournal(workloadOf(settings, add), settings));
    case 'recovery':
      return add(await benchRecovery(settings));
    case 'follower':
      return add(await benchFollower(workloadOf(settings, add), settings));
    case 'http':
      return add(await benchHttp(settings));
    case 'stream':
      return add(await benchStream(settings));
  }
}

let planned: Workload | null = null;

/** Plans and describes the workload before the first section that runs it. */
function workloadOf(settings: Settings, add: (section: Section) => void): Workload {
  if (planned === null) {
    planned = planWorkload({ ...STANDARD, seed: settings.seed, commands: settings.commands });
    add(describeWorkload(planned));
  }
  return planned;
}

await run(readOrExit(readArguments, USAGE));
