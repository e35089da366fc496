/**
 * Moves sealed segments of a journal to an archive folder, compressed, and brings them back, even
 * while the exchange trades.
 *
 * Invariant: a segment is removed from the folder only after the archive has it on disk and it
 * was read back. It is brought back only if the journal's chain of hashes leads through it to the
 * beginning of the next one. No file of the archive is replaced; a data file in the way is renamed.
 * Only segments that end before the oldest vouched snapshot are moved, so startup finds what it
 * needs, and only segments that the history includes, unless the operator overrides this. A mark
 * file takes a segment's place and has its size: a segment missing without a mark is lost.
 *
 * The archive is not trusted. Nothing is written through a link, and no more is unpacked than the
 * segment's size.
 */
import { createHash } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { partsFolder } from '../../history/parts/catalogue.js';
import { JournalError, restoreCommand } from '../../journal/errors.js';
import type { JournalPosition } from '../../journal/format.js';
import { readJournal } from '../../journal/read-only.js';
import type { JournalReader } from '../../journal/reader.js';
import { isSealed, markSealed, unsealedTrouble } from '../../journal/sealing.js';
import { SegmentReader } from '../../journal/segment-reader.js';
import {
  archivedMark,
  listSegments,
  type Segment,
  segmentAt,
  segmentName,
  segmentNumber,
} from '../../journal/segments.js';
import { listSnapshots } from '../../recovery/snapshot/folder.js';
import { vouchedPosition } from '../../recovery/snapshot/vouched.js';
import { createPrivateFolder, FILE_MODE, fileHash, named, syncPath } from '../../storage/files.js';
import { openReadOnly } from '../../storage/read-only.js';
import type { Trouble } from '../../storage/trouble.js';
import { checkFolder } from '../replay/input/replay-journal.js';
import { mustBeApart, OperationRefused } from './folders.js';
import { type FoundHistory, findHistory } from './history-parts.js';

const SUFFIX = '.gz';

interface ArchiveRequest {
  folder: string;
  archive: string;
  withoutHistory?: boolean;
}

export interface Archived {
  moved: string[];
  /** The oldest vouched snapshot; 0 if none. */
  oldestSnapshot: number;
  /** The problem of a segment that should have been moved; null if there is none. */
  problem: Trouble | null;
}

/** @throws OperationRefused if the archive has another file under the name of a segment. */
export async function archiveSegments(request: ArchiveRequest): Promise<Archived> {
  const { folder, archive } = request;
  await checkFolder(folder);
  mustBeArchive(folder, archive);
  const find = (reader: JournalReader) => movableSegments(request, reader);
  const { movable, oldestSnapshot, problem } = await readJournal(folder, find);
  for (const { segment, packed, end, hash } of movable) {
    if (!(await endsAt(segment, end))) throw changed(segment.path);
    if (existsSync(packed) && !(await isPacked(packed, hash)))
      throw new OperationRefused(
        `${packed} already exists, and is not a copy of ${segment.path}: it is damaged, or belongs ` +
          'to a different exchange, or to this one before a restore. Nothing was changed. Each data ' +
          'folder needs its own archive: name a different one',
      );
  }
  if (movable.length > 0) await createPrivateFolder(archive);
  for (const { segment, packed, hash } of movable) {
    const { path } = segment;
    if (!existsSync(packed))
      await copyThrough(path, packed, createGzip(), async (copy) => {
        if (!(await isPacked(copy, hash))) throw changed(path);
      });
    const { size } = statSync(path);
    // A full disk still takes an empty file; moving the segment makes room for its text.
    writeMark(archivedMark(path), '');
    await syncPath(folder);
    rmSync(path);
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
    writeMark(archivedMark(path), `${size}\n`);
  }
  await syncPath(folder);
  const moved = movable.map(({ segment }) => segmentName(segment.number));
  return { moved, oldestSnapshot, problem };
}

/** @throws OperationRefused for a data folder, or a folder that is not apart from `folder`. */
function mustBeArchive(folder: string, archive: string): void {
  mustBeApart(folder, archive);
  if (listSegments(archive).length > 0)
    throw new OperationRefused(
      `${archive} is a data folder or a backup, not an archive: name a different folder with --to`,
    );
}

