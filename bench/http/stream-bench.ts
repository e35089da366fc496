/**
 * The stream to a thousand readers: the time from an order to each reader at given rates of orders,
 * and the highest rate of delivery. The exchange is the one of the HTTP benchmark.
 */
import { makeFolder, removeFolder } from '../measure/machine.js';
import { percent, type Section, textOf } from '../measure/report.js';
import { ExchangeUnderLoad, HOST, LIMITS_NOTE } from './exchange-under-load.js';
import { requestBytes } from './messages.js';
import { LoadGenerator } from './processes.js';
import type { StreamLoadResult } from './stream-load.js';

export interface StreamBenchOptions {
  /** The folder in which the temporary data folder is created. */
  parent: string;
  /** How long each load is measured. */
  seconds: number;
}

const READERS = 1_000;
const WARM_UP_MS = 1_000;
/** Orders per second; null: as many as are delivered. */
const PACES = [10, 50, null];

export async function benchStream({ parent, seconds }: StreamBenchOptions): Promise<Section> {
  const folder = makeFolder(parent);
  const running: { stop(): Promise<void> }[] = [];
  try {
    const exchange = await ExchangeUnderLoad.start({ folder, profileFolder: null });
    running.push(exchange);
    await exchange.fillBook();
    const generator = new LoadGenerator();
    running.push(generator);
    const request = await buyRequest(exchange);
    const results: StreamLoadResult[] = [];
    for (const perSecond of PACES) {
      results.push(
        await generator.runStream({
          host: HOST,
          port: exchange.port,
          channel: `trades:${exchange.marketId}`,
          readers: READERS,
          request,
          perSecond,
          warmUpMs: WARM_UP_MS,
          measureMs: seconds * 1_000,
        }),
      );
    }
    while (running.length > 0) await running.pop()!.stop();
    return report(results);
  } finally {
    // Only an error leaves processes here, and it is thrown further.
    await Promise.allSettled(running.map((process) => process.stop()));
    removeFolder(folder);
  }
}

/** A buy that takes one resting order. */
async function buyRequest(exchange: ExchangeUnderLoad): Promise<Buffer> {
  const token = await exchange.register('trader');
  return requestBytes({
    method: 'POST',
    path: `/api/markets/15m/${exchange.marketId}/buy`,
    host: `${HOST}:${exchange.port}`,
    headers: { 'x-user-token': token },
    body: { outcome: 'UP', amount: 1 },
  });
}

function report(results: readonly StreamLoadResult[]): Section {
  const perSecond = (count: number, { measuredMs }: StreamLoadResult) =>
    (count / measuredMs) * 1_000;
  const rows = results.map((result, i) => {
    const { answer, reader, lastReader } = result;
    return [
      PACES[i] === null ? 'as many as are delivered' : `${PACES[i]} a second`,
      perSecond(result.orders, result),
      perSecond(result.delivered, result),
      answer.p50Ms,
      reader.p50Ms,
      reader.p99Ms,
      lastReader.p50Ms,
      lastReader.p99Ms,
      percent(result.clientCpuMs / result.measuredMs),
      percent(result.idleShare),
    ];
  });
  const paced = results[PACES.indexOf(50)]!;
  const most = results[PACES.indexOf(null)]!;
  return {
    name: 'stream',
    notes: [
      `${textOf(READERS)} WebSockets in one client process, all subscribed to one market's trades. One trader buys; each order is one trade and one message to each reader, published when it is durable (synchronous=FULL). Every message must arrive once and in order.`,
      'Latencies in milliseconds from when the order was due to each reader and to the last one: commit and delivery. Orders are sent up to a millisecond late.',
      LIMITS_NOTE,
    ],
    tables: [
      {
        title: `Fan-out to ${textOf(READERS)} readers`,
        columns: [
          'orders',
          'orders/s',
          'messages/s',
          'answered p50',
          'reader p50',
          'reader p99',
          'last reader p50',
          'last reader p99',
          'client CPU',
          'idle cores',
        ],
        rows,
      },
    ],
    figures: {
      streamMessagesPerSecond: perSecond(most.delivered, most),
      streamReaderP50Ms: paced.reader.p50Ms,
      streamReaderP99Ms: paced.reader.p99Ms,
    },
  };
}
