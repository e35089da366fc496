/** A server's unanswered requests, and those with incomplete bodies in order of arrival. */
export class InFlight<R> {
  private number = 0;
  private readonly receiving = new Set<R>();

  constructor(private readonly onEnd: () => void) {}

  get count(): number {
    return this.number;
  }

  /** The oldest request with an incomplete body, or `null`. */
  get oldest(): R | null {
    const [first = null] = this.receiving;
    return first;
  }

  began(): void {
    this.number++;
  }

  receives(request: R): void {
    this.receiving.add(request);
  }

  /** Call when the body is complete or will never be. */
  received(request: R): void {
    this.receiving.delete(request);
  }

  /** Call when the request is answered or its client has left. */
  ended(request: R | null): void {
    if (request !== null) this.receiving.delete(request);
    this.number--;
    this.onEnd();
  }
}
