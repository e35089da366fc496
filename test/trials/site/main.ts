/**
 * `npm run site`: measures the site in Chromium, or takes the README's screenshots. Exit status 1:
 * a budget was not kept; 2: invalid arguments.
 */
import { Argument, Command } from 'commander';
import { measureSite, SECTION_NAMES } from './measure.js';
import { takeScreenshots } from './screenshots.js';

const program = new Command('site').exitOverride(({ exitCode }) =>
  process.exit(exitCode === 0 ? 0 : 2),
);
program
  .command('measure')
  .description('compares the site with its budgets')
  .addArgument(new Argument('[sections...]').choices(SECTION_NAMES))
  .action(measureSite);
program
  .command('screenshots')
  .description('makes the pictures of the README')
  .action(takeScreenshots);
await program.parseAsync();
