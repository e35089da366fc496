/**
 * A server's unanswered requests, and those with incomplete bodies in order of arrival. Incomplete
 * requests form a linked list: usually there is only one, and a Set reallocates its table whenever
 * its only element is removed.
 */

export interface Receivable<Self> {
  isReceiving: boolean;
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

  /** Call when the body is complete or will never be. */
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

  /** Call when the request is answered or its client has left. */
  ended(request: R | null): void {
    if (request !== null) this.received(request);
    this.number--;
    this.onEnd();
  }
}
