/**
 * `npm run doctor`: what is in a data folder and in its backup, up to where each is good, and the
 * next commands, the one that keeps most first, with what each loses.
 *
 * Always holds: nothing is created, changed or deleted. What is wrong is said in the words of a
 * start (judgement.ts), and whether an exchange starts is decided as a start decides it. What a
 * command is said to keep has been read as that command reads it, from where it begins. Commands of
 * the journal are not replayed.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { JournalError, MixedSegments, partsOf } from '../../journal/errors.js';
import { HEAD_FILE, type JournalPosition } from '../../journal/format.js';
import { readMark } from '../../journal/head-mark.js';
import type { FoundJournal } from '../../journal/journal.js';
import { readJournal } from '../../journal/read-only.js';
import { type JournalReader, MissingSegments } from '../../journal/reader.js';
import { listSegments, type Segment, segmentName } from '../../journal/segments.js';
import type { JournalBatch } from '../../journal/store.js';
import { judgeFolder, SegmentsNeeded, UnmarkedJournal } from '../../recovery/judgement.js';
import { listSnapshots } from '../../recovery/snapshot/folder.js';
import { withArchive } from './archive.js';
import { lastTimeOf } from './copy-journal.js';
import { contains, OperationRefused } from './folders.js';

interface DoctorRequest {
  data: string;
  backup: string | null;
  archive: string | null;
}

export interface Diagnosis {
  /** Whether an exchange starts on the data folder. */
  starts: boolean;
  text: string;
}

type Judged = FoundJournal | JournalError;

interface Examined extends Readable {
  folder: string;
  /** As a start judges it. */
  asStart: Judged;
  /** With everything checked, and with what is in the archive. */
  asWhole: Judged;
  /** In the archive, and proven by nothing in the folder. */
  unproven: readonly string[];
}

/** What can be read of a journal, whatever is wrong with it. */
interface Readable {
  /** From the first segment that there is; 0: nothing. */
  good: number;
  last: JournalBatch | null;
  /** Whether it begins with the first command. */
  hasFirst: boolean;
  /** From the end of the backup on; null: it does not contain that. */
  goodAfterBackup: number | null;
}

const NOTHING: Readable = { good: 0, last: null, hasFirst: false, goodAfterBackup: null };
const NEW = '<a new folder>';

/** @throws OperationRefused if a folder is not there, JournalUnavailable if one cannot be read. */
export async function diagnose({ data, backup, archive }: DoctorRequest): Promise<Diagnosis> {
  if (!existsSync(data))
    throw new OperationRefused(
      `there is no folder ${data}. A start would make a new, empty exchange there: do not start ` +
        `one. Bring the backup there: npm run restore -- --data ${backup ?? '<the backup>'} --to ${data}`,
    );
  const lines: string[] = [];
  const there = archive !== null && existsSync(archive) ? archive : null;
  if (there !== archive)
    lines.push(`There is no archive ${archive}: what is in it cannot be proven or brought back.`);
  let ofBackup = backup === null ? null : await examine(backup, null, null);
  const ofData = await examine(data, there, ofBackup);
  lines.push(...describe('The data folder', ofData));
  if (ofBackup !== null) {
    lines.push(...describe('The backup', ofBackup));
    if (await isOfAnother(ofData, ofBackup)) {
      lines.push('  It is of another exchange, or of one that was restored to an earlier time.');
      ofBackup = null;
    } else if (ofBackup.asWhole instanceof JournalError) ofBackup = null;
  }
  lines.push('', ...advice({ data: ofData, backup: ofBackup, archive: there }));
  return { starts: !(ofData.asStart instanceof JournalError), text: lines.join('\n') };
}

async function examine(
  folder: string,
  archive: string | null,
  backup: Examined | null,
): Promise<Examined> {
  if (!existsSync(folder)) throw new OperationRefused(`there is no folder ${folder}`);
  const asStart = await judged(folder, [], false);
  const look = async (earlier: readonly Segment[], unproven: readonly string[]) => {
    const asWhole = await judged(folder, earlier, true);
    const read = (reader: JournalReader) => readableIn(reader, asWhole, backup);
    const readable = await readJournal(folder, read, earlier).catch(unlessDamage(NOTHING));
    return { folder, asStart, asWhole, unproven, ...readable };
  };
  try {
    return await withArchive(folder, archive, look);
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    // The archive is damaged, or the folder so much that it proves nothing of the archive.
    return { ...(await look([], [])), asWhole: error };
  }
}

