/**
 * The core's edges in threads of its own process (EDGE_THREADS), which hold all connections of the
 * public address.
 *
 * Invariants:
 * - The threads receive only what may leave the process: a ring holds only durable answers.
 * - A thread's queue is bounded. Beyond the limit, answers are dropped with their connections.
 * - The exchange cannot run without its threads, so the end of a thread is a fatal error.
 */
import { Worker } from 'node:worker_threads';
import { compiledFile } from '../../../persistence/storage/program-folder.js';
import type { Gateway } from '../../http/gateway.js';
import { cannotListen } from '../../http/listen-addresses.js';
import type { Route } from '../../http/route.js';
import { atMost, elapsedMs } from '../../observe/clock.js';
import { countsMemory } from '../link/counts.js';
import { FrameReader } from '../link/frames.js';
import { RING_BYTES, ringMemory } from '../link/ring.js';
import { RingLink } from '../link/ring-link.js';
import {
  type EdgeReadings,
  type EdgeTask,
  type FromEdgeThread,
  NO_ROUTE,
  type OwnAnswers,
  type ToEdgeThread,
} from '../link/thread-messages.js';
import { EdgePeer, type PeerOptions } from './peer.js';
import { ServedRoutes } from './served-routes.js';

const THREAD = compiledFile('gateway/edge/thread/thread.js');
const CLOSE_MS = 1_500;
/** How long exit waits for the first thread, and then for the others. */
const EXIT_WAIT_MS = 5_000;
/** How often an unread ring is checked before the thread is asked to settle. */
const TAKEN_MS = 5;

export interface EdgeThreadsOptions {
  gateway: Gateway;
  routes: readonly Route[];
  threads: number;
  streamsOf: PeerOptions['streamsOf'];
  task: Pick<
    EdgeTask,
    'hasOperations' | 'connections' | 'unsent' | 'fairUse' | 'stream' | 'logLevel'
  >;
}

export class EdgeThreads {
  private readonly counts: SharedArrayBuffer;
  private readonly served: ServedRoutes;
  private threads: EdgeThread[] = [];
  private isClosing = false;

  constructor(private readonly options: EdgeThreadsOptions) {
    const { gateway, routes, threads } = options;
    this.counts = countsMemory(threads);
    this.served = new ServedRoutes(gateway, routes);
  }

  readings(): EdgeReadings {
    return this.threads.reduce((sum, { readings }) => added(sum, readings), NOTHING_YET);
  }

  /** Resolves to the port. Rejects if the address is unavailable. */
  async listen(host: string, port: number): Promise<number> {
    process.once('exit', this.endAtExit);
    const { threads } = this.options;
    this.threads = Array.from({ length: threads }, (_, i) => this.start(i));
    const apps = await this.apps();
    const listening = await this.threads[0]!.listen(host, port, apps);
    if (listening !== null) return listening;
    throw cannotListen(host, port);
  }

  /** Like Router.renewCertificate, once every thread has a new app. */
  async renewCertificate(): Promise<void> {
    for (const thread of this.threads) thread.renewCertificate();
    const apps = await this.apps();
    this.threads[0]!.post({ apps });
  }

  private async apps(): Promise<number[]> {
    const apps = await Promise.all(this.threads.map(({ app }) => app));
    if (apps.every((app) => app !== null)) return apps;
    throw new Error('a thread could not use the files of TLS_CERT_FILE and TLS_KEY_FILE');
  }

  async drain(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.asked('drain')));
  }

  async settled(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.settle()));
  }

  /** Gives up after {@link CLOSE_MS}. */
  async close(): Promise<void> {
    this.isClosing = true;
    const [first, ...others] = this.threads;
    if (first === undefined) return;
    const allEnded = async () => {
      // The first thread accepts connections for the others.
      first.post('close');
      await first.ended;
      for (const thread of others) thread.post('close');
      await Promise.all(others.map(({ ended }) => ended));
      process.off('exit', this.endAtExit);
    };
    await atMost(CLOSE_MS, allEnded());
  }

  /** At any exit: blocks until the threads have ended, or else the process would be aborted. */
  private readonly endAtExit = (): void => {
    for (const threads of [this.threads.slice(0, 1), this.threads.slice(1)]) {
      const untilMs = elapsedMs() + EXIT_WAIT_MS;
      for (const thread of threads) thread.post('close');
      for (const thread of threads) thread.waitForEnd(untilMs - elapsedMs());
    }
  };

  private start(index: number): EdgeThread {
    const { gateway, threads, task } = this.options;
    const { engine } = gateway.sequencer;
    const { dataFolder, tls, trustProxy, siteOrigins } = gateway.config;
    const { connections, unsent } = task;
    const all: EdgeTask = {
      ...task,
      index,
      rows: threads,
      symbols: Array.from({ length: engine.assetCount }, (_, asset) => engine.assetSymbol(asset)),
      config: { dataFolder, tls, trustProxy, siteOrigins },
      connections: { ...connections, perAddress: share(connections.perAddress, threads) },
      unsent: {
        ...unsent,
        bytes: share(unsent.bytes, threads),
        bytesPerAddress: share(unsent.bytesPerAddress, threads),
      },
      toCore: ringMemory(),
      toEdge: ringMemory(),
      counts: this.counts,
      end: new SharedArrayBuffer(4),
    };
    return new EdgeThread(all, {
      gateway,
      served: this.served,
      streamsOf: this.options.streamsOf,
      turnBytes: RING_BYTES / threads,
      failed: (problem) => {
        if (!this.isClosing) gateway.fail(problem);
      },
    });
  }
}

