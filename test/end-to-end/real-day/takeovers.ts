/**
 * A takeover at every hour of a day: by plan, after the leader was killed, and while it was paused,
 * in turns. The exchange's time stands still meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../../bench/cluster/cluster.js';
import { FAULTS } from '../../../bench/cluster/kill/faults.js';
import { until } from '../../../bench/cluster/until.js';
import type { Random } from '../../../bench/workload/random.js';
import { takeover } from '../../../persistence/operations/takeover.js';
import { DAY_START_MS } from './day-prices.js';

const HOUR_MS = 3_600_000;
const LOOK_MS = 20;
const LIMIT_MS = 10_000;
const KINDS = ['by plan', 'leader killed', 'leader paused'] as const;

export interface TakeoverSeen {
  kind: (typeof KINDS)[number];
  /** Of the day. */
  hour: number;
  /** Until another exchange served. */
  tookMs: number;
}

/** One at each of the first `hours` hours after midnight. `nowMs`: the exchange's time. */
export async function takeOverHourly(
  cluster: Cluster,
  { hours, nowMs, random }: { hours: number; nowMs: () => number; random: Random },
): Promise<TakeoverSeen[]> {
  const seen: TakeoverSeen[] = [];
  for (let hour = 1; hour <= hours; hour++) {
    while (nowMs() < DAY_START_MS + hour * HOUR_MS) await sleep(LOOK_MS);
    const kind = KINDS[(hour - 1) % KINDS.length]!;
    const tookMs = await takeOver(cluster, kind, random);
    seen.push({ kind, hour, tookMs });
  }
  return seen;
}

async function takeOver(
  cluster: Cluster,
  kind: TakeoverSeen['kind'],
  random: Random,
): Promise<number> {
  const old = await cluster.leader();
  // The one that led before may have to start again first.
  for (const exchange of cluster.exchanges)
    if (!exchange.isGateway)
      await until('all are warm', () => exchange.untilWarm().then(() => true));
  const startedMs = performance.now();
  if (kind === 'by plan')
    await until('a standby takes over', async () => {
      await takeover({ address: cluster.postgres.address, limitMs: LIMIT_MS });
      return true;
    });
  else await FAULTS[kind]!(cluster, random);
  await until('another exchange leads', async () => (await cluster.leader()) !== old);
  return Math.round(performance.now() - startedMs);
}
