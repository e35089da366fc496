/**
 * Schedules reads of the history: one query at a time. The next turn goes to the reader with the
 * fewest recent turns. So a reader with long reads delays others only by the query in progress.
 *
 * Invariant: a read that was given up gets no further turn.
 */

/** The key of a reader: a user with its sub-accounts, or an address. */
export type ReaderKey = number | string;

/** Runs a query in the read's turn. @throws ReadStopped */
export type RunQuery = <Rows>(query: () => Promise<Rows>) => Promise<Rows>;

/** The read was given up, or the session ends. */
export class ReadStopped extends Error {
  override name = 'ReadStopped';
}

/** The counts of turns are halved after this many. */
const REMEMBERED_TURNS = 256;

interface Waiting {
  readerKey: ReaderKey;
  begin: () => void;
}

export class FairReadScheduler {
  private readonly waiting: Waiting[] = [];
  private readonly turns = new Map<ReaderKey, number>();
  private sinceHalved = 0;
  private isBusy = false;

  /** The turns of one read. */
  of(readerKey: ReaderKey, isStopped: () => boolean): RunQuery {
    return async (query) => {
      if (this.isBusy) await new Promise<void>((begin) => this.waiting.push({ readerKey, begin }));
      this.isBusy = true;
      try {
        if (isStopped()) throw new ReadStopped('no client waits for this read any longer');
        this.count(readerKey);
        return await query();
      } finally {
        this.next();
      }
    };
  }

  /** Hands the turn over. It stays taken, so that no other read comes between. */
  private next(): void {
    let best = 0;
    for (let i = 1; i < this.waiting.length; i++)
      if (this.turnsOf(this.waiting[i]!) < this.turnsOf(this.waiting[best]!)) best = i;
    const [next] = this.waiting.splice(best, 1);
    if (next === undefined) this.isBusy = false;
    else next.begin();
  }

  private turnsOf({ readerKey }: Waiting): number {
    return this.turns.get(readerKey) ?? 0;
  }

  private count(readerKey: ReaderKey): void {
    this.turns.set(readerKey, (this.turns.get(readerKey) ?? 0) + 1);
    if (++this.sinceHalved < REMEMBERED_TURNS) return;
    this.sinceHalved = 0;
    for (const [each, turns] of this.turns)
      if (turns > 1) this.turns.set(each, turns >> 1);
      else this.turns.delete(each);
  }
}
