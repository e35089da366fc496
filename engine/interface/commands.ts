/**
 * The commands of the engine. A command is plain data: integers and short texts. It carries every
 * fact that the engine cannot look up: prices, names, amounts, password hashes. Its time (`atMs`)
 * is not a field; the sequencer passes it to `apply` beside the command.
 *
 * Fields are in engine units (limits.ts). The engine trusts no command, whether it comes from the
 * journal or from a gateway: it checks every field before it changes anything.
 */
import type { Outcome, SelfTrade, TimeInForce, TokenScope } from './domain.js';
import type { Rules } from './rule-sets.js';

/** The numbers of the kinds in the journal. A number is never reused. */
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
  cancelEverywhere: 18,
  amend: 19,
  cancelDisconnected: 20,
  createToken: 25,
  revokeToken: 26,
  setCancelAfter: 27,
  setPaused: 28,
  setFrozen: 29,
  operatorCancel: 30,
  voidMarket: 31,
  vouchForSnapshot: 40,
  setRules: 41,
  recordUpgrade: 42,
  observeSourcePrice: 43,
} as const;
export type CommandName = keyof typeof CommandKind;

/** Lets time pass and does some of the pending work of ended markets. Sent at every deadline. */
export interface AdvanceTime {
  kind: 'advanceTime';
}

/** Adds an asset. Its markets open from its first price on. Assets are numbered from 0. */
export interface ListAsset {
  kind: 'listAsset';
  /** 2 to 10 of A-Z 0-9. */
  symbol: string;
}

/** A price of an asset from a feed. `observedAtMs` is at most the command's `atMs`. */
export interface ObservePrice {
  kind: 'observePrice';
  asset: number;
  priceMicros: number;
  observedAtMs: number;
}

/**
 * A price of an asset from one of several feeds. The asset's price is the median of the sources'
 * last ones.
 */
export interface ObserveSourcePrice {
  kind: 'observeSourcePrice';
  asset: number;
  priceMicros: number;
  observedAtMs: number;
  /** 1 to 32 of a-z 0-9 . - ; the first is a letter or a digit. */
  source: string;
}

/** Opens an account. User ids are 1, 2, … */
export interface Register {
  kind: 'register';
  /** 3 to 20 of A-Z a-z 0-9 _ -; unique without regard to case. */
  username: string;
  /**
   * Proves the user's identity; the gateway makes it (a password hash). Empty: nobody can sign in,
   * and the account is the exchange's own.
   */
  credential: string;
  /** The referrer's code, in any case; empty: none. */
  referralCode: string;
  /** Play money to start with, 0 for none. */
  grantMicros: number;
  /** The partner that registers the user, and the only one that may withdraw; null: none. */
  partner: string | null;
}

/** Replaces the credential and raises its version, which ends every older token. */
export interface SetCredential {
  kind: 'setCredential';
  userId: number;
  credential: string;
}

/** Money comes in through any partner, once per partner and reference. */
export interface Deposit {
  kind: 'deposit';
  userId: number;
  amountMicros: number;
  partner: string;
  reference: string;
}

/** Money leaves through the user's own partner, once per partner and reference. */
export interface Withdraw {
  kind: 'withdraw';
  userId: number;
  amountMicros: number;
  partner: string;
  reference: string;
}

/** The user, and the key under which the result is remembered (null: it is not). */
export interface UserCommand {
  userId: number;
  /** Or, in place of a key, the client's number (client-sequence.ts). */
  idempotencyKey: string | null;
}

/**
 * Buys shares of an outcome. The order ends at the first bound that it meets: `budgetMicros` (what
 * it may spend, without the fee) or `sizeLots`. A buy "for 10 dollars" has sizeLots =
 * MAX_ORDER_LOTS. A buy "of 7 shares at 0.4" has budgetMicros = sizeLots × priceTicks. An order
 * without a price limit has priceTicks = 999.
 */
export interface Buy extends UserCommand {
  kind: 'buy';
  marketId: number;
  outcome: Outcome;
  budgetMicros: number;
  sizeLots: number;
  /** The worst acceptable price of the outcome. */
  priceTicks: number;
  timeInForce: TimeInForce;
  /** With GTC only: the order is refused if it would take liquidity. */
  postOnly: boolean;
  /** The order is refused if it is applied later than this; MAX_TIME_MS: never. */
  validUntilMs: number;
  /** The client's name for the order, 1 to 64 of A-Z a-z 0-9 _ - : . ; null: none. */
  clientOrderId?: string | null;
  /** With GTC only: when the remainder stops to rest; MAX_TIME_MS: when the market ends. */
  expiresAtMs?: number;
  /** What it does when it meets an order of the same user; CANCEL_RESTING if left out. */
  selfTrade?: SelfTrade;
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
  clientOrderId?: string | null;
  expiresAtMs?: number;
  selfTrade?: SelfTrade;
}

/** Cancels a resting order, by its id or by its client's. */
export interface Cancel extends UserCommand {
  kind: 'cancel';
  marketId: number;
  /** 0 with a clientOrderId. */
  orderId: number;
  clientOrderId?: string | null;
}

/** Cancels all of the user's resting orders in one market. */
export interface CancelAll extends UserCommand {
  kind: 'cancelAll';
  marketId: number;
}

