/**
 * Signing in. Answers contain the token and, in a browser, set the cookie; elsewhere, assign the
 * token to `api.token`. These routes have no idempotency keys: a registration or a new password is
 * not sent again if it may have been executed.
 */
import type { z } from 'zod';
import type * as signIn from '../../resources/sign-in/routes.js';
import type * as tokenRoutes from '../../resources/sign-in/tokens.js';
import type { Answer } from '../answer.js';
import { type Api, type CallOptions, path } from '../api.js';

export type SignedIn = Answer<typeof signIn.SignedIn>;
export type NewToken = Answer<typeof signIn.NewToken>;
export type TokenTerms = Omit<z.input<typeof tokenRoutes.TokenBody>, 'userId'>;
export type CreatedToken = Answer<typeof tokenRoutes.CreatedToken>;
export type Tokens = Answer<typeof tokenRoutes.Tokens>;
export type SessionOwner = Answer<typeof signIn.SessionOwner>;

export interface Credentials {
  username: string;
  password: string;
}

export function register(
  api: Api,
  account: Credentials & { referralCode?: string | undefined },
  options?: CallOptions,
): Promise<SignedIn> {
  return api.call({ method: 'POST', path: '/auth/register', body: account, options });
}

export function login(
  api: Api,
  { username, password }: Credentials,
  options?: CallOptions,
): Promise<SignedIn> {
  const body = { username, password };
  return api.call({ method: 'POST', path: '/auth/login', body, repeat: 'harmless', options });
}

/** Sets a new password with a single-use code from the operator. */
export function recover(
  api: Api,
  account: { username: string; code: string; newPassword: string },
  options?: CallOptions,
): Promise<SignedIn> {
  return api.call({ method: 'POST', path: '/auth/recovery', body: account, options });
}

/** Clears the cookie. The token stays valid. */
export function logout(api: Api, options?: CallOptions): Promise<void> {
  return api.call({
    method: 'POST',
    path: '/auth/logout',
    body: {},
    repeat: 'harmless',
    options,
  });
}

/** Changes the password and ends all older tokens. */
export function changePassword(
  api: Api,
  passwords: { currentPassword: string; newPassword: string },
  options?: CallOptions,
): Promise<NewToken> {
  return api.call({ method: 'PUT', path: '/auth/password', body: passwords, options });
}

/** The signed-in user. */
export function session(api: Api, options?: CallOptions): Promise<SessionOwner> {
  return api.call({ method: 'GET', path: '/auth/session', options });
}

/** Creates a named token for a program. Only this answer contains the token. */
export function createToken(
  api: Api,
  terms: TokenTerms,
  options?: CallOptions,
): Promise<CreatedToken> {
  return api.call({ method: 'POST', path: '/auth/tokens', body: terms, options });
}

/** Your named tokens, oldest first. */
export function tokens(api: Api, options?: CallOptions): Promise<Tokens> {
  return api.call({ method: 'GET', path: '/auth/tokens', options });
}

/** Ends a named token and its streams. After a lost answer, repeating gives `token_not_found`. */
export function revokeToken(api: Api, tokenId: string, options?: CallOptions): Promise<void> {
  const token = path`/auth/tokens/${tokenId}`;
  return api.call({ method: 'DELETE', path: token, repeat: 'harmless', options });
}
