/**
 * Session tokens: JWTs, HS256 and nothing else, that say who (`sub`), with which version of their credentials (`ver`) and
 * since when (`iat`, seconds). They carry no expiry. What is checked here is only that this exchange signed the token;
 * whether its version still stands is asked of the engine at every request.
 *
 * A token that was verified is remembered, so a trading client pays for the signature once and every later request is
 * answered without waiting. The memory is bounded; the oldest is forgotten first and simply verified again.
 */
import { webcrypto } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import type { Engine } from '../../engine/engine.js';
import { idNumber } from '../../engine/notation.js';

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

  private constructor(private readonly key: webcrypto.CryptoKey) {}

  static async create(secret: Buffer): Promise<Sessions> {
    const algorithm = { name: 'HMAC', hash: 'SHA-256' };
    return new Sessions(
      await webcrypto.subtle.importKey('raw', secret, algorithm, false, ['sign', 'verify']),
    );
  }

  async issue(userId: number, version: number, atMs: number): Promise<string> {
    const issuedAt = Math.floor(atMs / 1_000);
    const token = await new SignJWT({ ver: version })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setSubject(`u${userId}`)
      .setIssuedAt(issuedAt)
      .sign(this.key);
    this.remember(token, { userId, version, issuedAt });
    return token;
  }

  /** What a token says that was verified before; undefined: ask {@link verify}. */
  recall(token: string): Session | undefined {
    return this.remembered.get(token);
  }

  /** What the token says; null if this exchange did not sign it, or if the account that it names is not `known`. */
  async verify(token: string, known: (session: Session) => boolean): Promise<Session | null> {
    if (token.length > TOKEN_LENGTH_MAX) return null;
    const session = await this.readSigned(token);
    if (session === null || !known(session)) return null;
    this.remember(token, session);
    return session;
  }

  private async readSigned(token: string): Promise<Session | null> {
    try {
      const { payload } = await jwtVerify(token, this.key, { algorithms: [ALGORITHM] });
      const userId = idNumber('u', payload.sub ?? '');
      const { ver, iat } = payload;
      if (userId === 0 || !isCount(ver) || !isCount(iat)) return null;
      return { userId, version: ver, issuedAt: iat };
    } catch (error) {
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  }

  private remember(token: string, session: Session): void {
    if (this.remembered.size >= REMEMBERED_MAX) {
      const { value: oldest } = this.remembered.keys().next();
      if (oldest !== undefined) this.remembered.delete(oldest);
    }
    this.remembered.set(token, session);
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
