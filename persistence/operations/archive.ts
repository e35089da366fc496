/**
 * Moves sealed segments of a journal to an archive folder, compressed, and brings them back, also
 * while the exchange trades.
 *
 * Always holds: a segment is removed from the one place only when the other has it on disk, read
 * back, with the SHA-256 that the next segment's head states. Only segments are moved that end
 * before the oldest snapshot for which the journal vouches, so every start finds what it needs. A
 * file says where one was, and how large: what is missing without it is lost.
 *
 * The archive is not trusted. Nothing is written through a link, and no more is unpacked than the
 * segment had.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { JournalError } from '../journal/errors.js';
import { readJournal } from '../journal/read-only.js';
import type { JournalReader } from '../journal/reader.js';
import {
  archivedMark,
  type Segment,
  segmentAt,
  segmentName,
  segmentNumber,
} from '../journal/segments.js';
import { checkFolder } from '../replay/input/replay-journal.js';
import { checksumIn } from '../snapshot/file.js';
import { listSnapshots } from '../snapshot/folder.js';
import { vouchedHash } from '../snapshot/vouched.js';
import { createPrivateFolder, FILE_MODE, fileHash, named, syncPath } from '../storage/files.js';
import { OperationRefused } from './folders.js';

const SUFFIX = '.gz';
const SEALED_MODE = 0o400;

interface ArchiveRequest {
  /** The data folder. */
  folder: string;
  archive: string;
}

/** Moves what may be moved; returns the names of the segments. */
export async function archiveSegments({ folder, archive }: ArchiveRequest): Promise<string[]> {
  await checkFolder(folder);
  const movable = await readJournal(folder, (reader) => movableSegments(folder, reader));
  if (movable.length > 0) await createPrivateFolder(archive);
  for (const { path, name, hash } of movable) {
    const to = join(archive, `${name}${SUFFIX}`);
    if (!fileHash(path).equals(hash)) throw changed(path);
    await copyThrough(path, to, createGzip());
    if (!(await hashOfCompressed(to)).equals(hash)) {
      rmSync(to);
      throw changed(to);
    }
    writeMark(archivedMark(path), statSync(path).size);
    await syncPath(folder);
    rmSync(path);
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  }
  await syncPath(folder);
  return movable.map(({ name }) => name);
}

/** What a segment had, which bounds how much is unpacked. */
function writeMark(path: string, bytes: number): void {
  try {
    writeFileSync(path, `${bytes}\n`, { mode: FILE_MODE });
  } catch (error) {
    throw named(error, path);
  }
}

interface MovableSegment {
  path: string;
  name: string;
  hash: Buffer;
}

async function movableSegments(folder: string, reader: JournalReader): Promise<MovableSegment[]> {
  const oldest = await oldestVouched(folder, reader);
  const outline = reader.outline();
  const movable: MovableSegment[] = [];
  for (const [i, { segment, fileHash: hash }] of outline.entries()) {
    const next = outline[i + 1];
    if (next === undefined || hash === null || next.firstSequence - 1 > oldest) break;
    movable.push({ path: segment.path, name: segmentName(segment.number), hash });
  }
  return movable;
}

/** The sequence of the oldest snapshot for which the journal vouches; 0: there is none. */
async function oldestVouched(folder: string, reader: JournalReader): Promise<number> {
  for (const { sequence, path } of listSnapshots(folder).reverse()) {
    const position = await reader.positionAt(sequence);
    if (position === null) continue;
    if ((await vouchedHash(reader, position)) === checksumIn(path)) return sequence;
  }
  return 0;
}

/** Brings back all segments that the folder lacks, the newest first; returns their names. */
export async function restoreSegments({ folder, archive }: ArchiveRequest): Promise<string[]> {
  await checkFolder(folder);
  const restored: string[] = [];
  for (const number of archivedIn(archive)) {
    const { path } = segmentAt(folder, number);
    if (existsSync(path)) continue;
    const hash = await readJournal(folder, async (reader) => reader.previousFileOf(number + 1));
    await bringBack({ folder, archive, number, hash, to: path });
    rmSync(archivedMark(path), { force: true });
    await syncPath(folder);
    restored.push(segmentName(number));
  }
  return restored;
}

