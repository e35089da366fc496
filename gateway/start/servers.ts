/**
 * The servers of a process that answers clients: the public address with the API, the stream, the
 * contract and the site, and, if configured, the operators' address. An exchange and a replica have
 * the same servers. The public connections are in this thread or, with EDGE_THREADS, in the edges'
 * threads.
 */
import type { Follower } from '../../persistence/follower/follower.js';
import { programVersion } from '../../persistence/storage/program-folder.js';
import { AccessKeys } from '../access/access-keys.js';
import type { AddressKey } from '../access/fair-use/addresses.js';
import { ConnectionCap } from '../access/fair-use/connections.js';
import { FairUse } from '../access/fair-use/fair-use.js';
import { KnownAddresses } from '../access/fair-use/known-addresses.js';
import { Passwords } from '../access/passwords.js';
import { serveContract } from '../contract/serve.js';
import type { ReplicaListener } from '../edge/core/listener.js';
import type { PeerOptions } from '../edge/core/peer.js';
import { CoreStreams } from '../edge/core/streams.js';
import { EdgeThreads } from '../edge/core/threads.js';
import { AnswerCoder } from '../http/answers/answer-coder.js';
import { UnsentAnswers } from '../http/answers/unsent-answers.js';
import type { Gateway, Sequencing } from '../http/gateway.js';
import { hostAndPort, schemeOf } from '../http/listen-addresses.js';
import type { Route } from '../http/route.js';
import { HttpServer } from '../http/server.js';
import { type serve, serviceOf } from '../http/way.js';
import { elapsedMs } from '../observe/clock.js';
import type { Log } from '../observe/log.js';
import { RationedLog } from '../observe/rationed-log.js';
import { registerStanding } from '../observe/standing.js';
import { routesOf } from '../resources/routes.js';
import { serveSite } from '../site/serve.js';
import type { OrdersElsewhere } from '../stream/orders/order-entry.js';
import { StreamServer } from '../stream/stream.js';
import type { Config } from './config.js';
import { type Parts, STOP_MS } from './parts.js';
import { type ConnectionReadings, registerReadings } from './readings.js';

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
    coder: new AnswerCoder(log),
    version: programVersion(),
  };
}

interface Beside {
  sources?: () => Promise<void>;
  replicas?: ReplicaListener | null;
  forwarder?: { stop(): void };
}

interface ServersOptions {
  config: Config;
  gateway: Gateway;
  sequencer: Sequencing & { readonly halted: string | null; readonly commitWaitMs: number };
  follower: Follower;
  operatorRoutes: readonly Route[];
  serve?: typeof serve;
  remote?: OrdersElsewhere;
}

/** The server of the public address, in this thread or in edges. */
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
  readonly routes: readonly Route[];
  readonly stream: StreamServer;
  private readonly open: PublicServer;
  /** `null` if there is no operators' address. */
  private readonly operations: HttpServer | null;

  constructor(private readonly options: ServersOptions) {
    const { config, gateway, sequencer, operatorRoutes, serve, remote } = options;
    this.routes = routesOf(config.operationsPort !== null);
    for (const [userId, tier] of sequencer.engine.rateTiers())
      gateway.fairUse.setTier(userId, tier);
    this.stream = new StreamServer(gateway, config.stream, remote);
    this.operations =
      config.operationsPort === null ? null : new HttpServer(serviceOf(gateway), operatorRoutes);
    this.open = config.edgeThreads === 0 ? this.inThisThread(serve) : this.inThreads();
    this.stream.start();
    this.observe();
  }

  readonly streamsOf: PeerOptions['streamsOf'] = (sink, commands, isBehind) => {
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
    const { config, metrics, fairUse, overload, passwords, priceTicks, clock } = gateway;
    const clients = { fairUse, overload, signIns: passwords.queue, stream: this.stream };
    const journalFolder = config.journal === null ? config.dataFolder : null;
    const parts = { sequencer, follower, journalFolder, priceTicks, clock };
    registerStanding(metrics, gateway.standing, gateway.version);
    registerReadings(metrics, { ...parts, open: () => this.open.readings(), ...clients });
  }

  /** Resolves to the base URL, such as http://127.0.0.1:3000, and the port. */
  async listen(): Promise<{ address: string; port: number }> {
    const { host, port: asked, dataFolder, tls } = this.options.config;
    const port = await this.open.listen(host, asked);
    const address = `${schemeOf(tls)}://${hostAndPort(host, port)}`;
    this.options.gateway.log.info({ address, dataFolder }, 'listening');
    return { address, port };
  }

  /** Resolves to the port of the operators' address, if there is one. */
  async listenToOperators(): Promise<number | null> {
    const { operationsHost: host, operationsPort } = this.options.config;
    if (this.operations === null) return null;
    const port = await this.operations.listen(host, operationsPort!);
    this.options.gateway.log.info({ host, port }, 'open to operators');
    return port;
  }

  /** Reloads the certificate for new connections. Open connections keep theirs. */
  async renewCertificate(): Promise<void> {
    await this.open.renewCertificate();
    this.operations?.renewCertificate();
  }

  /** Replaces all keys and secrets. Ends streams of sessions that are no longer valid. */
  replaceAccess({ partnerKeys, operatorKeys }: Config, secrets: readonly Buffer[]): void {
    const { partners, operators, sessions } = this.options.gateway;
    partners.replace(partnerKeys);
    operators.replace(operatorKeys);
    sessions.replaceSecrets(secrets);
    this.stream.endInvalid();
  }

  /**
   * Adds the servers and what they use. Stopping first refuses new connections, queued password
   * hashes and incomplete requests, then stops the `sources` of commands (if any), answers the
   * requests in flight, and ends the streams.
   */
  addTo(parts: Parts, { sources, replicas, forwarder }: Beside): void {
    const { gateway } = this.options;
    const { passwords, unsent, coder } = gateway;
    let drained: Promise<unknown> = Promise.resolve();
    // Commands that the disk delays are answered when the journal closes.
    parts.addFirst(async () => {
      this.operations?.close();
      await this.open.close();
      replicas?.close();
    });
    parts.add(() => replicas?.leave());
    parts.add(() => this.stream.stop(STOP_MS.stream));
    if (forwarder !== undefined) parts.add(() => forwarder.stop());
    parts.add(() => coder.stop());
    parts.add(() => passwords.giveUp());
    const answered = async () => {
      await drained;
      await Promise.all([unsent.settled(), this.open.settled()]);
    };
    parts.add(answered, STOP_MS.requests);
    if (sources !== undefined) parts.add(sources, STOP_MS.requests);
    parts.add(() => {
      passwords.close();
      drained = Promise.all([this.open.drain(), this.operations?.drain(), replicas?.drain()]);
    });
  }
}
