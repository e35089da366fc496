/**
 * Accounts and the leaderboard. Balance, points and changes need a token; the rest is public. The
 * user id `me` means the token's owner.
 */
import type * as accountHistory from '../../resources/account-history/views.js';
import type * as accounts from '../../resources/accounts/views.js';
import type * as history from '../../resources/history/views.js';
import type { Answer } from '../answer.js';
import { type Api, type CallOptions, type CsvPage, path } from '../api.js';
import type { AccountFilter, Paging } from '../terms.js';

export type UserTrade = Answer<typeof history.UserTrade>;
export type UserTrades = Answer<typeof history.UserTrades>;
export type Points = Answer<typeof history.Points>;
export type Leaderboard = Answer<typeof history.Leaderboard>;
export type Ledger = Answer<typeof accountHistory.Ledger>;
export type Profile = Answer<typeof accounts.Profile>;
export type Balance = Answer<typeof accounts.Balance>;
export type Position = Answer<typeof accounts.Position>;
export type Positions = Answer<typeof accounts.Positions>;
export type Privacy = Answer<typeof accounts.Privacy>;
export type Referral = Answer<typeof accounts.Referral>;
export type OwnReferral = Answer<typeof accounts.OwnReferral>;

export interface LedgerFilter extends AccountFilter {
  cause?: Ledger['entries'][number]['cause'] | undefined;
}

export function profile(api: Api, userId: string, options?: CallOptions): Promise<Profile> {
  return api.call({ method: 'GET', path: path`/users/${userId}`, options });
}

export function balance(api: Api, userId: string, options?: CallOptions): Promise<Balance> {
  return api.call({ method: 'GET', path: path`/users/${userId}/balance`, options });
}

/** Open and claimable positions, newest market first. */
export function positions(
  api: Api,
  userId: string,
  query: Paging & {
    marketId?: string | undefined;
    status?: Position['status'] | undefined;
  } = {},
  options?: CallOptions,
): Promise<Positions> {
  const ofUser = path`/users/${userId}/positions`;
  return api.call({ method: 'GET', path: ofUser, query: { ...query }, options });
}

/** A user's trades, newest first; with `orderId`, the trades of one order. */
export function userTrades(
  api: Api,
  userId: string,
  query: Paging & AccountFilter & { orderId?: string | undefined } = {},
  options?: CallOptions,
): Promise<UserTrades> {
  const ofUser = path`/users/${userId}/trades`;
  return api.call({ method: 'GET', path: ofUser, query: { ...query }, options });
}

/** Every change of your money and shares, newest first. */
export function ledger(
  api: Api,
  userId: string,
  query: Paging & LedgerFilter = {},
  options?: CallOptions,
): Promise<Ledger> {
  const ofUser = path`/users/${userId}/ledger`;
  return api.call({ method: 'GET', path: ofUser, query: { ...query }, options });
}

/** {@link ledger} as CSV, for a spreadsheet. */
export function ledgerCsv(
  api: Api,
  userId: string,
  query: Paging & LedgerFilter = {},
  options?: CallOptions,
): Promise<CsvPage> {
  const ofUser = path`/users/${userId}/ledger`;
  return api.call({ method: 'GET', path: ofUser, query: { ...query }, asCsv: true, options });
}

export function points(
  api: Api,
  userId: string,
  paging: Paging = {},
  options?: CallOptions,
): Promise<Points> {
  const ofUser = path`/users/${userId}/points`;
  return api.call({ method: 'GET', path: ofUser, query: { ...paging }, options });
}

/** A user's referral data. Includes earnings only for your own account. */
export function referral(api: Api, userId: string, options?: CallOptions): Promise<Referral> {
  return api.call({ method: 'GET', path: path`/users/${userId}/referral`, options });
}

/** What others can read of your account. Default: everything except money and orders. */
export function privacy(api: Api, userId: string, options?: CallOptions): Promise<Privacy> {
  return api.call({ method: 'GET', path: path`/users/${userId}/privacy`, options });
}

/** `listed`: leaderboards list the private account, with figures of the last full UTC day. */
export function setPrivacy(
  api: Api,
  userId: string,
  body: { private: boolean; listed?: boolean | undefined },
  options?: CallOptions,
): Promise<Privacy> {
  const ofUser = path`/users/${userId}/privacy`;
  return api.call({ method: 'PUT', path: ofUser, body, repeat: 'key', options });
}

/** Sets a new referral code. The old code still refers to you. */
export function setReferralCode(
  api: Api,
  userId: string,
  code: string,
  options?: CallOptions,
): Promise<OwnReferral> {
  const ofUser = path`/users/${userId}/referral/code`;
  return api.call({ method: 'PUT', path: ofUser, body: { code }, repeat: 'key', options });
}

export function leaderboard(
  api: Api,
  query: Paging & {
    metric?: Leaderboard['metric'] | undefined;
    period?: Leaderboard['period'] | undefined;
  } = {},
  options?: CallOptions,
): Promise<Leaderboard> {
  return api.call({ method: 'GET', path: '/leaderboard', query: { ...query }, options });
}
