/**
 * The journal on PostgreSQL beside the one on SQLite, in one run: appends, engine and journal,
 * orders over HTTP and through gateways.
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
  { name: 'SQLite, leader', isReplicated: false, gateways: 0 },
  { name: 'PostgreSQL, leader', isReplicated: true, gateways: 0 },
  { name: 'PostgreSQL, one gateway', isReplicated: true, gateways: 1 },
  { name: 'PostgreSQL, two gateways', isReplicated: true, gateways: 2 },
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
    for (const { name, isReplicated, gateways } of SETUPS) {
      const of = { postgres: isReplicated ? postgres : null, gateways };
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
  'SQLite with synchronous=FULL, and three nodes of PostgreSQL with synchronous_commit=on and ANY 1 of two standbys, all on this machine: they share its cores and its disk, so only ratios say something. A leader, gateways and clients run beside them.',
  'Orders: the loads of the http section, over 64 connections singly and 16 in batches of 100, shared by the gateways. CPU is user and system time of whole processes; of several gateways or nodes, the mean. Percentiles of two gateways are those of the slower one.',
  'What forwarding costs: a gateway applies all commands of the journal and forwards the requests of its own clients, so of two gateways each forwards half.',
  LIMITS_NOTE,
];

async function withSetup(
  parent: string,
  name: string,
  of: { postgres: PostgresCluster | null; gateways: number },
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
