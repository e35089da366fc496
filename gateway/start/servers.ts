/**
 * The servers of an exchange or a replica: the public address, in this thread or (EDGE_THREADS) in
 * edges, and, if configured, the addresses for operators and replicas.
 */
import type { Follower } from '../../persistence/follower/follower.js';
import { programVersion } from '../../persistence/storage/program-folder.js';
import { type AccessKey, AccessKeys } from '../access/access-keys.js';
import type { AddressKey } from '../access/fair-use/addresses.js';
import { ConnectionCap } from '../access/fair-use/connections.js';
import { FairUse } from '../access/fair-use/fair-use.js';
import { KnownAddresses } from '../access/fair-use/known-addresses.js';
import { Passwords } from '../access/passwords.js';
import { serveContract } from '../contract/serve.js';
import { ReplicaListener } from '../edge/core/listener.js';
import type { PeerOptions } from '../edge/core/peer.js';
import { CoreStreams } from '../edge/core/streams.js';
import { EdgeThreads } from '../edge/core/threads.js';
import { AnswerEncoder } from '../http/answers/answer-encoder.js';
import { UnsentAnswers } from '../http/answers/unsent-answers.js';
import type { Gateway, Sequencing } from '../http/gateway.js';
import { hostAndPort, schemeOf } from '../http/listen-addresses.js';
import { type serve, serviceOf } from '../http/request-pipeline.js';
import type { Route } from '../http/route.js';
import { HttpServer } from '../http/server.js';
import { elapsedMs } from '../observe/clock.js';
import type { Log } from '../observe/log.js';
import { RationedLog } from '../observe/rationed-log.js';
import { routesOf } from '../resources/routes.js';
import { serveSite } from '../site/serve.js';
import type { OrdersElsewhere } from '../stream/orders/order-entry.js';
import { StreamServer } from '../stream/stream.js';
import type { Config } from './config.js';
import { type Part, type Parts, STOP_MS } from './parts.js';
import { type ConnectionReadings, readingsOf } from './readings.js';

export function partsFrom(config: Config, log: Log, known = new KnownAddresses()) {
  return {
    config,
    log,
    warnings: new RationedLog(log),
    partners: new AccessKeys(config.partnerKeys),
    operators: new AccessKeys(config.operatorKeys),
    passwords: new Passwords(config.passwordCostLog2, elapsedMs, undefined, known),
    fairUse: new FairUse(config.fairUse, elapsedMs),
    unsent: new UnsentAnswers(config.unsent, elapsedMs),
    encoder: new AnswerEncoder(log),
    version: programVersion(),
  };
}

interface ServersOptions {
  config: Config;
  gateway: Gateway;
  sequencer: Sequencing & { readonly halted: string | null; readonly commitWaitMs: number };
  follower: Follower;
  operatorRoutes: readonly Route[];
  /** Keys of replicas; `null` if there is no address for them. */
  replicaKeys: AccessKey[] | null;
  serve?: typeof serve;
  remote?: OrdersElsewhere;
}

export interface Opened {
  readonly address: string;
  readonly port: number;
  readonly operationsPort: number | null;
}

/** In this thread or in edges. */
interface PublicServer {
  readings(): ConnectionReadings;
  listen(host: string, port: number): Promise<number>;
  /** Works like Router.renewCertificate. */
  renewCertificate(): Promise<void>;
  /** Accepts no new connections. Resolves when all requests are answered. */
  drain(): Promise<void>;
  /** Resolves when unread answers have settled; see UnsentAnswers.settled. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export class Servers {
  private readonly routes: readonly Route[];
  readonly stream: StreamServer;
  private readonly clients: PublicServer;
  private readonly operations: HttpServer | null;
  /** `null` if there is no address for replicas. */
  readonly replicas: ReplicaListener | null;
  private drained: Promise<unknown> | undefined;
  private replicasDrained: Promise<void> | undefined;

  constructor(private readonly options: ServersOptions) {
    const { config, gateway, sequencer, operatorRoutes, replicaKeys, serve, remote } = options;
    this.routes = routesOf(config.operationsPort !== null);
    for (const [userId, tier] of sequencer.engine.rateTiers())
      gateway.fairUse.setTier(userId, tier);
    this.stream = new StreamServer(gateway, config.stream, remote);
    this.operations =
      config.operationsPort === null ? null : new HttpServer(serviceOf(gateway), operatorRoutes);
    this.clients = config.edgeThreads === 0 ? this.inThisThread(serve) : this.inThreads();
    this.replicas =
      replicaKeys === null
        ? null
        : new ReplicaListener({
            gateway,
            routes: this.routes,
            keys: new AccessKeys(replicaKeys),
            streamsOf: this.streamsOf,
          });
    this.observe();
  }

  private readonly streamsOf: PeerOptions['streamsOf'] = (sink, commands, isBehind) => {
    const { isStopping } = this.options.gateway;
    return new CoreStreams({ stream: this.stream, sink, commands, isStopping, isBehind });
  };

