/** The flex vault. Changes need a token. */
import type { Amount } from '../amounts.js';
import { type Api, type CallOptions, path } from '../api.js';
import type {
  ClaimYieldReceipt,
  Deposits,
  Paging,
  StakeReceipt,
  UnstakeReceipt,
  Vaults,
} from '../types.js';

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

/** The active deposits of a user. */
export function deposits(
  api: Api,
  userId: string,
  paging: Paging = {},
  options?: CallOptions,
): Promise<Deposits> {
  const ofUser = path`/users/${userId}/vaults`;
  return api.call({ method: 'GET', path: ofUser, query: { ...paging }, options });
}
