/**
 * The numbers by which the core and an edge call sessions, so that a command carries no token. The
 * core gives a session its number when it has admitted a request of it, with the answer.
 *
 * Always holds: a number never stands for another session. What is forgotten, on either side, costs
 * one request that is sent with its token. Whether a session is valid is asked of the engine for
 * each command (admission.ts): a number is no permission.
 */
import type { Session } from '../../access/sessions.js';

/** At the core; the oldest are forgotten first, as at an edge. */
const SESSIONS_MAX = 100_000;

/** At the core. */
export class SessionNumbers {
  private readonly numbers = new Map<Session, number>();
  /** By the number's remainder: the oldest gives way. */
  private readonly sessions: Session[] = [];
  private last = 0;

  of(number: number): Session | null {
    const isKnown = number > Math.max(0, this.last - SESSIONS_MAX) && number <= this.last;
    return isKnown ? this.sessions[number % SESSIONS_MAX]! : null;
  }

  numberOf(session: Session): number {
    const known = this.numbers.get(session);
    if (known !== undefined) return known;
    const number = ++this.last;
    if (number > SESSIONS_MAX) this.numbers.delete(this.sessions[number % SESSIONS_MAX]!);
    this.numbers.set(session, number);
    this.sessions[number % SESSIONS_MAX] = session;
    return number;
  }
}

/** A session as an edge knows it. Each core has numbers of its own. */
export interface KnownSession {
  token: string;
  number: number;
  userId: number;
  tokenId: number;
}
