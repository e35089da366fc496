/**
 * Session tokens: JWTs, HS256 and nothing else, that say who (`sub`), with which version of their credentials (`ver`) and
 * since when (`iat`, seconds). They carry no expiry. What is checked here is only that this exchange signed the token;
 * whether its version still stands is asked of the engine at every request.
 *
 * A token that was verified is remembered, so a trading client pays for the signature once. The memory is bounded; the oldest is
 * forgotten first and simply verified again.
 *
 * Verifying is synchronous: a WebSocket has to be let in, or not, before its handshake's callback returns. (When it is let in
 * later, uWebSockets.js may take it for the HTTP connection that it was, and close it.) It costs a few microseconds.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, SignJWT } from 'jose';
import type { Engine } from '../../engine/engine.js';
import { idNumber } from '../../engine/interface/notation.js';

const ALGORITHM = 'HS256';
const REMEMBERED_MAX = 100_000;
/** Ours have less than 200 characters; nothing longer is worth a signature check. */
const TOKEN_LENGTH_MAX = 512;

export interface Session {
  userId: number;
  version: number;
  /** Seconds since the epoch. */
  issuedAt: number;
}

export class Sessions {
  private readonly remembered = new Map<string, Session>();

  constructor(private readonly secret: Buffer) {}

  async issue(userId: number, version: number, atMs: number): Promise<string> {
    const issuedAt = Math.floor(atMs / 1_000);
    const token = await new SignJWT({ ver: version })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setSubject(`u${userId}`)
      .setIssuedAt(issuedAt)
      .sign(this.secret);
    this.remember(token, { userId, version, issuedAt });
    return token;
  }

  /** What a token says that was verified before; undefined: ask {@link verify}. */
  recall(token: string): Session | undefined {
    return this.remembered.get(token);
  }

  /** What the token says; null if this exchange did not sign it, or if the account that it names is not `known`. */
  verify(token: string, known: (session: Session) => boolean): Session | null {
    if (token.length > TOKEN_LENGTH_MAX || !this.isSigned(token)) return null;
    const session = readClaims(token);
    if (session === null || !known(session)) return null;
    this.remember(token, session);
    return session;
  }

  /** Whether the text behind the last dot is our signature of what stands before it (RFC 7515, HS256), in its one spelling. */
  private isSigned(token: string): boolean {
    const end = token.lastIndexOf('.');
    const expected = createHmac('sha256', this.secret).update(token.slice(0, Math.max(0, end)));
    const signature = Buffer.from(token.slice(end + 1));
    const ours = Buffer.from(expected.digest('base64url'));
    return signature.length === ours.length && timingSafeEqual(signature, ours);
  }

  private remember(token: string, session: Session): void {
    if (this.remembered.size >= REMEMBERED_MAX) {
      const { value: oldest } = this.remembered.keys().next();
      if (oldest !== undefined) this.remembered.delete(oldest);
    }
    this.remembered.set(token, session);
  }
}

/** Of a token that is signed; null: it is of another algorithm, or does not say what ours say. */
function readClaims(token: string): Session | null {
  try {
    const { alg, crit } = decodeProtectedHeader(token);
    if (alg !== ALGORITHM || crit !== undefined) return null;
    const { sub, ver, iat, exp, nbf } = decodeJwt(token);
    const userId = idNumber('u', sub ?? '');
    const isOurs = exp === undefined && nbf === undefined && isCount(ver) && isCount(iat);
    return userId === 0 || !isOurs ? null : { userId, version: ver, issuedAt: iat };
  } catch (error) {
    // What is signed and cannot be decoded.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return null;
    throw error;
  }
}

/** Not so of a token that is older than the account: an exchange that was here before had users of the same numbers. */
export function isOfAccount(engine: Engine, session: Session): boolean {
  const account = engine.account(session.userId);
  return account !== null && session.issuedAt >= Math.floor(account.createdAtMs / 1_000);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
