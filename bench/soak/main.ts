/**
 * `npm run soak`: mixed HTTP and stream clients load the built exchange for minutes, at a share of
 * its capacity; then everything that was acknowledged is verified. Exit status: 0 passed, 1 failed,
 * 2 invalid arguments.
 */
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { numberOf, readOrExit } from '../measure/command-line.js';
import { describeMachine, machineLine, makeFolder, removeFolder } from '../measure/machine.js';
import { layOut, textOf } from '../measure/report.js';
import { STANDARD_SPEED } from './exchange.js';
import { ALLOWED_BYTES, type Level, SLOPE_ERRORS } from './memory.js';
import {
  CAPACITY_SHARE,
  JUDGED_FROM_MINUTES,
  type SoakOptions,
  type SoakResult,
  soak,
} from './run.js';

const USAGE = `npm run soak -- [options]
  --minutes <n>      how long the load runs (default: 10)
  --rate <n>         requests per second (default: ${CAPACITY_SHARE * 100}% of the measured capacity)
  --users <n>        number of users (default: 200)
  --connections <n>  number of HTTP connections (default: 64)
  --speed <n>        exchange time as a multiple of real time (default: ${STANDARD_SPEED})
  --seed <text>      seed of all random choices (default: 1)
  --folder <path>    parent of the temporary folder (default: the system's)
  --keep             keep the temporary folder`;

interface Settings extends Omit<SoakOptions, 'folder' | 'print'> {
  parent: string;
  keep: boolean;
}

/** @throws Error with the reason, for the operator. */
function readArguments(): Settings {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      rate: { type: 'string' },
      users: { type: 'string', default: '200' },
      connections: { type: 'string', default: '64' },
      speed: { type: 'string', default: `${STANDARD_SPEED}` },
      seed: { type: 'string', default: '1' },
      folder: { type: 'string', default: tmpdir() },
      keep: { type: 'boolean', default: false },
    },
  });
  return {
    minutes: numberOf('--minutes', values.minutes, 0.1, 24 * 60),
    rate: values.rate === undefined ? null : numberOf('--rate', values.rate, 1, 1_000_000),
    users: Math.floor(numberOf('--users', values.users, 1, 10_000)),
    connections: Math.floor(numberOf('--connections', values.connections, 1, 5_000)),
    speed: numberOf('--speed', values.speed, 1, STANDARD_SPEED),
    seed: values.seed,
    parent: values.folder,
    keep: values.keep,
  };
}

function report(result: SoakResult, print: (line: string) => void): void {
  const { tally, streamTally, record, journal } = result;
  print(
    '\nLatency in milliseconds from when a request was due, the wait for a connection included',
  );
  const rows = [...tally.latencies]
    .sort(([, a], [, b]) => b.count - a.count)
    .map(([kind, samples]) => [
      kind,
      samples.count,
      ...[0.5, 0.9, 0.99, 0.999, 1].map((share) => samples.percentile(share)),
    ]);
  const columns = ['request', 'answers', 'p50', 'p90', 'p99', 'p99.9', 'max'];
  for (const line of layOut({ title: '', columns, rows })) print(`  ${line}`);
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
  print(`resident       ${levelText(result.rss)}`);
  print(`heap           ${levelText(result.heap)}`);
}

function levelText(level: Level | null): string {
  if (level === null) return `not judged: the run is shorter than ${JUDGED_FROM_MINUTES} minutes`;
  const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)}`;
  return (
    `${level.isLevel ? 'level' : 'GROWS'}: ${mib(level.startBytes)} MiB after the warm-up, then ${mib(level.growthBytes)} ± ${mib(level.errorBytes)} MiB ` +
    `(growth is more than ${mib(ALLOWED_BYTES)} MiB and more than ${SLOPE_ERRORS} standard errors)`
  );
}

async function run(settings: Settings): Promise<boolean> {
  console.log(machineLine(describeMachine()));
  console.log(
    `exchange  own process, synchronous=FULL, ${settings.speed} times real time, fair use unlimited; seed ${settings.seed}`,
  );
  mkdirSync(settings.parent, { recursive: true });
  const folder = makeFolder(settings.parent);
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

process.exitCode = (await run(readOrExit(readArguments, USAGE))) ? 0 : 1;
