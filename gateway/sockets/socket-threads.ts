/**
 * The trading thread's side of the socket threads: a router for connections that other threads
 * hold. They accept and parse; here, the same routes, limits and checks as on any connection are
 * run for each request, in the order in which each thread sends them, and the answers go back.
 *
 * Always holds:
 * - every request that a thread hands over is answered once, or its client has left;
 * - the threads receive only what may leave the process: an answer is written to a ring where it
 *   would be written to a socket, once it is durable;
 * - what waits for a thread is bounded: beyond, answers are dropped with their connections, as
 *   those are that clients do not read;
 * - without its threads the exchange does not go on: the end of one is a fatal error.
 */
import type * as uWS from 'uWebSockets.js';
import { Worker } from 'node:worker_threads';
import { compiledFile } from '../../persistence/storage/program-folder.js';
import type { Cancelling } from '../commands/cancels.js';
import type { ConnectionLimits } from '../fair-use/connections.js';
import type { UnsentLimits } from '../http/answers/unsent-answers.js';
import { ReceivedBody } from '../http/body.js';
import { cannotListen } from '../http/listen-addresses.js';
import { Request } from '../http/request.js';
import { parameterNames } from '../http/route.js';
import {
  type Handler,
  METHODS,
  NO_CHUNKS,
  type Refuse,
  type ServerRouter,
  type Verb,
} from '../http/router.js';
import { atMost } from '../time/at-most.js';
import { elapsedMs } from '../time/clock.js';
import type { SocketCounts } from './counts.js';
import { FramedRequest, REFUSED } from './framed-request.js';
import { finishHead, RemoteResponse, type SocketThread } from './remote-response.js';
import { RING_BYTES, RingReader, RingWriter, ringMemory } from './ring.js';
import { FromSockets, integerAt, RequestFlag } from './ring-frames.js';
import type {
  FromSocketThread,
  RegisteredHandler,
  SocketThreadTask,
  ToSocketThread,
} from './thread-messages.js';

const THREAD = compiledFile('gateway/sockets/socket-thread.js');
/** How long the threads may take to close their connections and end. */
const CLOSE_MS = 1_500;
/** How long the exit of the process waits for the first thread, and then for the others. */
const EXIT_WAIT_MS = 5_000;
const TELL_MS = 500;
/** How long a thread may leave answers in the ring before it is asked whether they are sent. */
const TAKEN_MS = 5;
/** In a turn of the trading thread, requests of as many bytes are handled: for about 30 ms. */
const TURN_BYTES = RING_BYTES;

export interface SocketThreadsOptions {
  threads: number;
  trustProxy: boolean;
  connections: ConnectionLimits;
  unsent: UnsentLimits;
  /** Row 0 is the trading thread's. */
  counts: SocketCounts;
  /** To be called regularly: tells the threads how many connections this one has. */
  tellConnections: () => void;
  fail: (error: unknown) => void;
  refuse: Refuse;
}

interface Registered extends RegisteredHandler {
  handler: Handler;
}

export class SocketThreads implements ServerRouter {
  private readonly handlers: Registered[] = [];
  private links: ThreadLink[] = [];
  private isPlanned = false;
  private isClosing = false;
  private teller: NodeJS.Timeout | null = null;

  constructor(private readonly options: SocketThreadsOptions) {}

  on(verb: Verb, path: string, handler: Handler): void {
    this.register({ verb, path, takesBody: false, cancelling: 'none', handler });
  }

  onBody(verb: Verb, path: string, handler: Handler, cancelling: Cancelling = 'none'): void {
    this.register({ verb, path, takesBody: true, cancelling, handler });
  }

  receive(response: uWS.HttpResponse, done: (body: ReceivedBody) => void): void {
    done((response as unknown as RemoteResponse).received);
  }

  /** Starts the threads. */
  async listen(host: string, port: number): Promise<number> {
    const { threads, tellConnections } = this.options;
    this.teller = setInterval(tellConnections, TELL_MS);
    process.once('exit', this.endAtExit);
    this.links = Array.from({ length: threads }, (_, i) => this.start(i + 1));
    const apps = await Promise.all(this.links.map((link) => link.app));
    const listening = await this.links[0]!.listen(host, port, apps);
    if (listening !== null) return listening;
    throw cannotListen(host, port);
  }

  /** Resolves when every request that has arrived with its body has been handled. */
  async stopListening(): Promise<void> {
    await Promise.all(this.links.map((link) => link.drain()));
  }

