/** What every route works with: the exchange behind it, who may come in, and how the process is doing. */
import type { HistoryClient } from '../../persistence/follower/history-client.js';
import type { Sequencer } from '../../persistence/sequencer.js';
import type { Passwords } from '../auth/passwords.js';
import type { Sessions } from '../auth/sessions.js';
import type { Config } from '../config.js';
import type { FairUse } from '../fair-use/fair-use.js';
import type { Overload } from '../fair-use/overload.js';
import type { Log } from '../observe/log.js';
import type { Metrics } from '../observe/metrics.js';
import type { RationedLog } from '../observe/rationed-log.js';
import type { Clock } from '../time/clock.js';
import type { UnsentAnswers } from './unsent-answers.js';

export interface Gateway {
  readonly sequencer: Sequencer;
  /** Null: it is turned off, and there is no history to read. */
  readonly history: HistoryClient | null;
  readonly sessions: Sessions;
  readonly passwords: Passwords;
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  /** For what anybody outside can cause as often as they like. */
  readonly warnings: RationedLog;
  readonly fairUse: FairUse;
  readonly overload: Overload;
  /** What clients have not taken of their answers. */
  readonly unsent: UnsentAnswers;
  readonly metrics: Metrics;
  readonly version: string;
  readonly startedAtMs: number;
  /** No new work is taken any more; what is in flight is answered. */
  isStopping(): boolean;
  /** Why the exchange is not ready for traffic; null: it is. */
  notReady(): string | null;
  /** What does not work now and is tried again, while trading goes on; null: nothing. */
  warning(): string | null;
  /** Why nobody can change anything any more, though what is there can be read; null: all is well. */
  halted(): string | null;
  /** A bug or a broken disk: the process must end, and answers nothing more. */
  fail(error: unknown): void;
}