const NOTHING_YET: EdgeReadings = {
  connections: { httpCount: 0, refusedCounts: { total: 0, address: 0 } },
  http: { requestsInFlight: 0, slowBodies: 0 },
  streams: { backlogBytes: 0, cutOffCount: 0 },
  rings: { core: 0, edge: 0 },
  unsent: { bytes: 0, count: 0, dropCounts: { total: 0, address: 0, time: 0 } },
};

function added<T extends object>(a: T, b: T): T {
  const sums = Object.entries(a).map(([name, its]) => {
    const other = b[name as keyof T];
    return [name, typeof its === 'number' ? its + Number(other) : added(its, other as object)];
  });
  return Object.fromEntries(sums) as T;
}

/** One thread's part of a limit, where 0 means no limit. */
function share(limit: number, threads: number): number {
  return limit === 0 ? 0 : Math.max(1, Math.floor(limit / threads));
}

interface EdgeThreadOptions {
  gateway: Gateway;
  served: ServedRoutes;
  streamsOf: PeerOptions['streamsOf'];
  turnBytes: number;
  failed: (problem: Error) => void;
}

class EdgeThread {
  /** Resolves to the thread's newest app, or `null` if the thread could not create it. */
  app: Promise<number | null>;
  readonly ended: Promise<void>;
  private reported = NOTHING_YET;
  private readonly worker: Worker;
  private readonly link: RingLink;
  private hasApp: (app: number | null) => void = () => {};
  private listening: (port: number | null) => void = () => {};
  private done: () => void = () => {};

  constructor(
    private readonly task: EdgeTask,
    private readonly options: EdgeThreadOptions,
  ) {
    const { gateway, served, streamsOf, turnBytes, failed } = options;
    this.link = new RingLink({
      out: task.toEdge,
      in: task.toCore,
      wake: () => this.post('wake'),
      reader: new FrameReader(),
      receive: (frame) => {
        try {
          peer.receive(frame);
        } catch (error) {
          gateway.fail(error);
        }
      },
      turnBytes,
      onTurn: () => peer.turnEnded(),
    });
    const peer = new EdgePeer({
      gateway,
      served,
      sink: this.link,
      streamsOf,
      onChange: () => {},
      isCongested: () => this.link.waitingBytes > task.unsent.bytes,
      // Answers are dropped earlier, so the excess is for streams.
      isBehind: () => this.link.waitingBytes > 2 * task.unsent.bytes,
    });
    this.app = this.nextApp();
    this.worker = new Worker(THREAD, { workerData: task });
    this.worker.on('message', (message: FromEdgeThread) => this.receive(message));
    this.worker.on('error', failed);
    this.ended = new Promise((resolve) =>
      this.worker.on('exit', (code) => {
        // A thread that failed to start cannot set this word.
        Atomics.store(new Int32Array(task.end), 0, 1);
        failed(new Error(`the thread of edge ${task.index} ended with ${code}`));
        this.hasApp(null);
        for (const done of [this.done, resolve]) done();
      }),
    );
  }

  get readings(): EdgeReadings {
    const { core } = this.reported.rings;
    return { ...this.reported, rings: { core, edge: this.link.waitingBytes } };
  }

  post(message: ToEdgeThread): void {
    this.worker.postMessage(message);
  }

  renewCertificate(): void {
    this.app = this.nextApp();
    this.post('renewCertificate');
  }

  private nextApp(): Promise<number | null> {
    return new Promise((resolve) => (this.hasApp = resolve));
  }

  waitForEnd(timeoutMs: number): void {
    Atomics.wait(new Int32Array(this.task.end), 0, 0, timeoutMs);
  }

  listen(host: string, port: number, apps: number[]): Promise<number | null> {
    return new Promise((resolve) => {
      this.listening = resolve;
      this.post({ host, port, apps });
    });
  }

  asked(message: 'drain' | 'settle'): Promise<void> {
    return new Promise((resolve) => {
      this.done = resolve;
      this.post(message);
    });
  }

  /** Asks the thread to settle once every answer is in the ring. */
  async settle(): Promise<void> {
    let hasEnded = false;
    void this.ended.then(() => (hasEnded = true));
    while (this.link.waitingBytes > 0 && !hasEnded)
      await new Promise((resolve) => setTimeout(resolve, TAKEN_MS));
    if (!hasEnded) await this.asked('settle');
  }

  private receive(message: FromEdgeThread): void {
    if (message === 'wake') this.link.woken();
    else if (message === 'done') this.done();
    else if ('failure' in message) {
      const problem = `the thread of edge ${this.task.index} failed: ${message.failure}`;
      this.options.failed(new Error(problem));
    } else if ('app' in message) this.hasApp(message.app);
    else if ('answers' in message) this.note(message);
    else this.listening(message.port);
  }

  private note({ answers, readings }: { answers: OwnAnswers; readings: EdgeReadings }): void {
    const { served } = this.options;
    this.reported = readings;
    for (const [route, status, count] of answers) {
      const counts = route === NO_ROUTE ? served.unknown : served.named(route)!.counts;
      counts.add(status, count);
    }
  }
}