/** Cancels all of the user's resting orders in all markets. */
export interface CancelEverywhere extends UserCommand {
  kind: 'cancelEverywhere';
}

/**
 * Cancels the user's resting orders, in all markets, because a connection has ended that should
 * end them: those with ids up to `lastOrderId`. Later ones were placed on another connection.
 */
export interface CancelDisconnected {
  kind: 'cancelDisconnected';
  userId: number;
  lastOrderId: number;
}

/**
 * Changes the size or the price of a resting order. With a smaller size it keeps its place in the
 * queue; otherwise it is taken out of the book and placed anew, under the same id.
 */
export interface Amend extends UserCommand {
  kind: 'amend';
  marketId: number;
  orderId: number;
  /** All that the order shall have, what is filled included; 0: as before. */
  sizeLots: number;
  /** 0: as before. */
  priceTicks: number;
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

/** Closes a vault deposit: principal and yield return to the balance. */
export interface Unstake extends UserCommand {
  kind: 'unstake';
  depositId: number;
}

/** Pays out the yield that a vault deposit has accrued. */
export interface ClaimYield extends UserCommand {
  kind: 'claimYield';
  depositId: number;
}

/** 3 to 20 of A-Z 0-9 _ -, in any case; stored in upper case. Old codes stay valid. */
export interface SetReferralCode extends UserCommand {
  kind: 'setReferralCode';
  code: string;
}

/** Lets a program act for the user, within a scope, until the token expires or is revoked. */
export interface CreateToken {
  kind: 'createToken';
  userId: number;
  scope: TokenScope;
  /** MAX_TIME_MS: never. */
  expiresAtMs: number;
  /** 1 to 64 characters. */
  name: string;
  /** What the gateway checks a client's address against; empty: any address. */
  allowedAddresses: string;
}

export interface RevokeToken {
  kind: 'revokeToken';
  userId: number;
  tokenId: number;
}

/**
 * The dead man's switch: after this time, all of the user's resting orders are cancelled, unless
 * the command is repeated before.
 */
export interface SetCancelAfter extends UserCommand {
  kind: 'setCancelAfter';
  /** 0: never. */
  timeoutMs: number;
}

/** Who gives an operator's command, and why. */
export interface OperatorCommand {
  operator: string;
  /** 1 to 200 characters. */
  reason: string;
}

/** Pauses or resumes a market (0: none), an asset (-1: none) or, with neither, everything. */
export interface SetPaused extends OperatorCommand {
  kind: 'setPaused';
  marketId: number;
  asset: number;
  paused: boolean;
}

/** Freezes a user, whose resting orders are cancelled, or ends that. */
export interface SetFrozen extends OperatorCommand {
  kind: 'setFrozen';
  userId: number;
  frozen: boolean;
}

/** Cancels all resting orders of a user. */
export interface OperatorCancel extends OperatorCommand {
  kind: 'operatorCancel';
  userId: number;
}

/** Declares a market VOID that is not resolved yet. An active one ends with it. */
export interface VoidMarket extends OperatorCommand {
  kind: 'voidMarket';
  marketId: number;
}

/** Puts rules in force, from this command on (rule-sets.ts). */
export interface SetRules extends OperatorCommand, Rules {
  kind: 'setRules';
}

/** The operations of a batch. Their `userId` equals the batch's and their keys are null. */
export type BatchOperation = Buy | Sell | Cancel | Claim | CancelAll | CancelEverywhere | Amend;

/** Runs 1 to 100 operations in order without interruption; `atomic`: all of them or none. */
export interface Batch extends UserCommand {
  kind: 'batch';
  operations: BatchOperation[];
  atomic: boolean;
}

/**
 * States which bytes a snapshot of this exchange has, so that the journal's chain covers them. Sent
 * by the exchange itself, after its follower has written the snapshot. It changes nothing.
 */
export interface VouchForSnapshot {
  kind: 'vouchForSnapshot';
  /** Of the last command in the snapshot: earlier than this command's own. */
  snapshotSequence: number;
  /** SHA-256 over the snapshot, 64 hex digits in lower case. */
  snapshotHash: string;
}

/**
 * States that the journal before it was copied from one of an older version of the format. Sent by
 * the upgrade itself. It changes nothing.
 */
export interface RecordUpgrade {
  kind: 'recordUpgrade';
  fromVersion: number;
  toVersion: number;
  /** The end of the older journal: the hash of its last batch, 64 hex digits in lower case. */
  chainHash: string;
}

export type Command =
  | AdvanceTime
  | ListAsset
  | ObservePrice
  | ObserveSourcePrice
  | Register
  | SetCredential
  | Deposit
  | Withdraw
  | Buy
  | Sell
  | Cancel
  | CancelAll
  | CancelEverywhere
  | CancelDisconnected
  | Amend
  | Claim
  | Stake
  | Unstake
  | ClaimYield
  | SetReferralCode
  | Batch
  | VouchForSnapshot
  | CreateToken
  | RevokeToken
  | SetCancelAfter
  | SetPaused
  | SetFrozen
  | OperatorCancel
  | VoidMarket
  | SetRules
  | RecordUpgrade;
