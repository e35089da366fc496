/**
 * Reads of the history from the trading thread: each is sent once, refused while the follower is
 * behind, given up in time, and bounded. follower.test.ts tests how the follower serves them.
 */
import { describe, expect, it, vi } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import {
  HISTORY_LAG_MAX_MS,
  HistoryClient,
  type HistoryLink,
} from '../../../persistence/follower/history-client.js';
import { FollowerReads, GIVEN_UP } from '../../../persistence/follower/read-queue.js';
import { Leaderboards } from '../../../persistence/history/leaderboard/leaderboard.js';
import type { HistoryReads } from '../../../persistence/history/reads.js';
import type { HistoryReply, HistoryRequest } from '../../../persistence/history/requests.js';
import { eventually } from '../../support/eventually.js';

const RANK: HistoryRequest & { kind: 'rank' } = {
  kind: 'rank',
  userId: 1,
  metric: 'profit',
  period: 'all',
};
const TRADES = { kind: 'userTrades', userId: 1, limit: 1, cursor: null } as const;

describe('reads from the trading thread', () => {
  interface Asked {
    history: HistoryClient;
    sent: { id: number; minSequence: number }[];
    givenUp: number[];
    link: { lag: number; now: number; problem: string | null };
  }

  function ask(): Asked {
    const sent: Asked['sent'] = [];
    const givenUp: number[] = [];
    const link: Asked['link'] = { lag: 0, now: 0, problem: null };
    const through: HistoryLink = {
      send: (id, _request, minSequence) => sent.push({ id, minSequence }),
      giveUp: (id) => givenUp.push(id),
      lagMs: () => link.lag,
      elapsedMs: () => link.now,
      problem: () => link.problem,
    };
    return { history: new HistoryClient(through), sent, givenUp, link };
  }

  const answered: HistoryReply = {
    status: 'ok',
    sequence: 12,
    atMs: 34,
    answer: { account: null, rank: 3 },
  };

  it('are sent with the sequence they wait for, and answered once', () => {
    const { history, sent } = ask();
    const done = vi.fn();
    history.read(RANK, 12, done);
    expect(sent).toEqual([{ id: 1, minSequence: 12 }]);
    history.answered(1, answered);
    history.answered(1, answered);
    expect(done.mock.calls).toEqual([[answered]]);
  });

  it('are refused at once when the follower is more than 2 s behind or has failed', () => {
    const { history, sent, link } = ask();
    const done = vi.fn();
    link.lag = HISTORY_LAG_MAX_MS;
    history.read(RANK, 1, done);
    expect(sent.length).toBe(1);
    link.lag = HISTORY_LAG_MAX_MS + 1;
    history.read(RANK, 1, done);
    link.lag = 0;
    link.problem = 'it has failed';
    history.read(RANK, 1, done);
    expect(done.mock.calls).toEqual([
      [{ status: 'unavailable', reason: 'the history is 2001 ms behind' }],
      [{ status: 'unavailable', reason: 'it has failed' }],
    ]);
    expect(sent.length).toBe(1);
    history.end('the end');
    expect(done).toHaveBeenCalledTimes(3);
  });

  it('are refused after 2 s without an answer, and a late answer is dropped', async () => {
    const { history, link } = ask();
    const done = vi.fn();
    history.read(RANK, 1, done);
    link.now = HISTORY_LAG_MAX_MS + 1;
    await eventually(() => expect(done).toHaveBeenCalledTimes(1));
    expect(done.mock.calls[0]![0]).toMatchObject({ status: 'unavailable', reason: /too long/ });
    history.answered(1, answered);
    expect(done).toHaveBeenCalledTimes(1);
  });

  it('are limited in number, and count until the follower has answered them', async () => {
    const { history, sent, givenUp, link } = ask();
    const done = vi.fn();
    for (let i = 0; i < 10_000; i++) history.read(RANK, 1, done, i % 20);
    link.now = HISTORY_LAG_MAX_MS + 1;
    await eventually(() => expect(done).toHaveBeenCalledTimes(10_000));
    expect(givenUp.at(-1)).toBe(10_000);
    history.read(RANK, 1, done, 20);
    expect(done).toHaveBeenLastCalledWith({
      status: 'unavailable',
      reason: 'too many reads of the history are waiting',
    });
    history.answered(1, answered);
    history.read(RANK, 1, done);
    expect(sent.length).toBe(10_001);
    expect(done).toHaveBeenCalledTimes(10_001);
    history.end('the end');
    expect(done).toHaveBeenCalledTimes(10_002);
  });

  it('of one reader are at most a twentieth of all', () => {
    const { history, sent } = ask();
    const done = vi.fn();
    for (let i = 0; i < 501; i++) history.read(RANK, 1, done, 7);
    const reason = 'too many reads of one user or address are waiting';
    expect(done.mock.calls).toEqual([[{ status: 'unavailable', reason }]]);
    history.read(RANK, 1, done, 8);
    history.answered(1, answered);
    history.read(RANK, 1, done, 7);
    expect(sent.length).toBe(502);
    history.end('the end');
  });

  it('are not worked out once they were given up', () => {
    const engine = new Engine();
    const nothing = () => {};
    const reads = new FollowerReads({
      engine,
      boards: new Leaderboards(engine),
      // Never called: the requested sequence has not come.
      readsIn: () => null as unknown as HistoryReads,
      failed: nothing,
      readEnded: nothing,
      boardReady: nothing,
      boardsFailed: nothing,
    });
    const done = vi.fn();
    let isLate = false;
    const read = { request: TRADES, minSequence: 1, readerKey: 0 };
    reads.read({ ...read, done, isGivenUp: () => isLate });
    reads.read({ ...read, done: nothing, isGivenUp: () => false });
    reads.serve(0);
    expect(done).not.toHaveBeenCalled();
    isLate = true;
    reads.serve(0);
    expect(done.mock.calls).toEqual([[GIVEN_UP]]);
    expect(reads.areWaiting).toBe(true);
  });
});
