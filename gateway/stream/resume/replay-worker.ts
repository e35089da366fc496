/**
 * The thread that replays the journal for `resume`. An engine starts from a snapshot before the
 * first wanted sequence and applies the journal, and a hub builds the wanted accounts' messages:
 * the same code and commands yield the messages already sent, byte for byte.
 *
 * Invariant: the thread keeps at most one window per account, of the oldest messages, and ends when
 * all windows are full.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { Engine } from '../../../engine/engine.js';
import { JournalUnavailable } from '../../../persistence/journal/errors.js';
import { JournalReader } from '../../../persistence/journal/reader.js';
import type { JournalSource } from '../../../persistence/journal/store.js';
import { JournalFollower } from '../../../persistence/recovery/recovery.js';
import { listSnapshots } from '../../../persistence/recovery/snapshot/folder.js';
import { loadNewestSnapshot } from '../../../persistence/recovery/snapshot/load.js';
import { type JournalPlace, openSource } from '../../../persistence/replication/source.js';
import { lowerPriority } from '../../../persistence/storage/thread-priority.js';
import { Hub } from '../hub.js';
import { STREAM_LIMITS } from '../limits.js';

export interface ReplayRequest {
  userId: number;
  after: number;
  /**
   * The number of the last message that the client has received, at most `after`. No message has a
   * number above it and up to `after`.
   */
  place: number;
}

export interface ReplayTask {
  folder: string;
  journal: JournalPlace;
  requests: ReplayRequest[];
  /** The replay's last sequence, which is durable. */
  through: number;
  commandsMax: number;
  windowBytes: number;
  /** Shared memory: 1 makes the replay end early, without an answer. */
  stopped: Int32Array;
}

/** An account's concatenated messages, in memory outside any heap. */
export interface Window {
  userId: number;
  bytes: Uint8Array;
  /** Each message's end offset and number. */
  ends: Uint32Array;
  numbers: Float64Array;
  /** The window is complete up to this number. */
  through: number;
}

export interface ReplayAnswer {
  windows: Window[];
  /** Whether each request needs too many commands or archived journal segments. */
  tooFar: boolean[];
}

const PRIORITY_STEPS = 10;
const LOG = { warn: () => {} };

class Collected {
  readonly texts: Buffer[] = [];
  readonly numbers: number[] = [];
  private bytes = 0;
  isFull = false;

  constructor(
    readonly userId: number,
    readonly after: number,
    /** The number before the first message. */
    readonly place: number,
  ) {}

  keep(text: string, number: number, windowBytes: number): void {
    if (this.isFull) return;
    const bytes = Buffer.from(text);
    this.isFull = this.bytes > 0 && this.bytes + bytes.length > windowBytes;
    if (this.isFull) return;
    this.bytes += bytes.length;
    this.texts.push(bytes);
    this.numbers.push(number);
  }

  window(through: number): Window {
    const { userId, texts, numbers, isFull } = this;
    const bytes = new Uint8Array(this.bytes);
    const ends = new Uint32Array(texts.length);
    let at = 0;
    for (const [i, text] of texts.entries()) {
      bytes.set(text, at);
      at += text.length;
      ends[i] = at;
    }
    const last = isFull ? numbers.at(-1)! : through;
    return { userId, bytes, ends, numbers: new Float64Array(numbers), through: last };
  }
}

async function replay(task: ReplayTask): Promise<ReplayAnswer> {
  const reader = await openSource(task.journal);
  try {
    const tooFar = farRequests(task, reader);
    const accounts = new Map<number, Collected>();
    for (const [i, request] of task.requests.entries()) {
      const { userId } = request;
      const others = accounts.get(userId) ?? request;
      const after = Math.min(request.after, others.after);
      const place = Math.min(request.place, others.place);
      if (!tooFar[i]) accounts.set(userId, new Collected(userId, after, place));
    }
    const wanted = [...accounts.values()];
    if (wanted.length > 0 && !(await collect(task, reader, wanted)))
      return { windows: [], tooFar: tooFar.map(() => true) };
    return { windows: wanted.map((each) => each.window(task.through)), tooFar };
  } finally {
    await reader.close();
  }
}

/** Marks requests too far back, so that they do not move the replay's start for the others. */
function farRequests(
  { folder, through, commandsMax, requests }: ReplayTask,
  reader: JournalSource,
): boolean[] {
  const starts = listSnapshots(folder).map(({ sequence }) => sequence);
  // Earlier segments are archived.
  const first = reader instanceof JournalReader ? reader.firstSequence : 1;
  return requests.map(({ after }) => {
    const start = starts.find((sequence) => sequence <= after) ?? 0;
    return through - start > commandsMax || start + 1 < first;
  });
}

/** False: the snapshot is unusable. @throws JournalUnavailable if the node ends before `through` */
async function collect(
  { folder, through, commandsMax, windowBytes, stopped }: ReplayTask,
  reader: JournalSource,
  wanted: Collected[],
): Promise<boolean> {
  const notAfter = Math.min(...wanted.map(({ after }) => after));
  const start = await loadNewestSnapshot({ folder, reader, log: LOG, notAfter });
  const { engine, position } = start;
  if (through - position.sequence > commandsMax) return false;
  const collector = new Collector(engine, wanted, windowBytes);
  collector.reached();
  const follower = new JournalFollower(engine, position, {
    applied: () => {
      collector.hub.observe();
      collector.reached();
    },
    proven: ({ lastSequence }) =>
      lastSequence < through &&
      Atomics.load(stopped, 0) === 0 &&
      !wanted.every(({ isFull }) => isFull),
  });
  await follower.follow(reader);
  const isCutShort = Atomics.load(stopped, 0) === 1 || wanted.every(({ isFull }) => isFull);
  const { sequence } = follower.position;
  // Otherwise the windows would count as complete, and the client would never learn of the rest.
  if (sequence < through && !isCutShort)
    throw new JournalUnavailable(`the node ends at sequence ${sequence}, before ${through}`);
  return true;
}

class Collector {
  readonly hub: Hub;
  /** Accounts whose start sequence the engine has not reached; the next one is last. */
  private readonly waiting: Collected[];
  private readonly byTopic = new Map<string, Collected>();

  constructor(
    private readonly engine: Engine,
    collected: readonly Collected[],
    windowBytes: number,
  ) {
    this.waiting = [...collected].sort((a, b) => b.after - a.after);
    this.hub = new Hub({
      engine,
      releaseAt: (_sequence, target) => target.release(),
      publish: (topic, text) => this.byTopic.get(topic)?.keep(text, engine.sequence, windowBytes),
      onTokensEnded: () => {},
      onTokenEnded: () => {},
      onRateTier: () => {},
      limits: { ...STREAM_LIMITS, keptMessages: 1 },
    });
  }

  /** Starts collecting for accounts whose start sequence the engine has reached. */
  reached(): void {
    const { waiting, engine, hub, byTopic } = this;
    while (waiting.length > 0 && waiting.at(-1)!.after <= engine.sequence) {
      const each = waiting.pop()!;
      const channel = hub.channel({ kind: 'user', of: each.userId });
      // Otherwise the first message's previousSequence would name a message that the client lacks.
      channel.lastSequence = Math.min(channel.lastSequence, each.place);
      byTopic.set(channel.topic, each);
    }
  }
}

lowerPriority(PRIORITY_STEPS);
const answer = await replay(workerData as ReplayTask);
const transfers = answer.windows.flatMap(({ bytes, ends, numbers }) => [
  bytes.buffer,
  ends.buffer,
  numbers.buffer,
]);
parentPort!.postMessage(answer, transfers as ArrayBuffer[]);
