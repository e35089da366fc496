/**
 * The operator's program: `npm run backup`, `npm run restore`, `npm run takeover` and others. Exit
 * status: 0 done, 1 a folder is damaged, 2 the request is invalid or cannot be carried out now.
 */
import '../../compiler-flags.js';
import { run } from './command-line.js';

process.exitCode = await run(process.argv.slice(2), {
  answers: process.stdout,
  notices: process.stderr,
});