/** Records the segment's size, which bounds how much is unpacked. An empty mark is valid. */
function writeMark(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: FILE_MODE });
  } catch (error) {
    // Another program has used the space, or holds the segment open.
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC' || text === '') throw named(error, path);
  }
}

interface MovableSegment {
  segment: Segment;
  packed: string;
  /** The position at which the next segment begins. */
  end: JournalPosition;
  hash: Buffer;
}

async function movableSegments(
  { folder, archive, withoutHistory = false }: ArchiveRequest,
  reader: JournalReader,
): Promise<{ movable: MovableSegment[] } & Pick<Archived, 'oldestSnapshot' | 'problem'>> {
  const oldestSnapshot = await oldestVouched(folder, reader);
  const history = withoutHistory ? null : await findHistory(folder, false);
  const { segments } = reader;
  const movable: MovableSegment[] = [];
  for (const [i, { segment }] of segments.entries()) {
    const end = segments[i + 1]?.start;
    if (end === undefined || end.sequence > oldestSnapshot) break;
    const isFollowed = segments[i + 1]!.segment.number === segment.number + 1;
    let problem: Trouble | null;
    if (!isFollowed) problem = missingAfter(folder, segment);
    else if (isSealed(segment.path))
      problem = historyProblem({ folder, archive }, end.sequence, history);
    else problem = unsealedTrouble(segment);
    if (problem !== null) return { movable, oldestSnapshot, problem };
    const packed = packedIn(archive, segment.number);
    movable.push({ segment, packed, end, hash: fileHash(segment.path) });
  }
  return { movable, oldestSnapshot, problem: null };
}

/** The end of a segment is proven by the start of the next one. */
function missingAfter(folder: string, { path, number }: Segment): Trouble {
  const { path: file } = segmentAt(folder, number + 1);
  return {
    problem: `${file} is missing, so the end of ${path} cannot be proven`,
    file,
    remedy: `To bring it back from an archive: ${restoreCommand(folder)}`,
  };
}

/** Data that the history lacks, or has lost, is rebuilt from the segments, so they must stay. */
function historyProblem(
  { folder, archive }: ArchiveRequest,
  end: number,
  history: FoundHistory | null,
): Trouble | null {
  if (history === null || end <= history.sequence) return null;
  const { sequence, problems } = history;
  const file = partsFolder(folder);
  const why = problems.length === 0 ? '' : `: ${problems[0]}`;
  const command = `npm run archive -- --data ${folder} --to ${archive} --without-history`;
  return {
    problem:
      `${file} contains the commands up to sequence ${sequence} only, and needs the segments after ` +
      `that sequence${why}`,
    file,
    remedy:
      (problems.length === 0
        ? 'Run the exchange until exchange_follower_lag_commands is 0, then archive'
        : 'Run the exchange, which rebuilds the part, then archive') +
      `. To archive anyway, without the history until the segments are back: ${command}`,
  };
}

async function oldestVouched(folder: string, reader: JournalReader): Promise<number> {
  for (const snapshot of listSnapshots(folder).reverse())
    if ((await vouchedPosition(reader, snapshot)) !== null) return snapshot.sequence;
  return 0;
}

interface Unpacked {
  /** The restored segments, oldest first. */
  segments: Segment[];
  /** Names of segments that cannot be proven, because the next segment is missing. */
  unproven: string[];
}

/** Restores segments, newest first, because each is proven by the start of the next one. */
export async function restoreSegments({ folder, archive }: ArchiveRequest): Promise<Unpacked> {
  await checkFolder(folder);
  mustBeArchive(folder, archive);
  const segments: Segment[] = [];
  const unproven: string[] = [];
  for (const number of archivedIn(archive)) {
    const segment = segmentAt(folder, number);
    const isThere = existsSync(segment.path);
    const end = await readJournal(folder, async (reader) => startOf(reader, number + 1));
    if (end === null) {
      // There is no next segment to prove the archived copy, so an existing file is kept.
      if (!isThere) unproven.push(segmentName(number));
    } else if (!isThere || !(await endsAt(segment, end))) {
      await bringBack(segment, packedIn(archive, number), end);
      segments.unshift(segment);
    }
  }
  for (const { path } of listSegments(folder)) rmSync(archivedMark(path), { force: true });
  await syncPath(folder);
  return { segments, unproven };
}

