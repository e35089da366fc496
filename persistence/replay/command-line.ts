/**
 * The command line of the replay tool: which verbs there are, what they take, and the exit status that says how it
 * ended. 0: all is well. 1: damage was found, and named on standard error. 2: the request makes no
 * sense, or what it needs cannot be read now.
 */
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { JournalError, JournalUnavailable } from '../journal/errors.js';
import { audit } from './commands/audit.js';
import { events } from './commands/events.js';
import { explain } from './commands/explain.js';
import { state } from './commands/state.js';
import { verify } from './commands/verify.js';
import { parseLimit, parseMarket, parsePoint, parseUser } from './input/arguments.js';
import { ExitStatus, UsageError } from './input/errors.js';
import type { Progress } from './input/replay-journal.js';
import { findingOf, findingText } from './output/findings.js';
import { Output } from './output/output.js';
import { progressBar } from './output/progress-bar.js';

export interface Streams {
  answers: NodeJS.WriteStream;
  notices: NodeJS.WriteStream;
}

/** What every verb gets. */
interface Common {
  folder: string;
  json: boolean;
  output: Output;
  progress: Progress;
}

const DEFAULT_ROWS = 20;

const HELP = `
Everything is read from the journal alone, from its first command on, and proven on the way: the first damage ends
any verb with a message that names the sequence, and exit status 1. Only reads; an exchange may be running. A verb that
stops early (--at, --to) has proven what it read, not what comes after.

Snapshots and history.db are made from the journal. Damage in them is found by verify; the other verbs do not read
them, so what they say is right all the same.

Places in the journal are a sequence (1042), a time (2025-11-21T04:45:00Z; UTC unless it says otherwise), or
milliseconds since the epoch (1763700300000).

Exit status: 0 all is well, 1 damage was found, 2 the request makes no sense, or the files cannot be read now.

Examples:
  npm run replay -- --data data verify
  npm run replay -- --data data state --at 2025-11-21T05:00:00Z --user u12
  npm run replay -- --data data events --from 1000 --to 1100 --market btc-15m-1763700300
  npm run --silent replay -- --data data events --user u12 --json > u12.ndjson
  npm run replay -- --data data explain --user u12
  npm run replay -- --data data audit --limit 0
`;

/** Runs the program; `argv` without the names of node and the script. */
export async function run(argv: readonly string[], streams: Streams): Promise<ExitStatus> {
  const output = new Output(streams.answers, streams.notices);
  let status: ExitStatus = ExitStatus.GOOD;
  const program = programOf(streams, output, (ended) => (status = ended));
  try {
    await program.parseAsync([...argv], { from: 'user' });
    await output.release();
    await output.flush();
    return status;
  } catch (error) {
    // What was proven before the damage; the damage then explains why there is no more.
    await output.flush();
    return statusOf(error, output);
  }
}

function statusOf(error: unknown, output: Output): ExitStatus {
  if (error instanceof CommanderError) return error.exitCode === 0 ? ExitStatus.GOOD : ExitStatus.USAGE;
  if (error instanceof UsageError) {
    output.notice(`error: ${error.message}`);
    return ExitStatus.USAGE;
  }
  if (error instanceof JournalError) {
    output.notice(findingText(findingOf(error)));
    return ExitStatus.DAMAGE;
  }
  if (error instanceof JournalUnavailable || isSystemError(error)) {
    output.notice(`error: ${error.message}`);
    return ExitStatus.USAGE;
  }
  throw error;
}

/** What the operating system refuses: no permission, no space for a temporary file. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

function programOf(streams: Streams, output: Output, end: (status: ExitStatus) => void): Command {
  const program = new Command('replay')
    .description('Looks into the journal of an exchange, after a crash or in a dispute.')
    .usage('--data <folder> <verb> [options]')
    .requiredOption('--data <folder>', "the exchange's data folder")
    .addHelpText('after', HELP)
    .showHelpAfterError('(--help shows how it is used)')
    .configureOutput({
      writeOut: (text) => void streams.answers.write(text),
      writeErr: (text) => void streams.notices.write(text),
    })
    .exitOverride();

  const common = (json: boolean): Common => ({
    folder: program.opts<{ data: string }>().data,
    json,
    output,
    // A bar would stand between the lines of a verb that prints as it goes.
    progress: progressBar(streams.notices, !streams.answers.isTTY),
  });
  const quiet = (json: boolean): Common => ({
    ...common(json),
    progress: progressBar(streams.notices, true),
  });

  program
    .command('verify')
    .description('is everything in the folder what the exchange wrote?')
    .option('--json', 'for machines', false)
    .action(async ({ json }: { json: boolean }) => end(await verify(quiet(json))));

  program
    .command('state')
    .description('the whole exchange as it was after a command or at a time')
    .option('--at <place>', 'sequence or time; left out: the end', refusing(parsePoint))
    .option('--user <id>', 'one user and what is theirs', refusing(parseUser))
    .option('--market <id>', 'one market, and orders and positions in it', refusing(parseMarket))
    .option(
      '--limit <rows>',
      `rows per table, 0 for all (default: ${DEFAULT_ROWS}, all with --json)`,
      refusing(parseLimit),
    )
    .option('--json', 'for machines', false)
    .action(async (options: StateOptions) => {
      const { at = null, user = null, market = null, json } = options;
      const limit = options.limit ?? (json ? Number.POSITIVE_INFINITY : DEFAULT_ROWS);
      end(await state({ ...quiet(json), at, userId: user, market, limit }));
    });

  program
    .command('events')
    .description('commands, what each was answered, and what it made happen')
    .option('--from <place>', 'the first one (default: sequence 1)', refusing(parsePoint))
    .option('--to <place>', 'the last one; left out: the end', refusing(parsePoint))
    .option('--user <id>', 'only what concerns this user', refusing(parseUser))
    .option('--market <id>', 'only what concerns this market', refusing(parseMarket))
    .option('--json', 'for machines: one JSON object per line and command', false)
    .action(async (options: EventsOptions) => {
      const from = options.from ?? { sequence: 1 };
      const { to = null, user = null, market = null, json } = options;
      end(await events({ ...common(json), from, to, userId: user, market }));
    });

  program
    .command('explain')
    .description("every change of an account's money, adding up to its balance")
    .requiredOption('--user <id>', 'whose money', refusing(parseUser))
    .option('--json', 'for machines: one JSON object per line and change, the last one is the sum', false)
    .action(async ({ user, json }: { user: number; json: boolean }) =>
      end(await explain({ ...common(json), userId: user })),
    );

  program
    .command('audit')
    .description('was money conserved and every market covered, after every batch?')
    .option(
      '--limit <rows>',
      `rows of the table of markets, 0 for all (default: ${DEFAULT_ROWS})`,
      refusing(parseLimit),
    )
    .option('--json', 'for machines', false)
    .action(async ({ limit = DEFAULT_ROWS, json }: { limit?: number; json: boolean }) =>
      end(await audit({ ...quiet(json), limit })),
    );

  return program;
}

interface StateOptions {
  at?: ReturnType<typeof parsePoint>;
  user?: number;
  market?: string;
  limit?: number;
  json: boolean;
}

interface EventsOptions {
  from?: ReturnType<typeof parsePoint>;
  to?: ReturnType<typeof parsePoint>;
  user?: number;
  market?: string;
  json: boolean;
}

/** So that a bad value is reported with the option that it was given to. */
function refusing<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof UsageError) throw new InvalidArgumentError(`${error.message}.`);
      throw error;
    }
  };
}
