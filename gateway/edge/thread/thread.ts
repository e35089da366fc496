/** An edge's thread: holds connections and forwards to the core. No exchange state, no secret. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Assets } from '../../../engine/interface/notation.js';
import { programVersion } from '../../../persistence/storage/program-folder.js';
import type { AddressKey } from '../../access/fair-use/addresses.js';
import { ConnectionCap } from '../../access/fair-use/connections.js';
import { FairUse } from '../../access/fair-use/fair-use.js';
import { KnownAddresses } from '../../access/fair-use/known-addresses.js';
import { serveContract } from '../../contract/serve.js';
import { Acceptor, createAcceptorApp } from '../../http/acceptor.js';
import type { Answer } from '../../http/answers/answer.js';
import { Reply } from '../../http/answers/reply.js';
import { UnsentAnswers } from '../../http/answers/unsent-answers.js';
import type { Serving } from '../../http/gateway.js';
import { HttpServer } from '../../http/server.js';
import { elapsedMs } from '../../observe/clock.js';
import { createLog } from '../../observe/log.js';
import {
  AnswerCounts,
  type AnswerMetrics,
  type RouteName,
  routeName,
} from '../../observe/metrics.js';
import { routesOf } from '../../resources/routes.js';
import { serveSite } from '../../site/serve.js';
import { Forwarder } from '../forwarder.js';
import { connectionsBeside } from '../link/counts.js';
import { FrameReader } from '../link/frames.js';
import { RingLink } from '../link/ring-link.js';
import {
  type EdgeTask,
  type FromEdgeThread,
  NO_ROUTE,
  type OwnAnswers,
  type ToEdgeThread,
} from '../link/thread-messages.js';
import { ThreadStreams } from './streams.js';

const REPORT_MS = 500;
const NOT_MEASURED = { observe: () => {} };

class EdgeCall extends Reply {
  /** Only the core knows the user. */
  readonly userId = 0;
  private isAnsweredHere = false;

  override answerNow(status: number, text: string): void {
    this.isAnsweredHere = true;
    super.answerNow(status, text);
  }

  /** The core measures and counts its own answers. */
  protected override measure(answer: Answer): void {
    if (this.isAnsweredHere) super.measure(answer);
  }
}

/** This thread's own answers, until the core counts them. */
class OwnAnswerCounts implements AnswerMetrics {
  readonly commitMs = NOT_MEASURED;
  readonly requestMs = NOT_MEASURED;
  private readonly counts = new Map<RouteName | null, AnswerCounts>();

  answersOf(route: RouteName | null): AnswerCounts {
    const counts = this.counts.get(route) ?? new AnswerCounts();
    this.counts.set(route, counts);
    return counts;
  }

  take(): OwnAnswers {
    return [...this.counts].flatMap(([route, counts]) => {
      const name = route === null ? NO_ROUTE : routeName(route);
      return counts.take().map(([status, count]) => [name, status, count] as const);
    });
  }
}

class EdgeThread {
  private readonly server: HttpServer<EdgeCall>;
  private readonly answers = new OwnAnswerCounts();
  private readonly unsent: UnsentAnswers;
  private readonly cap: ConnectionCap;
  private readonly link: RingLink;
  private readonly streams: ThreadStreams;
  private readonly known = new KnownAddresses();
  private readonly reporter: NodeJS.Timeout;
  /** Accepts connections for all threads; `null` if another thread does. */
  private acceptor: Acceptor | null = null;
  private isStopping = false;
  private isClosed = false;

  constructor(private readonly task: EdgeTask) {
    this.unsent = new UnsentAnswers(task.unsent, elapsedMs);
    const serving = this.serving();
    this.link = new RingLink({
      out: task.toCore,
      in: task.toEdge,
      wake: () => send('wake'),
      reader: new FrameReader(),
      receive: (frame) => {
        if (!forwarder.receive(frame)) this.streams.receive(frame);
      },
    });
    const assets = assetsOf(task.symbols);
    const backlogBytesInAll = Math.floor(task.stream.backlogBytesInAll / task.rows);
    const limits = { ...task.stream, backlogBytesInAll };
    this.streams = new ThreadStreams(this.link, serving, assets, limits);
    const others = connectionsBeside(task.counts, task.index);
    const isKnown = (address: AddressKey) => this.known.has(address);
    this.cap = new ConnectionCap(task.connections, this.streams, elapsedMs, others, isKnown);
    const forwarder = this.forwarder(assets);
    this.server = new HttpServer<EdgeCall>(
      {
        server: serving,
        begin: (route, counts, request, outlet, inFlight) =>
          new EdgeCall(serving, route, counts, request, outlet, inFlight),
        serve: (call, route, body) => {
          if (body.unread) call.closeAfterAnswer();
          if (this.isStopping) call.refuseUnavailable();
          else forwarder.forward(call, route, body);
        },
      },
      routesOf(task.hasOperations),
    );
    this.server.mount((router) => {
      router.capConnections(this.cap);
      this.streams.attach(router);
      serveContract(router, serving);
      serveSite(router, serving);
    });
    this.reporter = setInterval(() => this.report(), REPORT_MS);
    send({ app: this.server.open() });
  }

