/**
 * The follower's thread, at a lower priority: its loop, and the messages with the trading thread.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { makePartInThread } from '../history/parts/thread.js';
import type { HistoryReply } from '../history/requests.js';
import { readSnapshot } from '../recovery/snapshot/file.js';
import { finishInThread } from '../recovery/snapshot/thread.js';
import { lowerPriority } from '../storage/thread-priority.js';
import { FollowerLoop } from './loop.js';
import type { FollowerData, FromFollower, ToFollower } from './messages.js';
import { ProgressBoard } from './progress-board.js';
import { type FollowerLog, type LogLevel, Troubles } from './troubles.js';

const PRIORITY_STEPS = 10;

const port = parentPort!;
const data = workerData as FollowerData;
const { folder, memory, snapshotEveryCommands, snapshotEveryMs } = data;

/** JSON is shared, not copied, so its length costs the trading thread nothing. */
function post(message: FromFollower): void {
  port.postMessage(message);
}

function logAt(level: LogLevel) {
  return (fields: object, message: string) => post({ kind: 'log', level, fields, message });
}

const log: FollowerLog = { info: logAt('info'), warn: logAt('warn'), error: logAt('error') };
const board = new ProgressBoard(memory);
process.once('exit', () => board.threadHasEnded());
const loop = new FollowerLoop(
  {
    ...data,
    board,
    log,
    troubles: new Troubles(
      folder,
      log,
      (part, problem) => post({ kind: 'trouble', part, problem }),
      data.troubles,
    ),
    snapshots: { everyCommands: snapshotEveryCommands, everyMs: snapshotEveryMs },
    finishSnapshot: finishInThread,
    makePart: makePartInThread,
    snapshotWritten: (sequence, hash) => post({ kind: 'snapshot', sequence, hash }),
    readSnapshot: async (path) => {
      // The loop's other session may have calls into SQLite in progress.
      if (loop.isCheckingEnd) return readSnapshot(path);
      // Leaves the callback of SQLite that has brought the code here.
      await nextTurn();
      // In a worker thread, process.exit ends only the thread.
      return board.workInterruptibly(
        () => readSnapshot(path),
        () => process.exit(),
      );
    },
  },
  (sequence, message) => post({ kind: 'disagreement', sequence, message }),
);

/** The ids of reads that have not been answered. */
const unanswered = new Set<number>();

lowerPriority(PRIORITY_STEPS);

port.on('message', (message: ToFollower) => {
  switch (message.kind) {
    case 'wake':
      loop.wake();
      break;
    case 'read': {
      const { id, request, minSequence, readerKey } = message;
      unanswered.add(id);
      const done = (reply: HistoryReply) => {
        unanswered.delete(id);
        post({ kind: 'answer', id, reply });
      };
      const isGivenUp = () => !unanswered.has(id);
      loop.read({ request, minSequence, readerKey, done, isGivenUp });
      break;
    }
    case 'giveUp':
      unanswered.delete(message.id);
      break;
    case 'close':
      loop.close();
      // Without an open port, the thread ends when the loop ends.
      port.close();
      break;
  }
});

await loop.run();
