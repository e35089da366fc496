/** `npm run attack`. Exit status 0: all held; 1: a promise was broken; 2: invalid arguments. */
import { tmpdir } from 'node:os';
import { commandLine, listOf, numberFrom, oneOf } from '../measure/command-line.js';
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
  // Last, because it tries as much as the time allows.
  damage,
];

interface Settings {
  only: readonly AttackClass[];
  seed: string;
  minutes: number;
  folder: string;
}

function readArguments(): Settings {
  const names = CLASSES.map(({ name }) => name);
  const classOf = (text: string) => CLASSES[names.indexOf(oneOf(names)(text))]!;
  return commandLine('attack', 'Attacks the built exchange, each time in a temporary folder.')
    .option('--only <classes>', `of ${names.join(', ')}`, listOf(classOf), CLASSES)
    .option('--seed <text>', 'of all random choices', '1')
    .option('--minutes <n>', 'no attack begins later than this', numberFrom(1e-9, 1_440), 10)
    .option('--folder <path>', 'parent of temporary folders', tmpdir())
    .parse()
    .opts<Settings>();
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

/** Ends by `exit`, which removes processes and folders. */
for (const [signal, number] of [
  ['SIGINT', 2],
  ['SIGTERM', 15],
] as const) {
  process.once(signal, () => process.exit(128 + number));
}

process.exitCode = (await run(readArguments())) ? 0 : 1;
