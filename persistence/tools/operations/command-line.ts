/** The command line of the operator's program: subcommands, options, exit status. */
import type { Command } from 'commander';
import { JournalError } from '../../journal/errors.js';
import { FORMAT_VERSION } from '../../journal/format.js';
import { segmentName } from '../../journal/segments.js';
import { noteBackup } from '../../recovery/last-backup.js';
import { isPostgres, readAddress, readSecrets } from '../../replication/postgres/address.js';
import type { JournalPlace } from '../../replication/source.js';
import { SECRET_FILE } from '../../storage/session-secret.js';
import { ExitStatus, programOf, refusing, statusOf } from '../program.js';
import { parsePoint } from '../replay/input/arguments.js';
import { archiveSegments, restoreSegments } from './archive.js';
import { backup, type CopyReport, restore } from './backup.js';
import type { CopyEnd } from './copy-journal.js';
import { diagnose } from './doctor.js';
import { hasSecret, OperationRefused } from './folders.js';
import { copyForAudit, move } from './move.js';
import { takeover } from './takeover.js';
import { upgrade } from './upgrade.js';

type Stream = Pick<NodeJS.WriteStream, 'write'>;

export function run(
  argv: readonly string[],
  streams: { answers: Stream; notices: Stream },
): Promise<ExitStatus> {
  const description = 'Copies and restores the data of an exchange, and changes its leader.';
  const program = programOf('operations', description, streams);
  const say: Say = (text) => void streams.answers.write(`${text}\n`);
  for (const add of [
    addBackup,
    addRestore,
    addArchive,
    addUpgrade,
    addCopy,
    addTakeover,
    addDoctor,
  ])
    add(program, say);
  const work = async () => {
    await program.parseAsync([...argv], { from: 'user' });
    return ExitStatus.GOOD;
  };
  return statusOf(work, streams.notices);
}

type Say = (text: string) => void;

function addBackup(program: Command, say: Say): void {
  program
    .command('backup')
    .description('copy a data folder, even while the exchange trades; repeat to add what is new')
    .requiredOption('--data <folder>', "the exchange's data folder")
    .requiredOption('--to <folder>', 'the backup: a new folder, or an earlier backup')
    .action(async ({ data, to }: { data: string; to: string }) => {
      const report = await backup({ from: data, to });
      if (report.damage === null) {
        say(reportText(`${to} is a backup of ${data}`, report));
        return noteBackup(data, report.end.sequence);
      }
      const added = report.end.sequence - report.before;
      say(
        `${to} now contains everything readable of ${data}, up to sequence ${report.end.sequence}: ` +
          `${added} commands were added. ${hasSecret(to) ? SECRET_STAYS : NO_SECRET}`,
      );
      throw report.damage;
    });
}

interface RestoreOptions {
  data: string;
  to: string;
  at?: CopyEnd;
}

function addRestore(program: Command, say: Say): void {
  program
    .command('restore')
    .description('copy a backup, or the good beginning of a damaged folder, into a new one')
    .requiredOption('--data <folder>', 'the backup, or any data folder')
    .requiredOption('--to <folder>', 'a new folder')
    .option(
      '--at <point>',
      'sequence or time of the last batch (default: the end)',
      refusing(parsePoint),
    )
    .action(async ({ data, to, at = null }: RestoreOptions) => {
      const report = await restore({ from: data, to, at });
      say(reportText(`${to} is restored from ${data}`, report));
    });
}

interface ArchiveOptions {
  data: string;
  to: string;
  restore: boolean;
  withoutHistory: boolean;
}

function addArchive(program: Command, say: Say): void {
  program
    .command('archive')
    .description('move sealed journal segments to an archive, even while the exchange trades')
    .requiredOption('--data <folder>', "the exchange's data folder")
    .requiredOption('--to <folder>', 'the archive')
    .option('--restore', 'bring back the segments that the data folder lacks', false)
    .option('--without-history', 'also move segments that the history does not include yet', false)
    .action(async ({ data, to, restore, withoutHistory }: ArchiveOptions) => {
      const request = { folder: data, archive: to, withoutHistory };
      if (!restore) {
        const { moved, oldestSnapshot, problem } = await archiveSegments(request);
        say(
          moved.length === 0
            ? `No segment was moved to ${to}: one is moved when it is sealed and ends before the ` +
                `oldest snapshot that the journal vouches for (sequence ${oldestSnapshot || 'none'}).`
            : `Segments moved to ${to}: ${moved.join(', ')}`,
        );
        if (problem !== null) throw new NotWell(problem, null);
        return;
      }
      const { segments, unproven } = await restoreSegments(request);
      const names = segments.map(({ number }) => segmentName(number)).join(', ');
      say(
        names === ''
          ? `No segment was brought back from ${to}: the archive contains no segment that ${data} lacks and whose contents it can prove.`
          : `Segments brought back from ${to}: ${names}`,
      );
      if (unproven.length > 0)
        say(
          `Segments left in the archive, because the segment after each is missing in ${data}, so ` +
            `nothing proves that they are right: ${unproven.join(', ')}`,
        );
    });
}

/** Exit status 1: the exchange does not start, lacks a part, or the command is incomplete. */
class NotWell extends JournalError {}

