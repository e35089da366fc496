/**
 * The format of a snapshot: the whole state of the engine at the end of a journal batch, in one
 * file, so that startup need not replay the journal from its first command. Without snapshots the
 * journal rebuilds the same state.
 *
 *   bytes 0 to 7      "QHXSNAP1"
 *   8 to 15           format version (all integers are 8 bytes, little-endian)
 *   16 to 23          sequence of the last command in it
 *   24 to 31          time of that command, milliseconds since the epoch
 *   32 to 47          the engine's digest after it, 16 hex digits
 *   48 to 79          hash of the journal's batch that ends there, which identifies the journal
 *   80 to 87          length of the state in bytes
 *   88 …              the state, as engine/storage/archive.ts writes it
 *   the last 32       SHA-256 over everything before them
 *
 * The version is raised whenever the engine's archive changes (versions.test.ts fails otherwise). A
 * snapshot of a different version is skipped. Startup then uses an older one, or the whole journal.
 */
import { HASH_BYTES } from '../../journal/format.js';
import { getUint64, putUint64 } from '../../storage/bytes.js';

const MAGIC = Buffer.from('QHXSNAP1', 'latin1');
export const SNAPSHOT_VERSION = 1;
export const SNAPSHOT_HEADER_BYTES = 88;
export const SNAPSHOT_SUM_BYTES = 32;

export interface SnapshotHeader {
  sequence: number;
  atMs: number;
  digest: string;
  /** The hash of the journal's batch that ends at `sequence`. */
  hash: Buffer;
  stateBytes: number;
}

/** The file is not a complete, undamaged snapshot of this version; the message says why. */
export class SnapshotError extends Error {
  override name = 'SnapshotError';
}

export function encodeSnapshotHeader(header: SnapshotHeader): Buffer {
  const bytes = Buffer.alloc(SNAPSHOT_HEADER_BYTES);
  MAGIC.copy(bytes);
  putUint64(bytes, SNAPSHOT_VERSION, 8);
  putUint64(bytes, header.sequence, 16);
  putUint64(bytes, header.atMs, 24);
  bytes.write(header.digest, 32, 16, 'latin1');
  header.hash.copy(bytes, 48);
  putUint64(bytes, header.stateBytes, 80);
  return bytes;
}

/** @param fileBytes the length of the whole file. */
export function decodeSnapshotHeader(bytes: Buffer, fileBytes: number): SnapshotHeader {
  if (!bytes.subarray(0, 8).equals(MAGIC))
    throw new SnapshotError('it does not begin with the bytes of a snapshot');
  const version = getUint64(bytes, 8);
  if (version !== SNAPSHOT_VERSION) {
    throw new SnapshotError(
      `its format version is ${version}; this program reads version ${SNAPSHOT_VERSION}`,
    );
  }
  const header = {
    sequence: getUint64(bytes, 16),
    atMs: getUint64(bytes, 24),
    digest: bytes.toString('latin1', 32, 48),
    hash: Buffer.from(bytes.subarray(48, 48 + HASH_BYTES)),
    stateBytes: getUint64(bytes, 80),
  };
  const expectedBytes = SNAPSHOT_HEADER_BYTES + header.stateBytes + SNAPSHOT_SUM_BYTES;
  if (fileBytes !== expectedBytes) {
    throw new SnapshotError(
      `it has ${fileBytes} bytes; according to its header it should have ${expectedBytes}`,
    );
  }
  return header;
}
