/**
 * The follower's thread: an acknowledged change is in the very next read, and a thread that dies is
 * restarted. The thread runs the build in dist/ (`npm test` makes it).
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Outcome, TimeInForce } from '../../../engine/interface/domain.js';
import { Follower, type FollowerOptions } from '../../../persistence/follower/follower.js';
import { ProgressBoard } from '../../../persistence/follower/progress-board.js';
import { prunedPath, sealedPath } from '../../../persistence/history/parts/catalogue.js';
import { countsOf } from '../../../persistence/history/parts/progress.js';
import { makePartInThread } from '../../../persistence/history/parts/thread.js';
import type {
  HistoryAnswers,
  HistoryKind,
  HistoryReply,
  RequestOf,
} from '../../../persistence/history/requests.js';
import { HistoryDamage } from '../../../persistence/history/rows.js';
import { HistoryStore } from '../../../persistence/history/store.js';
import type { Journal } from '../../../persistence/journal/journal.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import { recoverFromSnapshot } from '../../../persistence/recovery/recovery.js';
import { Sequencer } from '../../../persistence/sequencer.js';
import { fileHash } from '../../../persistence/storage/files.js';
import { compiledFile } from '../../../persistence/storage/program-folder.js';
import { ANY_SIZE_RESTS, buy, price, registration } from '../../support/engine-support.js';
import { eventually } from '../../support/eventually.js';
import { Log } from '../../support/follower-fixture.js';
import { Folders, START_MS } from '../../support/journal-fixture.js';

const LIMITS = {
  snapshotEveryCommands: 1_000_000,
  snapshotEveryMs: 300_000,
  dayFiles: 0,
  historyDays: 0,
};
const folders = new Folders();
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  folders.removeAll();
});

const USERS = 6;

/** The setup: an asset, a price, and users with money. */
function setUp(sequencer: Sequencer): void {
  sequencer.submit(ANY_SIZE_RESTS);
  sequencer.submit({ kind: 'listAsset', symbol: 'BTC' });
  sequencer.submit(price(90_000, sequencer.engine.nowMs));
  for (let user = 1; user <= USERS; user++) sequencer.submit(registration(`user-${user}`, 10_000));
}

/** One trade between a maker and a taker. */
function trade(sequencer: Sequencer, maker: number, taker: number): void {
  const marketId = sequencer.engine.activeMarket(0);
  const terms = { marketId, sizeLots: 1_000, priceTicks: 500 };
  sequencer.submit(buy({ ...terms, userId: maker, timeInForce: TimeInForce.GTC }));
  sequencer.submit(buy({ ...terms, userId: taker, outcome: Outcome.DOWN }));
}

interface Exchange {
  sequencer: Sequencer;
  follower: Follower;
  log: Log;
  read<Kind extends HistoryKind>(request: RequestOf<Kind>): Promise<HistoryReply<Kind>>;
  durable(): Promise<void>;
}

async function openExchange(
  folder: string,
  options: Partial<FollowerOptions> = {},
): Promise<Exchange> {
  const journal = await openJournal({ folder });
  const reader = await openJournalReader(folder);
  const log = new Log();
  // The clock stands still, so nothing times out on a busy machine.
  const elapsedMs = () => 0;
  const { engine } = await recoverFromSnapshot({ folder, reader, log, elapsedMs });
  await reader.close();
  const follower = new Follower({
    folder,
    journal: { folder },
    ...LIMITS,
    durableSequence: engine.sequence,
    log,
    elapsedMs,
    onSnapshot: (snapshotSequence, snapshotHash) =>
      sequencer.submit({ kind: 'vouchForSnapshot', snapshotSequence, snapshotHash }),
    onDisagreement: (sequence, message) =>
      log.error({ sequence, problem: message }, 'disagreement'),
    ...options,
  });
  let nowMs = START_MS;
  const sequencer = new Sequencer({
    engine,
    journal: toldTo(follower, journal),
    now: () => nowMs++,
    onFatal: (error) => log.error({ problem: error.message }, 'fatal'),
  });
  closers.push(async () => {
    await sequencer.close();
    await follower.close();
  });
  return {
    sequencer,
    follower,
    log,
    read: (request) =>
      new Promise((resolve) => follower.history.read(request, sequencer.durableSequence, resolve)),
    durable: () =>
      new Promise((resolve) => sequencer.releaseAt(engine.sequence, { release: () => resolve() })),
  };
}

/** A journal that reports each commit to the follower. */
function toldTo(
  follower: Follower,
  journal: Journal,
): ConstructorParameters<typeof Sequencer>[0]['journal'] {
  return {
    get end() {
      return journal.end;
    },
    append: (batch, done) => {
      const { lastSequence } = batch;
      journal.append(batch, (error) => {
        if (error === null) follower.committed(lastSequence);
        done(error);
      });
    },
    close: () => journal.close(),
  };
}

