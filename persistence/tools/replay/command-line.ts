/**
 * The command line of the replay tool: its subcommands, their options and the exit status. (0: no
 * damage; 1: damage, named on standard error; 2: invalid request, or unreadable files.)
 */
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { JournalError, JournalUnavailable } from '../../journal/errors.js';
import { FolderDisturbed } from '../../journal/read-only.js';
import { programVersion } from '../../storage/program-folder.js';
import { audit } from './commands/audit.js';
import { events } from './commands/events.js';
import { explain } from './commands/explain.js';
import { state } from './commands/state.js';
import { verify } from './commands/verify.js';
import {
  type Point,
  parseLimit,
  parseMarket,
  parsePoint,
  parseUser,
  UsageError,
} from './input/arguments.js';
import { checkFolder, ExitStatus, type Invocation } from './input/replay-journal.js';
import { findingOf, findingText } from './output/findings.js';
import { Output } from './output/output.js';
import { progressBar } from './output/progress-bar.js';

interface Streams {
  answers: NodeJS.WriteStream;
  notices: NodeJS.WriteStream;
}

const DEFAULT_ROWS = 20;
const LIMIT_HELP = `rows per table, 0 for all (default: ${DEFAULT_ROWS}, all with --json)`;
const defaultRows = (json: boolean) => (json ? Number.POSITIVE_INFINITY : DEFAULT_ROWS);

const point = refusing(parsePoint);
const user = refusing(parseUser);
const market = refusing(parseMarket);
const limit = refusing(parseLimit);

const HELP = `
Every command replays the journal from its first entry and verifies it on the
way. The first damage ends the command with a message that names the sequence,
and exit status 1. A command that stops early (--at, --to) has verified what it
read, not what follows. The tool only reads, and the exchange may be running.

Snapshots and history.db are derived from the journal. Only verify reads them,
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
  npm run replay -- --data data audit --limit 0
`;

/** Runs the program. `argv` does not include the names of node and the script. */
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
    // The verified output comes before the error that explains why it ends.
    await output.flush();
    return statusOf(error, output);
  }
}

function statusOf(error: unknown, output: Output): ExitStatus {
  if (error instanceof CommanderError)
    return error.exitCode === 0 ? ExitStatus.GOOD : ExitStatus.USAGE;
  if (error instanceof JournalError) {
    output.notice(findingText(findingOf(error)));
    return ExitStatus.DAMAGE;
  }
  if (!isRefusal(error)) throw error;
  output.notice(`error: ${error.message}`);
  return ExitStatus.USAGE;
}

const REFUSALS = [UsageError, JournalUnavailable, FolderDisturbed];

/** The request cannot be carried out, or the operating system has refused it (a full disk, say). */
function isRefusal(error: unknown): error is Error {
  return REFUSALS.some((kind) => error instanceof kind) || isSystemError(error);
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}

/**
 * Runs a subcommand on the folder, and sets the exit status.
 * @param printsRows on the way: then a terminal has no room for the progress bar.
 */
type Run = (
  json: boolean,
  work: (of: Invocation) => Promise<ExitStatus>,
  printsRows?: boolean,
) => Promise<void>;

function programOf(streams: Streams, output: Output, end: (status: ExitStatus) => void): Command {
  const program = new Command('replay')
    .version(programVersion())
    .description('Inspects the journal of an exchange, after a crash or in a dispute.')
    .usage('--data <folder> <command> [options]')
    .option('--data <folder>', "the exchange's data folder")
    .addHelpText('after', HELP)
    .showHelpAfterError('(--help shows the usage)')
    .configureOutput({
      writeOut: (text) => void streams.answers.write(text),
      writeErr: (text) => void streams.notices.write(text),
    })
    .exitOverride();

  const run: Run = async (json, work, printsRows = false) => {
    const { data: folder } = program.opts<{ data?: string }>();
    if (folder === undefined)
      throw new UsageError("required option '--data <folder>' not specified");
    const progress = progressBar(streams.notices, !printsRows || !streams.answers.isTTY);
    await checkFolder(folder);
    end(await work({ folder, json, output, progress }));
  };
  addVerify(program, run);
  addState(program, run);
  addEvents(program, run);
  addExplain(program, run);
  addAudit(program, run);
  return program;
}

function addVerify(program: Command, run: Run): void {
  program
    .command('verify')
    .description('check that everything in the folder is what the exchange wrote')
    .option('--json', 'print JSON', false)
    .action(({ json }: { json: boolean }) => run(json, verify));
}

interface StateOptions {
  at?: Point;
  user?: number;
  market?: string;
  limit?: number;
  json: boolean;
}

function addState(program: Command, run: Run): void {
  program
    .command('state')
    .description('show the whole exchange after a sequence or at a time')
    .option('--at <point>', 'sequence or time (default: the end)', point)
    .option('--user <id>', 'only this user, with orders, positions and deposits', user)
    .option('--market <id>', 'only this market, with the orders and positions in it', market)
    .option('--limit <rows>', LIMIT_HELP, limit)
    .option('--json', 'print JSON', false)
    .action(async (options: StateOptions) => {
      const { at = null, user = null, market = null, json } = options;
      const limit = options.limit ?? defaultRows(json);
      await run(json, (of) => state({ ...of, at, userId: user, market, limit }));
    });
}

interface EventsOptions {
  from?: Point;
  to?: Point;
  user?: number;
  market?: string;
  json: boolean;
}

function addEvents(program: Command, run: Run): void {
  program
    .command('events')
    .description('list commands with their results and events')
    .option('--from <point>', 'the first command (default: sequence 1)', point)
    .option('--to <point>', 'the last command (default: the end)', point)
    .option('--user <id>', 'only commands and events of this user', user)
    .option('--market <id>', 'only commands and events in this market', market)
    .option('--json', 'print one JSON object per command and line', false)
    .action(async (options: EventsOptions) => {
      const from = options.from ?? { sequence: 1 };
      const { to = null, user = null, market = null, json } = options;
      const filter = { from, to, userId: user, market };
      await run(json, (of) => events({ ...of, ...filter }), true);
    });
}

function addExplain(program: Command, run: Run): void {
  program
    .command('explain')
    .description(
      "list every change of an account's money, and check that they add up to the balance",
    )
    .requiredOption('--user <id>', 'the account', user)
    .option(
      '--json',
      'print one JSON object per change and line, and a summary in the last line',
      false,
    )
    .action(({ user, json }: { user: number; json: boolean }) =>
      run(json, (of) => explain({ ...of, userId: user }), true),
    );
}

function addAudit(program: Command, run: Run): void {
  program
    .command('audit')
    .description('check that money is conserved and every market is covered after every batch')
    .option('--limit <rows>', LIMIT_HELP, limit)
    .option('--json', 'print JSON', false)
    .action(({ limit, json }: { limit?: number; json: boolean }) =>
      run(json, (of) => audit({ ...of, limit: limit ?? defaultRows(json) })),
    );
}

/** Makes commander report an invalid value with its option. */
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
