/** The flex vault. Changes need a token. */
import type * as vault from '../../resources/vault/receipts.js';
import type { Amount } from '../amounts.js';
import type { Answer } from '../answer.js';
import { type Api, type CallOptions, path } from '../api.js';
import type { Paging } from '../terms.js';

export type Vaults = Answer<typeof vault.Vaults>;
export type Deposit = Answer<typeof vault.Deposit>;
export type Deposits = Answer<typeof vault.Deposits>;
export type StakeReceipt = Answer<typeof vault.StakeReceipt>;
export type UnstakeReceipt = Answer<typeof vault.UnstakeReceipt>;
export type ClaimYieldReceipt = Answer<typeof vault.ClaimYieldReceipt>;

export function vaults(api: Api, options?: CallOptions): Promise<Vaults> {
  return api.call({ method: 'GET', path: '/vaults', options });
}

export function stake(api: Api, amount: Amount, options?: CallOptions): Promise<StakeReceipt> {
  const body = { amount };
  return api.call({ method: 'POST', path: '/vaults/flex/stake', body, repeat: 'key', options });
}

export function unstake(
  api: Api,
  depositId: string,
  options?: CallOptions,
): Promise<UnstakeReceipt> {
  const deposit = path`/vaults/deposits/${depositId}/unstake`;
  return api.call({ method: 'POST', path: deposit, body: {}, repeat: 'key', options });
}

export function claimYield(
  api: Api,
  depositId: string,
  options?: CallOptions,
): Promise<ClaimYieldReceipt> {
  const deposit = path`/vaults/deposits/${depositId}/claim`;
  return api.call({ method: 'POST', path: deposit, body: {}, repeat: 'key', options });
}

/** A user's active deposits. */
export function deposits(
  api: Api,
  userId: string,
  paging: Paging = {},
  options?: CallOptions,
): Promise<Deposits> {
  const ofUser = path`/users/${userId}/vaults`;
  return api.call({ method: 'GET', path: ofUser, query: { ...paging }, options });
}
