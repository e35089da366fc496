/** Interfaces of the serving process, and of the exchange that its routes read and change. */
import type { HistoryClient } from '../../persistence/follower/history-client.js';
import type { JournalPlace } from '../../persistence/replication/source.js';
import type { Sequencer } from '../../persistence/sequencer.js';
import type { AccessKeys } from '../access/access-keys.js';
import type { ConnectionLimits } from '../access/fair-use/connections.js';
import type { FairUse } from '../access/fair-use/fair-use.js';
import type { Overload } from '../access/fair-use/overload.js';
import type { Passwords } from '../access/passwords.js';
import type { Sessions } from '../access/sessions.js';
import type { Clock } from '../inputs/clock.js';
import type { PriceTicks } from '../inputs/price-ticks.js';
import type { Log } from '../observe/log.js';
import type { AnswerMetrics, Metrics } from '../observe/metrics.js';
import type { RationedLog } from '../observe/rationed-log.js';
import type { Standing } from '../observe/standing.js';
import type { TlsFiles } from './acceptor.js';
import type { AnswerEncoder } from './answers/answer-encoder.js';
import type { UnsentAnswers } from './answers/unsent-answers.js';
import type { SequenceWaits } from './sequence-waits.js';

export interface GatewayConfig {
  dataFolder: string;
  /** Certificate for the client and operator addresses; `null` without TLS. */
  tls: TlsFiles | null;
  /** A proxy sets X-Forwarded-Proto, X-Forwarded-Host and the last address in X-Forwarded-For. */
  trustProxy: boolean;
  siteOrigins: string[];
  /** On a replica, the source that it reports to clients. */
  pricesFrom: 'simulated' | 'file' | 'live';
  /** Defaults to 0 if there are partners. */
  startingBalanceMicros: number;
  /** Whether an account with little left may start again with that balance, once a day. */
  startAgain: boolean;
  connections: ConnectionLimits;
  /** Variables that differ from their defaults, without secrets. */
  settings: Record<string, string>;
  journal: { isUnreplicated: boolean } | null;
}

/** The sequencer's methods that both leaders and replicas provide. */
export type Sequencing = Pick<
  Sequencer,
  | 'engine'
  | 'submit'
  | 'submitRecord'
  | 'releaseAt'
  | 'durableSequence'
  | 'backlog'
  | 'backlogBytes'
  | 'waitingTargets'
  | 'failure'
>;

/** A process that has the exchange's state, or holds connections for such a process. */
export interface Serving {
  readonly config: Pick<GatewayConfig, 'dataFolder' | 'tls' | 'trustProxy' | 'siteOrigins'>;
  readonly log: Log;
  readonly fairUse: FairUse;
  readonly unsent: UnsentAnswers;
  readonly metrics: AnswerMetrics;
  readonly version: string;
  /** Whether new work is refused. Requests in flight are still answered. */
  isStopping(): boolean;
  /** Reports a bug or a broken disk. The process must end and answer nothing more. */
  fail(error: unknown): void;
}

export interface Gateway extends Serving {
  readonly sequencer: Sequencing;
  readonly waits: SequenceWaits;
  readonly journal: JournalPlace;
  readonly history: HistoryClient;
  readonly sessions: Sessions;
  readonly partners: AccessKeys;
  readonly operators: AccessKeys;
  readonly passwords: Passwords;
  readonly config: GatewayConfig;
  readonly clock: Clock;
  /** A log for events that clients can cause at any rate, with a limited number of lines. */
  readonly warnings: RationedLog;
  readonly overload: Overload;
  readonly encoder: AnswerEncoder;
  readonly metrics: Metrics;
  readonly standing: Standing;
  readonly priceTicks: PriceTicks;
  readonly startedAtMs: number;
  /** Upper bound of the state's age on a replica; `null` on the leader. */
  behindMs(): number | null;
  notReady(): string | null;
  /** What is failing and being retried while trading continues, or `null`. */
  warning(): string | null;
  halted(): string | null;
}
