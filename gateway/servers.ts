/**
 * The servers of a process that answers clients: the public address, with the API, the stream, the
 * contract and the site; and, if the configuration has one, the operators' address. An exchange and
 * a replica have the same ones. Only an exchange can have socket threads, on a port of their own.
 */
import type { Follower } from '../persistence/follower/follower.js';
import { programVersion } from '../persistence/storage/program-folder.js';
import { AccessKeys } from './auth/access-keys.js';
import { Passwords } from './auth/passwords.js';
import type { Config } from './config.js';
import { serveContract } from './contract/serve.js';
import { serveDownloads } from './downloads/serve.js';
import type { AddressKey } from './fair-use/addresses.js';
import { ConnectionCap } from './fair-use/connections.js';
import { FairUse } from './fair-use/fair-use.js';
import { AnswerCoder } from './http/answers/answer-coder.js';
import { UnsentAnswers } from './http/answers/unsent-answers.js';
import type { Gateway, Sequencing } from './http/gateway.js';
import { hostAndPort } from './http/listen-addresses.js';
import type { Route } from './http/route.js';
import { HttpServer } from './http/server.js';
import type { serve } from './http/way.js';
import type { Log } from './observe/log.js';
import { RationedLog } from './observe/rationed-log.js';
import { registerStanding } from './observe/standing.js';
import { registerReadings } from './readings.js';
import { ROUTES } from './resources/routes.js';
import { serveSite } from './site/serve.js';
import { SocketServer } from './sockets/socket-server.js';
import type { RemoteOrders } from './stream/orders/remote-orders.js';
import { StreamServer } from './stream/stream.js';
import { elapsedMs } from './time/clock.js';

/** With an address of their own, operators alone see the metrics. */
export function routesOf({ operationsPort }: Config): readonly Route[] {
  return operationsPort === null ? ROUTES : ROUTES.filter(({ path }) => path !== '/metrics');
}

/** The parts that depend on the configuration alone. */
export function partsFrom(config: Config, log: Log) {
  return {
    config,
    log,
    warnings: new RationedLog(log),
    partners: new AccessKeys(config.partnerKeys),
    operators: new AccessKeys(config.operatorKeys),
    passwords: new Passwords(config.passwordCostLog2),
    fairUse: new FairUse(config.fairUse, elapsedMs),
    unsent: new UnsentAnswers(config.unsent, elapsedMs),
    coder: new AnswerCoder(log),
    version: programVersion(),
  };
}

interface ServersOptions {
  config: Config;
  gateway: Gateway;
  sequencer: Sequencing & { readonly halted: string | null };
  follower: Follower | null;
  operatorRoutes: readonly Route[];
  /** What a replica has of its own. */
  serve?: typeof serve;
  remote?: RemoteOrders;
}

export class Servers {
  readonly routes: readonly Route[];
  readonly stream: StreamServer;
  private readonly open: HttpServer;
  /** null: there is no operators' address. */
  private readonly operations: HttpServer | null;
  /** null: this thread has all sockets. */
  private readonly sockets: SocketServer | null;

  constructor(private readonly options: ServersOptions) {
    const { config, gateway, operatorRoutes } = options;
    this.routes = routesOf(config);
    this.open = new HttpServer(gateway, this.routes, options.serve);
    this.operations =
      config.operationsPort === null ? null : new HttpServer(gateway, operatorRoutes);
    this.sockets =
      config.sockets === null
        ? null
        : new SocketServer({
            gateway,
            config,
            threads: config.sockets.threads,
            routes: this.routes,
          });
    this.stream = new StreamServer(gateway, config.stream, options.remote);
    this.observe();
    this.open.mount((router) => {
      this.stream.attach(router);
      serveContract(router, this.routes, gateway, config.stream);
      serveDownloads(router, gateway);
      serveSite(router, gateway);
    });
  }

  /** Limits the connections and registers the metrics. */
  private observe(): void {
    const { sequencer, follower, gateway } = this.options;
    const { config, metrics, fairUse, overload, passwords, unsent, priceTicks, clock } = gateway;
    const { open: http, sockets, stream } = this;
    const others = sockets?.others;
    const isKnown = (address: AddressKey) => passwords.queue.isKnown(address);
    const connections = new ConnectionCap(config.connections, stream, elapsedMs, others, isKnown);
    sockets?.watch(connections);
    http.mount((router) => router.capConnections(connections));
    const own = { http, connections, unsent };
    const shown = sockets?.added(own) ?? own;
    const clients = { fairUse, overload, signIns: passwords.queue, stream };
    const journalFolder = config.journal === null ? config.dataFolder : null;
    const parts = { sequencer, follower, journalFolder, priceTicks, clock };
    registerStanding(metrics, gateway.standing, gateway.version);
    registerReadings(metrics, { ...parts, ...shown, ...clients });
  }

  /** Resolves to the base URL, such as http://127.0.0.1:3000, and the ports. */
  async listen(): Promise<{ address: string; port: number; socketsPort: number | null }> {
    const { host, port: asked, dataFolder } = this.options.config;
    const socketsPort = await this.listenInThreads(host);
    const port = await this.open.listen(host, asked);
    const address = `http://${hostAndPort(host, port)}`;
    const { log } = this.options.gateway;
    log.info({ address, dataFolder }, 'listening');
    return { address, port, socketsPort };
  }

  private async listenInThreads(host: string): Promise<number | null> {
    const { sockets, options } = this;
    if (sockets === null) return null;
    const { threads, port: asked } = options.config.sockets!;
    const port = await sockets.listen(host, asked);
    options.gateway.log.info({ port, threads }, 'socket threads listen');
    return port;
  }

  /** Resolves to the port of the operators' address; null: there is none. */
  async listenToOperators(): Promise<number | null> {
    const { operationsHost: host, operationsPort } = this.options.config;
    if (this.operations === null) return null;
    const port = await this.operations.listen(host, operationsPort!);
    this.options.gateway.log.info({ host, port }, 'open to operators');
    return port;
  }

  /** Who may come in, from now on. Streams of sessions that are no longer valid end. */
  replaceAccess({ partnerKeys, operatorKeys }: Config, secrets: readonly Buffer[]): void {
    const { partners, operators, sessions } = this.options.gateway;
    partners.replace(partnerKeys);
    operators.replace(operatorKeys);
    sessions.replaceSecrets(secrets);
    this.stream.endInvalid();
  }

  /** Accepts no new connections. Resolves when all requests are answered. */
  async drain(): Promise<void> {
    await Promise.all([this.open.drain(), this.operations?.drain(), this.sockets?.drain()]);
  }

  /** As {@link UnsentAnswers.settled}, of all ports. */
  async settled(): Promise<void> {
    await Promise.all([this.options.gateway.unsent.settled(), this.sockets?.settled()]);
  }

  async close(): Promise<void> {
    this.open.close();
    this.operations?.close();
    await this.sockets?.close();
  }
}
