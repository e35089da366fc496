/**
 * The journal on PostgreSQL beside the one on SQLite, in one run: appends, engine and journal,
 * orders over HTTP and through replicas.
 */
import { PostgresCluster } from '../cluster/postgres.js';
import { type BenchOptions, LIMITS_NOTE } from '../http/exchange-under-load.js';
import { inFolder } from '../measure/machine.js';
import { type Section, sectionOf } from '../measure/report.js';
import type { Workload } from '../workload/workload.js';
import { benchAppends } from './appends.js';
import { benchLoops } from './loops.js';
import { forwardingPart, measureOrders, type OrdersRow, ordersPart } from './orders.js';
import { type Setup, type Started, startSetup } from './setup.js';

const SETUPS = [
  { name: 'SQLite, leader', isReplicated: false, replicas: 0 },
  { name: 'PostgreSQL, leader', isReplicated: true, replicas: 0 },
  { name: 'PostgreSQL, one replica', isReplicated: true, replicas: 1 },
  { name: 'PostgreSQL, two replicas', isReplicated: true, replicas: 2 },
];

export async function benchPostgres(workload: Workload, options: BenchOptions): Promise<Section> {
  const { seconds } = options;
  const postgres = await PostgresCluster.start();
  try {
    const parts = [
      await benchAppends(postgres, options),
      await benchLoops(postgres, workload, options),
    ];
    const orders: OrdersRow[] = [];
    for (const { name, isReplicated, replicas } of SETUPS) {
      const of = { postgres: isReplicated ? postgres : null, replicas };
      await withSetup(options.parent, name, of, async (setup, started) => {
        orders.push(...(await measureOrders(setup, seconds, started)));
      });
    }
    parts.push(ordersPart(orders), forwardingPart(orders));
    return sectionOf('postgres', NOTES, parts);
  } finally {
    await postgres.stop();
  }
}

const NOTES = [
  'SQLite with synchronous=FULL, and three nodes of PostgreSQL with synchronous_commit=on and ANY 1 of two standbys, all on this machine: they share its cores and its disk, so only ratios say something. A leader, replicas and clients run beside them.',
  'Orders: the loads of the http section, over 64 connections singly and 16 in batches of 100, shared by the replicas. CPU is user and system time of whole processes; of several replicas or nodes, the mean. Percentiles of two replicas are those of the slower one.',
  'What forwarding costs: a replica applies all commands of the journal and forwards the requests of its own clients, so of two replicas each forwards half.',
  LIMITS_NOTE,
];

async function withSetup(
  parent: string,
  name: string,
  of: { postgres: PostgresCluster | null; replicas: number },
  work: (setup: Setup, started: Started) => Promise<void>,
): Promise<void> {
  const running: { stop(): Promise<void> }[] = [];
  const started: Started = (process) => {
    running.push(process);
    return process;
  };
  await inFolder(parent, async (folder) => {
    try {
      await work(await startSetup(name, { folder, ...of }, started), started);
    } finally {
      for (const process of running.toReversed()) await process.stop();
    }
  });
}
