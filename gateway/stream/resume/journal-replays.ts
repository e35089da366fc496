/**
 * Reads account messages that memory no longer keeps from the journal, one window at a time.
 *
 * Invariants:
 * - At most one thread replays at a time, at low priority and with a bounded number of commands.
 *   Requests that arrive during a replay share the next replays, so a thousand clients that resume
 *   after a restart cost a few dozen replays.
 * - A user (a sub-account counts as its parent) has at most one window, given to at most
 *   {@link AT_ONCE} of its connections at a time. All windows together have at most
 *   {@link HELD_BYTES_MAX}.
 * - Users take turns in two alternating lanes: newcomers, who have at most half of the window
 *   bytes, and all others.
 */
import { Worker } from 'node:worker_threads';
import { compiledFile } from '../../../persistence/storage/program-folder.js';
import { Lane } from '../../access/fair-use/lane.js';
import type { ElapsedMs } from '../../access/fair-use/token-buckets.js';
import type { Log } from '../../observe/log.js';
import type { ReplayAnswer, ReplayRequest, ReplayTask, Window } from './replay-worker.js';

const WAITING = { perLane: 1_000, perKey: 100 };
/** Maximum of users per replay. */
const TOGETHER_MAX = 16;
export const AT_ONCE = 8;
export const HELD_BYTES_MAX = 256 * 1024 * 1024;
/** How long a window is offered to further connections. */
const GIVEN_MS = 30_000;

/** A window's messages after the requested number. */
export interface Share {
  window: Window;
  /** Index of the first message. */
  from: number;
  /** Call once, when the messages are no longer needed. */
  release(): void;
}

/** `tooFar`: needs more commands than a replay executes. `failed`: may succeed later. */
export type NotReplayed = 'tooFar' | 'failed';

export interface QueuedReplay extends ReplayRequest {
  /** The user, or a sub-account's parent. */
  readonly key: number;
  readonly isNewcomer: boolean;
  isOver(): boolean;
  done(replayed: Share | NotReplayed): void;
}

interface ReplayOptions
  extends Pick<ReplayTask, 'folder' | 'journal' | 'commandsMax' | 'windowBytes'> {
  durableSequence: () => number;
  log: Log;
  elapsedMs: ElapsedMs;
}

export class JournalReplays {
  private readonly newcomers = new Lane<QueuedReplay>(WAITING);
  private readonly others = new Lane<QueuedReplay>(WAITING);
  private isOthersTurn = true;
  private readonly held = new Map<number, Held>();
  private worker: Worker | null = null;
  private readonly stopped = new Int32Array(new SharedArrayBuffer(4));

  constructor(private readonly options: ReplayOptions) {}

  get waitingCount(): number {
    return this.newcomers.size + this.others.size;
  }

  get heldBytes(): number {
    let sum = 0;
    for (const { bytes } of this.held.values()) sum += bytes;
    return sum;
  }

  /** Calls `done` with the messages after `after`, up to one window. */
  read(request: QueuedReplay): void {
    const lane = request.isNewcomer ? this.newcomers : this.others;
    (this.isStopped ? request : lane.add(request))?.done('failed');
    this.next();
  }

  /** Waits for the thread to end: terminating it inside SQLite would end the whole process. */
  async stop(): Promise<void> {
    Atomics.store(this.stopped, 0, 1);
    for (const lane of [this.newcomers, this.others])
      for (let request = lane.take(); request !== null; request = lane.take())
        request.done('failed');
    const { worker } = this;
    if (worker !== null) await new Promise((resolve) => worker.once('exit', resolve));
  }

  get isStopped(): boolean {
    return Atomics.load(this.stopped, 0) === 1;
  }

  private next(): void {
    if (this.worker !== null || this.isStopped) return;
    const group = this.nextGroup();
    if (group.length === 0) return;
    const { folder, journal, durableSequence, commandsMax, windowBytes, log } = this.options;
    const workerData: ReplayTask = {
      folder,
      journal,
      requests: group.map(({ userId, after, place }) => ({ userId, after, place })),
      through: durableSequence(),
      commandsMax,
      windowBytes,
      stopped: this.stopped,
    };
    let answer: ReplayAnswer | null = null;
    const worker = new Worker(compiledFile('gateway/stream/resume/replay-worker.js'), {
      workerData,
    });
    this.worker = worker;
    worker.on('message', (message: ReplayAnswer) => {
      answer = message;
    });
    worker.on('error', (error) => log.warn({ err: error }, 'a replay for resume failed'));
    worker.on('exit', () => {
      this.worker = null;
      if (answer === null || this.isStopped) for (const { done } of group) done('failed');
      else this.answered(group, answer);
      this.next();
    });
  }

