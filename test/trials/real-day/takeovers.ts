/**
 * A takeover at every hour of a day: by plan, after the leader was killed, and while it was paused,
 * in turns. The exchange's time stands still meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../../bench/cluster/cluster.js';
import { until } from '../../../bench/cluster/until.js';
import type { Random } from '../../../bench/workload/random.js';
import { takeover } from '../../../persistence/tools/operations/takeover.js';
import { FAULTS } from '../cluster-kill/faults.js';

export const HOUR_MS = 3_600_000;
const LOOK_MS = 20;
const LIMIT_MS = 10_000;
const KINDS = ['by plan', 'leader killed', 'leader paused'] as const;

export interface TakeoverSeen {
  kind: (typeof KINDS)[number];
  /** The full hour. */
  atMs: number;
  /** Until another exchange served. */
  tookMs: number;
}

/** One at each full hour after `fromMs`, the last at `untilMs`. `nowMs`: the exchange's time. */
export async function takeOverHourly(
  cluster: Cluster,
  times: { fromMs: number; untilMs: number; nowMs: () => number },
  random: Random,
): Promise<TakeoverSeen[]> {
  const seen: TakeoverSeen[] = [];
  const { fromMs, untilMs, nowMs } = times;
  for (let atMs = nextHour(fromMs); atMs <= untilMs; atMs = nextHour(atMs)) {
    while (nowMs() < atMs) await sleep(LOOK_MS);
    const kind = KINDS[seen.length % KINDS.length]!;
    const tookMs = await takeOver(cluster, kind, random);
    seen.push({ kind, atMs, tookMs });
  }
  return seen;
}

const nextHour = (atMs: number) => atMs - (atMs % HOUR_MS) + HOUR_MS;

async function takeOver(
  cluster: Cluster,
  kind: TakeoverSeen['kind'],
  random: Random,
): Promise<number> {
  const old = await cluster.leader();
  // The one that led before may have to start again first.
  for (const exchange of cluster.exchanges)
    if (!exchange.isReplica)
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
