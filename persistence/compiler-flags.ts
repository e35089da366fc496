/**
 * V8's compiler flags. Every program that applies many commands imports this file first; functions
 * compiled earlier keep the defaults.
 *
 * V8 may inline more into one function: a command passes through many small functions of the
 * engine, and with the default budget a tenth of its time goes into calls. Small functions, such as
 * the accessors of rows, are inlined even if the budget is used up. Otherwise each new rule of the
 * engine would turn other rules' accessors into calls.
 *
 * V8 compiles on one thread less than there are cores, at least one. The default is up to four,
 * which on a machine with two cores take the trading thread's core: while the exchange was warming
 * up, a command could take 4 or 8 ms, one or two time slices of the system.
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
