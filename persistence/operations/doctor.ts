/**
 * `npm run doctor`: what is in a data folder and in its backup, up to where each is good, and the
 * next commands, the one that keeps most first, with what each loses.
 *
 * Always holds: nothing is created, changed or deleted. What is wrong is said in the words of a
 * start (judgement.ts). Whether an exchange starts is decided as a start decides it, which does not
 * read segments before the snapshot that it uses. Commands are not replayed.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { JournalError, MixedSegments, partsOf } from '../journal/errors.js';
import { HEAD_FILE, type JournalPosition } from '../journal/format.js';
import { readMark } from '../journal/head-mark.js';
import { readJournal } from '../journal/read-only.js';
import { listSegments, type Segment, segmentName } from '../journal/segments.js';
import { judgeFolder, UnmarkedJournal } from '../judgement.js';
import { listSnapshots } from '../snapshot/folder.js';
import { withArchive } from './archive.js';
import { lastTimeOf } from './copy-journal.js';
import { contains, OperationRefused } from './folders.js';

export interface DoctorRequest {
  data: string;
  backup: string | null;
  archive: string | null;
}

export interface Diagnosis {
  /** Whether an exchange starts on the data folder. */
  starts: boolean;
  text: string;
}

interface Examined {
  folder: string;
  /** The last sequence that is proven; 0: none is. */
  good: number;
  goodAtMs: number | null;
  /** Had been committed: by journal.head, or by a snapshot that is ahead; null: unknown. */
  acknowledged: number | null;
  /** Of a whole journal; null: it is damaged. */
  end: JournalPosition | null;
  /** Where it ends for a start; null: a start refuses it. */
  startsAt: number | null;
  /** The proven part has the end of the backup: both are of one exchange. */
  hasBackup: boolean;
  /** What checks of everything find. */
  problem: JournalError | null;
  /** The first segments are in the archive alone, and a start needs them. */
  needsArchive: boolean;
  notice: string | null;
}

/** A command, with the last sequence that is there afterwards. */
interface Step {
  commands: string[];
  keeps: number;
}

const NEW = '<a new folder>';

/** @throws OperationRefused if a folder is not there, JournalUnavailable if one cannot be read. */
export async function diagnose(request: DoctorRequest): Promise<Diagnosis> {
  const { data, backup } = request;
  const lines: string[] = [];
  let { archive } = request;
  if (archive !== null && !existsSync(archive)) {
    lines.push(`There is no archive ${archive}: what is in it cannot be proven or brought back.`);
    archive = null;
  }
  if (!existsSync(data) && backup !== null) return withoutData(data, await examine(backup, null));
  const ofData = await examine(data, archive);
  let ofBackup = backup === null ? null : await examine(backup, null);
  if (ofBackup?.end) ofData.hasBackup = await containsEnd(data, ofBackup.end);
  lines.push(...describe('The data folder', ofData));
  if (ofBackup !== null) lines.push(...describe('The backup', ofBackup));
  if (ofBackup !== null && (await isOfAnother(ofData, ofBackup))) {
    lines.push(
      '',
      `${backup} is of another exchange, or of one that was restored to an earlier time.`,
    );
    ofBackup = null;
  }
  lines.push('', ...advice({ data: ofData, backup: ofBackup, archive }));
  return { starts: ofData.startsAt !== null, text: lines.join('\n') };
}

function withoutData(data: string, backup: Examined): Diagnosis {
  const lines = [
    `There is no folder ${data}. A start would make a new, empty exchange there: do not start one.`,
    ...describe('The backup', backup),
    '',
    ...(backup.end === null
      ? ['The backup is damaged. Name another: --backup']
      : [
          `This keeps the commands up to ${backup.good}, and loses what came after them:`,
          `    npm run restore -- --data ${backup.folder} --to ${data}`,
        ]),
  ];
  return { starts: false, text: lines.join('\n') };
}

/** Whether the first batch that both folders have is another. Batches are copied as they are. */
async function isOfAnother(data: Examined, backup: Examined): Promise<boolean> {
  // Which of its segments are of the exchange is unknown.
  if (data.problem instanceof MixedSegments) return false;
  try {
    const first = Math.max(await firstIn(data.folder), await firstIn(backup.folder));
    const [a, b] = [await batchAt(data.folder, first), await batchAt(backup.folder, first)];
    if (a === null || b === null || a.hash.equals(b.hash)) return false;
    // The last batch of a copy may be a part.
    return Math.max(a.lastSequence, b.lastSequence) <= Math.min(data.good, backup.good);
  } catch (error) {
    journalErrorOnly(error);
    return false;
  }
}

