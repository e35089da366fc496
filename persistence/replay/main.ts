/** The replay tool as a program. `npm run replay -- --help` says what it does. */
import { run } from './command-line.js';

/** What a shell reports for a program whose reader went away. */
const READER_GONE = 141;

/** By way of `exit`, so that temporary files are removed. */
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

process.exitCode = await run(process.argv.slice(2), { answers: process.stdout, notices: process.stderr });
