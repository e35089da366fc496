/** The engine with its journal, on SQLite and on PostgreSQL: durable commands per second. */
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { PostgresJournal } from '../../persistence/replication/postgres/postgres-journal.js';
import type { PostgresCluster } from '../cluster/postgres.js';
import { inFolder } from '../measure/machine.js';
import { type Part, tableOf } from '../measure/report.js';
import { type LoopResult, runOnJournal } from '../workload/closed-loop.js';
import type { Workload } from '../workload/workload.js';

const OUTSTANDING = [1, 64, 1_024, 8_192] as const;

interface LoopRow {
  store: 'SQLite' | 'PostgreSQL';
  outstanding: number;
  loop: LoopResult;
}

export async function benchLoops(
  postgres: PostgresCluster,
  workload: Workload,
  { parent, seconds }: { parent: string; seconds: number },
): Promise<Part> {
  const rows: LoopRow[] = [];
  for (const outstanding of OUTSTANDING) {
    const options = { workload, outstanding, seconds };
    const sqlite = await inFolder(parent, async (folder) =>
      runOnJournal(options, await openJournal({ folder })),
    );
    rows.push({ store: 'SQLite', outstanding, loop: sqlite });
    await postgres.dropJournal();
    const { address } = postgres;
    const journal = await PostgresJournal.takeOver({ address, isUnreplicated: false });
    const loop = await runOnJournal(options, journal);
    rows.push({ store: 'PostgreSQL', outstanding, loop });
  }
  const rateOf = ({ loop }: LoopRow) => loop.commands / loop.seconds;
  const ratioOf = (row: LoopRow) =>
    rateOf(row) / rateOf(rows.find(({ outstanding }) => outstanding === row.outstanding)!);
  const table = tableOf(
    'Engine and journal, closed loop, no follower; from submit to durable in milliseconds',
    rows,
    {
      journal: ({ store }) => store,
      outstanding: ({ outstanding }) => outstanding,
      'commands/s': rateOf,
      'of SQLite': ratioOf,
      'commands/commit': ({ loop }) => loop.commands / loop.batches,
      p50: ({ loop }) => loop.latencyMs.percentile(0.5),
      p99: ({ loop }) => loop.latencyMs.percentile(0.99),
    },
  );
  const figures = Object.fromEntries(
    rows
      .filter(({ store }) => store === 'PostgreSQL')
      .map((row) => [`loop${row.outstanding}OfSqliteRatio`, ratioOf(row)]),
  );
  return { table, figures };
}
