/**
 * The commands of the engine, in one table: its number in the journal, and its fields with their
 * places in the record (records.ts). Types, records and their checks are made of it, and rules.ts
 * has a rule for each kind.
 *
 * A command is plain data: integers and short texts. It carries every fact that the engine cannot
 * look up: prices, names, amounts, password hashes. Its time (`atMs`) is not a field; the sequencer
 * passes it to `apply` beside the command.
 *
 * Fields are in engine units (limits.ts). The engine trusts no command, whether it comes from the
 * journal or from an edge: it checks every field before it changes anything.
 */
import type { Outcome, SelfTrade, TimeInForce } from './domain.js';

/** What a field may be, by its place in the record. */
interface Values {
  user: number;
  /** Null: the result is not remembered. It may be the client's number (client-sequence.ts). */
  key: string | null;
  number: number;
  text: string;
  'text or null': string | null;
  /** A bit of the record: a kind has one at most. */
  set: boolean;
  outcome: Outcome;
  timeInForce: TimeInForce;
  deadline: number;
  operations: BatchOperation[];
}

/** Those that may be left out. */
interface OptionalValues {
  name: string | null;
  expiry: number;
  group: number;
  selfTrade: SelfTrade;
}

export type Place = keyof Values | keyof OptionalValues;

interface CommandEntry {
  readonly number: number;
  readonly fields: Readonly<Record<string, Place>>;
}

const USER = { userId: 'user', idempotencyKey: 'key' } as const;

/** The operator who gives the command, and why: 1 to 200 characters. */
const OPERATOR = { operator: 'text', reason: 'text' } as const;

const PRICE = {
  asset: 'number',
  priceMicros: 'number',
  /** At most the command's `atMs`. */
  observedAtMs: 'number',
} as const;

const TRANSFER = {
  userId: 'user',
  amountMicros: 'number',
  partner: 'text',
  reference: 'text',
} as const;

/** An order without a price limit has priceTicks = 999 to buy, 1 to sell. */
const ORDER = {
  ...USER,
  marketId: 'number',
  outcome: 'outcome',
  sizeLots: 'number',
  /** The worst acceptable price of the outcome. */
  priceTicks: 'number',
  timeInForce: 'timeInForce',
  /** With GTC only: the order is refused if it would take liquidity. */
  postOnly: 'set',
  /** The order is refused if it is applied later than this; MAX_TIME_MS: never. */
  validUntilMs: 'deadline',
  /** The client's name for the order, 1 to 64 of A-Z a-z 0-9 _ - : . ; null: none. */
  clientOrderId: 'name',
  /** With GTC only: when the remainder stops to rest; MAX_TIME_MS: when the market ends. */
  expiresAtMs: 'expiry',
  /** With GTC only: the order group that the order is in; 0: none. */
  groupId: 'group',
  /** What it does when it meets an order of the same user; CANCEL_RESTING if left out. */
  selfTrade: 'selfTrade',
} as const;

const GROUP = { ...USER, groupId: 'number' } as const;
const SETS = { ...USER, marketId: 'number', sizeLots: 'number' } as const;

