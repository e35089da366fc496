/**
 * `npm run attack`: attacks the built exchange in every way that is known here, and prints what
 * held. Exit status 0: every attack that ran held; 1: a promise was broken; 2: the arguments make
 * no sense.
 */
import { tmpdir } from 'node:os';
import { Command, InvalidArgumentError } from 'commander';
import { describeMachine, machineLine } from '../measure/machine.js';
import { Random } from '../workload/random.js';
import type { AttackClass } from './attack.js';
import { bodies } from './classes/bodies.js';
import { clock } from './classes/clock.js';
import { damage } from './classes/damage.js';
import { descriptors } from './classes/descriptors.js';
import { fullDisk } from './classes/full-disk.js';
import { kill } from './classes/kill.js';
import { numbers } from './classes/numbers.js';
import { races } from './classes/races.js';
import { signIns } from './classes/sign-ins.js';
import { slow } from './classes/slow.js';
import { smuggling } from './classes/smuggling.js';
import { stop } from './classes/stop.js';
import { tokens } from './classes/tokens.js';
import { twoExchanges } from './classes/two-exchanges.js';
import { unread } from './classes/unread.js';
import { type Row, reportText } from './report.js';
import { runClass } from './run.js';

/** In the order in which they run. */
const CLASSES: readonly AttackClass[] = [
  tokens,
  races,
  numbers,
  bodies,
  smuggling,
  slow,
  signIns,
  twoExchanges,
  clock,
  descriptors,
  stop,
  kill,
  fullDisk,
  unread,
  // The last, because it tries as much as the time allows.
  damage,
];

interface Settings {
  only: readonly AttackClass[];
  seed: string;
  minutes: number;
  folder: string;
}

function readArguments(): Settings {
  const names = CLASSES.map(({ name }) => name).join(', ');
  return new Command('attack')
    .description(
      'Attacks the built exchange, each time a process of its own in a temporary folder.',
    )
    .option('--only <classes>', `of ${names}`, classesOf, CLASSES)
    .option('--seed <text>', 'of all random choices', '1')
    .option('--minutes <n>', 'no attack begins later than this', minutesOf, 10)
    .option('--folder <path>', 'where temporary folders are made', tmpdir())
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
    .parse()
    .opts<Settings>();
}

function classesOf(text: string): AttackClass[] {
  return text.split(',').map((name) => {
    const found = CLASSES.find((each) => each.name === name);
    if (found === undefined) throw new InvalidArgumentError(`There is no class ${name}.`);
    return found;
  });
}

function minutesOf(text: string): number {
  const minutes = Number(text);
  if (!(minutes > 0 && minutes <= 1_440))
    throw new InvalidArgumentError('It must be a number up to 1440.');
  return minutes;
}

async function run({ only, seed, minutes, folder }: Settings): Promise<boolean> {
  const deadlineMs = performance.now() + minutes * 60_000;
  console.log(`${machineLine(describeMachine())}; seed ${seed}`);
  const rows: Row[] = [];
  const told = (row: Row) => {
    console.log(`${row.verdict.padEnd(14)} ${row.seconds.toFixed(1).padStart(6)} s  ${row.attack}`);
    rows.push(row);
  };
  for (const attackClass of only) {
    const random = new Random(`${seed}:${attackClass.name}`);
    await runClass(attackClass, { parent: folder, random, deadlineMs, told });
  }
  console.log(reportText(rows));
  return rows.every(({ verdict }) => verdict !== 'BROKEN');
}

/** By way of `exit`, so that no process and no folder is left. */
for (const [signal, number] of [
  ['SIGINT', 2],
  ['SIGTERM', 15],
] as const) {
  process.once(signal, () => process.exit(128 + number));
}

process.exitCode = (await run(readArguments())) ? 0 : 1;
