/**
 * How a running exchange ends: it stops, or it hands over to a standby and then stops. It first
 * refuses new connections, waiting password hashes and incomplete requests. Then it finishes the
 * senders of commands, the requests in flight and the journal.
 *
 * Always holds: every accepted command is durable and answered before the journal is closed. Its
 * client receives the answer within the limits of {@link STOP_MS}.
 */
import type { Follower } from '../../persistence/follower/follower.js';
import type { ReplicaListener } from '../edge/core/listener.js';
import type { Gateway } from '../http/gateway.js';
import type { Sources } from '../inputs/sources.js';
import { atMost } from '../observe/clock.js';
import type { Log } from '../observe/log.js';
import type { Metrics } from '../observe/metrics.js';
import type { WatchedSequencer } from '../observe/watched-sequencer.js';
import type { Servers } from './servers.js';

/**
 * How long a stop waits for the requests in flight and their clients, and then for the stream. The
 * rest of the stop has no limit: accepted commands must become durable, however slow the disk.
 */
export const STOP_MS = { requests: 2_500, stream: 1_000, sources: 100, replicas: 1_000 };

interface EndingParts {
  log: Log;
  sequencer: WatchedSequencer;
  follower: Follower;
  metrics: Metrics;
  sources: Sources;
  gateway: Gateway;
  servers: Servers;
  /** null: this exchange has no address for replicas. */
  replicas: ReplicaListener | null;
  /** Called first: no more work may be accepted. */
  onStopping: () => void;
  /** Called when a standby has taken over and this exchange has stopped. */
  onHandedOver: () => void;
}

export class Ending {
  private stopped: Promise<void> | null = null;
  private closed: Promise<void> | null = null;

  constructor(private readonly parts: EndingParts) {}

  /** Refuses new work, answers requests in flight and closes the journal. */
  stop(): Promise<void> {
    this.stopped ??= this.stopOnce();
    return this.stopped;
  }

  /**
   * From now on, commands are refused unexecuted; earlier ones become durable and are answered.
   * The lease ends before the rest of the stop, so that the standby can already lead.
   */
  async handOver(standbyId: string): Promise<void> {
    const { log, sequencer, sources, servers, replicas, onStopping, onHandedOver } = this.parts;
    log.info({ standby: standbyId }, 'this exchange hands over to a standby');
    onStopping();
    // Replicas get every answer before they can see the next leader.
    const drained = atMost(STOP_MS.replicas, replicas?.drain() ?? Promise.resolve());
    await atMost(STOP_MS.sources, sources.stop());
    await drained;
    await servers.stream.cancelOrders(STOP_MS.stream);
    await this.closeSequencer();
    replicas?.leave();
    log.info({ sequence: sequencer.durableSequence }, 'handed over');
    await this.stop();
    onHandedOver();
  }

  private async stopOnce(): Promise<void> {
    const { log, sequencer, follower, metrics, sources } = this.parts;
    const { gateway, servers, replicas, onStopping } = this.parts;
    onStopping();
    log.info('stopping');
    gateway.passwords.close();
    const drained = Promise.all([servers.drain(), replicas?.drain()]);
    await atMost(STOP_MS.requests, sources.stop());
    const answered = drained.then(() => servers.settled());
    await atMost(STOP_MS.requests, answered);
    gateway.passwords.giveUp();
    await gateway.coder.stop();
    await servers.stream.stop(STOP_MS.stream);
    replicas?.leave();
    await this.closeSequencer();
    await follower.close();
    await servers.close();
    replicas?.close();
    metrics.stop();
    log.info({ sequence: sequencer.durableSequence }, 'stopped');
  }

  private closeSequencer(): Promise<void> {
    this.closed ??= this.parts.sequencer.close();
    return this.closed;
  }
}
