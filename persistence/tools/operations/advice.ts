/**
 * The next commands to run after `doctor`'s findings.
 *
 * Invariant: steps are ordered by the commands they keep, most first; equal steps by what else
 * they lose. No advised command would refuse the folder as found.
 */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { JournalError, MixedSegments, restoreCommand } from '../../journal/errors.js';
import type { FoundJournal } from '../../journal/journal.js';
import { listSegments, segmentNumber } from '../../journal/segments.js';
import { listSnapshots } from '../../recovery/snapshot/folder.js';
import { SECRET_FILE } from '../../storage/session-secret.js';
import { acknowledgedIn, type Examined } from './examine.js';

const NEW = '<a new folder>';

interface Places {
  data: Examined;
  backup: Examined | null;
}

export interface Advice {
  lines: string[];
  /** The steps, best first; empty if the exchange starts, or if another remedy is given. */
  steps: Step[];
}

export function advice(places: Places): Advice {
  const { folder, asStart } = places.data;
  if (!(asStart instanceof JournalError))
    return { lines: whenItStarts(places, asStart), steps: [] };
  const steps = stepsFor(places);
  if (asStart.firstBadSequence === null && !steps.some(({ isInPlace }) => isInPlace))
    return { lines: [remedyOf(asStart, places.backup)], steps: [] };
  if (steps.length === 0) return { lines: [withoutSteps(places)], steps };
  const lines = [
    ...inAnArchive(places.data),
    `Change nothing in ${folder} by hand. Possible commands, the best first:`,
    ...steps.flatMap(({ keeps, commands }) => [
      `  keeps everything up to ${keeps}; ${lossText(places.data, keeps)}`,
      ...commands.map((command) => `    ${command}`),
    ]),
  ];
  return { lines, steps };
}

function remedyOf({ remedy }: JournalError, backup: Examined | null): string {
  if (remedy === null) return "Follow the advice under 'problem'.";
  return remedy.replace('<the backup>', backup?.folder ?? '<the backup>');
}

function withoutSecret(folder: string, backup: Examined | null): string[] {
  const path = join(folder, SECRET_FILE);
  if (existsSync(path)) return [];
  return [
    `There is no ${SECRET_FILE}: without SESSION_SECRET_FILE, startup creates a new one, and all sessions`,
    'and named tokens end. If a backup has one, and no commands were left out here (restore --at),',
    'put it back first:',
    `  cp -p ${join(backup?.folder ?? '<the backup>', SECRET_FILE)} ${path}`,
  ];
}

/** Text rather than a command: only the operator knows the other variables, such as PRICE_FEED. */
const startAs = (variables: string) =>
  `start it with the same variables as before, and with ${variables}`;

/** Advises to look for the damaged segment in an archive, because that may keep more. */
function inAnArchive({ folder, asStart }: Examined): string[] {
  const { file } = asStart as JournalError;
  const number = file === null ? null : segmentNumber(basename(file));
  if (number === null || number === listSegments(folder).at(-1)?.number) return [];
  return [
    `If there is an archive that has ${basename(file!)}, bring it back, and run doctor again:`,
    `  ${restoreCommand(folder)}`,
  ];
}

function whenItStarts(places: Places, { end: { sequence: end }, isNew }: FoundJournal): string[] {
  const { data, backup } = places;
  const { folder, damage, goodAfterBackup } = data;
  const start = `  ${startAs(`DATA_FOLDER=${folder}`)}`;
  if (isNew)
    return [
      'There is no journal, and nothing shows that there was one: startup creates a new, empty exchange,',
      'unless REQUIRE_JOURNAL=on. If there was one, name its backup: --backup. Otherwise:',
      start,
    ];
  const lines = [
    'An exchange can start on the journal, and nothing in the folder shows that a command is lost.',
    ...withoutSecret(folder, backup),
    'The exchange checks its ports and the clock itself. To start:',
    start,
  ];
  if (damage !== null)
    lines.push(
      `The exchange continues at sequence ${end}. The damage is in an older part, which startup does not`,
      'need. Do not repair or restore: that would lose the later commands.',
      ...olderDamage(places, damage, end),
    );
  // A backup that reaches beyond the damage can be extended.
  if (backup !== null && goodAfterBackup === end && backup.good < end)
    lines.push(
      `The backup lacks the last ${end - backup.good} commands. To add them:`,
      `  npm run backup -- --data ${folder} --to ${backup.folder}`,
    );
  if (damage !== null) return lines;
  const verify = `npm run replay -- --data ${folder} verify`;
  if (listSnapshots(folder).length > 0)
    lines.push(
      `Commands before the newest snapshot were not replayed. To check all commands: ${verify}`,
    );
  return lines;
}