function answerOf<Kind extends HistoryKind>(reply: HistoryReply<Kind>): HistoryAnswers[Kind] {
  if (reply.status !== 'ok') throw new Error(reply.reason);
  return reply.answer;
}

describe('the thread', () => {
  it('shows an acknowledged trade in the very next read', async () => {
    const { sequencer, read, durable, log } = await openExchange(folders.make());
    setUp(sequencer);
    for (let i = 1; i <= 100; i++) {
      const maker = 1 + (i % USERS);
      const taker = 1 + ((i + 1) % USERS);
      trade(sequencer, maker, taker);
      await durable();
      const sequence = sequencer.durableSequence;
      const [tape, trades, profile] = await Promise.all([
        read({
          kind: 'marketTrades',
          marketId: sequencer.engine.activeMarket(0),
          limit: 1,
          cursor: null,
        }),
        read({ kind: 'userTrades', userId: taker, limit: 1, cursor: null }),
        read({ kind: 'rank', userId: taker, metric: 'volume', period: 'all' }),
      ]);
      expect(answerOf(tape)!.entries[0]).toMatchObject({ tradeId: i, ordinal: i });
      expect(answerOf(trades).entries[0]).toMatchObject({
        tradeId: i,
        role: 0,
        side: 0,
        outcome: 1,
      });
      expect(answerOf(profile).rank).toBeGreaterThan(0);
      for (const answer of [tape, trades])
        expect(answer.status === 'ok' && answer.sequence >= sequence).toBe(true);
    }
    expect(log.of('error')).toEqual([]);
  });

  it('reports its position, and names the users of a leaderboard', async () => {
    const { sequencer, follower, read, durable } = await openExchange(folders.make(), {
      snapshotEveryCommands: 20,
    });
    setUp(sequencer);
    trade(sequencer, 1, 2);
    await durable();
    for (let i = 0; i < 30; i++) trade(sequencer, 3, 4);
    await durable();
    const day = { kind: 'leaderboard', metric: 'volume', period: 'day' } as const;
    const reply = await read({ ...day, limit: 1, cursor: null });
    const board = answerOf(reply);
    expect(board.entries).toMatchObject([{ rank: 1, username: 'user-4', value: 15_000_000 }]);
    expect(board.nextCursor).toEqual({ userId: 4, value: 15_000_000 });
    expect(reply).toMatchObject({ atMs: sequencer.engine.nowMs });
    await read({ kind: 'userTrades', userId: 1, limit: 1, cursor: null });
    expect(follower.status).toMatchObject({
      appliedSequence: sequencer.durableSequence,
      projectedSequence: sequencer.durableSequence,
      lagCommands: 0,
      lagMs: 0,
    });
    await eventually(() => expect(follower.status.snapshotSequence).toBeGreaterThan(20));
  });

  it('answers waiting reads when it is closed, and refuses reads after that', async () => {
    const { follower, sequencer } = await openExchange(folders.make());
    setUp(sequencer);
    const done = vi.fn();
    const request = { kind: 'rank', userId: 1, metric: 'profit', period: 'all' } as const;
    // A sequence that is never reached.
    follower.history.read(request, 1e9, done);
    await follower.close();
    follower.history.read(request, 0, done);
    expect(done.mock.calls).toEqual(
      Array(2).fill([{ status: 'unavailable', reason: 'the exchange is closing' }]),
    );
    await follower.close();
  });

  it('is restarted when it dies and continues where it was, at longer intervals when that is often', async () => {
    const { sequencer, follower, log, read, durable } = await openExchange(folders.make());
    setUp(sequencer);
    const trades = { kind: 'userTrades', userId: 1, limit: 100, cursor: null } as const;
    const thread = threadOf(follower);
    for (let end = 1; end <= RESTARTS; end++) {
      trade(sequencer, 1, 2);
      await durable();
      await endThread(follower);
      expect(await read(trades)).toMatchObject({ status: 'unavailable' });
      // The history also has the commands that were committed without a thread.
      trade(sequencer, 1, 2);
      await durable();
      await eventually(async () => expect((await read(trades)).status).toBe('ok'));
      expect(answerOf(await read(trades)).entries.length).toBe(end * 2);
    }
    expect(follower).not.toHaveProperty('thread', thread);
    expect(log.of('error').map(({ message }) => message)).toEqual(
      Array(RESTARTS).fill("the follower's thread has ended and will be restarted"),
    );
    expect(follower.status.troubles.get('history')).toBeUndefined();
    await endThread(follower);
    expect(log.of('error').at(-1)!.fields).toMatchObject({ afterMs: 600_000 });
    expect(follower.status.troubleCounts.history).toBe(RESTARTS + 1);
    expect(await read(trades)).toMatchObject({ status: 'unavailable' });
  });

  it('can be closed at any moment of its start, and the next one continues', async () => {
    const folder = folders.make();
    const first = await openExchange(folder, { snapshotEveryCommands: 20 });
    setUp(first.sequencer);
    for (let i = 0; i < 30; i++) trade(first.sequencer, 1, 2);
    await first.durable();
    await eventually(() => expect(first.follower.status.snapshotSequence).toBeGreaterThan(20));
    await closers.pop()!();
    for (let turns = 0; turns < 6; turns++) {
      const { follower, log } = await openExchange(folder);
      // Startup takes tens of milliseconds, mostly before the snapshot is read.
      await delay(turns * 10);
      await follower.close();
      expect(log.entries.filter(({ level }) => level !== 'info')).toEqual([]);
      await closers.pop()!();
    }
    const { read } = await openExchange(folder);
    const trades = { kind: 'userTrades', userId: 1, limit: 100, cursor: null } as const;
    expect(answerOf(await read(trades)).entries).toHaveLength(30);
  });

  it('can be ended during long work, and starts no such work once it is closing', () => {
    const end = vi.fn();
    const board = new ProgressBoard();
    const work = (during: () => void) => board.workInterruptibly(during, end);
    expect(board.workInterruptibly(() => 'done', end)).toBe('done');
    expect(end).not.toHaveBeenCalled();
    expect(new ProgressBoard().close()).toBe(false);
    work(() => expect(board.close()).toBe(true));
    expect(end).toHaveBeenCalledTimes(1);
    work(() => expect(end).toHaveBeenCalledTimes(2));
    expect(board.close()).toBe(false);
  });

  it('retries a folder that cannot be used, and trading continues', async () => {
    const folder = folders.make();
    writeFileSync(folder, 'a file where the folder must be');
    const log = new Log();
    const disagrees = vi.fn();
    const follower = new Follower({
      folder,
      journal: { folder },
      ...LIMITS,
      durableSequence: 0,
      log,
      elapsedMs: () => 0,
      onSnapshot: disagrees,
      onDisagreement: disagrees,
    });
    closers.push(() => follower.close());
    await eventually(() => expect(follower.status.troubleCounts.history).toBeGreaterThan(1));
    expect(follower.status.troubles.size).toBe(2);
    expect(disagrees).not.toHaveBeenCalled();
  });

  it.runIf(process.platform === 'linux')(
    'lowers its priority from whatever the program was started with',
    async () => {
      const script = `
      import { getPriority } from 'node:os';
      const { lowerPriority } = await import('${compiledFile('persistence/storage/thread-priority.js')}');
      lowerPriority(5);
      process.stdout.write(String(getPriority(0)));`;
      const priorityFrom = (nice: string) =>
        execFileSync('nice', [
          '-n',
          nice,
          process.execPath,
          '--input-type=module',
          '-e',
          script,
        ]).toString();
      const start = getPriority(0);
      expect(priorityFrom('0')).toBe(`${Math.min(19, start + 5)}`);
      expect(priorityFrom('9')).toBe(`${Math.min(19, start + 14)}`);
      expect(priorityFrom('19')).toBe('19');
    },
  );
});