/** A number is never reused. The order of a kind's fields is that in its record. */
export const COMMANDS = {
  /** Lets time pass and does some of the pending work of ended markets. Sent at every deadline. */
  advanceTime: { number: 1, fields: {} },
  /** Adds an asset. Its markets open from its first price on. Assets are numbered from 0. */
  listAsset: {
    number: 2,
    fields: {
      /** 2 to 10 of A-Z 0-9. */
      symbol: 'text',
    },
  },
  /** A price of an asset from a feed. */
  observePrice: { number: 3, fields: PRICE },
  /** Opens an account. User ids are 1, 2, … */
  register: {
    number: 4,
    fields: {
      /** 3 to 20 of A-Z a-z 0-9 _ -; unique without regard to case. */
      username: 'text',
      /**
       * Proves the user's identity; the gateway makes it (a password hash). Empty: nobody can sign
       * in, and the account is the exchange's own.
       */
      credential: 'text',
      /** The referrer's code, in any case; empty: none. */
      referralCode: 'text',
      /** Play money to start with, 0 for none. */
      grantMicros: 'number',
      /** The partner that registers the user, and the only one that may withdraw; null: none. */
      partner: 'text or null',
    },
  },
  /** Replaces the credential and raises its version, which ends every older token. */
  setCredential: { number: 5, fields: { userId: 'user', credential: 'text' } },
  /** Money comes in through any partner, once per partner and reference. */
  deposit: { number: 6, fields: TRANSFER },
  /** Money leaves through the user's own partner, once per partner and reference. */
  withdraw: { number: 7, fields: TRANSFER },
  /**
   * Buys shares of an outcome. The order ends at the first bound that it meets: `budgetMicros`
   * (what it may spend, without the fee) or `sizeLots`. A buy "for 10 dollars" has sizeLots =
   * UNSIZED_LOTS. A buy "of 7 shares at 0.4" has budgetMicros = sizeLots × priceTicks.
   */
  buy: { number: 8, fields: { ...ORDER, budgetMicros: 'number' } },
  /** Sells shares of an outcome. */
  sell: { number: 9, fields: ORDER },
  /** Cancels a resting order, by its id or by its client's. */
  cancel: {
    number: 10,
    fields: {
      ...USER,
      marketId: 'number',
      /** 0 with a clientOrderId. */
      orderId: 'number',
      clientOrderId: 'name',
    },
  },
  /** Cancels all of the user's resting orders in one market. */
  cancelAll: { number: 11, fields: { ...USER, marketId: 'number' } },
  /** Pays out the user's winnings in a resolved market. */
  claim: { number: 12, fields: { ...USER, marketId: 'number' } },
  /** Stakes money in the flex vault. */
  stake: { number: 13, fields: { ...USER, amountMicros: 'number' } },
  /** Closes a vault deposit: principal and yield return to the balance. */
  unstake: { number: 14, fields: { ...USER, depositId: 'number' } },
  /** Pays out the yield that a vault deposit has accrued. */
  claimYield: { number: 15, fields: { ...USER, depositId: 'number' } },
  /** 3 to 20 of A-Z 0-9 _ -, in any case; stored in upper case. Old codes stay valid. */
  setReferralCode: { number: 16, fields: { ...USER, code: 'text' } },
  /**
   * Runs 1 to 100 operations in order without interruption; `atomic`: all of them or none. Their
   * `userId` equals the batch's and their keys are null.
   */
  batch: { number: 17, fields: { ...USER, operations: 'operations', atomic: 'set' } },
  /** Cancels all of the user's resting orders in all markets. */
  cancelEverywhere: { number: 18, fields: USER },
  /**
   * Changes the size or the price of a resting order. With a smaller size it keeps its place in the
   * queue; otherwise it is taken out of the book and placed anew, under the same id.
   */
  amend: {
    number: 19,
    fields: {
      ...USER,
      marketId: 'number',
      /** 0 with a clientOrderId. */
      orderId: 'number',
      /** All that the order shall have, what is filled included; 0: as before. */
      sizeLots: 'number',
      /** 0: as before. */
      priceTicks: 'number',
      clientOrderId: 'name',
    },
  },
  /**
   * Cancels the user's resting orders, in all markets, because a connection has ended that should
   * end them: those with ids up to `lastOrderId`. Later ones were placed on another connection.
   */
  cancelDisconnected: { number: 20, fields: { userId: 'user', lastOrderId: 'number' } },
  /** Lets a program act for the user, within a scope, until the token expires or is revoked. */
  createToken: {
    number: 25,
    fields: {
      userId: 'user',
      /** A TokenScope. */
      scope: 'number',
      /** MAX_TIME_MS: never. */
      expiresAtMs: 'number',
      /** 1 to 64 characters. */
      name: 'text',
      /** What the gateway checks a client's address against; empty: any address. */
      allowedAddresses: 'text',
    },
  },
  revokeToken: { number: 26, fields: { userId: 'user', tokenId: 'number' } },
  /**
   * The dead man's switch: after this time (0: never), all of the user's resting orders are
   * cancelled, unless the command is repeated before.
   */
  setCancelAfter: { number: 27, fields: { ...USER, timeoutMs: 'number' } },
  /** Pauses or resumes a market (0: none), an asset (-1: none) or, with neither, everything. */
  setPaused: {
    number: 28,
    fields: { marketId: 'number', asset: 'number', paused: 'set', ...OPERATOR },
  },
  /** Freezes a user, whose resting orders are cancelled, or ends that. */
  setFrozen: { number: 29, fields: { userId: 'user', frozen: 'set', ...OPERATOR } },
  /** Cancels all resting orders of a user. */
  operatorCancel: { number: 30, fields: { userId: 'user', ...OPERATOR } },
  /** Declares a market VOID that is not resolved yet. An active one ends with it. */
  voidMarket: { number: 31, fields: { marketId: 'number', ...OPERATOR } },
  /**
   * States which bytes a snapshot of this exchange has, so that the journal's chain covers them.
   * Sent by the exchange itself, after its follower has written the snapshot. It changes nothing.
   */
  vouchForSnapshot: {
    number: 40,
    fields: {
      /** The sequence of the last command in the snapshot, less than this command's own. */
      snapshotSequence: 'number',
      /** SHA-256 over the snapshot, 64 hex digits in lower case. */
      snapshotHash: 'text',
    },
  },
  /** Puts rules in force, from this command on (rule-sets.ts). */
  setRules: {
    number: 41,
    fields: {
      ruleSet: 'number',
      takerFeeBasisPoints: 'number',
      vaultSharePercent: 'number',
      maxOrderMicros: 'number',
      maxOpenOrders: 'number',
      minRestingMicros: 'number',
      ...OPERATOR,
    },
  },
  /**
   * States that the journal before it was copied from one of an older version of the format. Sent
   * by the upgrade itself. It changes nothing.
   */
  recordUpgrade: {
    number: 42,
    fields: {
      fromVersion: 'number',
      toVersion: 'number',
      /** The end of the older journal: the hash of its last batch, 64 hex digits in lower case. */
      chainHash: 'text',
    },
  },
  /**
   * A price of an asset from one of several feeds. The asset's price is the median of the sources'
   * last ones.
   */
  observeSourcePrice: {
    number: 43,
    fields: {
      ...PRICE,
      /** 1 to 32 of a-z 0-9 . - ; the first is a letter or a digit. */
      source: 'text',
    },
  },
  /** Turns money into complete sets: as many lots of UP as of DOWN, 1,000 micros for both. */
  split: { number: 44, fields: SETS },
  /** Turns complete sets back into money. */
  merge: { number: 45, fields: SETS },
  /** What others may read of the account: one of Privacy. */
  setPrivacy: { number: 46, fields: { ...USER, privacy: 'number' } },
  /**
   * Makes an order group: once its orders have filled `maxFilledLots` within a window, those that
   * rest are cancelled, and it takes no more orders until it is reset.
   */
  createOrderGroup: {
    number: 47,
    fields: { ...USER, maxFilledLots: 'number', windowMs: 'number' },
  },
  /** The group takes orders again, and nothing counts as filled. */
  resetOrderGroup: { number: 48, fields: GROUP },
  /** Cancels the group's orders, and ends it. */
  removeOrderGroup: { number: 49, fields: GROUP },
  /**
   * Whether the markets of an asset are listed ahead of their windows, so that orders may rest in
   * them. Sent by the exchange when it starts.
   */
  listMarkets: { number: 50, fields: { asset: 'number', ahead: 'set' } },
  /** Opens an account that belongs to the user: no password, no play money. */
  createSubAccount: {
    number: 51,
    fields: {
      ...USER,
      /** As of a registration. */
      username: 'text',
    },
  },
  /** Moves available money between the user and its sub-accounts, or between two of these. */
  transferMoney: {
    number: 52,
    fields: { ...USER, fromUserId: 'number', toUserId: 'number', amountMicros: 'number' },
  },
  /** Gives a user who has forgotten the password another credential; all tokens end. */
  resetCredential: {
    number: 53,
    fields: { userId: 'user', credential: 'text', ...OPERATOR },
  },
} as const satisfies Record<string, CommandEntry>;