/**
 * Runs `work` with the segments that the folder lacks, unpacked in a temporary folder, each proven
 * by the head of the next. It takes their room there until it ends.
 * @param archive null: none is named.
 */
export async function withArchive<Result>(
  folder: string,
  archive: string | null,
  work: (earlier: readonly Segment[]) => Promise<Result>,
): Promise<Result> {
  if (archive === null) return work([]);
  const temporary = mkdtempSync(join(tmpdir(), 'unpacked-segments-'));
  const remove = () => rmSync(temporary, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const earlier: Segment[] = [];
    for (const number of archivedIn(archive)) {
      if (existsSync(segmentAt(folder, number).path)) continue;
      const hash = await readJournal(
        folder,
        async (reader) => reader.previousFileOf(number + 1),
        earlier,
      );
      const segment = segmentAt(temporary, number);
      await bringBack({ folder, archive, number, hash, to: segment.path });
      earlier.unshift(segment);
    }
    return await work(earlier);
  } finally {
    process.off('exit', remove);
    remove();
  }
}

/** The numbers of the segments in an archive, the newest first. */
function archivedIn(archive: string): number[] {
  if (!existsSync(archive)) throw new OperationRefused(`there is no folder ${archive}`);
  return readdirSync(archive)
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => segmentNumber(name.slice(0, -SUFFIX.length)))
    .filter((number) => number !== null)
    .sort((a, b) => b - a);
}

interface Unpacking {
  folder: string;
  archive: string;
  number: number;
  /** Of the file, from the head of the next segment; null: that is not there. */
  hash: Buffer | null;
  to: string;
}

async function bringBack({ folder, archive, number, hash, to }: Unpacking): Promise<void> {
  const from = join(archive, `${segmentName(number)}${SUFFIX}`);
  if (hash === null)
    throw new OperationRefused(
      `${from} cannot be checked: ${folder} lacks ${segmentName(number + 1)}, which has its hash`,
    );
  const gunzip = createGunzip();
  const most = unpackedMost(from, archivedMark(segmentAt(folder, number).path));
  let bytes = 0;
  gunzip.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > most) gunzip.destroy(changed(from));
  });
  await copyThrough(from, to, gunzip, (copy) => {
    if (!fileHash(copy).equals(hash)) throw changed(from);
    chmodSync(copy, SEALED_MODE);
  });
}

/** Far more than the rows of a journal shrink. */
const MAX_RATIO = 64;

/** How many bytes a segment may have: as many as it had, or without its mark by the ratio. */
function unpackedMost(compressed: string, mark: string): number {
  const text = existsSync(mark) ? readFileSync(mark, 'utf8').trim() : '';
  return /^\d{1,15}$/.test(text) ? Number(text) : statSync(compressed).size * MAX_RATIO;
}

/** Copies through a stream into a temporary file, checks that, and gives it its name. */
async function copyThrough(
  from: string,
  to: string,
  through: NodeJS.ReadWriteStream,
  check: (path: string) => void = () => {},
): Promise<void> {
  const temporary = `${to}.tmp`;
  try {
    // A link that somebody has put there is removed, and never written through.
    rmSync(temporary, { force: true });
    const target = createWriteStream(temporary, { mode: FILE_MODE, flags: 'wx' });
    await pipeline(createReadStream(from), through, target).catch((error: unknown) => {
      throw isDamage(error) ? changed(from) : named(error, temporary);
    });
    await syncPath(temporary);
    check(temporary);
    renameSync(temporary, to);
  } finally {
    rmSync(temporary, { force: true });
  }
  await syncPath(join(to, '..'));
}

async function hashOfCompressed(path: string): Promise<Buffer> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), createGunzip(), hash);
  return hash.digest();
}

/** Of zlib, for bytes that are not what it has written. */
function isDamage(error: unknown): boolean {
  return String((error as NodeJS.ErrnoException).code).startsWith('Z_');
}

function changed(path: string): JournalError {
  return new JournalError(
    `${path} is not the segment that was sealed: it has another SHA-256 than the next segment ` +
      'states. It was left as it is, and so was every segment that has not been moved. Put no file ' +
      'of a backup in its place. An exchange starts without it; npm run doctor says what can be done.',
    null,
  );
}