/** The number of restarts that are allowed in ten minutes. */
const RESTARTS = 5;

function threadOf(follower: Follower): Worker {
  return (follower as unknown as { thread: Worker }).thread;
}

/** Ends the thread as running out of memory would. */
async function endThread(follower: Follower): Promise<void> {
  await threadOf(follower).terminate();
}

describe('the thread that makes the files of parts', () => {
  it('makes one, and passes damage on with its place', async () => {
    const folder = folders.make();
    mkdirSync(folder);
    const store = await HistoryStore.open(folder, null);
    await store.beginPart();
    await store.close();
    const { signal } = new AbortController();
    const file = { folder, part: 1, sequence: 0, counts: countsOf(() => 0), sealed: null };
    const sealed = await makePartInThread(file, signal);
    expect(fileHash(sealedPath(folder, 1)).toString('hex')).toBe(sealed);
    const damaged = makePartInThread({ ...file, sequence: 7 }, signal);
    await expect(damaged).rejects.toBeInstanceOf(HistoryDamage);
    await expect(damaged).rejects.toMatchObject({ table: 'progress', part: 1 });
    const stopped = makePartInThread({ ...file, sealed }, AbortSignal.abort());
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
    expect(existsSync(prunedPath(folder, 1))).toBe(false);
    await makePartInThread({ ...file, sealed }, signal);
    expect(existsSync(prunedPath(folder, 1))).toBe(true);
  });
});