async function judged(folder: string, earlier: readonly Segment[], checkAll: boolean) {
  try {
    return await judgeFolder(folder, { acceptMissingMark: false, checkAll, earlier });
  } catch (error) {
    if (error instanceof JournalError) return error;
    throw error;
  }
}

function unlessDamage<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (error instanceof JournalError || error instanceof MissingSegments) return value;
    throw error;
  };
}

async function readableIn(
  reader: JournalReader,
  asWhole: Judged,
  backup: Examined | null,
): Promise<Readable> {
  const lastFrom = (after: JournalPosition) =>
    asWhole instanceof JournalError
      ? lastAfter(reader, after)
      : reader.batchWith(asWhole.end.sequence);
  const before = (await reader.positionAt(reader.firstSequence - 1))!;
  const last = await lastFrom(before);
  const found = { good: last?.lastSequence ?? 0, last, hasFirst: reader.firstSequence === 1 };
  if (backup === null || backup.asWhole instanceof JournalError)
    return { ...found, goodAfterBackup: null };
  const { end } = backup.asWhole;
  const hasEnd = await contains(reader, end).catch(unlessDamage(false));
  const more = hasEnd ? await lastFrom(end) : null;
  return { ...found, goodAfterBackup: hasEnd ? (more?.lastSequence ?? end.sequence) : null };
}

/** The last batch that can be read in order, as `repair` and `backup` read. */
async function lastAfter(reader: JournalReader, after: JournalPosition) {
  let last: JournalBatch | null = null;
  try {
    for await (const batch of reader.batches(after)) last = batch;
  } catch (error) {
    unlessDamage(null)(error);
  }
  return last;
}

/** Whether one of the two has not the last batch that both must have. */
async function isOfAnother(data: Examined, backup: Examined): Promise<boolean> {
  const { asWhole, good, last, goodAfterBackup } = data;
  if (last === null || backup.last === null || backup.asWhole instanceof JournalError) return false;
  // Which segments of a mixture are of the exchange is unknown.
  if (asWhole instanceof MixedSegments) return false;
  if (good >= backup.good) return goodAfterBackup === null;
  const end = { sequence: good, hash: last.hash, digest: last.digest };
  return !(await readJournal(backup.folder, (reader) => contains(reader, end)));
}

function describe(what: string, examined: Examined): string[] {
  const { folder, asStart, asWhole, good, last, unproven } = examined;
  const at = last === null ? '' : `, of ${new Date(lastTimeOf(last)).toISOString()}`;
  const names = listSegments(folder).map(({ number }) => segmentName(number));
  const snapshots = listSnapshots(folder).map(({ sequence }) => sequence);
  const lines = [
    `${what} ${folder}`,
    `  good up to sequence ${good}${at}`,
    `  acknowledged up to sequence ${acknowledgedIn(examined) ?? `unknown (${HEAD_FILE} does not say)`}`,
    `  journal: ${names.join(', ') || 'none'}`,
    `  snapshots of the sequences: ${snapshots.join(', ') || 'none'}`,
  ];
  // As a start says it, without its advice to ask here.
  if (asWhole instanceof JournalError)
    lines.push(
      `  problem: ${asWhole.firstBadSequence === null ? asWhole.message : partsOf(asWhole.message).what}`,
    );
  if (!(asStart instanceof JournalError) && asStart.notice !== null)
    lines.push(`  note: ${asStart.notice}`);
  if (unproven.length > 0)
    lines.push(
      `  note: the archive has ${unproven.join(', ')}, which the folder lacks and cannot prove: ` +
        'the folder may be an older copy',
    );
  return lines;
}

/** Had been committed: by the journal, by journal.head or by a snapshot; null: unknown. */
function acknowledgedIn({ folder, asStart, asWhole, good }: Examined): number | null {
  if (!(asStart instanceof JournalError)) return asStart.end.sequence;
  if (!(asWhole instanceof JournalError)) return asWhole.end.sequence;
  const state = readMark(join(folder, HEAD_FILE));
  const marked = state.state === 'read' ? state.mark.sequence : 0;
  const known = Math.max(marked, ...listSnapshots(folder).map(({ sequence }) => sequence));
  // A mark that was put back from a copy says nothing of what came after it.
  return known > good ? known : null;
}

interface Places {
  data: Examined;
  /** null: there is none that is good. */
  backup: Examined | null;
  archive: string | null;
}

