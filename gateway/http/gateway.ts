/**
 * What servers and routes work with: the serving process, and the exchange that its routes read and
 * change.
 */
import type { HistoryClient } from '../../persistence/follower/history-client.js';
import type { JournalPlace } from '../../persistence/replication/source.js';
import type { Sequencer } from '../../persistence/sequencer.js';
import type { AccessKeys } from '../access/access-keys.js';
import type { ConnectionLimits } from '../access/fair-use/connections.js';
import type { FairUse } from '../access/fair-use/fair-use.js';
import type { Overload } from '../access/fair-use/overload.js';
import type { Passwords } from '../access/passwords.js';
import type { Sessions } from '../access/sessions.js';
import type { Clock } from '../observe/clock.js';
import type { Log } from '../observe/log.js';
import type { AnswerMetrics, Metrics } from '../observe/metrics.js';
import type { PriceTicks } from '../observe/price-ticks.js';
import type { RationedLog } from '../observe/rationed-log.js';
import type { Standing } from '../observe/standing.js';
import type { TlsFiles } from './acceptor.js';
import type { AnswerCoder } from './answers/answer-coder.js';
import type { UnsentAnswers } from './answers/unsent-answers.js';
import type { SequenceWaits } from './sequence-waits.js';

/** The part of the configuration that routes and the stream use. */
export interface GatewayConfig {
  /** Where the journal and the snapshots are. */
  dataFolder: string;
  /** The certificate of the addresses for clients and operators; null: they are not encrypted. */
  tls: TlsFiles | null;
  /** Whether a proxy sets X-Forwarded-Proto, -Host, and the last address of X-Forwarded-For. */
  trustProxy: boolean;
  siteOrigins: string[];
  /** Source of prices; on a replica, the source that it reports to clients. */
  pricesFrom: 'simulated' | 'file' | 'live';
  /** Starting balance of a new account; 0: none, which is the default if there are partners. */
  startingBalanceMicros: number;
  connections: ConnectionLimits;
  /** The variables that are not at their default, without secrets. */
  settings: Record<string, string>;
  /** null: the journal is in the data folder. */
  journal: { isUnreplicated: boolean } | null;
}

/** The exchange's state: what a leader writes, or what a replica follows. */
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

/** The serving process: it has the exchange's state, or holds connections for such a process. */
export interface Serving {
  readonly config: Pick<GatewayConfig, 'dataFolder' | 'tls' | 'trustProxy' | 'siteOrigins'>;
  readonly log: Log;
  readonly fairUse: FairUse;
  readonly unsent: UnsentAnswers;
  readonly metrics: AnswerMetrics;
  readonly version: string;
  /** No new work is accepted; requests in flight are answered. */
  isStopping(): boolean;
  /** Reports a bug or a broken disk: the process must end and answers nothing more. */
  fail(error: unknown): void;
}

export interface Gateway extends Serving {
  readonly sequencer: Sequencing;
  /** Requests that wait for a later sequence. */
  readonly waits: SequenceWaits;
  /** Where other threads read the journal. */
  readonly journal: JournalPlace;
  readonly history: HistoryClient;
  readonly sessions: Sessions;
  readonly partners: AccessKeys;
  readonly operators: AccessKeys;
  readonly passwords: Passwords;
  readonly config: GatewayConfig;
  readonly clock: Clock;
  /** For events that clients can cause at any rate, so its lines are limited. */
  readonly warnings: RationedLog;
  readonly overload: Overload;
  readonly coder: AnswerCoder;
  readonly metrics: Metrics;
  readonly standing: Standing;
  /** The last delivery of each source of prices. */
  readonly priceTicks: PriceTicks;
  readonly startedAtMs: number;
  /** On a replica: how old its state can be. null: this process leads. */
  behindMs(): number | null;
  /** Why the exchange is not ready for traffic; null: it is ready. */
  notReady(): string | null;
  /** What is failing and being retried while trading continues; null: nothing. */
  warning(): string | null;
  /** Why trading is halted and the state is read-only; null: it is not. */
  halted(): string | null;
}
