/**
 * The numbers by which the core and an edge call sessions, so that a command carries no token. The
 * core gives a session its number when it has admitted a request of it, with the answer.
 *
 * Always holds: a number never stands for another session. What is forgotten, on either side, costs
 * one request that is sent with its token. Whether a session is valid is asked of the engine for
 * each command (admission.ts): a number is no permission.
 */
import type { Session } from '../../access/sessions.js';
import { Request } from '../../http/request.js';

/** At the core; the oldest are forgotten first, as at an edge. */
const SESSIONS_MAX = 100_000;

/** A session as the core knows it. */
export interface NumberedSession {
  session: Session;
  /** With its token and nothing else. */
  request: Request;
}

/** At the core. */
export class SessionNumbers {
  private readonly numbers = new Map<Session, number>();
  private readonly sessions = new Map<number, NumberedSession>();
  private last = 0;

  of(number: number): NumberedSession | null {
    return this.sessions.get(number) ?? null;
  }

  numberOf(session: Session, token: string): number {
    const known = this.numbers.get(session);
    if (known !== undefined) return known;
    const number = ++this.last;
    this.numbers.set(session, number);
    this.sessions.set(number, { session, request: requestWith(token) });
    if (this.numbers.size > SESSIONS_MAX) this.forgetOldest();
    return number;
  }

  private forgetOldest(): void {
    const [session, number] = this.numbers.entries().next().value!;
    this.numbers.delete(session);
    this.sessions.delete(number);
  }
}

function requestWith(token: string): Request {
  const raw = {
    getQuery: () => '',
    getParameter: () => undefined,
    forEach: (read: (name: string, value: string) => void) => read('x-user-token', token),
  };
  return new Request(raw, 'post', false);
}

/** A session as an edge knows it. Each core has numbers of its own. */
export interface KnownSession {
  token: string;
  number: number;
  userId: number;
  tokenId: number;
}
