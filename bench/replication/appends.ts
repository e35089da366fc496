/**
 * The journal alone: appends of a given size, one in flight, to SQLite and to PostgreSQL in turns.
 */

import type { CommitLog } from '../../persistence/journal/store.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { PostgresJournal } from '../../persistence/replication/postgres/postgres-journal.js';
import type { PostgresCluster } from '../cluster/postgres.js';
import { inFolder } from '../measure/machine.js';
import { type Part, tableOf } from '../measure/report.js';
import { median, Samples } from '../measure/samples.js';

/** Commands in an append, and about as many bytes as they have. */
const SIZES = [64, 256, 1_024] as const;
const COMMAND_BYTES = 48;
const ROUNDS = 3;
const DIGEST = '0123456789abcdef';

export interface AppendOptions {
  parent: string;
  seconds: number;
}

interface Appends {
  store: string;
  size: number;
  /** Of each round. */
  perSecond: number[];
  latencyMs: Samples;
}

export async function benchAppends(
  postgres: PostgresCluster,
  { parent, seconds }: AppendOptions,
): Promise<Part> {
  const all = SIZES.flatMap((size) => {
    const of = (store: string): Appends => ({
      store,
      size,
      perSecond: [],
      latencyMs: new Samples(),
    });
    return [of('SQLite'), of('PostgreSQL')];
  });
  await inFolder(parent, async (folder) => {
    const { address } = postgres;
    const journals: Record<string, CommitLog> = {
      SQLite: await openJournal({ folder }),
      PostgreSQL: await PostgresJournal.takeOver({ address, isUnreplicated: false }),
    };
    for (let round = 0; round < ROUNDS; round++)
      for (const each of all) await appendFor(journals[each.store]!, each, seconds / ROUNDS);
    for (const journal of Object.values(journals)) await journal.close();
  });
  const commandsOf = ({ perSecond, size }: Appends) => median(perSecond) * size;
  const ratioOf = (each: Appends) =>
    commandsOf(each) / commandsOf(all.find(({ size }) => size === each.size)!);
  const table = tableOf('Appends, one in flight, in turns; latency in milliseconds', all, {
    journal: ({ store }) => store,
    'commands in one': ({ size }) => size,
    'appends/s': ({ perSecond }) => median(perSecond),
    'commands/s': commandsOf,
    'of SQLite': ratioOf,
    p50: ({ latencyMs }) => latencyMs.percentile(0.5),
    p99: ({ latencyMs }) => latencyMs.percentile(0.99),
  });
  const figures = Object.fromEntries(
    all
      .filter(({ store }) => store === 'PostgreSQL')
      .map((each) => [`append${each.size}OfSqliteRatio`, ratioOf(each)]),
  );
  return { table, figures };
}

async function appendFor(journal: CommitLog, appends: Appends, seconds: number): Promise<void> {
  const { size, latencyMs } = appends;
  const records = Buffer.alloc(size * COMMAND_BYTES, 'a command, as many bytes as most have');
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1_000;
  let count = 0;
  while (performance.now() < endMs) {
    const firstSequence = journal.end.sequence + 1;
    const lastSequence = firstSequence + size - 1;
    const sentMs = performance.now();
    const batch = { firstSequence, lastSequence, records, digest: DIGEST };
    const error = await new Promise((done) => journal.append(batch, done));
    if (error !== null) throw error;
    latencyMs.add(performance.now() - sentMs);
    count++;
  }
  appends.perSecond.push((count / (performance.now() - startedMs)) * 1_000);
}
