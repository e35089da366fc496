/**
 * How V8 compiles. Imported before anything else by whatever applies many commands; functions that
 * are compiled earlier keep the defaults.
 *
 * It may inline more into one function: a command passes many small functions of the engine, and
 * with the default budget a tenth of its time goes into calls. Small functions, such as the
 * accessors of rows, are inlined even where the budget is used up. Without that, each rule that is
 * added to the engine turns the accessors of other rules into calls.
 *
 * It compiles on one thread less than there are cores, at least one. By default it takes up to four
 * at a time, which on a machine with two cores take the trading thread's core: while the exchange
 * was warming up, a command could take 4 or 8 ms, one or two time slices of the system.
 *
 * The young generation has its default size: a larger one made the exchange slower.
 */
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';

const compilerThreads = Math.max(1, availableParallelism() - 1);

const flags = [
  '--max-inlined-bytecode-size=1000',
  '--max-inlined-bytecode-size-cumulative=4000',
  '--max-inlined-bytecode-size-small=120',
  `--concurrent-turbofan-max-threads=${compilerThreads}`,
];

// An older Node.js complains of a flag before the program can say which Node.js it needs.
const isKnown = Number.parseInt(process.versions.node, 10) >= 22;
if (isKnown) for (const flag of flags) setFlagsFromString(flag);