  private inThisThread(serve?: ServersOptions['serve']): PublicServer {
    const { routes, stream } = this;
    const { config, gateway } = this.options;
    const { passwords, unsent } = gateway;
    const http = new HttpServer(serviceOf(gateway, serve), routes);
    const isKnown = (address: AddressKey) => passwords.queue.known.has(address);
    const connections = new ConnectionCap(
      config.connections,
      stream,
      elapsedMs,
      undefined,
      isKnown,
    );
    http.mount((router) => {
      router.capConnections(connections);
      stream.attach(router);
      serveContract(router, gateway);
      serveSite(router, gateway);
    });
    return {
      readings: () => ({ http, connections, unsent, rings: { core: 0, edge: 0 } }),
      listen: (host, port) => http.listen(host, port),
      renewCertificate: async () => void http.renewCertificate(),
      drain: () => http.drain(),
      settled: () => unsent.settled(),
      close: async () => http.close(),
    };
  }

  private inThreads(): PublicServer {
    const { config, gateway } = this.options;
    const { connections, unsent, fairUse, stream, logLevel } = config;
    const hasOperations = config.operationsPort !== null;
    const { streamsOf, routes } = this;
    const task = { hasOperations, connections, unsent, fairUse, stream, logLevel };
    const { edgeThreads } = config;
    const threads = new EdgeThreads({ gateway, routes, threads: edgeThreads, streamsOf, task });
    this.stream.addBacklogs(() => threads.readings().streams);
    return threads;
  }

  private observe(): void {
    const { sequencer, follower, gateway } = this.options;
    const { config, metrics, passwords } = gateway;
    const journalFolder = config.journal === null ? config.dataFolder : null;
    const signIns = passwords.queue;
    const open = () => this.clients.readings();
    const own = { sequencer, follower, journalFolder, signIns, open, stream: this.stream };
    metrics.observe(readingsOf({ ...gateway, ...own }));
  }

  private async listen(): Promise<{ address: string; port: number }> {
    const { host, port: asked, dataFolder, tls } = this.options.config;
    const port = await this.clients.listen(host, asked);
    const address = `${schemeOf(tls)}://${hostAndPort(host, port)}`;
    this.options.gateway.log.info({ address, dataFolder }, 'listening');
    return { address, port };
  }

  private async listenToOperators(): Promise<number | null> {
    const { operationsHost: host, operationsPort } = this.options.config;
    if (this.operations === null) return null;
    const port = await this.operations.listen(host, operationsPort!);
    this.options.gateway.log.info({ host, port }, 'open to operators');
    return port;
  }

  /** Open connections keep the old certificate. */
  async renewCertificate(): Promise<void> {
    await this.clients.renewCertificate();
    this.operations?.renewCertificate();
  }

  /** Ends streams of sessions that are no longer valid. */
  replaceAccess({ partnerKeys, operatorKeys }: Config, secrets: readonly Buffer[]): void {
    const { partners, operators, sessions } = this.options.gateway;
    partners.replace(partnerKeys);
    operators.replace(operatorKeys);
    sessions.replaceSecrets(secrets);
    this.stream.endInvalid();
  }

  /** Stopping answers requests in flight. */
  async addTo(parts: Parts, forwarder: Part = {}): Promise<void> {
    const { stream } = this;
    const { passwords, unsent, encoder } = this.options.gateway;
    // Replicas get every answer before they can see the next leader.
    parts.addFirst({ stop: () => this.replicas?.leave(), isOfLead: true });
    // Commands that the disk delays are answered when the journal closes.
    parts.addFirst({ stop: () => this.close() });
    await parts.add({ stop: () => stream.cancelOrders(STOP_MS.stream), isOfLead: true });
    await parts.add({ start: () => stream.start(), stop: () => stream.stop(STOP_MS.stream) });
    await parts.add(forwarder);
    await parts.add({ stop: () => encoder.stop() });
    await parts.add({ stop: () => passwords.giveUp() });
    await parts.add({
      stop: () => this.replicasDrained,
      limitMs: STOP_MS.replicas,
      isOfLead: true,
    });
    const answered = async () => {
      await Promise.all([this.drained, this.replicasDrained]);
      await Promise.all([unsent.settled(), this.clients.settled()]);
    };
    await parts.add({ stop: answered, limitMs: STOP_MS.requests });
  }

  /** The public address opens last. Stopping refuses queued hashes and incomplete requests. */
  async open(parts: Parts, listenToReplicas = async () => {}): Promise<Opened> {
    const { clients, operations, replicas } = this;
    let opened: Opened | null = null;
    await parts.add({
      start: async () => {
        const operationsPort = await this.listenToOperators();
        await listenToReplicas();
        opened = { ...(await this.listen()), operationsPort };
      },
      stop: () => {
        this.options.gateway.passwords.close();
        this.replicasDrained = replicas?.drain();
        this.drained = Promise.all([clients.drain(), operations?.drain()]);
      },
      isOfLead: true,
    });
    return opened!;
  }

  private async close(): Promise<void> {
    this.operations?.close();
    await this.clients.close();
    this.replicas?.close();
  }
}
