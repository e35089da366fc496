/**
 * The server on the socket threads: the routes of the exchange's own server, its documents and its
 * site, on another port. It has no stream. What it counts is added to what the metrics show.
 */
import type { Config } from '../config.js';
import { serveContract } from '../contract/serve.js';
import { serveDownloads } from '../downloads/serve.js';
import type { ConnectionCap } from '../fair-use/connections.js';
import type { UnsentAnswers } from '../http/answers/unsent-answers.js';
import type { Gateway } from '../http/gateway.js';
import type { Route } from '../http/route.js';
import { HttpServer } from '../http/server.js';
import { serveSite } from '../site/serve.js';
import { elapsedMs } from '../time/clock.js';
import { SocketCounts } from './counts.js';
import { HandedAnswers } from './remote-response.js';
import { SocketThreads } from './socket-threads.js';

export interface SocketServerOptions {
  gateway: Gateway;
  config: Config;
  threads: number;
  routes: readonly Route[];
}

/** What the metrics show of a server and its connections. */
interface Shown {
  http: Pick<HttpServer, 'requestsInFlight' | 'slowBodies'>;
  connections: Pick<ConnectionCap, 'httpCount' | 'refusedCounts'>;
  unsent: Pick<UnsentAnswers, 'bytes' | 'count' | 'dropCounts'>;
}

export class SocketServer {
  readonly counts: SocketCounts;
  private readonly server: HttpServer<SocketThreads>;
  private readonly handed: HandedAnswers;
  private threads!: SocketThreads;
  private tellConnections: () => void = () => {};

  constructor({ gateway, config, threads, routes }: SocketServerOptions) {
    const { connections, unsent, trustProxy } = config;
    this.counts = SocketCounts.create(threads + 1);
    this.handed = new HandedAnswers(unsent, elapsedMs);
    const handing: Gateway = { ...gateway, unsent: this.handed };
    this.server = new HttpServer(handing, routes, undefined, (refuse) => {
      const tellConnections = () => this.tellConnections();
      const { counts } = this;
      const { fail } = gateway;
      const limits = { threads, trustProxy, connections, unsent };
      this.threads = new SocketThreads({ ...limits, counts, tellConnections, fail, refuse });
      return this.threads;
    });
    gateway.metrics.counter(
      'exchange_socket_threads_refused_total',
      'Requests refused by socket threads because the trading thread was too busy to take them',
      () => this.counts.sum('refusedCongested'),
    );
    serveContract(this.threads, routes, handing, config.stream);
    serveDownloads(this.threads, handing);
    serveSite(this.threads, handing);
  }

  /** The connections of the threads, for the cap of those of the exchange's own port. */
  get others() {
    return this.counts.besides(0);
  }

  /** Has the threads told of the connections of that cap. */
  watch(cap: ConnectionCap): void {
    this.tellConnections = () => cap.tellOthers();
  }

  /** Resolves to the port. */
  listen(host: string, port: number): Promise<number> {
    return this.server.listen(host, port);
  }

  /** As {@link HttpServer.drain}. */
  drain(): Promise<void> {
    return this.server.drain();
  }

  /** As {@link UnsentAnswers.settled}. */
  settled(): Promise<void> {
    return this.threads.settled();
  }

  /** Closes all connections, and ends the threads. */
  async close(): Promise<void> {
    this.server.close();
    await this.threads.closed();
  }

  /** What the exchange's own port shows, and this one. */
  added({ http, connections, unsent }: Shown): Shown {
    const { server, counts, handed } = this;
    return {
      http: {
        get requestsInFlight() {
          return http.requestsInFlight + server.requestsInFlight;
        },
        get slowBodies() {
          return http.slowBodies + server.slowBodies;
        },
      },
      connections: {
        get httpCount() {
          return connections.httpCount + counts.connectionCount((row) => row !== 0);
        },
        get refusedCounts() {
          const { total, address } = connections.refusedCounts;
          return {
            total: total + counts.sum('refusedTotal'),
            address: address + counts.sum('refusedAddress'),
          };
        },
      },
      unsent: {
        get bytes() {
          return unsent.bytes + counts.sum('unsentBytes');
        },
        get count() {
          return unsent.count + counts.sum('unsentAnswers');
        },
        get dropCounts() {
          const { total, address, time } = unsent.dropCounts;
          return {
            total: total + handed.congestedCount + counts.sum('droppedTotal'),
            address: address + counts.sum('droppedAddress'),
            time: time + counts.sum('droppedTime'),
          };
        },
      },
    };
  }
}
