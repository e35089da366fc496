/**
 * `npm run doctor`: reports the contents of a data folder and its backup, how far each is
 * undamaged, and the next commands, the one that keeps the most first, with what each loses.
 *
 * Invariant: nothing is created, changed or deleted. Problems are reported in the words of startup.
 * The commands that an advised step is said to keep were read in the same way as that step reads
 * them.
 */
import { existsSync } from 'node:fs';
import { partTroubleText, readTroubles } from '../../follower/troubles.js';
import { JournalError, restoreCommand } from '../../journal/errors.js';
import { HEAD_FILE } from '../../journal/format.js';
import { unsealedIn, unsealedTrouble } from '../../journal/sealing.js';
import { listSegments, segmentName } from '../../journal/segments.js';
import { mustBeUsable } from '../../recovery/data-folder.js';
import { SegmentsNeeded } from '../../recovery/judgement.js';
import { listSnapshots } from '../../recovery/snapshot/folder.js';
import { isUndamaged } from '../../recovery/snapshot/load.js';
import { roomProblem } from '../../storage/room.js';
import { type Trouble, troubleOf, troubleText } from '../../storage/trouble.js';
import { advice, type Step } from './advice.js';
import { isArchive } from './archive.js';
import { lastTimeOf } from './copy-journal.js';
import { acknowledgedIn, type Examined, examine, isOfAnother } from './examine.js';
import { OperationRefused } from './folders.js';
import { findHistory } from './history-parts.js';

interface DoctorRequest {
  data: string;
  backup: string | null;
}

export interface Diagnosis {
  starts: boolean;
  /** Whether the last attempts built all derived data, and no part is lost. */
  isComplete: boolean;
  /** Why the exchange does not start; null if it does. */
  trouble: Trouble | null;
  steps: readonly Step[];
  text: string;
}

/** @throws OperationRefused without a folder; JournalError, JournalUnavailable */
export async function diagnose(
  { data, backup }: DoctorRequest,
  roomProblemOf: (folder: string) => Trouble | null = roomProblem,
): Promise<Diagnosis> {
  if (!existsSync(data))
    throw new OperationRefused(
      `there is no folder ${data}. An exchange started there would be new and empty: do not start ` +
        `it. Restore the backup there: npm run restore -- --data ${backup ?? '<the backup>'} --to ${data}`,
    );
  try {
    mustBeUsable(data);
  } catch (error) {
    throw new JournalError(troubleOf(error), null);
  }
  const lines: string[] = [];
  let ofBackup = await examineBackup(data, backup, lines);
  const ofData = await examine(data, ofBackup);
  const { asStart } = ofData;
  if (!(asStart instanceof JournalError) && asStart.isNew && (ofBackup?.good ?? 0) > 0)
    ofData.asStart = ofData.damage = new JournalError(
      `${data} has no journal, but its backup has one. An exchange started there would be new and empty: restore the backup first`,
      1,
    );
  const room = roomProblemOf(data);
  const isSound = !(ofData.asStart instanceof JournalError);
  if (room !== null && isSound) ofData.asStart = new JournalError(room, null);
  lines.push(...(await describe('The data folder', ofData)));
  if (room !== null && !isSound) lines.push(`  make room first: ${troubleText(room)}`);
  if (ofBackup !== null) {
    lines.push(...(await describe('The backup', ofBackup)));
    if (ofBackup.good + 1 < ofData.firstSequence) {
      lines.push(
        `  The backup cannot be compared: the folder lacks the commands from ${ofBackup.good + 1} to ` +
          `${ofData.firstSequence - 1}. If they are in an archive, bring them back: ` +
          restoreCommand(data),
      );
      ofBackup = null;
    } else if (await isOfAnother(ofData, ofBackup)) {
      lines.push(
        '  The backup belongs to a different exchange, or to one that was restored to an earlier time.',
      );
      ofBackup = null;
    } else if (ofBackup.asWhole instanceof JournalError) ofBackup = null;
  }
  const { lines: advised, steps } = advice({ data: ofData, backup: ofBackup });
  lines.push('', ...advised);
  const failing = readTroubles(data);
  const { parts, sequence, problems } = await findHistory(data, true);
  if (parts > 0 || problems.length > 0)
    lines.push('', `The history: ${parts} parts, usable up to sequence ${sequence}`);
  for (const problem of problems)
    lines.push(`  problem: ${problem}. An exchange rebuilds it from the journal`);
  lines.push(...failing.map(partTroubleText));
  const trouble = ofData.asStart instanceof JournalError ? ofData.asStart : null;
  const [starts, isComplete] = [trouble === null, failing.length + problems.length === 0];
  return { starts, isComplete, trouble, steps, text: lines.join('\n') };
}

async function examineBackup(data: string, backup: string | null, lines: string[]) {
  if (backup === null) return null;
  if (isArchive(backup)) throw new OperationRefused(`${backup} is an archive, not a backup`);
  if (existsSync(backup)) return examine(backup, null);
  lines.push(
    `There is no backup ${backup}. To make one from a good folder: ` +
      `npm run backup -- --data ${data} --to ${backup}`,
  );
  return null;
}

async function describe(what: string, examined: Examined): Promise<string[]> {
  const { folder, asStart, damage, good, last } = examined;
  const at = last === null ? '' : `, of ${new Date(lastTimeOf(last)).toISOString()}`;
  const starts = !(asStart instanceof JournalError);
  const again =
    starts && asStart.end.sequence > good
      ? `; from the newest snapshot on, good up to sequence ${asStart.end.sequence}`
      : '';
  const acknowledged = acknowledgedIn(examined);
  const names = listSegments(folder).map(({ number }) => segmentName(number));
  const lines = [
    `${what} ${folder}`,
    `  good up to sequence ${good}${at}${again}`,
    `  acknowledged up to${acknowledged === null ? `: unknown (${HEAD_FILE} does not say)` : ` sequence ${acknowledged}`}`,
    `  journal: ${names.join(', ') || 'none'}`,
    await snapshotsIn(folder),
  ];
  // Startup's message without its advice to run doctor.
  const problem = asStart instanceof SegmentsNeeded ? asStart : (damage ?? asStart);
  if (problem instanceof JournalError) lines.push(`  problem: ${problem.problem}`);
  else if (starts && !asStart.isNew)
    for (const note of [asStart.notice, asStart.remark])
      if (note !== null) lines.push(`  note: ${note}`);
  for (const segment of unsealedIn(folder))
    lines.push(`  note: ${troubleText(unsealedTrouble(segment))}`);
  return lines;
}

async function snapshotsIn(folder: string): Promise<string> {
  const found: string[] = [];
  for (const snapshot of listSnapshots(folder))
    found.push(`${snapshot.sequence}${(await isUndamaged(snapshot)) ? '' : ' (damaged)'}`);
  return `  snapshots at sequences: ${found.join(', ') || 'none'}`;
}
