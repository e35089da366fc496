/** Routes for partners; they need `partnerKey`. A transfer is executed once per reference. */
import type * as partners from '../../resources/partners/routes.js';
import type { Amount } from '../amounts.js';
import type { Answer } from '../answer.js';
import { type Api, type CallOptions, path } from '../api.js';

export type TransferReceipt = Answer<typeof partners.TransferReceipt>;
export type PartnerUser = Answer<typeof partners.PartnerUser>;

export interface Transfer {
  userId: string;
  amount: Amount;
  /** 1 to 64 of A-Z a-z 0-9 _ - : . */
  reference: string;
}

export function partnerDeposit(
  api: Api,
  transfer: Transfer,
  options?: CallOptions,
): Promise<TransferReceipt> {
  return send(api, '/partner/deposits', transfer, options);
}

export function partnerWithdrawal(
  api: Api,
  transfer: Transfer,
  options?: CallOptions,
): Promise<TransferReceipt> {
  return send(api, '/partner/withdrawals', transfer, options);
}

export function partnerUser(api: Api, userId: string, options?: CallOptions): Promise<PartnerUser> {
  return api.call({ method: 'GET', path: path`/partner/users/${userId}`, options });
}

/** Repeating a reference returns the first answer. */
function send(api: Api, path: string, body: Transfer, options?: CallOptions) {
  const call = { method: 'POST', path, body, repeat: 'harmless', options } as const;
  return api.call<TransferReceipt>(call);
}
