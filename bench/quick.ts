/**
 * `npm run bench` without options: one table in two minutes, with the plain design and the peer.
 */
import { dirname } from 'node:path';
import { Engine } from '../engine/engine.js';
import { JournalFollower } from '../persistence/recovery/recovery.js';
import { inFolder } from '../test/support/processes/machine.js';
import { median, Samples } from '../test/support/processes/samples.js';
import { planWorkload, STANDARD } from '../test/support/workload/workload.js';
import { engineStart } from './engine/comparison.js';
import { mixedLoad } from './engine/loads.js';
import { peerStart } from './engine/peer.js';
import { type ExchangeUnderLoad, withExchange } from './http/exchange-under-load.js';
import type { LoadResult } from './http/load/load.js';
import { batches, buys, type HttpLoad, OPERATIONS } from './http/loads.js';
import { LoadGenerator, startPlainServer } from './http/processes.js';
import { errorsIn, rateOf } from './http/rounds.js';
import { readStream } from './http/stream-bench.js';
import { readJournal } from './measure/journal.js';
import { race } from './measure/race.js';
import { type Section, tableOf } from './measure/report.js';
import { runClosedLoop } from './workload/closed-loop.js';

const COMMANDS = 200_000;
const SECONDS = 3;
const CONNECTIONS = [1, 64, 256];
const BATCH_CONNECTIONS = 16;
const OUTSTANDING = 1_024;

interface Row {
  what: string;
  perSecond: number;
  /** NaN if not timed one by one. */
  p50Ms?: number;
  p99Ms?: number;
  plainPerSecond?: number;
  peerPerSecond?: number;
}

export async function benchQuickly(options: { parent: string; seed: string }): Promise<Section> {
  const rows = [...engineRows(options.seed), ...(await journalRows(options))];
  rows.push(...(await withExchange({ ...HTTP, parent: options.parent }, httpRows)));
  const times = (other: number | undefined, { perSecond }: Row) =>
    other === undefined ? '' : perSecond / other;
  return {
    name: 'in two minutes',
    notes: [
      `"Durable" is on disk before the answer (synchronous=FULL). Client, server and disk share this machine. Seed ${options.seed}.`,
      'The plain design is node:http and one SQLite transaction for each order (bench/plain). The peer is nodejs-order-book from npm: a book that moves no money.',
      'npm run bench -- --full takes twelve minutes and says more of each part.',
    ],
    tables: [
      tableOf('What this machine does', rows, {
        what: ({ what }) => what,
        'a second': ({ perSecond }) => perSecond,
        'p50, ms': ({ p50Ms = Number.NaN }) => p50Ms,
        'p99, ms': ({ p99Ms = Number.NaN }) => p99Ms,
        'plain design, a second': ({ plainPerSecond = '' }) => plainPerSecond,
        'times that': (row) => times(row.plainPerSecond, row),
        'peer, a second': ({ peerPerSecond = '' }) => peerPerSecond,
        'times its': (row) => times(row.peerPerSecond, row),
      }),
    ],
    figures: Object.fromEntries(rows.map(({ what, perSecond }) => [what, perSecond])),
  };
}

/** In one market, which the peer can also do. */
function engineRows(seed: string): Row[] {
  const workload = planWorkload({ ...STANDARD, seed, commands: COMMANDS, assets: 1, windows: 0.9 });
  const { prepare } = mixedLoad(workload);
  const starts = [engineStart(prepare, workload), peerStart(workload.tape)];
  const [ours, theirs] = race(starts, { rounds: 3, warmUpRounds: 1, chunks: 1 }).map(
    (rounds) => (COMMANDS / median(rounds.map(([ms]) => ms!))) * 1_000,
  );
  const [engine, latencyMs] = [prepare(), new Samples(COMMANDS)];
  for (let i = 0; i < workload.commands.length; i++) {
    const startedMs = performance.now();
    workload.commands.applyTo(engine, i, i + 1);
    latencyMs.add(performance.now() - startedMs);
  }
  const what = 'engine alone, in memory: commands';
  return [{ what, perSecond: ours!, peerPerSecond: theirs!, ...percentilesOf(latencyMs) }];
}

function percentilesOf(latencyMs: Samples): Pick<Row, 'p50Ms' | 'p99Ms'> {
  return { p50Ms: latencyMs.percentile(0.5), p99Ms: latencyMs.percentile(0.99) };
}

async function journalRows({ parent, seed }: { parent: string; seed: string }): Promise<Row[]> {
  const workload = planWorkload({ ...STANDARD, seed, commands: 5 * COMMANDS });
  const rows: Row[] = [];
  for (const outstanding of [1, OUTSTANDING])
    await inFolder(parent, async (folder) => {
      const loop = { workload, folder, durability: 'full', outstanding, seconds: SECONDS } as const;
      const { commands, seconds, latencyMs, endSequence } = await runClosedLoop(loop);
      const what = `engine and journal, ${outstanding} unanswered: durable commands`;
      rows.push({ what, perSecond: commands / seconds, ...percentilesOf(latencyMs) });
      if (outstanding === 1) return;
      const startedMs = performance.now();
      await readJournal(folder, (reader) => new JournalFollower(new Engine()).follow(reader));
      const replayedMs = performance.now() - startedMs;
      const perSecond = (endSequence / replayedMs) * 1_000;
      rows.push({ what: 'a start: commands checked and replayed', perSecond });
    });
  return rows;
}

const HTTP = { seconds: SECONDS, profileFolder: null };

async function httpRows(
  exchange: ExchangeUnderLoad,
  started: <P extends { stop(): Promise<void> }>(process: P) => P,
): Promise<Row[]> {
  const [buying, batching] = [await buys(exchange), await batches(exchange)];
  const plain = started(
    await startPlainServer({
      folder: dirname(exchange.dataFolder),
      tokens: buying.tokens,
      marketId: exchange.marketId,
      sample: JSON.parse(buying.answer),
    }),
  );
  const generator = started(new LoadGenerator());
  const measured = async (port: number, { requests }: HttpLoad, connections: number) => {
    const timing = { warmUpMs: 500, measureMs: SECONDS * 1_000 };
    const target = { port, connections, requests, ...timing };
    const result = await generator.run({ pace: { kind: 'closed' }, ...target });
    if (errorsIn([result]) > 0) throw new Error(`${errorsIn([result])} requests were refused`);
    return result;
  };
  const rows: Row[] = [];
  for (const connections of CONNECTIONS) {
    const result = await measured(exchange.port, buying, connections);
    await exchange.followed();
    const beside = await measured(plain.port, buying, connections);
    const what = `durable buys over HTTP, on ${connections} at a time`;
    rows.push({ what, ...latencyOf(result), plainPerSecond: rateOf(beside) });
  }
  const result = await measured(exchange.port, batching, BATCH_CONNECTIONS);
  await exchange.followed();
  const what = `durable orders in batches of ${OPERATIONS}, ${BATCH_CONNECTIONS} connections`;
  rows.push({ what, ...latencyOf(result), perSecond: rateOf(result) * OPERATIONS });
  const { delivered, measuredMs, reader } = await readStream(exchange, generator, 50, SECONDS);
  const perSecond = (delivered / measuredMs) * 1_000;
  rows.push({ what: 'stream, 50 trades/s to 1,000 readers: messages', perSecond, ...reader });
  return rows;
}

function latencyOf(result: LoadResult): Pick<Row, 'perSecond' | 'p50Ms' | 'p99Ms'> {
  const { latencyP50Ms: p50Ms, latencyP99Ms: p99Ms } = result;
  return { perSecond: rateOf(result), p50Ms, p99Ms };
}