function addDoctor(program: Command, say: Say): void {
  program
    .command('doctor')
    .description('report how far a data folder is good, and what to do; change nothing')
    .requiredOption('--data <folder>', "the exchange's data folder")
    .option('--backup <folder>', 'its backup')
    .action(async ({ data, backup }: { data: string; backup?: string }) => {
      const { starts, isComplete, text } = await diagnose({ data, backup: backup ?? null });
      say(text);
      if (!starts) throw new NotWell(`no exchange can start on ${data}`, null);
      if (!isComplete)
        throw new NotWell('an exchange can start, but the problems listed above remain', null);
    });
}

function addUpgrade(program: Command, say: Say): void {
  program
    .command('upgrade')
    .description('prepare a data folder for this program, even while an older program trades on it')
    .requiredOption('--data <folder>', "the exchange's data folder")
    .option('--to <folder>', 'a new folder, for a journal of the previous version')
    .action(async ({ data, to = null }: { data: string; to?: string | null }) => {
      const { sequence, digest } = await upgrade({ from: data, to, say });
      const replayed = `The journal was replayed to its end at sequence ${sequence}, digest ${digest}`;
      say(
        to === null
          ? `${data} has a snapshot for this program. ${replayed}; the next command vouches for the ` +
              'snapshot. Start this program on the folder. To go back, start the older program.'
          : `${to} is ${data}, upgraded to version ${FORMAT_VERSION}. ${replayed}; the next command ` +
              `records the upgrade. ${data} was not changed.`,
      );
    });
}

interface SecretFiles {
  passwordFile?: string;
  caFile?: string;
}

function withSecrets(command: Command): Command {
  return command
    .option('--password-file <path>', "a file with the database's password, mode 0600")
    .option('--ca-file <path>', 'a file with the certificate of the authority (PEM)');
}

interface CopyOptions extends SecretFiles {
  from: string;
  to: string;
  unreplicated: boolean;
  live: boolean;
}

function addCopy(program: Command, say: Say): void {
  withSecrets(program.command('copy'))
    .description(
      'copy a whole journal between a data folder and PostgreSQL, while no exchange runs',
    )
    .requiredOption('--from <place>', 'a data folder, or postgres://user@host:port/database')
    .requiredOption('--to <place>', 'a new folder, or an empty database')
    .option('--unreplicated', 'accept a database without standbys', false)
    .option(
      '--live',
      'for an audit: copy the current journal from PostgreSQL, while an exchange leads',
      false,
    )
    .action(async ({ from, to, unreplicated: isUnreplicated, live, ...files }: CopyOptions) => {
      const [source, target] = [from, to].map((text) => placeOf(text, files));
      if (live) {
        if (!('postgres' in source!) || !('folder' in target!))
          throw new OperationRefused('--live copies from postgres://… to a new folder');
        const { sequence, digest } = await copyForAudit(source.postgres, target.folder);
        say(
          `${to} has the journal of ${from} up to sequence ${sequence}, digest ${digest}. Do not start an ` +
            'exchange on it: that would be a second exchange with the same ids.',
        );
        return;
      }
      const end = await move({ from: source!, to: target!, isUnreplicated });
      say(`${to} has the journal of ${from} up to sequence ${end.sequence}, digest ${end.digest}.`);
    });
}

const TAKEOVER_MS = 20_000;

function addTakeover(program: Command, say: Say): void {
  withSecrets(program.command('takeover'))
    .description('ask the leader of a journal on PostgreSQL to hand over to a waiting standby')
    .requiredOption('--journal <address>', 'postgres://user@host:port,host:port/database')
    .action(async ({ journal, ...secrets }: SecretFiles & { journal: string }) => {
      const place = placeOf(journal, secrets);
      if (!('postgres' in place))
        throw new OperationRefused('--journal must begin with postgres://');
      const done = await takeover({ address: place.postgres, limitMs: TAKEOVER_MS });
      say(`${done.serving} leads in epoch ${done.epoch}, ${done.tookMs} ms after the request.`);
    });
}

function placeOf(text: string, { passwordFile, caFile }: SecretFiles): JournalPlace {
  if (!isPostgres(text)) return { folder: text };
  const files = { passwordFile: passwordFile ?? null, authorityFile: caFile ?? null };
  readSecrets(files);
  try {
    return { postgres: readAddress(text, files) };
  } catch (error) {
    throw new OperationRefused(`the address ${(error as Error).message}`);
  }
}

const NO_SECRET =
  'The session secret was left out: every user must sign in again, because new users may get the ' +
  'ids of lost users.';

const SECRET_STAYS =
  'The folder keeps its session secret, so users stay signed in. New users may get the ids of lost ' +
  "users; the exchange refuses the lost users' tokens, because they are older than the new " +
  "accounts. If the exchange's clock will start earlier than before (FEED_SPEED, or a price file), " +
  `remove ${SECRET_FILE}: every user must then sign in again.`;

function reportText(what: string, report: CopyReport): string {
  const { before, end, snapshotSequence, isWhole, lost } = report;
  const { sequence, digest } = end;
  const snapshot =
    snapshotSequence === 0
      ? 'It has no snapshot: startup replays the whole journal.'
      : `It has the snapshot at sequence ${snapshotSequence}.`;
  return (
    `${what} up to sequence ${sequence}, digest ${digest ?? 'none'}: ` +
    `${sequence - before} commands were copied. ${snapshot}${isWhole ? '' : ` It lacks ${lost ?? 'an unknown number of'} later commands that had been acknowledged. ${NO_SECRET}`}`
  );
}
