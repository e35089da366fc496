/**
 * `npm run compare -- <folder> <folder>`: measures two builds alternately. Each folder is a clone
 * with a build; the same folder twice can have different variables.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { InvalidArgumentError } from 'commander';
import {
  commandLine,
  listOf,
  numberFrom,
  oneOf,
  wholeNumberFrom,
} from '../../test/support/processes/command-line.js';
import { describeMachine, machineLine } from '../../test/support/processes/machine.js';
import { layOut, textOf } from '../measure/report.js';
import { HTTP_LOADS, type HttpLoadName, measureHttp } from './http-run.js';
import { type Build, comparison, inTurns, type Measured, type Round } from './turns.js';

const LOADS = ['engine', ...(Object.keys(HTTP_LOADS) as HttpLoadName[])] as const;
const ENGINE_RUN = 'dist/bench/compare/engine-run.js';

interface Settings {
  load: (typeof LOADS)[number];
  connections: readonly number[];
  rounds: number;
  seconds: number;
  second: Record<string, string>;
  folder: string;
}

function variable(text: string, sofar: Record<string, string>): Record<string, string> {
  const [, name, value] = /^([A-Z_0-9]+)=(.*)$/.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError('It must be NAME=value.');
  return { ...sofar, [name]: value! };
}

function buildIn(text: string): string {
  const folder = resolve(text);
  if (existsSync(join(folder, 'dist/gateway/main.js'))) return folder;
  throw new InvalidArgumentError(`${folder} has no built exchange: run "npm run build" there.`);
}

function readArguments() {
  const command = commandLine('compare', 'Measures two builds of the exchange alternately.')
    .argument('<first>', 'a folder with a built exchange', buildIn)
    .argument('<second>', 'a second folder, or the same', buildIn)
    .option('--load <name>', `one of ${LOADS.join(', ')}`, oneOf(LOADS), 'buys')
    .option('--connections <list>', 'for HTTP', listOf(wholeNumberFrom(1, 10_000)), [64, 256])
    .option('--rounds <n>', 'measurements of each build', wholeNumberFrom(1, 1_000), 6)
    .option('--seconds <n>', 'duration of one over HTTP', numberFrom(1, 3_600), 3)
    .option('--second <NAME=value>', 'a variable for the second build; repeatable', variable, {})
    .option('--folder <path>', 'parent of temporary data folders', tmpdir())
    .parse();
  const [first, second] = command.processedArgs as [string, string];
  return { first, second, settings: command.opts<Settings>() };
}

/** Runs in a new process, with the code of that build. */
async function measureEngine({ folder, variables }: Build): Promise<Measured> {
  const nodeOptions = ['--expose-gc', join(folder, ENGINE_RUN)];
  const { stdout } = await promisify(execFile)(process.execPath, nodeOptions, { env: variables });
  return JSON.parse(stdout);
}

function printRound([first, second]: Round): void {
  for (const name of Object.keys(first))
    console.log(`  ${name}: ${textOf(first[name]!)}, ${textOf(second[name]!)}`);
}

async function compare(): Promise<void> {
  const { first, second, settings } = readArguments();
  const { load, rounds, seconds, folder: parent } = settings;
  const builds = [
    { folder: first, variables: {} },
    { folder: second, variables: settings.second },
  ] as const;
  console.log(machineLine(describeMachine()));
  console.log(`first: ${first}\nsecond: ${[second, ...Object.entries(settings.second)].join(' ')}`);
  const print = (title: string, measured: readonly Round[]) => {
    for (const line of layOut(comparison(title, measured))) console.log(`  ${line}`);
  };
  if (load === 'engine') {
    console.log('\nengine, CPU time of its thread');
    print('engine', await inTurns(rounds, builds, measureEngine, printRound));
    return;
  }
  for (const connections of settings.connections) {
    const title = `${load}, ${connections} connections`;
    console.log(`\n${title}`);
    const measure = (build: Build) => measureHttp(build, { load, connections, seconds, parent });
    print(title, await inTurns(rounds, builds, measure, printRound));
  }
}

await compare();
