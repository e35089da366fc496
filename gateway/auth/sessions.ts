/**
 * Session tokens: HS256 JWTs with the user (`sub`), the version of the user's credentials (`ver`)
 * and the time of issue (`iat`, seconds). They do not expire; they end when the credentials change.
 * Verified tokens are remembered, up to a limit, so a trading client pays for one signature check.
 *
 * Verification is synchronous, a few microseconds, because a WebSocket must be accepted or refused
 * before its handshake's callback returns (handshake.ts).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, SignJWT } from 'jose';
import type { Engine } from '../../engine/engine.js';
import { idNumber } from '../../engine/interface/notation.js';
import type { Quota } from '../fair-use/fair-use.js';

const ALGORITHM = 'HS256';
const REMEMBERED_MAX = 100_000;
/** Valid tokens have fewer than 200 characters. Longer ones are refused without a check. */
const TOKEN_LENGTH_MAX = 512;

export interface Session {
  userId: number;
  version: number;
  /** Seconds since the epoch. */
  issuedAt: number;
  /** Rate limit tokens of its address, taken in advance. */
  ahead: Record<Quota, number> | null;
}

/** The signature or account is wrong; or the credentials changed after the token was issued. */
export type TokenFault = 'invalid_token' | 'token_revoked';

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
    this.remember(token, { userId, version, issuedAt, ahead: null });
    return token;
  }

  /** The session of a token that needs no signature check; null: it needs one. */
  known(token: string): Session | null {
    return this.remembered.get(token) ?? null;
  }

  /** The session of a token, or why it does not sign its user in now. `known`: as above. */
  check(token: string, engine: Engine, known = this.known(token)): Session | TokenFault {
    const session = known ?? this.verify(token, engine);
    if (session === null) return 'invalid_token';
    return this.faultOf(session, engine) ?? session;
  }

  /** Why a session that once was valid is not now; null: it is. */
  faultOf({ userId, version }: Session, engine: Engine): TokenFault | null {
    return engine.credentialVersion(userId) === version ? null : 'token_revoked';
  }

  /** null: this exchange did not sign the token, or the account that it names does not exist. */
  private verify(token: string, engine: Engine): Session | null {
    if (token.length > TOKEN_LENGTH_MAX || !this.isSigned(token)) return null;
    const session = readClaims(token);
    if (session === null || !isOfAccount(engine, session)) return null;
    this.remember(token, session);
    return session;
  }

  /** Whether the last part of the token is the HS256 signature (RFC 7515) of the text before it. */
  private isSigned(token: string): boolean {
    const end = token.lastIndexOf('.');
    const expected = createHmac('sha256', this.secret).update(token.slice(0, Math.max(0, end)));
    const signature = Buffer.from(token.slice(end + 1));
    const valid = Buffer.from(expected.digest('base64url'));
    return signature.length === valid.length && timingSafeEqual(signature, valid);
  }

  private remember(token: string, session: Session): void {
    if (this.remembered.size >= REMEMBERED_MAX) {
      const { value: oldest } = this.remembered.keys().next();
      if (oldest !== undefined) this.remembered.delete(oldest);
    }
    this.remembered.set(token, session);
  }
}

/** The claims of a signed token; null: another algorithm, or not the claims issued here. */
function readClaims(token: string): Session | null {
  try {
    const { alg, crit } = decodeProtectedHeader(token);
    if (alg !== ALGORITHM || crit !== undefined) return null;
    const { sub, ver, iat, exp, nbf } = decodeJwt(token);
    const userId = idNumber('u', sub ?? '');
    const isValid = exp === undefined && nbf === undefined && isCount(ver) && isCount(iat);
    return userId === 0 || !isValid ? null : { userId, version: ver, issuedAt: iat, ahead: null };
  } catch (error) {
    // Signed, but cannot be decoded.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return null;
    throw error;
  }
}

/** False if the token is older than the account: an earlier exchange used the same user ids. */
function isOfAccount(engine: Engine, session: Session): boolean {
  const account = engine.account(session.userId);
  return account !== null && session.issuedAt >= Math.floor(account.createdAtMs / 1_000);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
