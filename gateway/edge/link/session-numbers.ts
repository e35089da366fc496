/**
 * Numbers that replace tokens between the core and an edge. The core numbers a session when it
 * admits one of its requests, and sends the number with the answer.
 *
 * Invariant: a number is never reused for another session, and grants nothing: the core checks each
 * command's session again (commands/intake.ts). If either side forgets a number, one request is
 * sent again with its token.
 */
import type { Session } from '../../access/sessions.js';

/** Limit at the core, as at an edge (access/token-map.ts). Beyond it, the oldest are forgotten. */
const SESSIONS_MAX = 100_000;

export class SessionNumbers {
  private readonly numbers = new Map<Session, number>();
  /** Indexed by number modulo {@link SESSIONS_MAX}, so that a new session replaces the oldest. */
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

/** A session as an edge knows it. Each core has its own numbers. */
export interface KnownSession {
  token: string;
  number: number;
  userId: number;
  tokenId: number;
}
