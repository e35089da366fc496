/**
 * Sub-accounts, for a token from their parent's sign-in. Each sub-account has its own user id: a
 * client with a sub-account's token uses it like any other account.
 */
import type * as subAccountRoutes from '../../resources/sub-accounts/routes.js';
import type { Amount } from '../amounts.js';
import type { Answer } from '../answer.js';
import { type Api, type CallOptions, path } from '../api.js';
import type { CreatedToken, Tokens, TokenTerms } from './sign-in.js';

export type SubAccount = Answer<typeof subAccountRoutes.SubAccount>;
export type SubAccounts = Answer<typeof subAccountRoutes.SubAccounts>;
export type MoneyTransfer = Answer<typeof subAccountRoutes.MoneyTransfer>;

/** Creates a sub-account, at most 32. Requires a token from a sign-in. */
export function createSubAccount(
  api: Api,
  userId: string,
  username: string,
  options?: CallOptions,
): Promise<SubAccount> {
  const ofUser = path`/users/${userId}/sub-accounts`;
  return api.call({ method: 'POST', path: ofUser, body: { username }, repeat: 'key', options });
}

/** All sub-accounts with their balances, oldest first, and the total. */
export function subAccounts(api: Api, userId: string, options?: CallOptions): Promise<SubAccounts> {
  return api.call({ method: 'GET', path: path`/users/${userId}/sub-accounts`, options });
}

/** Moves available money between your account and a sub-account, or between two sub-accounts. */
export function transfer(
  api: Api,
  userId: string,
  body: { from: string; to: string; amount: Amount },
  options?: CallOptions,
): Promise<MoneyTransfer> {
  const ofUser = path`/users/${userId}/transfers`;
  return api.call({ method: 'POST', path: ofUser, body, repeat: 'key', options });
}

/** Creates a sub-account's named token, only in this answer. `revokeToken` ends it. */
export function createSubAccountToken(
  api: Api,
  userId: string,
  subAccountId: string,
  terms: TokenTerms,
  options?: CallOptions,
): Promise<CreatedToken> {
  const ofSubAccount = path`/users/${userId}/sub-accounts/${subAccountId}/tokens`;
  return api.call({ method: 'POST', path: ofSubAccount, body: terms, options });
}

export function subAccountTokens(
  api: Api,
  userId: string,
  subAccountId: string,
  options?: CallOptions,
): Promise<Tokens> {
  const ofSubAccount = path`/users/${userId}/sub-accounts/${subAccountId}/tokens`;
  return api.call({ method: 'GET', path: ofSubAccount, options });
}
