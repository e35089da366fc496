/** The command line of the replay tool: its subcommands and their options. */
import type { Command } from 'commander';
import { ExitStatus, programOf, refusing, statusOf } from '../program.js';
import { audit } from './commands/audit.js';
import { events } from './commands/events.js';
import { explain } from './commands/explain.js';
import { state } from './commands/state.js';
import { verify } from './commands/verify.js';
import { type Point, parseMarket, parsePoint, parseUser, UsageError } from './input/arguments.js';
import { checkFolder, type Invocation } from './input/replay-journal.js';
import { findingOf, findingText } from './output/findings.js';
import { Output } from './output/output.js';
import { progressOn } from './output/progress.js';

interface Streams {
  answers: NodeJS.WriteStream;
  notices: NodeJS.WriteStream;
}

const HELP = `
Every command replays the journal from its first entry and verifies it on the
way. The first damage ends the command with a message that names the sequence,
and exit status 1. A command that stops early (--at, --to) has verified what it
read, not what follows. The tool only reads, and the exchange may be running.

Every command prints objects, and the last one sums it up. With --json each is a
line, with its "type"; without it they are tables, blocks and lines for people.

Snapshots and the history are derived from the journal. Only verify reads them,
so damage in them does not affect the other commands.

A point is a sequence (1042), a time (2025-11-21T04:45:00Z; UTC unless it has an
offset), or milliseconds since the epoch (1763700300000).

Exit status: 0 no damage, 1 damage was found, 2 the request is invalid or the
files cannot be read now.

Examples:
  npm run replay -- --data data verify
  npm run replay -- --data data state --at 2025-11-21T05:00:00Z --user u12
  npm run replay -- --data data events --from 1000 --to 1100 --market btc-15m-1763700300
  npm run --silent replay -- --data data events --user u12 --json > u12.ndjson
  npm run replay -- --data data explain --user u12
  npm run replay -- --data data audit
`;

export function run(argv: readonly string[], streams: Streams): Promise<ExitStatus> {
  let status: ExitStatus = ExitStatus.GOOD;
  const work = async () => {
    await commands(streams, (ended) => (status = ended)).parseAsync([...argv], { from: 'user' });
    return status;
  };
  return statusOf(work, streams.notices, (error) => findingText(findingOf(error)));
}

interface Options {
  at: Point | null;
  from: Point;
  to: Point | null;
  user: number | null;
  market: string | null;
}
const DEFAULTS = { at: null, from: { sequence: 1 }, to: null, user: null, market: null };

type Request = Invocation & Omit<Options, 'user'> & { userId: number | null };

function commands(streams: Streams, end: (status: ExitStatus) => void): Command {
  const program = programOf(
    'replay',
    'Inspects the journal of an exchange, after a crash or in a dispute.',
    streams,
  )
    .usage('--data <folder> <command> [options]')
    .option('--data <folder>', "the exchange's data folder")
    .option('--json', 'print a line of JSON for each object', false)
    .addHelpText('after', HELP);
  /** @param isStream it prints while it replays: then a terminal has no room for the progress. */
  const add = (
    name: string,
    description: string,
    work: (request: Request) => Promise<ExitStatus>,
    isStream = false,
  ) =>
    program
      .command(name)
      .description(description)
      .action(async (given: Options) => {
        const { data: folder, json } = program.opts<{ data?: string; json: boolean }>();
        if (folder === undefined)
          throw new UsageError("required option '--data <folder>' not specified");
        const progress = progressOn(streams.notices, !isStream || !streams.answers.isTTY);
        await checkFolder(folder);
        const { user: userId, ...options } = { ...DEFAULTS, ...given };
        const output = new Output(streams.answers, streams.notices, json);
        try {
          end(await work({ ...options, userId, folder, output, progress }));
          await output.release();
        } finally {
          // Write the verified output before the error that ends the run.
          await output.flush();
        }
      });
  const [point, user, market] = [refusing(parsePoint), refusing(parseUser), refusing(parseMarket)];

  add('verify', 'check that everything in the folder is what the exchange wrote', verify);
  add('state', 'show the whole exchange after a sequence or at a time', state)
    .option('--at <point>', 'sequence or time (default: the end)', point)
    .option('--user <id>', 'only this user, with orders, positions and deposits', user)
    .option('--market <id>', 'only this market, with the orders and positions in it', market);
  add('events', 'list commands with their results and events', events, true)
    .option('--from <point>', 'the first command (default: sequence 1)', point)
    .option('--to <point>', 'the last command (default: the end)', point)
    .option('--user <id>', 'only commands and events of this user', user)
    .option('--market <id>', 'only commands and events in this market', market);
  add(
    'explain',
    "list every change of an account's money, and check that they add up to the balance",
    // commander requires the user option.
    (request) => explain({ ...request, userId: request.userId! }),
    true,
  ).requiredOption('--user <id>', 'the account', user);
  add(
    'audit',
    'check that money is conserved after every batch, and agrees with the events',
    audit,
  );
  return program;
}
