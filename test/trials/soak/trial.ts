/**
 * Minutes of mixed load over HTTP and the stream: what was acknowledged is in the journal with the
 * same bytes, and the memory of the exchange stays level.
 */
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { Client } from '../../../bench/http/load/client.js';
import { HOST } from '../../../bench/http/load/messages.js';
import { inFolder } from '../../../bench/measure/machine.js';
import { replayProblems } from '../../../bench/measure/replay-tool.js';
import { Random } from '../../../bench/workload/random.js';
import { extent, SEED } from '../../support/extent.js';
import { replayJournal } from '../../support/journal-fixture.js';
import { Executions, judge, NO_PROBLEM } from '../../support/load/judge.js';
import { Load } from '../../support/load/load.js';
import { errorsIn, metricOf, startExchange } from '../exchange.js';
import { judgeLevel, KINDS, type Kind, type MemorySample } from './memory.js';

const MINUTES = extent(10);
/** In a shorter run a day of exchange time is longer than the warm-up. */
const JUDGED_FROM_MINUTES = 10;
/**
 * A market lasts three seconds, an idempotency key expires after twelve, and unclaimed winnings are
 * paid after nearly five minutes: what expires, even after a day, has in the first half.
 */
const SPEED = 300;
const CLIENTS = 48;
const PAUSE_MS = 40;
const READS = 0.5;
const STREAMS = 12;
/** A stream of four reads nothing. */
const SLOW_EVERY = 4;

/** Follows channels, and hangs up at a random moment, again and again. */
async function stream(port: number, load: Load, index: number, random: Random): Promise<number> {
  let messages = 0;
  while (!load.isOver) {
    const socket = new WebSocket(`ws://${HOST}:${port}/api/stream`);
    socket.on('error', () => {});
    socket.on('message', () => messages++);
    socket.on('open', () => {
      const ofMarket = ['book', 'trades'].map((name) => `${name}:${load.marketId}`);
      const channels = ['markets', 'prices:BTC', ...(load.marketId === '' ? [] : ofMarket)];
      socket.send(JSON.stringify({ op: 'subscribe', channels }));
      if (index % SLOW_EVERY === 0) socket.pause();
    });
    await sleep(random.whole(500, 15_000));
    socket.terminate();
  }
  return messages;
}

/** Every second, until the load is over. */
async function memoryOf(port: number, load: Load): Promise<Record<Kind, MemorySample[]>> {
  const samples: Record<Kind, MemorySample[]> = { resident: [], heap: [], external: [] };
  const names = { resident: 'rss', heap: 'heapUsed', external: 'external' };
  const client = new Client({ port });
  while (!load.isOver) {
    const { text } = await client.mustAsk({ path: '/metrics' });
    for (const kind of KINDS) {
      const bytes = metricOf(text, `exchange_memory_bytes{kind="${names[kind]}"}`);
      samples[kind].push({ atMs: performance.now(), bytes });
    }
    await sleep(1_000);
  }
  client.close();
  return samples;
}

test('nothing acknowledged is lost or doubled, and memory stays level', ({ annotate }) =>
  inFolder(tmpdir(), async (folder) => {
    const { process, data, url } = await startExchange(folder, SPEED);
    const { port } = process;
    try {
      const random = new Random(SEED);
      const options = { urls: () => [url], random, clients: CLIENTS, pauseMs: PAUSE_MS };
      const load = new Load({ ...options, reads: READS });
      await load.start();
      const streams = Array.from({ length: STREAMS }, (_, i) => stream(port, load, i, random));
      const watched = memoryOf(port, load);
      await sleep(MINUTES * 60_000);
      await load.stop();
      const memory = await watched;
      const messages = (await Promise.all(streams)).reduce((sum, each) => sum + each, 0);
      await process.stop();
      expect(errorsIn(process.log)).toEqual([]);

      const executions = new Executions();
      await replayJournal(data, (engine, command) => executions.take(engine, command));
      expect(judge(executions, load)).toEqual(NO_PROBLEM);
      expect(await replayProblems(data)).toEqual([]);
      const { acknowledged, retries, refused } = load;
      const counts = { acknowledged: acknowledged.length, retries, messages };
      await annotate(JSON.stringify({ ...counts, ...Object.fromEntries(refused) }));
      for (const kind of KINDS) {
        const level = judgeLevel(kind, memory[kind]);
        await annotate(JSON.stringify({ [kind]: level }));
        if (MINUTES >= JUDGED_FROM_MINUTES) expect(level, kind).toMatchObject({ isLevel: true });
      }
    } finally {
      await process.kill();
    }
  }));
