/**
 * The tables of a journal on PostgreSQL.
 *
 *   writer    one row: who writes, and up to where. `epoch` grows with each leader. An append and a
 *             takeover lock this row, so each append is wholly before or after a takeover.
 *   batch     the rows of the journal as format.ts has them, and the epoch that wrote each
 *
 * Always holds: a batch is inserted only in the statement that moves `writer` from the end of the
 * batch before, in the epoch of its leader. An older leader, or the same append twice, finds no row
 * to move and inserts nothing.
 */
import { FORMAT_VERSION, GENESIS_HASH } from '../format.js';

export const SCHEMA_SQL = `
  CREATE TABLE IF NOT EXISTS writer (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL,
    epoch bigint NOT NULL,
    last_sequence bigint NOT NULL,
    hash bytea NOT NULL,
    leader text NOT NULL,
    expires timestamptz NOT NULL
  ) WITH (fillfactor = 50);
  CREATE TABLE IF NOT EXISTS batch (
    first_sequence bigint PRIMARY KEY,
    last_sequence bigint NOT NULL,
    epoch bigint NOT NULL,
    records bytea STORAGE EXTERNAL NOT NULL,
    digest text NOT NULL,
    hash bytea NOT NULL
  );
  INSERT INTO writer (version, epoch, last_sequence, hash, leader, expires)
  SELECT ${FORMAT_VERSION}, 0, 0, '\\x${GENESIS_HASH.toString('hex')}', '', now()
  ON CONFLICT DO NOTHING;`;

/** Whether the tables are there: two rows. */
export const TABLES_SQL = `
  SELECT relname FROM pg_class WHERE oid IN (to_regclass('writer'), to_regclass('batch'))`;

/** One row, or none when another leader has taken over. The parameters: APPEND_PARAMETERS. */
export const APPEND_SQL = `
  WITH moved AS (
    UPDATE writer
    SET last_sequence = $3, hash = $6, expires = now() + $7 * interval '1 millisecond'
    WHERE epoch = $1 AND last_sequence = $2 - 1
    RETURNING epoch
  )
  INSERT INTO batch
  SELECT $2::bigint, $3::bigint, epoch, $4::bytea, $5::text, $6::bytea FROM moved`;

/**
 * A new leader. `leader` is a fresh nonce, so that the statement can be repeated after a lost
 * connection. No row: the lease of the present leader is not over.
 */
export const TAKE_OVER_SQL = `
  UPDATE writer
  SET epoch = CASE WHEN leader = $1 THEN epoch ELSE epoch + 1 END, leader = $1,
    expires = now() + $2 * interval '1 millisecond'
  WHERE expires <= now() OR leader = $1 OR $3
  RETURNING epoch, last_sequence, hash`;

/** No row: another leader has taken over. */
export const RENEW_SQL = `
  UPDATE writer SET expires = now() + $2 * interval '1 millisecond' WHERE epoch = $1
  RETURNING epoch`;

/** Ends the lease, so that the next leader need not wait. */
export const RESIGN_SQL = 'UPDATE writer SET expires = now() WHERE epoch = $1';

const COLUMNS = `first_sequence AS "firstSequence", last_sequence AS "lastSequence", records,
  digest, hash`;

/** At most $2 rows from the sequence $1 on, which together have about $3 bytes, or one row. */
export const PAGE_SQL = `
  SELECT ${COLUMNS} FROM (
    SELECT *, sum(octet_length(records)) OVER (ORDER BY first_sequence) - octet_length(records)
      AS before FROM (
        SELECT * FROM batch WHERE first_sequence >= $1 ORDER BY first_sequence LIMIT $2
      ) AS rows
    ) AS page
  WHERE before < $3 ORDER BY first_sequence`;

/** The last $2 rows that begin at or before the sequence $1, the last first. */
export const BEFORE_SQL = `
  SELECT ${COLUMNS} FROM batch WHERE first_sequence <= $1 ORDER BY first_sequence DESC LIMIT $2`;
