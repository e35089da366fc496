/**
 * A replica's follower reads the journal itself, so its history may be ahead of the replica's
 * engine. The answer then waits for the engine, and is dropped if that takes too long.
 */
import { expect, test } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { FollowedSequencer } from '../../../gateway/edge/replica/followed-sequencer.js';
import type { Call } from '../../../gateway/http/call.js';
import { SequenceWaits } from '../../../gateway/http/sequence-waits.js';
import { readHistory } from '../../../gateway/resources/history/read.js';
import { HistoryClient } from '../../../persistence/follower/history-client.js';
import { eventually } from '../../support/eventually.js';

const REQUEST = { kind: 'userOrder', userId: 1, orderId: 1 } as const;

/** A replica at sequence 2, whose follower answers at `historyAt`. */
function replica(historyAt: number, limitMs: number) {
  const engine = new Engine();
  const sequencer = new FollowedSequencer(engine);
  const waits = new SequenceWaits(() => sequencer.durableSequence, limitMs);
  const asked: number[] = [];
  const answers: string[] = [];
  const history: HistoryClient = new HistoryClient({
    send(id, _request, minSequence) {
      asked.push(minSequence);
      history.answered(id, { status: 'ok', sequence: historyAt, atMs: 0, answer: null });
    },
    giveUp: () => {},
    lagMs: () => 0,
    elapsedMs: () => 0,
    problem: () => null,
  });
  const fail = (error: unknown) => answers.push(`failed: ${(error as Error).message}`);
  const gateway = { history, sequencer, waits, warnings: { warn: () => {} }, fail };
  const refuseNow = () => answers.push('unavailable');
  const read = (minSequence = 0) => {
    const call = { gateway, isOver: false, minSequence, refuseNow };
    readHistory(call as unknown as Call, REQUEST, (_order, { sequence }) => {
      const release = () => answers.push(`${sequence} at ${sequencer.durableSequence}`);
      sequencer.releaseAt(sequence, { release });
    });
  };
  const apply = () => engine.apply({ kind: 'advanceTime' }, engine.nowMs + 1);
  const check = () => sequencer.batchApplied(engine.sequence);
  apply();
  apply();
  check();
  return { read, apply, check, asked, answers };
}

test('an answer that is ahead of the engine waits until the engine has the whole batch', async () => {
  const { read, apply, check, answers } = replica(4, 30_000);
  read();
  apply();
  apply();
  expect(answers).toEqual([]);
  check();
  await eventually(() => answers.length > 0);
  expect(answers).toEqual(['4 at 4']);
});

test('one that the engine does not reach in time is unavailable', async () => {
  const { read, answers } = replica(3, 20);
  read();
  await eventually(() => answers.length > 0);
  expect(answers).toEqual(['unavailable']);
});

test('the history is asked for the sequence that the client named, also within a batch', () => {
  const { read, apply, asked } = replica(2, 20);
  apply();
  read(3);
  read();
  expect(asked).toEqual([3, 2]);
});
