/**
 * Order entry over the stream beside the same orders over HTTP: one connection of the stream with
 * many requests unanswered, and as many connections of HTTP with one each, in alternating rounds.
 */
import { percent, type Section, tableOf, textOf } from '../../measure/report.js';
import {
  type BenchOptions,
  type ExchangeUnderLoad,
  LIMITS_NOTE,
  withExchange,
} from '../exchange-under-load.js';
import type { LoadResult } from '../load/load.js';
import { requestBytes } from '../load/messages.js';
import { OPERATIONS } from '../loads.js';
import { LoadGenerator } from '../processes.js';

const OUTSTANDING = 64;
const ROUNDS = 3;
const FIRST_WARM_UP_MS = 2_000;
const WARM_UP_MS = 500;

interface Way {
  name: string;
  /** Orders per request. */
  orders: number;
  run(timing: { warmUpMs: number; measureMs: number }): Promise<LoadResult>;
}

interface Measured extends Way {
  results: LoadResult[];
}

export function benchOrderEntry(options: BenchOptions): Promise<Section> {
  return withExchange({ ...options, profileFolder: null }, async (exchange, started) => {
    const generator = started(new LoadGenerator());
    const measured: Measured[] = [];
    for (const pair of [await single(exchange, generator), await batched(exchange, generator)]) {
      const both = pair.map((way): Measured => ({ ...way, results: [] }));
      for (let round = 0; round < ROUNDS; round++) {
        const warmUpMs = round === 0 ? FIRST_WARM_UP_MS : WARM_UP_MS;
        for (const way of both) {
          way.results.push(await way.run({ warmUpMs, measureMs: options.seconds * 1_000 }));
          await exchange.followed();
        }
      }
      measured.push(...both);
    }
    return report(measured, options);
  });
}

/** A buy that takes one resting order. */
const buyOf = (exchange: ExchangeUnderLoad) => ({
  op: 'buy',
  marketId: exchange.marketId,
  outcome: 'UP',
  amount: 0.05,
});

async function single(exchange: ExchangeUnderLoad, generator: LoadGenerator): Promise<Way[]> {
  const { op: _, marketId, ...body } = buyOf(exchange);
  const path = `/markets/15m/${marketId}/buy`;
  return [
    await buysOverStream(exchange, generator),
    await overHttp(exchange, generator, { name: 'POST …/buy', orders: 1, path, body }),
  ];
}

export function buysOverStream(
  exchange: ExchangeUnderLoad,
  generator: LoadGenerator,
): Promise<Way> {
  const request = { op: 'order', operation: buyOf(exchange) };
  return overStream(exchange, generator, { name: 'orders', orders: 1, request });
}

async function batched(exchange: ExchangeUnderLoad, generator: LoadGenerator): Promise<Way[]> {
  const operations = new Array<object>(OPERATIONS).fill(buyOf(exchange));
  const orders = OPERATIONS;
  const name = `batches of ${OPERATIONS}`;
  const request = { op: 'batch', operations };
  const body = { operations };
  return [
    await overStream(exchange, generator, { name, orders, request }),
    await overHttp(exchange, generator, {
      name: `POST /batch, ${OPERATIONS}`,
      orders,
      path: '/batch',
      body,
    }),
  ];
}

async function overStream(
  exchange: ExchangeUnderLoad,
  generator: LoadGenerator,
  { name, orders, request }: { name: string; orders: number; request: object },
): Promise<Way> {
  const headers = await exchange.register(`stream-${orders}`);
  const options = { port: exchange.port, headers, request, outstanding: OUTSTANDING };
  return {
    name: `stream: ${name}, 1 connection, ${OUTSTANDING} unanswered`,
    orders,
    run: (timing) => generator.runEntry({ ...options, ...timing }),
  };
}

async function overHttp(
  exchange: ExchangeUnderLoad,
  generator: LoadGenerator,
  { name, orders, path, body }: { name: string; orders: number; path: string; body: object },
): Promise<Way> {
  const headers = await exchange.register(`http-${orders}`);
  const requests = [requestBytes({ method: 'POST', path, headers, body })];
  const { port } = exchange;
  return {
    name: `HTTP: ${name}, ${OUTSTANDING} connections`,
    orders,
    run: (timing) =>
      generator.run({
        pace: { kind: 'closed' },
        port,
        connections: OUTSTANDING,
        requests,
        ...timing,
      }),
  };
}

function rateOf({ measured, measuredMs }: LoadResult): number {
  return (measured / measuredMs) * 1_000;
}

/** The round with the middle rate. */
function middle({ results }: Measured): LoadResult {
  return [...results].sort((a, b) => rateOf(a) - rateOf(b))[results.length >> 1]!;
}

function report(measured: readonly Measured[], { seconds }: BenchOptions): Section {
  const ordersPerSecond = (way: Measured) => rateOf(middle(way)) * way.orders;
  const errors = measured
    .flatMap(({ results }) => results)
    .flatMap(({ byStatus }) => Object.entries(byStatus))
    .reduce((sum, [status, count]) => sum + (status === '200' ? 0 : count), 0);
  const table = tableOf('Order entry; latencies of the middle round in milliseconds', measured, {
    way: ({ name }) => name,
    'requests/s': (way) => rateOf(middle(way)),
    'orders/s': ordersPerSecond,
    rounds: ({ results, orders }) =>
      results.map((result) => textOf(Math.round(rateOf(result) * orders))).join(' '),
    p50: (way) => middle(way).latencyP50Ms,
    p99: (way) => middle(way).latencyP99Ms,
    'client CPU': (way) => percent(middle(way).clientCpuMs / middle(way).measuredMs),
    'idle cores': (way) => percent(middle(way).idleShare),
  });
  const [streamOrders, , streamBatches] = measured;
  return {
    name: 'entry',
    notes: [
      `The same buys of one user over one connection of the stream, with ${OUTSTANDING} requests unanswered, and over ${OUTSTANDING} connections of HTTP, with one unanswered each: single orders, and batches of ${OPERATIONS}. Each order takes a resting one; every answer is durable (synchronous=FULL). ${ROUNDS} alternating rounds of ${seconds} s.`,
      LIMITS_NOTE,
      `Answers that are not receipts: ${errors}.`,
    ],
    tables: [table],
    figures: {
      streamOrdersPerSecond: ordersPerSecond(streamOrders!),
      streamBatchOrdersPerSecond: ordersPerSecond(streamBatches!),
    },
  };
}