  private nextGroup(): QueuedReplay[] {
    const { windowBytes } = this.options;
    const users = new Set<number>();
    const group: QueuedReplay[] = [];
    let [room, newcomersRoom] = [HELD_BYTES_MAX, HELD_BYTES_MAX / 2];
    for (const { bytes, isNewcomer } of this.held.values()) {
      room -= bytes;
      if (isNewcomer) newcomersRoom -= bytes;
    }
    const mayHaveTurn = (key: number | string) =>
      !users.has(key as number) && !this.held.has(key as number);
    while (users.size < TOGETHER_MAX && room >= windowBytes) {
      const first = this.takeTurn(mayHaveTurn, newcomersRoom >= windowBytes);
      if (first === null) break;
      const lane = first.isNewcomer ? this.newcomers : this.others;
      const requests = [first, ...lane.lineOf(first.key).filter(isOf(first.userId))];
      for (const request of requests) lane.remove(request);
      const wanted = requests.filter((request) => !request.isOver());
      if (wanted.length === 0) continue;
      group.push(...wanted);
      users.add(first.key);
      room -= windowBytes;
      if (first.isNewcomer) newcomersRoom -= windowBytes;
    }
    return group;
  }

  private takeTurn(
    mayHaveTurn: (key: number | string) => boolean,
    mayBeNewcomer: boolean,
  ): QueuedReplay | null {
    const { others } = this;
    const newcomers = mayBeNewcomer ? this.newcomers : null;
    const [first, second] = this.isOthersTurn ? [others, newcomers] : [newcomers, others];
    const request = first?.take(mayHaveTurn) ?? second?.take(mayHaveTurn) ?? null;
    if (request !== null) this.isOthersTurn = request.isNewcomer;
    return request;
  }

  private answered(group: readonly QueuedReplay[], { windows, tooFar }: ReplayAnswer): void {
    const far = group.filter((_, i) => tooFar[i]);
    const near = group.filter((_, i) => !tooFar[i]);
    const { elapsedMs } = this.options;
    const untilMs = elapsedMs() + GIVEN_MS;
    const all = windows.map((window) => {
      const requests = near.filter(isOf(window.userId));
      const mayGive = () => elapsedMs() <= untilMs;
      const held = new Held(window, requests, mayGive, (left) => {
        this.held.delete(held.key);
        for (const request of left) this.read(request);
        this.next();
      });
      this.held.set(held.key, held);
      return held;
    });
    for (const held of all) held.give();
    for (const { done } of far) done('tooFar');
  }
}

function isOf(userId: number): (request: QueuedReplay) => boolean {
  return (request) => request.userId === userId;
}

class Held {
  readonly key: number;
  readonly isNewcomer: boolean;
  private active = 0;

  constructor(
    private readonly window: Window,
    private readonly requests: QueuedReplay[],
    private readonly mayGive: () => boolean,
    /** Called with the remaining requests, which need a window of their own. */
    private readonly onEmpty: (left: readonly QueuedReplay[]) => void,
  ) {
    const [{ key, isNewcomer }] = requests as [QueuedReplay];
    this.key = key;
    this.isNewcomer = isNewcomer;
  }

  get bytes(): number {
    return this.window.bytes.byteLength;
  }

  give(): void {
    const { window, requests } = this;
    const release = () => {
      this.active--;
      this.give();
    };
    while (this.active < AT_ONCE && requests.length > 0 && this.mayGive()) {
      const request = requests.shift()!;
      if (request.isOver()) continue;
      this.active++;
      const found = window.numbers.findIndex((number) => number > request.after);
      request.done({ window, from: found < 0 ? window.numbers.length : found, release });
    }
    if (this.active === 0) this.onEmpty(requests);
  }
}