  /** Resolves when the clients have read what they will: as UnsentAnswers.settled. */
  async settled(): Promise<void> {
    await Promise.all(this.links.map((link) => link.settle()));
  }

  /** The first thread accepts connections for the others, so it ends before them. */
  close(): void {
    this.isClosing = true;
    if (this.teller !== null) clearInterval(this.teller);
    const [first, ...others] = this.links;
    if (first === undefined) return;
    first.post('close');
    void first.ended.then(() => {
      for (const link of others) link.post('close');
    });
  }

  /** Resolves when the threads have ended, after {@link close}, or after {@link CLOSE_MS}. */
  async closed(): Promise<void> {
    const allEnded = async () => {
      await Promise.all(this.links.map(({ ended }) => ended));
      process.off('exit', this.endAtExit);
    };
    await atMost(CLOSE_MS, allEnded());
  }

  /**
   * At the exit of the process, whatever its reason: waits, without handling any event, until the
   * threads have ended, in the order of {@link close}. Otherwise the process would be aborted.
   */
  private readonly endAtExit = (): void => {
    for (const links of [this.links.slice(0, 1), this.links.slice(1)]) {
      const untilMs = elapsedMs() + EXIT_WAIT_MS;
      for (const link of links) link.post('close');
      for (const link of links) link.waitForEnd(untilMs - elapsedMs());
    }
  };

  /** Only for {@link ThreadLink}: handles what the threads sent, and looks again a turn later. */
  readonly work = (): void => {
    this.isPlanned = false;
    let isBusy = false;
    const bytesMax = TURN_BYTES / this.links.length;
    for (const link of this.links) if (link.work(bytesMax)) isBusy = true;
    if (!isBusy) for (const link of this.links) if (!link.sleep()) isBusy = true;
    if (isBusy) this.plan();
  };

  /** Only for {@link ThreadLink}: a message says that there is something. */
  woken(): void {
    if (!this.isPlanned) this.work();
  }

  /** Only for {@link ThreadLink}. */
  run(raw: FramedRequest, response: RemoteResponse): void {
    try {
      this.handle(raw, response as unknown as uWS.HttpResponse);
      finishHead();
    } catch (error) {
      this.options.fail(error);
    }
  }

  private handle(raw: FramedRequest, response: uWS.HttpResponse): void {
    const { refuse, trustProxy } = this.options;
    const registered = raw.handler === REFUSED.handler ? null : this.handlers[raw.handler]!;
    const method = registered === null ? null : METHODS[registered.verb];
    const request = new Request(raw, method ?? raw.getMethod(), trustProxy);
    const whole = raw as unknown as uWS.HttpRequest;
    if (request.problems !== null) refuse(response, request, request.problems, whole);
    else if (registered === null) refuse(response, request, NO_CHUNKS, whole);
    else registered.handler(response, request, whole);
  }

  private register(registered: Omit<Registered, 'parameters'>): void {
    const parameters = parameterNames(registered.path).length;
    this.handlers.push({ ...registered, parameters });
  }

  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    setImmediate(this.work);
  }

  private start(index: number): ThreadLink {
    const { threads, trustProxy, connections, unsent, counts } = this.options;
    const task: SocketThreadTask = {
      index,
      rows: threads + 1,
      handlers: this.handlers.map(({ handler: _, ...registered }) => registered),
      trustProxy,
      connections: { ...connections, perAddress: share(connections.perAddress, threads) },
      unsent: {
        ...unsent,
        bytes: share(unsent.bytes, threads),
        bytesPerAddress: share(unsent.bytesPerAddress, threads),
      },
      requests: ringMemory(),
      answers: ringMemory(),
      counts: counts.memory,
      end: new SharedArrayBuffer(4),
    };
    return new ThreadLink(this, task, (problem) => {
      if (!this.isClosing) this.options.fail(problem);
    });
  }
}

/** Of a limit, for one of several threads; 0: no limit. */
function share(limit: number, threads: number): number {
  return limit === 0 ? 0 : Math.max(1, Math.floor(limit / threads));
}