function startOf(reader: JournalReader, number: number): JournalPosition | null {
  return reader.segments.find(({ segment }) => segment.number === number)?.start ?? null;
}

/** Whether a file is the complete segment of that number, up to the start of the next one. */
async function endsAt(segment: Segment, end: JournalPosition): Promise<boolean> {
  const connect = async () => (await openReadOnly(segment.path)).database;
  const reader = new SegmentReader(connect, segment, null);
  try {
    if (!(await reader.open())) return false;
    const { sequence, hash, digest } = await reader.provenEnd();
    await reader.checkStructure(sequence);
    return sequence === end.sequence && hash.equals(end.hash) && digest === end.digest;
  } catch (error) {
    if (error instanceof JournalError) return false;
    throw error;
  } finally {
    await reader.release();
  }
}

function packedIn(archive: string, number: number): string {
  return join(archive, `${segmentName(number)}${SUFFIX}`);
}

export function isArchive(folder: string): boolean {
  return existsSync(folder) && listSegments(folder).length === 0 && archivedIn(folder).length > 0;
}

/** The numbers of an archive's segments, newest first. */
function archivedIn(archive: string): number[] {
  if (!existsSync(archive)) throw new OperationRefused(`there is no folder ${archive}`);
  return readdirSync(archive)
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => segmentNumber(name.slice(0, -SUFFIX.length)))
    .filter((number) => number !== null)
    .sort((a, b) => b - a);
}

async function bringBack(segment: Segment, from: string, end: JournalPosition): Promise<void> {
  const { number, path } = segment;
  const gunzip = createGunzip();
  const most = unpackedMost(from, archivedMark(path));
  let bytes = 0;
  gunzip.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > most) gunzip.destroy(changed(from));
  });
  await copyThrough(from, path, gunzip, async (copy) => {
    if (!(await endsAt({ number, path: copy }, end))) throw changed(from);
    markSealed(copy);
    setAside(path);
  });
}

function setAside(path: string): void {
  let count = 1;
  while (existsSync(`${path}.changed-${count}`)) count++;
  for (const suffix of ['', '-wal', '-shm'])
    if (existsSync(path + suffix)) renameSync(path + suffix, `${path}.changed-${count}${suffix}`);
}

/** Far above the compression ratio of journal rows. */
const MAX_RATIO = 64;

/** The most bytes to unpack: the size in the mark, or without a mark a bound from the ratio. */
function unpackedMost(compressed: string, mark: string): number {
  const text = existsSync(mark) ? readFileSync(mark, 'utf8').trim() : '';
  return /^\d{1,15}$/.test(text) ? Number(text) : statSync(compressed).size * MAX_RATIO;
}

/** Copies through a stream into a temporary file, checks the file, and renames it. */
async function copyThrough(
  from: string,
  to: string,
  through: NodeJS.ReadWriteStream,
  check: (path: string) => Promise<void>,
): Promise<void> {
  const temporary = `${to}.tmp`;
  try {
    // Removes a planted link, so that nothing is written through it.
    rmSync(temporary, { force: true });
    const target = createWriteStream(temporary, { mode: FILE_MODE, flags: 'wx' });
    await pipeline(createReadStream(from), through, target).catch((error: unknown) => {
      throw isDamage(error) ? changed(from) : named(error, temporary);
    });
    await syncPath(temporary);
    await check(temporary);
    renameSync(temporary, to);
  } finally {
    rmSync(temporary, { force: true });
  }
  await syncPath(join(to, '..'));
}

async function isPacked(path: string, segmentHash: Buffer): Promise<boolean> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path), createGunzip(), hash);
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
  return hash.digest().equals(segmentHash);
}

function isDamage(error: unknown): boolean {
  return String((error as NodeJS.ErrnoException).code).startsWith('Z_');
}

function changed(path: string): JournalError {
  return new JournalError(
    {
      problem: `${path} is not the segment that was sealed: its chain of hashes does not lead to the beginning of the next segment. It was left unchanged`,
      file: path,
      remedy:
        'An exchange starts without it, and npm run doctor says which backup contains its commands. ' +
        "Put no file of a backup in its place: a backup's segments are divided differently",
    },
    null,
  );
}
