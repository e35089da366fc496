/**
 * The unanswered requests of a server and, in order of arrival, those whose body has not fully
 * arrived. Incomplete requests form a linked list, because nearly every one is alone in it, and a
 * Set replaces its table whenever its only element leaves.
 */

export interface Receivable<Self> {
  isReceiving: boolean;
  /** Its neighbours in the list; null: none. */
  older: Self | null;
  newer: Self | null;
}

export class InFlight<R extends Receivable<R>> {
  private number = 0;
  private first: R | null = null;
  private last: R | null = null;

  constructor(private readonly onEnd: () => void) {}

  get count(): number {
    return this.number;
  }

  /** The oldest request whose body has not fully arrived. */
  get oldest(): R | null {
    return this.first;
  }

  began(): void {
    this.number++;
  }

  receives(request: R): void {
    const { last } = this;
    request.isReceiving = true;
    request.older = last;
    if (last === null) this.first = request;
    else last.newer = request;
    this.last = request;
  }

  /** The body has arrived, or never will. */
  received(request: R): void {
    if (!request.isReceiving) return;
    const { older, newer } = request;
    if (older === null) this.first = newer;
    else older.newer = newer;
    if (newer === null) this.last = older;
    else newer.older = older;
    request.isReceiving = false;
    request.older = null;
    request.newer = null;
  }

  /** The request is answered, or its client has left. */
  ended(request: R | null): void {
    if (request !== null) this.received(request);
    this.number--;
    this.onEnd();
  }
}
