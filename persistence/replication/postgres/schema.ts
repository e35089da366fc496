/**
 * The tables of a journal on PostgreSQL.
 *
 *   writer    one row: who writes, and up to where. `epoch` grows with each leader. An append and a
 *             takeover lock this row, so each append is wholly before or after a takeover.
 *             `address` is where the leader takes the requests of replicas and `serving` where it
 *             takes requests of clients, both empty until it does; `secret` is a fingerprint of the
 *             secret with which it signs sessions, which does not reveal it; `renewed` is the time
 *             of the last change, which a leader makes several times a second. `successor` is the
 *             standby that is asked to take over, empty without such a request: the leader then
 *             ends its lease, and for a while only that standby may lead.
 *   standby   a row for each exchange that waits to take over: how far it is, and when it last
 *             reported that
 *   batch     the rows of the journal as format.ts has them, and the epoch that wrote each
 *
 * Invariant: a batch is inserted only in the statement that moves `writer` from the end of the
 * batch before, in the epoch of its leader. An older leader, or the same append twice, finds no row
 * to move and inserts nothing.
 */
import { FORMAT_VERSION, GENESIS_HASH } from '../../journal/format.js';

export const SCHEMA_SQL = `
  CREATE TABLE IF NOT EXISTS writer (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL,
    epoch bigint NOT NULL,
    last_sequence bigint NOT NULL,
    hash bytea NOT NULL,
    leader text NOT NULL,
    address text NOT NULL DEFAULT '',
    serving text NOT NULL DEFAULT '',
    secret text NOT NULL DEFAULT '',
    successor text NOT NULL DEFAULT '',
    renewed timestamptz NOT NULL DEFAULT now(),
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
  CREATE TABLE IF NOT EXISTS standby (
    id text PRIMARY KEY,
    address text NOT NULL,
    sequence bigint NOT NULL,
    seen timestamptz NOT NULL
  );
  INSERT INTO writer (version, epoch, last_sequence, hash, leader, expires)
  SELECT ${FORMAT_VERSION}, 0, 0, '\\x${GENESIS_HASH.toString('hex')}', '', now()
  ON CONFLICT DO NOTHING;`;

/** Returns one row for each of the two tables that exists. */
export const TABLES_SQL = `
  SELECT relname FROM pg_class WHERE oid IN (to_regclass('writer'), to_regclass('batch'))`;

/** The settings under which this very statement commits, for server.ts to judge. */
const SETTINGS = `
  current_setting('fsync') AS "fsync", current_setting('full_page_writes') AS "full_page_writes",
  current_setting('synchronous_commit') AS "synchronous_commit",
  current_setting('synchronous_standby_names') AS "synchronous_standby_names"`;

export const SETTINGS_SQL = `SELECT ${SETTINGS}`;

/** One row with the settings, or none when another leader has taken over. */
export const APPEND_SQL = `
  WITH moved AS (
    UPDATE writer
    SET last_sequence = $3, hash = $6, renewed = now(),
      expires = now() + $7 * interval '1 millisecond'
    WHERE epoch = $1 AND last_sequence = $2 - 1
    RETURNING epoch
  )
  INSERT INTO batch
  SELECT $2::bigint, $3::bigint, epoch, $4::bytea, $5::text, $6::bytea FROM moved
  RETURNING ${SETTINGS}`;

/** `state` and `kind` are null for a user without the role pg_read_all_stats. */
const COPIES = `
  current_setting('synchronous_standby_names') AS "names",
  (SELECT coalesce(json_agg(json_build_object(
    'name', application_name, 'state', state, 'kind', sync_state)), '[]')
    FROM pg_stat_replication) AS "senders"`;

export const COPIES_SQL = `SELECT ${COPIES}`;

/** Whether a commit would end: otherwise its statement waits, with all that it has locked. */
const WOULD_COMMIT = `
  (SELECT count(*) FROM pg_stat_replication
    WHERE coalesce(state, 'streaming') = 'streaming' AND sync_state IS DISTINCT FROM 'async')
  >= coalesce(substring(current_setting('synchronous_standby_names') FROM '([0-9]+) *\\('), '0')::int`;