/** One socket thread, as the trading thread has it. */
class ThreadLink implements SocketThread {
  /** Resolves to the thread's app once it has started. */
  readonly app: Promise<number>;
  readonly ended: Promise<void>;
  private readonly worker: Worker;
  private readonly failed: (problem: Error) => void;
  private readonly requests: RingReader;
  private readonly answers: RingWriter;
  private readonly raw: FramedRequest;
  /** Requests that are not answered, by place. */
  private readonly responses: (RemoteResponse | null)[] = [];
  private started: (app: number) => void = () => {};
  private listening: (port: number | null) => void = () => {};
  private drained: () => void = () => {};
  private settled: () => void = () => {};

  constructor(
    private readonly threads: SocketThreads,
    private readonly task: SocketThreadTask,
    failed: (problem: Error) => void,
  ) {
    this.requests = new RingReader(task.requests, () => this.post('wake'));
    this.answers = new RingWriter(task.answers, () => this.post('wake'), false);
    this.raw = new FramedRequest(this.requests.bytes);
    this.requests.sleep();
    this.app = new Promise((resolve) => (this.started = resolve));
    this.worker = new Worker(THREAD, { workerData: task });
    this.worker.on('message', (message: FromSocketThread) => this.receive(message));
    this.failed = failed;
    this.worker.on('error', failed);
    this.ended = new Promise((resolve) =>
      this.worker.on('exit', (code) => {
        // One that could not start does not say so itself.
        Atomics.store(new Int32Array(task.end), 0, 1);
        failed(new Error(`socket thread ${task.index} ended with ${code}`));
        // Nobody waits for it any more.
        for (const done of [this.drained, this.settled, resolve]) done();
      }),
    );
  }

  post(message: ToSocketThread): void {
    this.worker.postMessage(message);
  }

  /** Blocks this thread until that one has ended, or for `timeoutMs`. */
  waitForEnd(timeoutMs: number): void {
    Atomics.wait(new Int32Array(this.task.end), 0, 0, timeoutMs);
  }

  listen(host: string, port: number, apps: number[]): Promise<number | null> {
    return new Promise((resolve) => {
      this.listening = resolve;
      this.post({ host, port, apps });
    });
  }

  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.drained = resolve;
      this.post('drain');
    });
  }

  /** Once every answer is in the ring, the thread has it before the message. */
  async settle(): Promise<void> {
    let hasEnded = false;
    void this.ended.then(() => (hasEnded = true));
    while (this.answers.waitingBytes > 0 && !hasEnded)
      await new Promise((resolve) => setTimeout(resolve, TAKEN_MS));
    if (hasEnded) return;
    await new Promise<void>((resolve) => {
      this.settled = resolve;
      this.post('settle');
    });
  }

  /** Handles what the thread has sent. Returns false if that is nothing. */
  work(bytesMax: number): boolean {
    this.answers.retry();
    const isBusy = this.requests.read(this.frame, bytesMax);
    this.answers.wakeLater();
    return isBusy;
  }

  sleep(): boolean {
    return this.requests.sleep();
  }

  write(head: Uint8Array, headLength: number, body?: Uint8Array): void {
    this.answers.write(head, headLength, body);
    this.answers.wakeLater();
  }

  isCongested(): boolean {
    return this.answers.waitingBytes > this.task.unsent.bytes;
  }

  forget(response: RemoteResponse): void {
    const { place } = response;
    if (this.responses[place] === response) this.responses[place] = null;
  }

  private receive(message: FromSocketThread): void {
    if (message === 'wake') this.threads.woken();
    else if (message === 'settled') this.settled();
    else if ('failure' in message)
      this.failed(new Error(`socket thread ${this.task.index} failed: ${message.failure}`));
    else if ('app' in message) this.started(message.app);
    else this.listening(message.port);
  }

  private readonly frame = (start: number, end: number): void => {
    const { bytes } = this.requests;
    const kind = bytes[start];
    if (kind === FromSockets.request) this.request(start, end);
    else if (kind === FromSockets.drained) this.drained();
    else this.gone(integerAt(bytes, start + 4), integerAt(bytes, start + 8));
  };

  private request(start: number, end: number): void {
    const { raw } = this;
    raw.open(start, end);
    const { flags, place } = raw;
    const received = new ReceivedBody(
      raw.body,
      (flags & RequestFlag.tooLarge) !== 0,
      (flags & RequestFlag.unread) !== 0,
      (flags & RequestFlag.late) !== 0,
    );
    const response = new RemoteResponse(this, place, raw.number, raw.address, received);
    this.responses[place] = response;
    this.threads.run(raw, response);
  }

  private gone(place: number, number: number): void {
    const response = this.responses[place];
    if (response?.number === number) response.gone();
  }
}
