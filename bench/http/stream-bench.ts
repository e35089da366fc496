/** The stream to a thousand readers: latency at given rates, and the highest rate of delivery. */

import { requestBytes } from '../../test/support/http/messages.js';
import { percent, type Section, tableOf, textOf } from '../measure/report.js';
import {
  type BenchOptions,
  type ExchangeUnderLoad,
  LIMITS_NOTE,
  withExchange,
} from './exchange-under-load.js';
import type { StreamLoadResult } from './load/stream-load.js';
import { LoadGenerator } from './processes.js';

const READERS = 1_000;
const WARM_UP_MS = 1_000;
/** Per second; null sends as fast as messages are delivered. */
const PACES = [10, 50, null];

export function benchStream(options: BenchOptions): Promise<Section> {
  return withExchange({ ...options, profileFolder: null }, async (exchange, started) => {
    const generator = started(new LoadGenerator());
    const results: Paced[] = [];
    for (const pace of PACES)
      results.push({ ...(await readStream(exchange, generator, pace, options.seconds)), pace });
    return report(results);
  });
}

export async function readStream(
  exchange: ExchangeUnderLoad,
  generator: LoadGenerator,
  perSecond: number | null,
  seconds: number,
): Promise<StreamLoadResult> {
  const request = requestBytes({
    method: 'POST',
    path: `/markets/15m/${exchange.marketId}/buy`,
    headers: await exchange.register(`trader-${perSecond}`),
    body: { outcome: 'UP', amount: 1 },
  });
  const channel = `trades:${exchange.marketId}`;
  const timing = { warmUpMs: WARM_UP_MS, measureMs: seconds * 1_000 };
  const { port } = exchange;
  return generator.runStream({ port, channel, readers: READERS, request, perSecond, ...timing });
}

type Paced = StreamLoadResult & { pace: number | null };

function report(results: readonly Paced[]): Section {
  const perSecond = (count: number, { measuredMs }: Paced) => (count / measuredMs) * 1_000;
  const paced = results.find(({ pace }) => pace === 50)!;
  const most = results.find(({ pace }) => pace === null)!;
  const table = tableOf(`Fan-out to ${textOf(READERS)} readers`, results, {
    orders: ({ pace }) => (pace === null ? 'as many as are delivered' : `${pace} a second`),
    'orders/s': (result) => perSecond(result.orders, result),
    'messages/s': (result) => perSecond(result.delivered, result),
    'answered p50': ({ answer }) => answer.p50Ms,
    'reader p50': ({ reader }) => reader.p50Ms,
    'reader p99': ({ reader }) => reader.p99Ms,
    'last reader p50': ({ lastReader }) => lastReader.p50Ms,
    'last reader p99': ({ lastReader }) => lastReader.p99Ms,
    'client CPU': ({ clientCpuMs, measuredMs }) => percent(clientCpuMs / measuredMs),
    'idle cores': ({ idleShare }) => percent(idleShare),
  });
  return {
    name: 'stream',
    notes: [
      `${textOf(READERS)} WebSockets in one client process, all subscribed to one market's trades. One trader buys; each order is one trade and one message to each reader, published when it is durable (synchronous=FULL). Every message must arrive once and in order.`,
      'Latencies in milliseconds from when the order was due to each reader and to the last one: commit and delivery. Orders are sent up to a millisecond late.',
      LIMITS_NOTE,
    ],
    tables: [table],
    figures: {
      streamMessagesPerSecond: perSecond(most.delivered, most),
      streamReaderP50Ms: paced.reader.p50Ms,
      streamReaderP99Ms: paced.reader.p99Ms,
    },
  };
}