/**
 * A new leader: one row, with an epoch if this is it, and with the time of the last change of the
 * writer's row. `leader` is a fresh nonce, so that the statement can be repeated after a lost
 * connection. The row has no epoch in these cases, of which (a) to (c) do not count if the caller
 * leads already or forces the takeover ($3):
 * (a) the present leader's lease has not ended, or was renewed after the caller read $5;
 * (b) the lease ended less than two seconds ago, and either the leader handed it to a standby other
 *     than the caller ($4, empty if the caller is not a standby), or the caller is not a standby
 *     while a standby, with a warm engine, waits;
 * (c) the commit would wait for copies;
 * (d) another statement that changes the row is waiting for copies.
 * So no takeover waits for another, and a statement that ends after it has waited for copies renews
 * a lease before another process leads. The new leader's row in standby is deleted, because the
 * next takeover by plan must not choose it.
 */
export const TAKE_OVER_SQL = `
  WITH free AS (
    SELECT one FROM writer
    WHERE leader = $1 OR $3 OR (renewed::text = $5 AND (
      expires <= now() - interval '2 seconds'
      OR (expires <= now() AND successor IN ('', $4) AND ($4 <> '' OR NOT EXISTS (
        SELECT FROM standby WHERE seen > now() - interval '3 seconds'))))
      AND ${WOULD_COMMIT})
    FOR UPDATE SKIP LOCKED
  ), won AS (
    UPDATE writer
    SET epoch = CASE WHEN leader = $1 THEN epoch ELSE epoch + 1 END, leader = $1,
      address = '', serving = '', secret = '', successor = '', renewed = now(),
      expires = now() + $2 * interval '1 millisecond'
    FROM free WHERE writer.one = free.one
    RETURNING epoch, last_sequence, hash
  ), gone AS (
    DELETE FROM standby WHERE id = $4 AND EXISTS (SELECT FROM won)
  )
  SELECT won.epoch, won.last_sequence, won.hash, writer.renewed::text AS renewed
  FROM writer LEFT JOIN won ON true`;

/** No row: another leader has taken over. */
export const RENEW_SQL = `
  UPDATE writer
  SET address = $3, serving = $4, secret = $5, renewed = now(),
    expires = now() + $2 * interval '1 millisecond'
  WHERE epoch = $1
  RETURNING successor, ${SETTINGS},
    (SELECT count(*) FROM standby WHERE seen > now() - interval '5 seconds') AS standbys`;

export const WAITING_SQL = `
  INSERT INTO standby (id, address, sequence, seen)
  SELECT $1::text, $2::text, $3::bigint, now()
  FROM (SELECT set_config('synchronous_commit', 'local', true)) AS not_replicated
  ON CONFLICT (id) DO UPDATE SET address = $2, sequence = $3, seen = now()`;

/** The standbys that reported in the last seconds, the furthest first. */
export const STANDBYS_SQL = `
  SELECT id, address, sequence FROM standby WHERE seen > now() - interval '5 seconds'
  ORDER BY sequence DESC, id`;

export const HAND_OVER_SQL = 'UPDATE writer SET successor = $2 WHERE epoch = $1';
export const WITHDRAW_SQL = "UPDATE writer SET successor = '' WHERE epoch = $1";
export const LEADER_SQL = `
  SELECT epoch, serving, secret, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "atMs",
    (extract(epoch FROM renewed) * 1000)::float8 AS "renewedMs", renewed::text, ${COPIES}
  FROM writer`;

/** Compares the clocks of the nodes, which must be synchronized (NTP). */
export const HEAD_SQL = `
  SELECT epoch, last_sequence AS "lastSequence", address, serving,
    (extract(epoch FROM clock_timestamp() - renewed) * 1000)::float8 AS "ageMs",
    (extract(epoch FROM expires - clock_timestamp()) * 1000)::float8 AS "leaseLeftMs"
  FROM writer`;

/** Ends the lease, so that the next leader need not wait. */
export const RESIGN_SQL = `
  UPDATE writer SET expires = now(), address = '', serving = '' WHERE epoch = $1`;

const COLUMNS = `first_sequence AS "firstSequence", last_sequence AS "lastSequence", records,
  digest, hash`;

/** Reads rows from the sequence $1 on: at most $2 rows, and about $3 bytes or one larger row. */
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