  receive(message: ToEdgeThread): void {
    if (typeof message === 'object') {
      if ('host' in message) void this.listen(message);
      else this.acceptor?.handOut(message.apps);
    } else if (message === 'renewCertificate') send({ app: this.renewCertificate() });
    else if (message === 'wake') this.link.woken();
    else if (message === 'drain') void this.drain();
    else if (message === 'settle') void this.settle();
    else this.close();
  }

  private forwarder(assets: Assets): Forwarder {
    const { link, known } = this;
    return new Forwarder({
      link: { isOpen: true, send: (frame, body) => link.send(frame, body), leave: () => {} },
      assets,
      elapsedMs,
      mayMove: false,
      known,
    });
  }

  private serving(): Serving {
    const { config, fairUse, logLevel } = this.task;
    return {
      config,
      log: createLog(logLevel),
      fairUse: new FairUse(fairUse, elapsedMs),
      unsent: this.unsent,
      metrics: this.answers,
      version: programVersion(),
      isStopping: () => this.isStopping,
      fail: (error) => {
        throw error;
      },
    };
  }

  /** Called in one thread, which accepts connections for all. */
  private async listen(where: { host: string; port: number; apps: number[] }): Promise<void> {
    const { host, port, apps } = where;
    this.acceptor = new Acceptor(createAcceptorApp(this.task.config.tls !== null));
    this.acceptor.handOut(apps);
    const listening = this.acceptor.listen(host, port);
    send({ port: await listening.catch(() => null) });
  }

  private renewCertificate(): number | null {
    try {
      return this.server.renewCertificate();
    } catch {
      return null;
    }
  }

  private async drain(): Promise<void> {
    this.isStopping = true;
    this.acceptor?.close();
    await this.server.drain();
    this.report();
    send('done');
  }

  private async settle(): Promise<void> {
    // The core wakes this thread at the end of a turn, perhaps after this message.
    this.link.work();
    await this.unsent.settled();
    this.report();
    send('done');
  }

  private close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    clearInterval(this.reporter);
    // Send the last answers first.
    this.link.work();
    this.acceptor?.close();
    this.server.close();
    parentPort!.close();
  }

  private report(): void {
    const { unsent, cap, server, streams } = this;
    streams.check();
    cap.tellOthers();
    send({
      answers: this.answers.take(),
      readings: {
        connections: { httpCount: cap.httpCount, refusedCounts: cap.refusedCounts },
        http: { requestsInFlight: server.requestsInFlight, slowBodies: server.slowBodies },
        rings: { core: this.link.waitingBytes, edge: 0 },
        streams: { backlogBytes: streams.backlogBytes, cutOffCount: streams.cutOffCount },
        unsent: { bytes: unsent.bytes, count: unsent.count, dropCounts: unsent.dropCounts },
      },
    });
  }
}

function assetsOf(symbols: readonly string[]): Assets {
  return {
    assetSymbol: (asset) => symbols[asset]!,
    findAsset: (symbol) => symbols.indexOf(symbol),
  };
}

function send(message: FromEdgeThread): void {
  parentPort!.postMessage(message);
}

// If a thread ended with open sockets, the process would abort without a message.
process.on('uncaughtException', (error) => send({ failure: error.stack ?? String(error) }));

const task = workerData as EdgeTask;
process.once('exit', () => {
  const end = new Int32Array(task.end);
  Atomics.store(end, 0, 1);
  Atomics.notify(end, 0);
});
const thread = new EdgeThread(task);
parentPort!.on('message', (message: ToEdgeThread) => thread.receive(message));
