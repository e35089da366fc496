/**
 * The format of the journal, and the rules for a valid journal.
 *
 * A data folder holds
 *   journal.db        a SQLite database; beside it, while it is open or after a crash,
 *                     journal.db-wal and journal.db-shm, which are part of it and must be copied
 *                     and kept with it
 *   journal-000002.db and so on: the journal continues there when journal.db is full (segments.ts)
 *   journal.head      how far the journal reached (head-mark.ts)
 *   journal.lock      one exchange per folder (folder-lock.ts)
 *
 * journal.db has application_id 0x51484558 ("QHEX"), user_version 1 and one table. The version
 * covers the format, the records, and the engine's rules, results, events and digest: everything
 * that a replay must reproduce. It is raised whenever one of them changes (versions.test.ts fails
 * otherwise), so a journal that this program would replay to another state is refused by its
 * version, before anything is replayed.
 *
 *   batch             one row per group commit, never changed, never deleted
 *     firstSequence   sequence of the row's first command
 *     lastSequence    sequence of its last one
 *     records         its commands, in order (engine/interface/records.ts)
 *     digest          the engine's running digest after the last one, 16 hex digits
 *     hash            SHA-256 over: the hash of the previous row (32 bytes), firstSequence and
 *                     lastSequence (8 bytes each, little-endian), digest (16 bytes ASCII), records.
 *                     The first row's previous hash is SHA-256("quarter-hour-exchange journal 1").
 *
 * A journal is valid when
 *   1. firstSequence is 1 in the first row, and the lastSequence of the previous row plus 1 in
 *      every other;
 *   2. lastSequence is not less than firstSequence, and records holds exactly that many records;
 *   3. every hash is that of its row and the previous hash;
 *   4. a row ends at the head mark's sequence, with the head mark's hash;
 *   5. an engine that starts empty and applies all records in order has, after each row, the row's
 *      digest.
 * The reader (reader.ts) checks rules 1 to 4; recovery (recovery.ts) checks the records and
 * rule 5. The chain detects damage and loss. It is not a signature: anyone who can write to the
 * folder can write a valid journal.
 */
import { createHash } from 'node:crypto';
import type { RecordBuffer } from '../../engine/interface/records.js';
import { putUint64 } from '../storage/bytes.js';

export const JOURNAL_FILE = 'journal.db';
export const HEAD_FILE = 'journal.head';
export const APPLICATION_ID = 0x51484558;
/** The version of the format and of the engine's rules. The program reads only this version. */
export const FORMAT_VERSION = 1;

export const TABLE_SQL = `CREATE TABLE batch (
  firstSequence INTEGER PRIMARY KEY,
  lastSequence INTEGER NOT NULL,
  records BLOB NOT NULL,
  digest TEXT NOT NULL,
  hash BLOB NOT NULL
) STRICT`;

export const HASH_BYTES = 32;
export const DIGEST_FORM = /^[0-9a-f]{16}$/;
/** The longest `records` in a row: a full batch and one record of the largest size. */
export const MAX_ROW_BYTES = 16 * 1024 * 1024;

export const GENESIS_HASH: Buffer = createHash('sha256')
  .update('quarter-hour-exchange journal 1')
  .digest();

export interface BatchContent {
  firstSequence: number;
  lastSequence: number;
  records: Buffer;
  digest: string;
}

/** The bytes of the records, not copied: valid until the buffer changes. */
export function bytesOf(records: RecordBuffer): Buffer {
  return Buffer.from(records.bytes.buffer, 0, records.byteLength);
}

const hashedHead = Buffer.alloc(32);

export function hashOf(batch: BatchContent, previousHash: Buffer): Buffer {
  putUint64(hashedHead, batch.firstSequence, 0);
  putUint64(hashedHead, batch.lastSequence, 8);
  hashedHead.write(batch.digest, 16, 16, 'latin1');
  return createHash('sha256')
    .update(previousHash)
    .update(hashedHead)
    .update(batch.records)
    .digest();
}

/** A position in the journal, after a batch; {@link GENESIS} before the first. */
export interface JournalPosition {
  sequence: number;
  hash: Buffer;
  digest: string | null;
}

export const GENESIS: JournalPosition = Object.freeze({
  sequence: 0,
  hash: GENESIS_HASH,
  digest: null,
});