const firstIn = (folder: string) =>
  readJournal(folder, (reader) => Promise.resolve(reader.firstSequence));
const batchAt = (folder: string, sequence: number) =>
  readJournal(folder, (reader) => reader.batchWith(sequence));

async function examine(folder: string, archive: string | null): Promise<Examined> {
  if (!existsSync(folder)) throw new OperationRefused(`there is no folder ${folder}`);
  const asStart = await judged(folder, [], false).catch(journalErrorOnly);
  const started = asStart instanceof JournalError ? null : asStart;
  const startsAt = started?.end.sequence ?? null;
  const notice = started?.notice ?? null;
  const found = { folder, startsAt, notice, needsArchive: false, hasBackup: false };
  try {
    const { end } = await judgedWhole(folder, archive);
    const good = end.sequence;
    const goodAtMs = await timeAt(folder, good);
    const acknowledged = acknowledgedIn(folder);
    const needsArchive = started === null;
    return { ...found, acknowledged, good, goodAtMs, end, problem: null, needsArchive };
  } catch (error) {
    const problem = journalErrorOnly(error);
    const good = Math.max(0, (problem.firstBadSequence ?? 1) - 1);
    const marked = acknowledgedIn(folder);
    // A mark that was put back from a copy says nothing of what came after it.
    const acknowledged = startsAt ?? (marked !== null && marked > good ? marked : null);
    return {
      ...found,
      acknowledged,
      good,
      goodAtMs: await timeAt(folder, good),
      end: null,
      problem,
    };
  }
}

/** By journal.head and the snapshots; null: neither says anything. */
function acknowledgedIn(folder: string): number | null {
  const state = readMark(join(folder, HEAD_FILE));
  const marked = state.state === 'read' ? [state.mark.sequence] : [];
  const known = [...marked, ...listSnapshots(folder).map(({ sequence }) => sequence)];
  return known.length === 0 ? null : Math.max(...known);
}

async function judged(folder: string, earlier: readonly Segment[], checkAll: boolean) {
  return judgeFolder(folder, { acceptMissingMark: false, checkAll, earlier });
}

/** A damaged journal may not prove what is in the archive. */
async function judgedWhole(folder: string, archive: string | null) {
  try {
    return await withArchive(folder, archive, (earlier) => judged(folder, earlier, true));
  } catch (error) {
    if (!(error instanceof OperationRefused)) throw error;
    return judged(folder, [], true);
  }
}

async function containsEnd(folder: string, end: JournalPosition): Promise<boolean> {
  try {
    return await readJournal(folder, (reader) => contains(reader, end));
  } catch (error) {
    journalErrorOnly(error);
    return false;
  }
}

function journalErrorOnly(error: unknown): JournalError {
  if (error instanceof JournalError) return error;
  throw error;
}

/** Of the command; null: it cannot be read. */
async function timeAt(folder: string, sequence: number): Promise<number | null> {
  if (sequence === 0) return null;
  try {
    return await readJournal(folder, async (reader) => {
      const batch = await reader.batchWith(sequence);
      return batch === null ? null : lastTimeOf(batch);
    });
  } catch {
    // Said as the problem already.
    return null;
  }
}

function describe(what: string, examined: Examined): string[] {
  const { folder, good, goodAtMs, acknowledged, problem, notice } = examined;
  const at = goodAtMs === null ? '' : `, of ${new Date(goodAtMs).toISOString()}`;
  const names = listSegments(folder).map(({ number }) => segmentName(number));
  const snapshots = listSnapshots(folder).map(({ sequence }) => sequence);
  const lines = [
    `${what} ${folder}`,
    `  good up to sequence ${good}${at}`,
    `  acknowledged up to sequence ${acknowledged ?? `unknown (${HEAD_FILE} does not say)`}`,
    `  journal: ${names.join(', ') || 'none'}`,
    `  snapshots of the sequences: ${snapshots.join(', ') || 'none'}`,
  ];
  if (problem !== null) lines.push(`  problem: ${problemText(problem)}`);
  if (notice !== null) lines.push(`  note: ${notice}`);
  return lines;
}

/** As a start says it, without the commands, which are said with their losses below. */
function problemText({ message, firstBadSequence }: JournalError): string {
  const { what, remedy } = partsOf(message);
  if (firstBadSequence === null || remedy === null) return message;
  // What only the operator can know.
  const unless = remedy.indexOf('Only if');
  return unless < 0 ? what : `${what} ${remedy.slice(unless)}`;
}

