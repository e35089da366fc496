/** `npm run simulate`. Exit status 0: all promises were kept; 1: one was not; 2: bad arguments. */
import { commandLine, wholeNumberFrom } from '../measure/command-line.js';
import { simulateShards } from './shards/simulation.js';
import { simulate } from './simulation.js';

interface Settings {
  seeds: number;
  from: number;
  shards: boolean;
}

const REPORT_EVERY = 100;

const { seeds, from, shards } = commandLine(
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
  .option('--shards', 'four shards between which money moves, in place of one exchange', false)
  .parse()
  .opts<Settings>();

const total: Record<string, number> = {};
for (let seed = from; seed < from + seeds; seed++) {
  try {
    const result = await (shards ? simulateShards : simulate)(`${seed}`);
    for (const [name, count] of Object.entries(result))
      if (typeof count === 'number') total[name] = (total[name] ?? 0) + count;
  } catch (error) {
    console.error(`seed ${seed}: ${(error as Error).stack}`);
    process.exit(1);
  }
  if ((seed - from + 1) % REPORT_EVERY === 0) console.log(`${seed - from + 1} seeds`);
}
const counts = Object.entries(total).map(([name, count]) => `${name} ${count}`);
console.log(`${seeds} seeds: ${counts.join(', ')}. Every promise was kept.`);
