/** `npm run simulate`. Exit status 0: all promises were kept; 1: one was not; 2: bad arguments. */
import { commandLine, wholeNumberFrom } from '../measure/command-line.js';
import { simulate } from './simulation.js';

interface Settings {
  seeds: number;
  from: number;
}

const REPORT_EVERY = 100;

const { seeds, from } = commandLine(
  'simulate',
  'Runs the exchange on a simulated disk, clock and network, once for each seed.',
)
  .option('--seeds <n>', 'how many seeds', wholeNumberFrom(1, 1_000_000), 100)
  .option(
    '--from <n>',
    'the first seed; to repeat a failure, with --seeds 1',
    wholeNumberFrom(0, 1e9),
    1,
  )
  .parse()
  .opts<Settings>();

const total = { commands: 0, answered: 0, crashes: 0, diskFailures: 0, snapshots: 0 };
for (let seed = from; seed < from + seeds; seed++) {
  try {
    const result = await simulate(`${seed}`);
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += result[name];
  } catch (error) {
    console.error(`seed ${seed}: ${(error as Error).stack}`);
    process.exit(1);
  }
  if ((seed - from + 1) % REPORT_EVERY === 0) console.log(`${seed - from + 1} seeds`);
}
console.log(
  `${seeds} seeds: ${total.commands} commands, ${total.answered} answers, ${total.crashes} crashes, ` +
    `${total.diskFailures} failures of the disk, ${total.snapshots} snapshots. Every promise was kept.`,
);