interface Places {
  data: Examined;
  backup: Examined | null;
  archive: string | null;
}

const archiveOption = (archive: string | null) => (archive === null ? '' : ` --archive ${archive}`);

function advice(places: Places): string[] {
  const { data, archive } = places;
  const { folder, problem } = data;
  if (data.needsArchive)
    return [
      'A start needs segments that are in the archive. This loses nothing:',
      `  npm run archive -- --data ${folder} --to ${archive} --restore`,
    ];
  const from = archiveOption(archive);
  if (problem === null) return [...healthy(places), NOT_REPLAYED(folder, from)];
  if (data.startsAt !== null) return damagedBefore(data.startsAt, data);
  if (problem.firstBadSequence === null) return ['Do what the problem says.'];
  const steps = stepsFor(places);
  if (steps.length === 0)
    return [
      problem instanceof MixedSegments
        ? 'It is unknown which segments are of this exchange. A good backup of it shows it: --backup'
        : `Nothing in ${folder} can be proven, and no good backup was named. Name one: --backup`,
    ];
  const lines = [`Keep ${folder} as it is, whatever you do. What is possible, the best first:`];
  for (const { commands, keeps } of steps)
    lines.push(
      `  keeps the commands up to ${keeps} at least; ${lossText(data, keeps)}`,
      ...commands,
    );
  return lines;
}

const NOT_REPLAYED = (folder: string, from: string) =>
  `The commands were not replayed. To prove all: npm run replay -- --data ${folder} verify${from}`;

function startOf(folder: string): string[] {
  return [
    'The journal is as a start needs it, and nothing is lost. What else a start needs (the secret,',
    'room, ports, the clock), it checks itself:',
    `  DATA_FOLDER=${folder} npm start`,
  ];
}

function healthy({ data, backup, archive }: Places): string[] {
  const { folder, good } = data;
  const start = startOf(folder);
  if (backup === null || backup.problem !== null || backup.good >= good) return start;
  const from = archiveOption(archive);
  return [
    ...start,
    `The backup lacks the last ${good - backup.good} commands. To add them:`,
    `  npm run backup -- --data ${folder} --to ${backup.folder}${from}`,
  ];
}

/** In segments that a start does not read. A copy made by tools would end before the damage. */
function damagedBefore(end: number, { folder, good, problem }: Examined): string[] {
  const until =
    problem!.firstBadSequence === null
      ? 'Until then there is no backup of the whole journal'
      : `Until then a backup ends at sequence ${good}, and archives stop there, too`;
  return [
    ...startOf(folder),
    `It goes on at sequence ${end}. The damage is in an older part, which a start does not need: do`,
    'not repair or restore, which would lose what came after it. If there is a copy of the damaged',
    'file itself, put it back while the exchange is stopped.',
    `${until}: copy the whole folder while the exchange is stopped.`,
  ];
}

/** Into a new folder each; that with most commands first, a backup before a repair. */
function stepsFor({ data, backup, archive }: Places): Step[] {
  const { folder, good, problem, hasBackup } = data;
  const from = archiveOption(archive);
  const steps: Step[] = [];
  if (backup !== null && backup.problem === null && backup.good > 0)
    steps.push({
      keeps: hasBackup ? Math.max(backup.good, good) : backup.good,
      commands: [
        `    npm run restore -- --data ${backup.folder} --to ${NEW}`,
        // It exits with 1, because the folder is damaged.
        `    npm run backup -- --data ${folder} --to ${NEW}${from}   # adds what is whole after it`,
      ],
    });
  if (problem instanceof UnmarkedJournal)
    steps.push({
      keeps: good,
      commands: [`    ACCEPT_MISSING_MARK=on DATA_FOLDER=${folder} npm start`],
    });
  else if (good > 0 && (hasBackup || !(problem instanceof MixedSegments)))
    steps.push({
      keeps: good,
      commands: [
        `    npm run replay -- --data ${folder} repair --truncate-after ${good} --to ${NEW}${from}`,
      ],
    });
  return steps.sort((a, b) => b.keeps - a.keeps);
}

function lossText({ acknowledged }: Examined, keeps: number): string {
  if (acknowledged === null) return 'it is unknown whether more had been acknowledged';
  const lost = acknowledged - keeps;
  return lost > 0
    ? `loses at most ${lost} that had been acknowledged`
    : 'loses nothing acknowledged';
}