function olderDamage(
  { data, backup }: Places,
  { file, firstBadSequence }: JournalError,
  end: number,
) {
  const what = file === null ? 'the damaged part' : basename(file);
  const restore = [
    `If an archive has ${what}, bring it back, even while the exchange trades:`,
    `  ${restoreCommand(data.folder)}`,
  ];
  if (backup !== null && (data.goodAfterBackup === end || backup.good >= (firstBadSequence ?? end)))
    return [
      ...restore,
      `The backup ${backup.folder} has the commands of ${what}, at least up to ${backup.good}: keep it.`,
    ];
  return [
    ...restore,
    backup === null
      ? `A backup may have a good copy of ${what}: name the backup with --backup.`
      : `${backup.folder} has no good copy of ${what}.`,
    'Without a good copy, a new backup would lack commands: stop the exchange and copy the whole folder.',
  ];
}

function withoutSteps({ data }: Places): string {
  const { folder, asWhole, good, firstSequence } = data;
  if (asWhole instanceof MixedSegments)
    return 'It is unknown which segments belong to this exchange. A good backup shows which: name it with --backup';
  if (good > 0 && firstSequence > 1)
    return (
      'The first commands are not in the folder. Name a good backup: --backup. Or bring them back ' +
      `from the archive, and run doctor again: ${restoreCommand(folder)}`
    );
  return `Nothing in ${folder} can be proven, and no good backup was named. Name one: --backup`;
}

export interface Step {
  /** The journal's last sequence after the step. */
  keeps: number;
  commands: string[];
  /** Whether the step uses the data folder itself, not a new one. */
  isInPlace: boolean;
}

/** Most kept commands first; among equals, in place first, and a restored beginning last. */
function stepsFor({ data, backup }: Places): Step[] {
  const { folder, accepted, asWhole, good, firstSequence, goodAfterBackup } = data;
  const steps: Step[] = [];
  if (accepted !== null && !(accepted instanceof JournalError))
    steps.push({
      keeps: accepted.end.sequence,
      commands: [startAs(`ACCEPT_MISSING_MARK=on DATA_FOLDER=${folder}`)],
      isInPlace: true,
    });
  if (backup !== null && backup.good > 0) {
    const keeps = Math.max(goodAfterBackup ?? 0, backup.good);
    const commands = [`npm run restore -- --data ${backup.folder} --to ${NEW}`];
    if (keeps > backup.good)
      commands.push(
        `npm run backup -- --data ${folder} --to ${NEW}   # adds the later readable commands, then ` +
          `reports the damage in ${folder} and exits with 1, as expected`,
      );
    steps.push({ keeps, commands, isInPlace: false });
  }
  const isUnknown = asWhole instanceof MixedSegments && goodAfterBackup === null;
  const isWhole = steps.some(({ isInPlace }) => isInPlace);
  if (good > 0 && firstSequence === 1 && !isUnknown && !isWhole) {
    const beginning = `npm run restore -- --data ${folder} --at ${good} --to ${NEW}`;
    const commands = [`${beginning}   # without the session secret: every user must sign in again`];
    steps.push({ keeps: good, commands, isInPlace: false });
  }
  return steps.sort((a, b) => b.keeps - a.keeps);
}

function lossText(data: Examined, keeps: number): string {
  const acknowledged = acknowledgedIn(data);
  if (acknowledged === null) return 'it is unknown whether more commands had been acknowledged';
  const lost = acknowledged - keeps;
  return lost > 0
    ? `up to ${lost} acknowledged commands are lost`
    : 'no acknowledged command is lost';
}
