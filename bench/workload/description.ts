/** The report's section about the workload. */

import type { Workload } from '../../test/support/workload/workload.js';
import { percent, type Section, tableOf } from '../measure/report.js';

export function describeWorkload({ options, commands, digest, statistics }: Workload): Section {
  const { byKind, orders, crossing, events, mostResting } = statistics;
  const [transfers, mints, merges] = events.matches;
  const kinds = [...byKind].map(([kind, codes]) => {
    const count = [...codes.values()].reduce((sum, n) => sum + n, 0);
    const results = byCount(codes).map(([code, n]) => `${code} ${percent(n / count)}`);
    return { kind, count, results: results.join(', ') };
  });
  kinds.sort((a, b) => b.count - a.count);
  return {
    name: 'workload',
    notes: [
      `seed ${options.seed}: ${commands.length.toLocaleString('en-US')} commands of ${options.users.toLocaleString('en-US')} users in ${options.assets} assets over ${options.windows} quarter hours, market ends included; digest ${digest}.`,
      `${percent(crossing / orders)} of the orders trade at once, with ${(events.trades / crossing).toFixed(2)} resting orders each; ${mostResting.toLocaleString('en-US')} orders rest at most.`,
      `${events.trades.toLocaleString('en-US')} trades: ${percent(transfers / events.trades)} transfers, ${percent(mints / events.trades)} mints, ${percent(merges / events.trades)} merges.`,
    ],
    tables: [
      tableOf('Commands and their results', kinds, {
        command: ({ kind }) => kind,
        count: ({ count }) => count,
        share: ({ count }) => percent(count / commands.length),
        results: ({ results }) => results,
      }),
      { title: 'Events', columns: ['event', 'count'], rows: byCount(events.byEvent) },
    ],
    figures: {
      crossingShare: crossing / orders,
      tradesPerCommand: events.trades / commands.length,
    },
  };
}

function byCount(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort((a, b) => b[1] - a[1]);
}
