/** The stream to a thousand readers at one gateway, and at two that share them. */
import { requestBytes } from '../http/load/messages.js';
import type { StreamLoadResult } from '../http/load/stream-load.js';
import { LoadGenerator } from '../http/processes.js';
import { type Part, percent, tableOf, textOf } from '../measure/report.js';
import { mean, portsOf, type Setup, type Started } from './setup.js';

const READERS = 1_000;
const WARM_UP_MS = 1_000;
/** Orders per second; null: as many as are delivered. */
const PACES = [50, null] as const;

export interface FanOutRow {
  setup: string;
  gateways: number;
  pace: (typeof PACES)[number];
  result: StreamLoadResult;
}

export async function measureFanOut(
  setup: Setup,
  seconds: number,
  started: Started,
): Promise<FanOutRow[]> {
  const { leader, gateways, name } = setup;
  const generator = started(new LoadGenerator());
  // A buy that takes one resting order.
  const request = requestBytes({
    method: 'POST',
    path: `/markets/15m/${leader.marketId}/buy`,
    headers: await leader.register('streamed'),
    body: { outcome: 'UP', amount: 1 },
  });
  const rows: FanOutRow[] = [];
  for (const pace of PACES) {
    const result = await generator.runStream({
      port: portsOf(setup)[0]!,
      readerPorts: portsOf(setup),
      channel: `trades:${leader.marketId}`,
      readers: READERS,
      request,
      perSecond: pace,
      warmUpMs: WARM_UP_MS,
      measureMs: seconds * 1_000,
      pids: [leader, ...gateways].map(({ pid }) => pid),
    });
    rows.push({ setup: name, gateways: gateways.length, pace, result });
  }
  return rows;
}

export function fanOutPart(rows: readonly FanOutRow[]): Part {
  const rateOf = ({ result }: FanOutRow) => (result.delivered / result.measuredMs) * 1_000;
  const ratioOf = (row: FanOutRow) =>
    rateOf(row) / rateOf(rows.find(({ gateways, pace }) => gateways === 1 && pace === row.pace)!);
  const cpuOf = (ms: number, { result }: FanOutRow) => (1_000 * ms) / result.delivered;
  const title = `Fan-out to ${textOf(READERS)} readers; latencies in milliseconds; CPU per message in microseconds`;
  const table = tableOf(title, rows, {
    'journal and way': ({ setup }) => setup,
    orders: ({ pace }) => (pace === null ? 'as many as are delivered' : `${pace} a second`),
    'messages/s': rateOf,
    'of one gateway': ratioOf,
    'reader p50': ({ result }) => result.reader.p50Ms,
    'reader p99': ({ result }) => result.reader.p99Ms,
    'last reader p99': ({ result }) => result.lastReader.p99Ms,
    leader: (row) => cpuOf(row.result.threadCpuMs[0]!, row),
    'each gateway': (row) => cpuOf(mean(row.result.threadCpuMs.slice(1)), row),
    'idle cores': ({ result }) => percent(result.idleShare),
  });
  const most = rows.filter(({ gateways, pace }) => gateways === 2 && pace === null);
  return {
    table,
    figures: Object.fromEntries(most.map((row) => ['fanOut2Of1Ratio', ratioOf(row)])),
  };
}