type Commands = typeof COMMANDS;
export type CommandName = keyof Commands;
export const COMMAND_NAMES = Object.keys(COMMANDS) as CommandName[];

/** The numbers of the kinds: CommandKind.buy is 8. */
export const CommandKind = Object.freeze(
  Object.fromEntries(COMMAND_NAMES.map((name) => [name, COMMANDS[name].number])),
) as { readonly [K in CommandName]: Commands[K]['number'] };

/** The command of a kind. */
export type CommandOf<K extends CommandName> = K extends CommandName
  ? { kind: K } & ValuesOf<Commands[K]['fields']>
  : never;
type ValuesOf<Fields> = {
  -readonly [F in keyof Fields as Fields[F] extends keyof Values ? F : never]: ValueAt<Fields[F]>;
} & {
  -readonly [F in keyof Fields as Fields[F] extends keyof OptionalValues ? F : never]?: ValueAt<
    Fields[F]
  >;
};
type ValueAt<At> = At extends keyof Values
  ? Values[At]
  : At extends keyof OptionalValues
    ? OptionalValues[At]
    : never;

export type Command = CommandOf<CommandName>;

/** The kinds that a batch may have. */
export const BATCH_KINDS = [
  'buy',
  'sell',
  'cancel',
  'claim',
  'cancelAll',
  'cancelEverywhere',
  'amend',
  'split',
  'merge',
] as const satisfies readonly CommandName[];
export type BatchOperation = CommandOf<(typeof BATCH_KINDS)[number]>;

/** The user, and the key under which the result is remembered. */
export type UserCommand = ValuesOf<typeof USER>;

export type Buy = CommandOf<'buy'>;
export type Sell = CommandOf<'sell'>;
export type Cancel = CommandOf<'cancel'>;
export type Amend = CommandOf<'amend'>;
export type Batch = CommandOf<'batch'>;
export type Deposit = CommandOf<'deposit'>;
export type Withdraw = CommandOf<'withdraw'>;
