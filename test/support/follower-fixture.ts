/**
 * A follower in the test's own thread, on a journal that the test writes: opened, run until it has
 * caught up, queried, closed. The real thread and its messages are tested on the build
 * (follower-thread.test.ts).
 */
import { Engine } from '../../engine/engine.js';
import { RecordBuffer } from '../../engine/interface/records.js';
import { FollowerLoop } from '../../persistence/follower/loop.js';
import { ProgressBoard } from '../../persistence/follower/progress-board.js';
import type { FinishSnapshot } from '../../persistence/follower/snapshots.js';
import {
  type FollowerLog,
  type ReportTrouble,
  Troubles,
} from '../../persistence/follower/troubles.js';
import { makePart } from '../../persistence/history/parts/sealing.js';
import type {
  HistoryAnswers,
  HistoryKind,
  HistoryReply,
  RequestOf,
} from '../../persistence/history/requests.js';
import { bytesOf } from '../../persistence/journal/format.js';
import type { Journal } from '../../persistence/journal/journal.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { finishSnapshot, readSnapshot } from '../../persistence/recovery/snapshot/file.js';
import type { SnapshotFinishing } from '../../persistence/recovery/snapshot/thread.js';
import type { JournalPlace } from '../../persistence/replication/source.js';
import type { TimedCommand } from './history-oracle.js';
import { append } from './journal-fixture.js';

/** Writes batches of 1 to 60 commands. Equal commands give equal sizes. */
export async function writeCommands(
  journal: Journal,
  engine: Engine,
  commands: readonly TimedCommand[],
): Promise<void> {
  const records = new RecordBuffer();
  let size = 1;
  for (let from = 0; from < commands.length; from += size) {
    size = 1 + ((from * 7_919) % 60);
    records.clear();
    const firstSequence = engine.sequence + 1;
    for (const { command, atMs } of commands.slice(from, from + size)) {
      records.append(command, atMs);
      engine.apply(command, atMs);
    }
    const lastSequence = engine.sequence;
    await append(journal, {
      firstSequence,
      lastSequence,
      records: bytesOf(records),
      digest: engine.digest(),
    });
  }
}

export async function journalOf(folder: string, commands: readonly TimedCommand[]): Promise<void> {
  const journal = await openJournal({ folder });
  await writeCommands(journal, new Engine(), commands);
  await journal.close();
}

export interface LogEntry {
  level: string;
  fields: { table?: string; row?: string; problem?: string };
  message: string;
}

export class Log implements FollowerLog {
  readonly entries: LogEntry[] = [];
  info = (fields: object, message: string) => this.add('info', fields, message);
  warn = (fields: object, message: string) => this.add('warn', fields, message);
  error = (fields: object, message: string) => this.add('error', fields, message);

  private add(level: string, fields: object, message: string): void {
    this.entries.push({ level, fields: fields as LogEntry['fields'], message });
  }

  of(level: string): LogEntry[] {
    return this.entries.filter((entry) => entry.level === level);
  }
}

/** The JSON of a market or of a page of markets, which the follower writes as bytes. */
// biome-ignore lint/suspicious/noExplicitAny: the parsed text is compared as a whole
export function jsonOf(bytes: Uint8Array, room = 0): any {
  const text = Buffer.from(bytes.subarray(0, bytes.length - room)).toString('utf8');
  return JSON.parse(room === 0 ? text : `${text}}`);
}

/** Reads all pages of a list and returns their entries. */
export async function all<T>(
  page: (cursor: number | null) => Promise<{ entries: T[]; nextCursor: number | null }>,
): Promise<T[]> {
  const entries: T[] = [];
  let cursor: number | null = null;
  do {
    const read: { entries: T[]; nextCursor: number | null } = await page(cursor);
    entries.push(...read.entries);
    cursor = read.nextCursor;
  } while (cursor !== null);
  return entries;
}

/** Runs the follower as the thread does, but in this thread. */
export function finishHere(path: string): SnapshotFinishing {
  const finish = async () => finishSnapshot(path);
  return { done: finish(), cancel: async () => {} };
}

export interface TestFollower {
  board: ProgressBoard;
  log: Log;
  disagreements: { sequence: number; message: string }[];
  /** The snapshots whose hash the follower asked the exchange to journal. */
  written: { sequence: number; hash: string }[];
  /** The reported problems, by part, in order; null means solved. */
  troubles: Parameters<ReportTrouble>[];
  /** Reads once everything durable is projected. Throws if the history is unavailable. */
  read<Kind extends HistoryKind>(request: RequestOf<Kind>): Promise<HistoryAnswers[Kind]>;
  reply<Kind extends HistoryKind>(
    request: RequestOf<Kind>,
    minSequence: number,
  ): Promise<HistoryReply<Kind>>;
  committed(sequence: number): void;
  close(): Promise<void>;
}

/**
 * @param durableSequence the journal's end; reads wait for it.
 * @param journal default: in the folder.
 */
export function startFollower(
  folder: string,
  durableSequence: number,
  snapshots = { everyCommands: 1_000_000, everyMs: 1e15 },
  finish: FinishSnapshot = finishHere,
  journal: JournalPlace = { folder },
  dayFiles = 0,
  partCommands?: number,
  historyDays = 0,
): TestFollower {
  const board = new ProgressBoard();
  board.set('durable', durableSequence);
  const log = new Log();
  const disagreements: TestFollower['disagreements'] = [];
  const troubles: TestFollower['troubles'] = [];
  const written: TestFollower['written'] = [];
  const options = {
    folder,
    journal,
    board,
    log,
    troubles: new Troubles(folder, log, (part, problem) => troubles.push([part, problem])),
    snapshots,
    dayFiles,
    historyDays,
    ...(partCommands === undefined ? {} : { partCommands }),
    finishSnapshot: finish,
    makePart,
    readSnapshot,
    snapshotWritten: (sequence: number, hash: string) => written.push({ sequence, hash }),
  };
  const loop = new FollowerLoop(options, (sequence, message) => {
    disagreements.push({ sequence, message });
  });
  const running = loop.run();
  const reply: TestFollower['reply'] = async (request, minSequence) => {
    for (;;) {
      const answer = await new Promise<HistoryReply>((resolve) =>
        loop.read({ request, minSequence, readerKey: 0, done: resolve, isGivenUp: () => false }),
      );
      // The history has found damage or a lock, and restarts.
      const willCome =
        answer.status === 'unavailable' &&
        /rebuilt|will be tried again|^history, |SQLITE_BUSY/.test(answer.reason);
      if (!willCome) return answer as HistoryReply<typeof request.kind> as never;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  return {
    board,
    log,
    disagreements,
    written,
    troubles,
    reply,
    read: async (request) => {
      const answer = await reply(request, board.get('durable'));
      if (answer.status !== 'ok') throw new Error(answer.reason);
      return answer.answer as never;
    },
    committed: (sequence) => {
      board.set('durable', sequence);
      if (board.clearIdle()) loop.wake();
    },
    close: async () => {
      loop.close();
      await running;
    },
  };
}
