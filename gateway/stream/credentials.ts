/**
 * Whether a session token lets its user in now. The signature says that this exchange issued it; the rest is the engine's to
 * say.
 */
import type { Engine } from '../../engine/engine.js';
import { isOfAccount, type Session, type Sessions } from '../auth/sessions.js';
import { type ErrorAnswer, errorAnswer } from '../http/errors.js';

/** What the token says; null if it is none of this exchange. */
export function readToken(sessions: Sessions, engine: Engine, token: string): Session | null {
  return sessions.recall(token) ?? sessions.verify(token, (claimed) => isOfAccount(engine, claimed));
}

/** Why the session does not let anybody in now; null: it does. */
export function refusalOf(engine: Engine, session: Session | null): ErrorAnswer | null {
  if (session === null) return errorAnswer('invalid_token');
  const stands = engine.credentialVersion(session.userId) === session.version;
  return stands ? null : errorAnswer('token_revoked');
}
