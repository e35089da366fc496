/**
 * The head mark, `journal.head`: the end of the journal when the last reply was sent. A journal
 * that has lost its last rows (copied without journal.db-wal, say) is still a valid journal, only
 * shorter. The mark shows that the end is missing.
 *
 *   bytes 0 to 79        slot 0
 *   bytes 4096 to 4175   slot 1, in another page, so that no torn write damages both; the rest is
 *                        zeros
 *
 * A slot is "QHXMARK1", sequence (8 bytes, little-endian), hash of the batch that ends there (32
 * bytes), SHA-256 of the 48 bytes before it. Slots are written alternately. The mark is the valid
 * slot with the higher sequence.
 *
 * Invariant: the mark is written after its commit is on disk, and before anything of that commit
 * is released. It needs no fsync: if the process is killed, the operating system still writes it;
 * if the power fails, the mark on disk may be older than the journal, never newer, and only the
 * slot being written can be torn. So no crash makes a valid journal look incomplete. It is not much
 * older either ({@link BEHIND_MAX}), because it is synced in the background from time to time.
 * (With a durability other than `full` a power cut can lose commits, and the mark shows the loss.)
 * The file gets its name when it is complete and on disk, so an empty or torn mark is damage.
 */
import { hash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fdatasync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { getUint64, putUint64 } from '../storage/bytes.js';
import { FILE_MODE, named, withFile } from '../storage/files.js';

const MAGIC = Buffer.from('QHXMARK1', 'latin1');
const SLOT_BYTES = 80;
const SUMMED_BYTES = 48;
const SLOT_OFFSETS = [0, 4096] as const;
const FILE_BYTES = 8192;

/** One more sync per this many commits, made in parallel, has no measurable cost. */
const SYNC_EVERY = 256;
const UNSYNCED_MAX = 2 * SYNC_EVERY;
/**
 * The most batches that the mark can be behind after a power cut: those since the last sync, and
 * one if the newer slot is torn. After a kill it is at most one. The journal waits rather than
 * exceed this.
 */
export const BEHIND_MAX = UNSYNCED_MAX + 1;

const syncData = promisify(fdatasync);

export interface Mark {
  sequence: number;
  hash: Buffer;
}

/** `unreadable`: the file exists, but neither slot is valid. */
export type MarkState =
  | { state: 'missing' }
  | { state: 'unreadable' }
  | { state: 'read'; mark: Mark };

export function readMark(path: string): MarkState {
  let file: Buffer;
  try {
    file = readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { state: 'missing' };
    throw named(error, path);
  }
  const mark = slotsOf(file)[1 - staleSlot(file)]!;
  return mark === null ? { state: 'unreadable' } : { state: 'read', mark };
}

function slotsOf(file: Buffer): (Mark | null)[] {
  return SLOT_OFFSETS.map((offset) => readSlot(file.subarray(offset, offset + SLOT_BYTES)));
}

/** The slot that does not hold the mark: torn, older or equal. */
function staleSlot(file: Buffer): 0 | 1 {
  const [first, second] = slotsOf(file).map((mark) => mark?.sequence ?? -1);
  return first! >= second! ? 1 : 0;
}

function readSlot(slot: Buffer): Mark | null {
  if (slot.length < SLOT_BYTES || !slot.subarray(0, 8).equals(MAGIC)) return null;
  if (slot.toString('binary', SUMMED_BYTES) !== checksum(slot)) return null;
  return { sequence: getUint64(slot, 8), hash: Buffer.from(slot.subarray(16, SUMMED_BYTES)) };
}

/** One character per byte: a new Buffer would take twice the hash's time. */
function checksum(slot: Buffer): string {
  return hash('sha256', slot.subarray(0, SUMMED_BYTES), 'binary');
}

/** The only writer of the mark, one per journal, under the folder's lock. */
export class HeadMark {
  private readonly file: number;
  private readonly slot = Buffer.alloc(SLOT_BYTES);
  private next: 0 | 1 = 0;
  /** Marks written since the last one known to be on disk. */
  private unsynced = 0;
  /** The current sync; a failed one stays, because the state of its data on disk is unknown. */
  private syncing: Promise<void> | null = null;

  constructor(path: string, mark: Mark) {
    MAGIC.copy(this.slot);
    if (!existsSync(path)) createMark(path, this.encoded(mark));
    this.file = openSync(path, 'r+', FILE_MODE);
    // A killed process may have overwritten a torn slot without syncing it.
    fsyncSync(this.file);
    this.next = staleSlot(readFileSync(path));
    for (const _ of SLOT_OFFSETS) {
      this.write(mark);
      // One slot at a time, a torn one first: a power cut leaves the other intact.
      fsyncSync(this.file);
    }
    this.unsynced = 0;
  }

  /** Blocks for a few microseconds: the page is already in memory. */
  write(mark: Mark): void {
    const slot = this.encoded(mark);
    const written = writeSync(this.file, slot, 0, SLOT_BYTES, SLOT_OFFSETS[this.next]);
    if (written !== SLOT_BYTES) throw new Error('journal.head could not be written completely');
    this.next = this.next === 0 ? 1 : 0;
    this.unsynced++;
    if (this.unsynced >= SYNC_EVERY && this.syncing === null) this.sync().catch(() => {});
  }

  /** Whether the next commit must wait for {@link sync}. */
  get mustSync(): boolean {
    return this.unsynced >= UNSYNCED_MAX;
  }

  /** Resolves when the disk can no longer hold a mark older than the last one. */
  async sync(): Promise<void> {
    await this.syncing;
    this.syncing = this.syncNow(this.unsynced);
    await this.syncing;
  }

  private async syncNow(marks: number): Promise<void> {
    await syncData(this.file);
    this.unsynced -= marks;
    this.syncing = null;
  }

  async close(): Promise<void> {
    await this.syncing?.catch(() => {});
    closeSync(this.file);
  }

  /** The mark's bytes, until the next call. */
  private encoded(mark: Mark): Buffer {
    const { slot } = this;
    putUint64(slot, mark.sequence, 8);
    mark.hash.copy(slot, 16);
    slot.write(checksum(slot), SUMMED_BYTES, 'binary');
    return slot;
  }
}

function createMark(path: string, slot: Buffer): void {
  const bytes = Buffer.alloc(FILE_BYTES);
  for (const offset of SLOT_OFFSETS) slot.copy(bytes, offset);
  const temporary = `${path}.new`;
  withFile(temporary, 'w', (file) => {
    if (writeSync(file, bytes) !== FILE_BYTES) throw new Error(`${temporary} is incomplete`);
    fsyncSync(file);
  });
  renameSync(temporary, path);
}
