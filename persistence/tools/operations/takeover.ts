/**
 * A planned takeover: asks the leader of a journal on PostgreSQL to hand over to a waiting standby,
 * and reports when the standby serves.
 *
 * Invariant: the request is made only if a standby has reported within seconds that it waits,
 * and is withdrawn if it is not met.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresAddress } from '../../replication/postgres/address.js';
import { copiesIn } from '../../replication/postgres/copies.js';
import {
  COPIES_SQL,
  HAND_OVER_SQL,
  LEADER_SQL,
  STANDBYS_SQL,
  WITHDRAW_SQL,
} from '../../replication/postgres/schema.js';
import { connect, hasTables } from '../../replication/postgres/server.js';
import { OperationRefused } from './folders.js';

const LOOK_EVERY_MS = 20;

export interface Takeover {
  epoch: number;
  serving: string;
  /** The time from the request until the new leader served. */
  tookMs: number;
}

export interface TakeoverOptions {
  address: PostgresAddress;
  limitMs: number;
}

export async function takeover(options: TakeoverOptions): Promise<Takeover> {
  const { address, limitMs } = options;
  const client = await connect(address, 'primary');
  try {
    if (!(await hasTables(client))) throw new OperationRefused('there is no journal yet');
    const leader = async () => {
      const { rows } = await client.query(LEADER_SQL);
      const { epoch, serving, atMs } = rows[0];
      return { epoch: Number(epoch), serving: String(serving), atMs: Number(atMs) };
    };
    const { epoch, atMs: startedMs } = await leader();
    const { rows: standbys } = await client.query(STANDBYS_SQL);
    const { rows: found } = await client.query(COPIES_SQL);
    const copies = copiesIn(found[0]);
    if (copies !== null && copies.there.length < copies.needed) {
      throw new OperationRefused(
        `${copies.there.length} copies of the journal are available (missing: ${copies.missing.join(', ')}), and a commit ` +
          `needs ${copies.needed}, so no exchange could take the lead. Nothing was changed.`,
      );
    }
    if (standbys.length === 0) {
      throw new OperationRefused(
        'no standby is waiting: start one with ROLE=standby, and ask again when it says that its ' +
          'engine is warm. Nothing was changed.',
      );
    }
    await client.query(HAND_OVER_SQL, [epoch, standbys[0].id]);
    for (let tookMs = 0; tookMs < limitMs; ) {
      const now = await leader();
      tookMs = Math.round(now.atMs - startedMs);
      if (now.epoch > epoch && now.serving !== '')
        return { epoch: now.epoch, serving: now.serving, tookMs };
      await delay(LOOK_EVERY_MS);
    }
    await client.query(WITHDRAW_SQL, [epoch]);
    throw new OperationRefused(
      `the standby at ${standbys[0].address} did not take the lead within ${limitMs / 1_000} s. The ` +
        'request was withdrawn. See the logs of the leader and of the standby.',
    );
  } finally {
    await client.end().catch(() => {});
  }
}
