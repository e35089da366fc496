/**
 * Decides whether this exchange may lead, before the statement that makes it the leader. If not, it
 * logs the reason, keeps waiting, and is checked again.
 */

import type { Copies } from '../../persistence/replication/postgres/copies.js';
import type { Candidate as JournalCandidate } from '../../persistence/replication/postgres/postgres-journal.js';
import type { Log } from '../observe/log.js';
import type { CandidateClock } from './candidate-clock.js';

interface CandidateOptions {
  clock: CandidateClock | null;
  /** All other conditions for serving. @throws an Error that explains the problem */
  mustServe: () => Promise<void>;
  log: Log;
}

const LACKING_LOOKS = 3;

export class Candidate implements JournalCandidate {
  private failing: string | null = null;
  private isTold = false;
  /** `null` if unknown. */
  copies: Copies | null = null;
  /** Consecutive checks at which a commit would have waited for copies. */
  private lacking = 0;

  constructor(private readonly options: CandidateOptions) {}

  async looked({
    databaseMs,
    renewedMs,
    copies,
  }: Parameters<JournalCandidate['looked']>[0]): Promise<void> {
    const { clock, mustServe } = this.options;
    this.lookAt(copies);
    clock?.database.told(databaseMs);
    clock?.lease.told(renewedMs);
    this.failing = await mustServe().then(
      () => null,
      ({ message }: Error) => message,
    );
  }

  /** Warns only after several checks, because a copy needs a moment after a failover. */
  private lookAt(copies: Copies | null): void {
    const { log } = this.options;
    this.copies = copies;
    if (copies !== null && copies.there.length < copies.needed) {
      this.lacking++;
      if (this.lacking === LACKING_LOOKS)
        log.error(
          { ...copies },
          'NO EXCHANGE CAN TAKE THE LEAD: too few copies of the journal are available',
        );
    } else {
      if (this.lacking >= LACKING_LOOKS)
        log.info({ ...copies }, 'enough copies of the journal are available again');
      this.lacking = 0;
    }
  }

  mayLead(): boolean {
    const { clock, log } = this.options;
    const problem = clock?.problem ?? this.failing;
    if (problem !== null && !this.isTold)
      log.error(
        { problem },
        'THIS EXCHANGE DOES NOT TAKE THE LEAD, even if no other exchange leads',
      );
    if (problem === null && this.isTold) log.info('this exchange can take the lead again');
    this.isTold = problem !== null;
    return problem === null;
  }
}
