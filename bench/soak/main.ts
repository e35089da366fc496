/** `npm run soak`. Exit status: 0: passed; 1: failed; 2: invalid arguments. */
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { commandLine, numberFrom, wholeNumberFrom } from '../measure/command-line.js';
import { describeMachine, machineLine, makeFolder, removeFolder } from '../measure/machine.js';
import { layOut, tableOf, textOf } from '../measure/report.js';
import { STANDARD_SPEED } from './exchange.js';
import { KINDS, type Level, SLOPE_ERRORS } from './memory.js';
import {
  CAPACITY_SHARE,
  JUDGED_FROM_MINUTES,
  type SoakOptions,
  type SoakResult,
  soak,
} from './run.js';

interface Settings extends Omit<SoakOptions, 'folder' | 'print'> {
  folder: string;
  keep: boolean;
}

function readArguments(): Settings {
  const rateNote = `requests per second; without it, ${CAPACITY_SHARE * 100}% of the measured capacity`;
  return commandLine('soak', 'Loads the exchange for minutes, then verifies what it acknowledged.')
    .option('--minutes <n>', 'how long the load runs', numberFrom(0.1, 24 * 60), 10)
    .option('--rate <n>', rateNote, numberFrom(1, 1_000_000))
    .option('--users <n>', 'number of users', wholeNumberFrom(1, 10_000), 200)
    .option('--connections <n>', 'number of HTTP connections', wholeNumberFrom(1, 5_000), 64)
    .option(
      '--speed <n>',
      'exchange time as a multiple of real time',
      numberFrom(1, STANDARD_SPEED),
      STANDARD_SPEED,
    )
    .option('--seed <text>', 'seed of all random choices', '1')
    .option('--folder <path>', 'parent of the temporary folder', tmpdir())
    .option('--keep', 'keep the temporary folder', false)
    .parse()
    .opts<Settings>();
}

function report(result: SoakResult, print: (line: string) => void): void {
  const { tally, streamTally, record, journal } = result;
  print(
    '\nLatency in milliseconds from when a request was due, the wait for a connection included',
  );
  const kinds = [...tally.latencies].sort(([, a], [, b]) => b.count - a.count);
  const table = tableOf('', kinds, {
    request: ([kind]) => kind,
    answers: ([, samples]) => samples.count,
    p50: ([, samples]) => samples.percentile(0.5),
    p90: ([, samples]) => samples.percentile(0.9),
    p99: ([, samples]) => samples.percentile(0.99),
    'p99.9': ([, samples]) => samples.percentile(0.999),
    max: ([, samples]) => samples.max(),
  });
  for (const line of layOut(table)) print(`  ${line}`);
  const errors = [...tally.errors].map(([code, count]) => `${code} ${textOf(count)}`);
  print(`\nrefused        ${errors.join(', ') || 'nothing'}`);
  print(
    `changes        ${textOf(record.count)} sent, ${textOf(record.acknowledged)} acknowledged; ${textOf(journal.executed)} in the journal, ` +
      `${textOf(journal.unacknowledged)} of them never answered; ${textOf(journal.repeated)} repetitions of a key; ` +
      `${textOf(journal.lastSequence)} commands in total`,
  );
  print(
    `hang-ups       ${textOf(tally.hangUps)} over HTTP, ${textOf(streamTally.hangUps)} on the stream`,
  );
  print(
    `stream         ${textOf(streamTally.messages)} messages, ${textOf(streamTally.resumed)} channels resumed, ${textOf(streamTally.gaps)} gaps, ` +
      `${textOf(streamTally.slowReadersClosed)} slow readers closed`,
  );
  print(
    `markets        ${textOf(result.marketsOpened)} opened; ${textOf(result.totalTrades)} entries in the users' lists of trades`,
  );
  for (const kind of KINDS) print(`${kind.padEnd(14)} ${levelText(result.memory[kind])}`);
}

function levelText(level: Level | null): string {
  if (level === null) return `not judged: the run is shorter than ${JUDGED_FROM_MINUTES} minutes`;
  const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)}`;
  return (
    `${level.isLevel ? 'level' : 'GROWS'}: ${mib(level.startBytes)} MiB after the warm-up, then ${mib(level.growthBytes)} ± ${mib(level.errorBytes)} MiB ` +
    `(growth is more than ${mib(level.allowedBytes)} MiB and more than ${SLOPE_ERRORS} standard errors)`
  );
}

async function run(settings: Settings): Promise<boolean> {
  console.log(machineLine(describeMachine()));
  console.log(
    `exchange  own process, synchronous=FULL, ${settings.speed} times real time, fair use unlimited; seed ${settings.seed}`,
  );
  mkdirSync(settings.folder, { recursive: true });
  const folder = makeFolder(settings.folder);
  try {
    const result = await soak({ ...settings, folder, print: console.log });
    report(result, console.log);
    if (result.problems.length === 0) {
      console.log('\nPASSED: nothing lost, nothing duplicated');
      return true;
    }
    console.log(`\nFAILED`);
    for (const problem of result.problems) console.log(`  ${problem}`);
    return false;
  } finally {
    if (settings.keep) console.log(`the data is in ${folder}`);
    else removeFolder(folder);
  }
}

process.exitCode = (await run(readArguments())) ? 0 : 1;
