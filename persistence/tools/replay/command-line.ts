/**
 * The command line of the replay tool: its subcommands, their options and the exit status. (0: no
 * damage; 1: damage, named on standard error; 2: invalid request, or unreadable files.)
 */
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { JournalError, JournalUnavailable } from '../../journal/errors.js';
import { FolderDisturbed } from '../../journal/read-only.js';
import { programVersion } from '../../storage/program-folder.js';
import { withArchive } from '../operations/archive.js';
import { audit } from './commands/audit.js';
import { compare } from './commands/compare.js';
import { events } from './commands/events.js';
import { explain } from './commands/explain.js';
import { repair } from './commands/repair.js';
import { state } from './commands/state.js';
import { verify } from './commands/verify.js';
import {
  type Point,
  parseLimit,
  parseMarket,
  parsePoint,
  parseSequence,
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
Every command but compare replays the journal from its first entry and verifies
it on the way. The first damage ends the command with a message that names the
sequence, and exit status 1. A command that stops early (--at, --to) has
verified what it read, not what follows. The tool only reads (repair writes to a
new folder), and the exchange may be running.

Snapshots and history.db are derived from the journal. Only verify reads them,
so damage in them does not affect the other commands.

A point is a sequence (1042), a time (2025-11-21T04:45:00Z; UTC unless it has an
offset), or milliseconds since the epoch (1763700300000).

Exit status: 0 no damage, 1 damage was found (compare: a difference), 2 the
request is invalid or the files cannot be read now.

Examples:
  npm run replay -- --data data verify
  npm run replay -- --data data state --at 2025-11-21T05:00:00Z --user u12
  npm run replay -- --data data events --from 1000 --to 1100 --market btc-15m-1763700300
  npm run --silent replay -- --data data events --user u12 --json > u12.ndjson
  npm run replay -- --data data explain --user u12
  npm run replay -- --data data audit --limit 0
  npm run replay -- compare data backup
  npm run replay -- --data data repair --truncate-after 1042 --to repaired
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

type Folderless = Omit<Invocation, 'folder' | 'earlier'>;

/** What the subcommands share. */
interface Shell {
  /** Sets the exit status. */
  end: (status: ExitStatus) => void;
  /** @param printsRows on the way: then a terminal has no room for the progress bar. */
  invocation: (json: boolean, printsRows?: boolean) => Invocation;
  folderless: (json: boolean) => Folderless;
  /** Runs `work` with the archived segments, and sets the exit status. */
  reading: (invoked: Invocation, work: (of: Invocation) => Promise<ExitStatus>) => Promise<void>;
}

function programOf(streams: Streams, output: Output, end: (status: ExitStatus) => void): Command {
  const program = new Command('replay')
    .version(programVersion())
    .description('Inspects the journal of an exchange, after a crash or in a dispute.')
    .usage('--data <folder> <command> [options]')
    .option('--data <folder>', "the exchange's data folder (not for compare)")
    .option('--archive <folder>', 'has the segments that were moved there')
    .addHelpText('after', HELP)
    .showHelpAfterError('(--help shows the usage)')
    .configureOutput({
      writeOut: (text) => void streams.answers.write(text),
      writeErr: (text) => void streams.notices.write(text),
    })
    .exitOverride();

  const dataFolder = (): string => {
    const { data } = program.opts<{ data?: string }>();
    if (data === undefined) throw new UsageError("required option '--data <folder>' not specified");
    return data;
  };
  const folderless = (json: boolean, printsRows = false): Folderless => ({
    archive: program.opts<{ archive?: string }>().archive ?? null,
    json,
    output,
    progress: progressBar(streams.notices, !printsRows || !streams.answers.isTTY),
  });
  const invocation = (json: boolean, printsRows = false): Invocation => ({
    ...folderless(json, printsRows),
    folder: dataFolder(),
    earlier: [],
  });
  const reading = async (
    invoked: Invocation,
    work: (of: Invocation) => Promise<ExitStatus>,
  ): Promise<void> => {
    const { folder, archive } = invoked;
    await checkFolder(folder);
    await withArchive(folder, archive, async (earlier) => end(await work({ ...invoked, earlier })));
  };
  const shell = { end, folderless, invocation, reading };
  addVerify(program, shell);
  addState(program, shell);
  addEvents(program, shell);
  addExplain(program, shell);
  addAudit(program, shell);
  addCompare(program, shell);
  addRepair(program, shell);
  return program;
}

function addVerify(program: Command, { invocation, reading }: Shell): void {
  program
    .command('verify')
    .description('check that everything in the folder is what the exchange wrote')
    .option('--json', 'print JSON', false)
    .action(({ json }: { json: boolean }) => reading(invocation(json), verify));
}

interface StateOptions {
  at?: Point;
  user?: number;
  market?: string;
  limit?: number;
  json: boolean;
}

function addState(program: Command, { invocation, reading }: Shell): void {
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
      await reading(invocation(json), (of) => state({ ...of, at, userId: user, market, limit }));
    });
}

interface RepairOptions {
  truncateAfter: number;
  to: string;
  json: boolean;
}

interface EventsOptions {
  from?: Point;
  to?: Point;
  user?: number;
  market?: string;
  json: boolean;
}

function addEvents(program: Command, { invocation, reading }: Shell): void {
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
      await reading(invocation(json, true), (of) => events({ ...of, ...filter }));
    });
}

function addExplain(program: Command, { invocation, reading }: Shell): void {
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
      reading(invocation(json, true), (of) => explain({ ...of, userId: user })),
    );
}

function addAudit(program: Command, { invocation, reading }: Shell): void {
  program
    .command('audit')
    .description('check that money is conserved and every market is covered after every batch')
    .option('--limit <rows>', LIMIT_HELP, limit)
    .option('--json', 'print JSON', false)
    .action(({ limit, json }: { limit?: number; json: boolean }) =>
      reading(invocation(json), (of) => audit({ ...of, limit: limit ?? defaultRows(json) })),
    );
}

/** It has two folders, and none in --data. */
function addCompare(program: Command, { end, folderless }: Shell): void {
  program
    .command('compare <a> <b>')
    .description('find the first command in which two journals differ')
    .option('--json', 'print JSON', false)
    .action(async (a: string, b: string, { json }: { json: boolean }) => {
      end(await compare({ ...folderless(json), folders: [a, b] }));
    });
}

function addRepair(program: Command, { end, invocation }: Shell): void {
  program
    .command('repair')
    .description('copy the good beginning of a damaged journal into a new folder')
    .requiredOption(
      '--truncate-after <sequence>',
      'the last sequence that is kept',
      refusing(parseSequence),
    )
    .requiredOption('--to <folder>', 'a new folder')
    .option('--json', 'print JSON', false)
    .action(async (options: RepairOptions) => {
      const { truncateAfter: after, to, json } = options;
      end(await repair({ ...invocation(json), after, to }));
    });
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
