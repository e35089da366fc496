/**
 * Whether this exchange may take the lead: asked before the statement that makes it the leader,
 * because from then on no other can serve. One that may not says why, waits on, and is asked again.
 */
import type { Candidate as JournalCandidate } from '../../persistence/replication/postgres/postgres-journal.js';
import type { Log } from '../observe/log.js';
import type { CandidateClock } from './candidate-clock.js';

interface CandidateOptions {
  /** null: it is not compared. */
  clock: CandidateClock | null;
  /** All else without which it could not serve. @throws an Error that says what it is */
  mustServe: () => Promise<void>;
  log: Log;
}

export class Candidate implements JournalCandidate {
  /** Why it could not serve at the last look. */
  private failing: string | null = null;
  private isTold = false;

  constructor(private readonly options: CandidateOptions) {}

  async looked({
    databaseMs,
    renewedMs,
  }: {
    databaseMs: number;
    renewedMs: number;
  }): Promise<void> {
    const { clock, mustServe } = this.options;
    clock?.database.told(databaseMs);
    clock?.lease.told(renewedMs);
    this.failing = await mustServe().then(
      () => null,
      ({ message }: Error) => message,
    );
  }

  mayLead(): boolean {
    const { clock, log } = this.options;
    const problem = clock?.problem ?? this.failing;
    if (problem !== null && !this.isTold)
      log.error({ problem }, 'THIS EXCHANGE DOES NOT TAKE THE LEAD, even if no other leads');
    if (problem === null && this.isTold) log.info('this exchange can take the lead again');
    this.isTold = problem !== null;
    return problem === null;
  }
}
