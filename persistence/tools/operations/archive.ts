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
import { JournalError } from '../../journal/errors.js';
import { readJournal } from '../../journal/read-only.js';
import type { JournalReader } from '../../journal/reader.js';
import {
  archivedMark,
  listSegments,
  type Segment,
  segmentAt,
  segmentName,
  segmentNumber,
} from '../../journal/segments.js';
import { checksumIn } from '../../recovery/snapshot/file.js';
import { listSnapshots } from '../../recovery/snapshot/folder.js';
import { vouchedHash } from '../../recovery/snapshot/vouched.js';
import { createPrivateFolder, FILE_MODE, fileHash, named, syncPath } from '../../storage/files.js';
import { checkFolder } from '../replay/input/replay-journal.js';
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

/** What an archive has that a folder lacks. */
interface Unpacked {
  /** Oldest first. */
  segments: Segment[];
  /** The names of those that no segment proves: what came after them is not there. */
  unproven: string[];
}

/** Brings back all segments that the folder lacks and can prove, the newest first. */
export async function restoreSegments({ folder, archive }: ArchiveRequest): Promise<Unpacked> {
  await checkFolder(folder);
  const unpacked = await unpack({ folder, archive, into: folder });
  for (const { path } of listSegments(folder)) rmSync(archivedMark(path), { force: true });
  await syncPath(folder);
  return unpacked;
}

/**
 * Runs `work` with the segments that the folder lacks and can prove, unpacked in a temporary
 * folder. They take their room there until it ends.
 * @param archive null: none is named.
 */
export async function withArchive<Result>(
  folder: string,
  archive: string | null,
  work: (earlier: readonly Segment[], unproven: readonly string[]) => Promise<Result>,
): Promise<Result> {
  if (archive === null) return work([], []);
  const into = mkdtempSync(join(tmpdir(), 'unpacked-segments-'));
  const remove = () => rmSync(into, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const { segments, unproven } = await unpack({ folder, archive, into });
    return await work(segments, unproven);
  } finally {
    process.off('exit', remove);
    remove();
  }
}

/** Each segment is proven by the head of the next, in the folder or unpacked before it. */
async function unpack({
  folder,
  archive,
  into,
}: ArchiveRequest & { into: string }): Promise<Unpacked> {
  const segments: Segment[] = [];
  const unproven: string[] = [];
  for (const number of archivedIn(archive)) {
    if (existsSync(segmentAt(folder, number).path)) continue;
    const nextHash = async (reader: JournalReader) => reader.previousFileOf(number + 1);
    const hash = await readJournal(folder, nextHash, into === folder ? [] : segments);
    if (hash === null) unproven.push(segmentName(number));
    else segments.unshift(await bringBack({ folder, archive, number, hash, into }));
  }
  return { segments, unproven };
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
  /** Of the file. */
  hash: Buffer;
  into: string;
}

async function bringBack({ folder, archive, number, hash, into }: Unpacking): Promise<Segment> {
  const segment = segmentAt(into, number);
  const from = join(archive, `${segmentName(number)}${SUFFIX}`);
  const gunzip = createGunzip();
  const most = unpackedMost(from, archivedMark(segmentAt(folder, number).path));
  let bytes = 0;
  gunzip.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > most) gunzip.destroy(changed(from));
  });
  await copyThrough(from, segment.path, gunzip, (copy) => {
    if (!fileHash(copy).equals(hash)) throw changed(from);
    chmodSync(copy, SEALED_MODE);
  });
  return segment;
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
