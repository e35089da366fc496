/**
 * Session tokens: HS256 JWTs with the user (`sub`), the version of the user's credentials (`ver`)
 * and the time of issue (`iat`, seconds). Tokens do not expire. They end when the credentials
 * change or the secret that signed them is removed. Verified tokens are cached, up to a limit.
 *
 * A named token also contains its id in the engine (`tid`). Its scope, addresses, expiry and
 * revocation are engine state, so the journal decides whether it is valid.
 *
 * Verification is synchronous and takes a few microseconds, because a WebSocket must be accepted or
 * refused before its handshake callback returns (handshake.ts).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, SignJWT } from 'jose';
import type { Engine } from '../../engine/engine.js';
import { TokenScope, TokenState } from '../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../engine/interface/limits.js';
import { idNumber } from '../../engine/interface/notation.js';
import type { AccessTokenView } from '../../engine/interface/views.js';
import { type AddressRules, addressRules } from './allowed-addresses.js';
import type { Quota } from './fair-use/fair-use.js';
import { setBounded, TokenMap } from './token-map.js';

const ALGORITHM = 'HS256';
/** Valid tokens have fewer than 200 characters. Longer ones are refused unchecked. */
const TOKEN_LENGTH_MAX = 512;

/** Scopes of named tokens, and FULL for a token from a sign-in. */
export const Scope = { ...TokenScope, FULL: 2 } as const;
export type Scope = (typeof Scope)[keyof typeof Scope];
export const SCOPE_NAMES = ['read', 'trade', 'password'] as const;

export interface Session {
  userId: number;
  /** The user whose limits apply: a sub-account's parent. */
  payerId: number;
  version: number;
  /** Seconds since the epoch. */
  issuedAt: number;
  /** Id of a named token, or 0 for a token from a sign-in. */
  tokenId: number;
  scope: Scope;
  /** The end, in the exchange's time; `null` if the token does not expire. */
  expiresAtMs: number | null;
  allowedAddresses: AddressRules | null;
  /** Last use of a named token, in the exchange's time, or 0. */
  lastUsedAtMs: number;
  secret: Buffer;
  ahead: Record<Quota, number> | null;
}

/** `invalid_token`: wrong signature or account. The others: a token that was valid. */
export type TokenFault = 'invalid_token' | 'token_revoked' | 'token_expired';

export class Sessions {
  private readonly remembered = new TokenMap<Remembered>();
  private readonly named = new Map<number, Session>();

  constructor(private secrets: readonly Buffer[]) {}

  /** Revokes all tokens signed with a secret that is not in `secrets`. */
  replaceSecrets(secrets: readonly Buffer[]): void {
    const before = this.secrets;
    this.secrets = secrets.map((each) => before.find((known) => known.equals(each)) ?? each);
    this.remembered.clear();
  }

  async issue(userId: number, version: number, atMs: number): Promise<string> {
    const claims = { userId, version, issuedAt: Math.floor(atMs / 1_000), tokenId: 0 };
    const secret = this.secrets[0]!;
    const token = await this.sign(claims, secret);
    this.remember(token, passwordSession(claims, secret));
    return token;
  }

  /** Creates the text of a named token, which is not stored anywhere. */
  issueNamed({ userId, tokenId, createdAtMs }: AccessTokenView, version: number): Promise<string> {
    const issuedAt = Math.floor(createdAtMs / 1_000);
    return this.sign({ userId, version, issuedAt, tokenId }, this.secrets[0]!);
  }

  private sign({ userId, version, issuedAt, tokenId }: Claims, secret: Buffer): Promise<string> {
    return new SignJWT(tokenId === 0 ? { ver: version } : { ver: version, tid: `k${tokenId}` })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setSubject(`u${userId}`)
      .setIssuedAt(issuedAt)
      .sign(secret);
  }

  lastUsedAtMs(tokenId: number): number | null {
    return this.named.get(tokenId)?.lastUsedAtMs || null;
  }

  /** `null` if the signature must be checked. */
  known(token: string): Session | null {
    return this.remembered.of(token)?.session ?? null;
  }

  check(token: string, engine: Engine, known = this.known(token)): Session | TokenFault {
    const session = known ?? this.verify(token, engine);
    if (typeof session === 'string') return session;
    return this.faultOf(session, engine) ?? session;
  }

