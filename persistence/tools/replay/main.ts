/** The replay tool as a program: `npm run replay -- --help`. */
import '../../compiler-flags.js';
import { run } from './command-line.js';

/** The shell's status for a program ended by SIGPIPE. */
const READER_GONE = 141;

// Without a handler, these signals end the process without an `exit` event, and the listeners that
// remove temporary files do not run.
for (const [signal, number] of [
  ['SIGINT', 2],
  ['SIGTERM', 15],
] as const) {
  process.once(signal, () => process.exit(128 + number));
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(READER_GONE);
  throw error;
});

process.exitCode = await run(process.argv.slice(2), {
  answers: process.stdout,
  notices: process.stderr,
});
