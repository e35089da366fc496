/**
 * Everything that can be asked of the engine. A command is plain data, holds only integers and short texts,
 * and carries every fact that the engine must not look up for itself: prices, names, amounts, password hashes.
 * The time (`atMs`) is not part of it: the sequencer gives it beside the command.
 *
 * Fields are in engine units (see limits.ts). A command that came from the journal or from a gateway is not
 * trusted: the engine checks each field before it changes anything.
 */
import type { Outcome, TimeInForce } from './domain.js';

/** The kinds, as the journal numbers them. A number is never reused. */
export const CommandKind = {
  advanceTime: 1,
  listAsset: 2,
  observePrice: 3,
  register: 4,
  setCredential: 5,
  deposit: 6,
  withdraw: 7,
  buy: 8,
  sell: 9,
  cancel: 10,
  cancelAll: 11,
  claim: 12,
  stake: 13,
  unstake: 14,
  claimYield: 15,
  setReferralCode: 16,
  batch: 17,
} as const;
export type CommandName = keyof typeof CommandKind;

/** Lets time pass, and a slice of the work that ended markets left. Sent at every deadline. */
export interface AdvanceTime {
  kind: 'advanceTime';
}

/** Adds an asset; its markets open from the next price on. Index = number of assets before it. */
export interface ListAsset {
  kind: 'listAsset';
  /** 2 to 10 of A-Z 0-9. */
  symbol: string;
}

/** A price of an asset, as a feed saw it. `observedAtMs` is at most the command's `atMs`. */
export interface ObservePrice {
  kind: 'observePrice';
  asset: number;
  priceMicros: number;
  observedAtMs: number;
}

/** A new account. Its user id is the number of accounts before it plus one. */
export interface Register {
  kind: 'register';
  /** 3 to 20 of A-Z a-z 0-9 _ -; unique without regard to case. */
  username: string;
  /**
   * What proves the user's identity, as the gateway made it (a password hash). Empty: nobody signs in, and the account is the
   * exchange's own.
   */
  credential: string;
  /** The code that led here, in any case; empty: none. An unknown code is refused (`referral_code_unknown`). */
  referralCode: string;
  /** Play money that the account starts with, 0 for none. */
  grantMicros: number;
  /** Who registers the user, and is alone to withdraw their money; null: nobody. */
  partner: string | null;
}

/** Replaces the credential; raises the credential version, which ends every older token. */
export interface SetCredential {
  kind: 'setCredential';
  userId: number;
  credential: string;
}

/** Money comes in through a partner, any one, once per partner and reference. */
export interface Deposit {
  kind: 'deposit';
  userId: number;
  amountMicros: number;
  partner: string;
  reference: string;
}

/** Money leaves through the partner who registered the user, once per partner and reference. */
export interface Withdraw {
  kind: 'withdraw';
  userId: number;
  amountMicros: number;
  partner: string;
  reference: string;
}

/** Who asks, and the key under which the answer is remembered (null: it is not). */
export interface UserCommand {
  userId: number;
  idempotencyKey: string | null;
}

/**
 * Buys shares of an outcome. The order ends at whichever bound it meets first: `budgetMicros` (what it may
 * spend, without the fee) or `sizeLots`. A buy "for 10 dollars" has sizeLots = MAX_ORDER_LOTS; a buy "of 7
 * shares at 0.4" has budgetMicros = sizeLots × priceTicks. An order without a price limit has priceTicks = 999.
 */
export interface Buy extends UserCommand {
  kind: 'buy';
  marketId: number;
  outcome: Outcome;
  budgetMicros: number;
  sizeLots: number;
  /** Worst acceptable price of the outcome. */
  priceTicks: number;
  timeInForce: TimeInForce;
  /** With GTC only: refused instead of taking liquidity. */
  postOnly: boolean;
  /** Refused when it is applied later than this; MAX_TIME_MS: never. */
  validUntilMs: number;
}

/** Sells shares of an outcome. An order without a price limit has priceTicks = 1. */
export interface Sell extends UserCommand {
  kind: 'sell';
  marketId: number;
  outcome: Outcome;
  sizeLots: number;
  priceTicks: number;
  timeInForce: TimeInForce;
  postOnly: boolean;
  validUntilMs: number;
}

export interface Cancel extends UserCommand {
  kind: 'cancel';
  marketId: number;
  orderId: number;
}

/** Cancels all of the user's resting orders in one market. */
export interface CancelAll extends UserCommand {
  kind: 'cancelAll';
  marketId: number;
}

/** Pays out the user's winnings in a resolved market. */
export interface Claim extends UserCommand {
  kind: 'claim';
  marketId: number;
}

/** Stakes money in the flex vault. */
export interface Stake extends UserCommand {
  kind: 'stake';
  amountMicros: number;
}

/** Closes a deposit: principal and yield go back to the balance. */
export interface Unstake extends UserCommand {
  kind: 'unstake';
  depositId: number;
}

/** Pays out the yield that a deposit has accrued. */
export interface ClaimYield extends UserCommand {
  kind: 'claimYield';
  depositId: number;
}

/** 3 to 20 of A-Z 0-9 _ -, any case; stored in upper case. An old code keeps leading to its owner. */
export interface SetReferralCode extends UserCommand {
  kind: 'setReferralCode';
  code: string;
}

/** What may stand in a batch. The operations' own `userId` equals the batch's; their keys are null. */
export type BatchOperation = Buy | Sell | Cancel | Claim;

/** Runs 1 to 100 operations in order, with nothing between; `atomic`: all of them or none. */
export interface Batch extends UserCommand {
  kind: 'batch';
  operations: BatchOperation[];
  atomic: boolean;
}

export type Command =
  | AdvanceTime
  | ListAsset
  | ObservePrice
  | Register
  | SetCredential
  | Deposit
  | Withdraw
  | Buy
  | Sell
  | Cancel
  | CancelAll
  | Claim
  | Stake
  | Unstake
  | ClaimYield
  | SetReferralCode
  | Batch;