  faultOf({ userId, version, tokenId, secret }: Session, engine: Engine): TokenFault | null {
    if (!this.secrets.includes(secret)) return 'token_revoked';
    if (tokenId !== 0) return namedFault(engine, tokenId);
    return engine.credentialVersion(userId) === version ? null : 'token_revoked';
  }

  private verify(token: string, engine: Engine): Session | TokenFault {
    if (token.length > TOKEN_LENGTH_MAX) return 'invalid_token';
    const secret = this.secrets.find((each) => isSigned(token, each));
    const claims = secret === undefined ? null : readClaims(token);
    if (claims === null || !isOfAccount(engine, claims)) return 'invalid_token';
    const session =
      claims.tokenId === 0
        ? passwordSession(claims, secret!)
        : namedSession(engine, claims, secret!);
    if (typeof session !== 'string') this.remember(token, session);
    return session;
  }

  private remember(token: string, session: Session): void {
    this.remembered.add({ token, session });
    if (session.tokenId !== 0) this.rememberNamed(session);
  }

  private rememberNamed(session: Session): void {
    const { named } = this;
    session.lastUsedAtMs = named.get(session.tokenId)?.lastUsedAtMs ?? 0;
    setBounded(named, session.tokenId, session);
  }
}

/** Whether the token's last part is the HS256 signature (RFC 7515) of the text before it. */
function isSigned(token: string, secret: Buffer): boolean {
  const end = token.lastIndexOf('.');
  const expected = createHmac('sha256', secret).update(token.slice(0, Math.max(0, end)));
  const signature = Buffer.from(token.slice(end + 1));
  const valid = Buffer.from(expected.digest('base64url'));
  return signature.length === valid.length && timingSafeEqual(signature, valid);
}

interface Remembered {
  token: string;
  session: Session;
}

type Claims = Pick<Session, 'userId' | 'version' | 'issuedAt' | 'tokenId'>;

function passwordSession(claims: Claims, secret: Buffer): Session {
  const rights = { payerId: claims.userId, scope: Scope.FULL, allowedAddresses: null };
  return { ...claims, ...rights, expiresAtMs: null, lastUsedAtMs: 0, secret, ahead: null };
}

function namedSession(engine: Engine, claims: Claims, secret: Buffer): Session | TokenFault {
  const token = engine.token(claims.tokenId);
  if (token === null) return 'token_revoked';
  // If they differ, the token is from an earlier exchange that used the same id.
  const isSame =
    token.userId === claims.userId && Math.floor(token.createdAtMs / 1_000) === claims.issuedAt;
  if (!isSame) return 'invalid_token';
  const allowedAddresses = addressRules(token.allowedAddresses);
  const payerId = engine.payer(claims.userId);
  const expiresAtMs = token.expiresAtMs === MAX_TIME_MS ? null : token.expiresAtMs;
  const rights = { payerId, scope: token.scope, expiresAtMs, allowedAddresses };
  return { ...claims, ...rights, lastUsedAtMs: 0, secret, ahead: null };
}

function namedFault(engine: Engine, tokenId: number): TokenFault | null {
  const state = engine.tokenState(tokenId);
  if (state === TokenState.VALID) return null;
  return state === TokenState.EXPIRED ? 'token_expired' : 'token_revoked';
}

function readClaims(token: string): Claims | null {
  try {
    const { alg, crit } = decodeProtectedHeader(token);
    if (alg !== ALGORITHM || crit !== undefined) return null;
    const { sub, ver, iat, exp, nbf, tid } = decodeJwt(token);
    const userId = idNumber('u', sub ?? '');
    const isNamed = tid !== undefined;
    const tokenId = typeof tid === 'string' ? idNumber('k', tid) : 0;
    const isValid = exp === undefined && nbf === undefined && isCount(ver) && isCount(iat);
    if (userId === 0 || !isValid || isNamed !== (tokenId !== 0)) return null;
    return { userId, version: ver, issuedAt: iat, tokenId };
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return null;
    throw error;
  }
}

/** A token older than the account is from an earlier exchange with the same user ids. */
function isOfAccount(engine: Engine, { userId, issuedAt }: Claims): boolean {
  const account = engine.account(userId);
  return account !== null && issuedAt >= Math.floor(account.createdAtMs / 1_000);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
