/**
 * The whole exchange over HTTP: durable answers per second, in turn with a bare uWebSockets.js
 * handler (same JSON parsing, same answer bytes) and a plain design (bench/plain). Then latencies
 * at given rates, up to the first that the exchange cannot sustain.
 */
import { dirname } from 'node:path';
import { describeDisk } from '../../test/support/processes/machine.js';
import { readJournal } from '../measure/journal.js';
import type { Section } from '../measure/report.js';
import { type BenchOptions, withExchange } from './exchange-under-load.js';
import { batches, books, buys } from './loads.js';
import { LoadGenerator, startBareServer, startPlainServer } from './processes.js';
import { KEPT_P50_MS, report } from './report.js';
import { type Compared, errorsIn, Runner, type Scheduled } from './rounds.js';

export interface HttpBenchOptions extends BenchOptions {
  seed: string;
  /** For buys. */
  connections: readonly number[];
}

/** The first one gives the figures. */
export const CONNECTIONS: readonly number[] = [64, 1, 16, 256];
const BATCH_CONNECTIONS: readonly number[] = [16, 64];
const READ_CONNECTIONS = 64;

/** Buys stop at the first rate that is not sustained. */
const BUYS_PER_SECOND = [2_000, 8_000, 16_000, 24_000, 32_000, 48_000, 64_000, 96_000];
const BATCHES_PER_SECOND = [1_000, 2_000];

export function benchHttp(options: HttpBenchOptions): Promise<Section> {
  return withExchange(options, async (exchange, started, stopAll) => {
    const disk = await describeDisk(dirname(exchange.dataFolder));
    const loads = {
      buys: await buys(exchange),
      batches: await batches(exchange),
      books: await books(exchange),
    };
    const answers = Object.values(loads).map(({ path, answer }) => [`/api${path}`, answer]);
    const bare = started(await startBareServer(Object.fromEntries(answers)));
    const plain = started(
      await startPlainServer({
        folder: dirname(exchange.dataFolder),
        tokens: loads.buys.tokens,
        marketId: exchange.marketId,
        sample: JSON.parse(loads.buys.answer),
      }),
    );
    const generator = started(new LoadGenerator());
    const servers = {
      'bare handler': bare,
      exchange,
      'plain design': plain,
    };
    const runner = new Runner(generator, exchange, servers, options);

    const closed: Compared[] = [];
    for (const connections of options.connections)
      closed.push(await runner.compare(loads.buys, connections, true));
    for (const connections of BATCH_CONNECTIONS)
      closed.push(await runner.compare(loads.batches, connections));
    closed.push(await runner.compare(loads.books, READ_CONNECTIONS));
    const open: Scheduled[] = [];
    for (const perSecond of BUYS_PER_SECOND) {
      const scheduled = await runner.schedule(loads.buys, perSecond);
      open.push(scheduled);
      if (!isKept(scheduled)) break;
    }
    for (const perSecond of BATCHES_PER_SECOND)
      open.push(await runner.schedule(loads.batches, perSecond));
    await stopAll();
    await countCommits(exchange.dataFolder, closed);
    return report({ closed, open, disk, loads, options });
  });
}

/** True if nothing was refused and the queue of requests did not keep growing. */
function isKept({ result }: Scheduled): boolean {
  return result.latencyP50Ms < KEPT_P50_MS && errorsIn([result]) === 0;
}

async function countCommits(folder: string, closed: readonly Compared[]): Promise<void> {
  await readJournal(folder, async (reader) => {
    for await (const { lastSequence } of reader.batches()) {
      const compared = closed.find(({ sequences }) =>
        sequences.some(({ from, to }) => lastSequence > from && lastSequence <= to),
      );
      if (compared !== undefined) compared.commits++;
    }
  });
}