function advice(places: Places): string[] {
  const { data, archive } = places;
  const { folder, asStart, asWhole } = data;
  if (!(asStart instanceof JournalError)) return whenItStarts(places, asStart.end.sequence);
  if (asStart instanceof SegmentsNeeded && archive !== null)
    return [
      'A start needs segments that are in the archive. This loses nothing. Then ask again:',
      `  npm run archive -- --data ${folder} --to ${archive} --restore`,
    ];
  if (asWhole instanceof JournalError && asWhole.firstBadSequence === null)
    return ['Do what the problem says.'];
  const steps = stepsFor(places);
  if (steps.length === 0) return [withoutSteps(data)];
  return [
    `Keep ${folder} as it is, whatever you do. What is possible, the best first:`,
    ...steps.flatMap(({ keeps, commands }) => [
      `  keeps the commands up to ${keeps} at least; ${lossText(data, keeps)}`,
      ...commands.map((command) => `    ${command}`),
    ]),
  ];
}

const archiveOption = (archive: string | null) => (archive === null ? '' : ` --archive ${archive}`);

function whenItStarts({ data, backup, archive }: Places, end: number): string[] {
  const { folder, asWhole, good } = data;
  const from = archiveOption(archive);
  const lines = [
    'The journal is as a start needs it, and nothing is lost. What else a start needs (the secret,',
    'room, ports, the clock), it checks itself:',
    `  DATA_FOLDER=${folder} npm start`,
  ];
  if (asWhole instanceof JournalError)
    return [
      ...lines,
      `It goes on at sequence ${end}. The damage is in an older part, which a start does not need: do`,
      'not repair or restore, which would lose what came after it. If there is a copy of the damaged',
      'file itself, put it back while the exchange is stopped. Until then a backup is not whole, and',
      'archives stop there: copy the whole folder while the exchange is stopped.',
    ];
  if (backup !== null && backup.good < good)
    lines.push(
      `The backup lacks the last ${good - backup.good} commands. To add them:`,
      `  npm run backup -- --data ${folder} --to ${backup.folder}${from}`,
    );
  const verify = `npm run replay -- --data ${folder} verify${from}`;
  return [...lines, `The commands were not replayed. To prove all: ${verify}`];
}

function withoutSteps({ folder, asWhole, good, hasFirst }: Examined): string {
  if (asWhole instanceof MixedSegments)
    return 'It is unknown which segments are of this exchange. A good backup of it shows it: --backup';
  return good > 0 && !hasFirst
    ? 'The first commands are in the archive. Name it: --archive'
    : `Nothing in ${folder} can be proven, and no good backup was named. Name one: --backup`;
}

interface Step {
  /** The last sequence that is there afterwards. */
  keeps: number;
  commands: string[];
}

/** Into a new folder each; that with most commands first, a backup before a repair. */
function stepsFor({ data, backup, archive }: Places): Step[] {
  const { folder, asWhole, good, hasFirst, goodAfterBackup } = data;
  const from = archiveOption(archive);
  const steps: Step[] = [];
  if (backup !== null && backup.good > 0)
    steps.push({
      keeps: goodAfterBackup ?? backup.good,
      commands: [
        `npm run restore -- --data ${backup.folder} --to ${NEW}`,
        // It exits with 1, because the folder is damaged.
        `npm run backup -- --data ${folder} --to ${NEW}${from}   # adds what is whole after it`,
      ],
    });
  const isUnknown = asWhole instanceof MixedSegments && goodAfterBackup === null;
  if (asWhole instanceof UnmarkedJournal)
    steps.push({
      keeps: good,
      commands: [`ACCEPT_MISSING_MARK=on DATA_FOLDER=${folder} npm start`],
    });
  else if (good > 0 && hasFirst && !isUnknown)
    steps.push({
      keeps: good,
      commands: [
        `npm run replay -- --data ${folder} repair --truncate-after ${good} --to ${NEW}${from}`,
      ],
    });
  return steps.sort((a, b) => b.keeps - a.keeps);
}

function lossText(data: Examined, keeps: number): string {
  const acknowledged = acknowledgedIn(data);
  if (acknowledged === null) return 'it is unknown whether more had been acknowledged';
  const lost = acknowledged - keeps;
  return lost > 0
    ? `loses at most ${lost} that had been acknowledged`
    : 'loses nothing acknowledged';
}
