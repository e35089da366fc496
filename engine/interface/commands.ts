/**
 * The commands of the engine, in one table: each command's number in the journal, and its fields
 * with their places in the record (records.ts). Types, records and their checks are derived from
 * the table; rules.ts has a rule for each kind.
 *
 * A command is plain data, integers and short texts in engine units (limits.ts). It carries every
 * fact that the engine cannot look up: prices, names, amounts, password hashes. Its time (`atMs`)
 * is not a field; the sequencer passes it to `apply` beside the command.
 *
 * The engine trusts no command, from the journal or from an edge: it checks every field before it
 * changes anything.
 */
import type { Outcome, SelfTrade, TimeInForce } from './domain.js';

/** The type of a field, by its place in the record. */
interface Values {
  user: number;
  /**
   * The idempotency key, or a client sequence (client-sequence.ts); with null the result is not
   * remembered.
   */
  key: string | null;
  number: number;
  text: string;
  'text or null': string | null;
  set: boolean;
  outcome: Outcome;
  timeInForce: TimeInForce;
  deadline: number;
  operations: BatchOperation[];
}

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

/** The operator's name, and a reason of 1 to 200 characters. */
const OPERATOR = { operator: 'text', reason: 'text' } as const;

const PRICE = {
  asset: 'number',
  priceMicros: 'number',
  /** The time of observation, at most the command's `atMs`. */
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
  /** The order is refused if it is applied later than this; MAX_TIME_MS means never. */
  validUntilMs: 'deadline',
  /** The client's name for the order, 1 to 64 of A-Z a-z 0-9 _ - : . ; null if none. */
  clientOrderId: 'name',
  /** With GTC only: when the remainder expires; MAX_TIME_MS means at the market's end. */
  expiresAtMs: 'expiry',
  /** With GTC only: the order's group; 0 if none. */
  groupId: 'group',
  /** What happens when the order meets one of the same user; default CANCEL_RESTING. */
  selfTrade: 'selfTrade',
} as const;

const GROUP = { ...USER, groupId: 'number' } as const;
const SETS = { ...USER, marketId: 'number', sizeLots: 'number' } as const;

/** A number is never reused. Fields are in the order of the record. */
export const COMMANDS = {
  /** Lets time pass and does some of the pending work. Sent at every deadline. */
  advanceTime: { number: 1, fields: {} },
  /** Adds an asset, numbered from 0. Its markets open from its first price on. */
  listAsset: {
    number: 2,
    fields: {
      /** 2 to 10 of A-Z 0-9. */
      symbol: 'text',
    },
  },
  /** A price of an asset from its single feed. */
  observePrice: { number: 3, fields: PRICE },
  /** Opens an account. User ids are 1, 2, … */
  register: {
    number: 4,
    fields: {
      /** 3 to 20 of A-Z a-z 0-9 _ -; unique without regard to case. */
      username: 'text',
      /** A password hash, made by the gateway. Empty: the exchange's own account; no sign-in. */
      credential: 'text',
      /** The referrer's code, in any case; empty if none. */
      referralCode: 'text',
      grantMicros: 'number',
      /** The partner that registers the user and alone may withdraw; null if none. */
      partner: 'text or null',
    },
  },
  setCredential: { number: 5, fields: { userId: 'user', credential: 'text' } },
  /** Any partner may deposit, once per partner and reference. */
  deposit: { number: 6, fields: TRANSFER },
  /** Only the user's own partner may withdraw, once per partner and reference. */
  withdraw: { number: 7, fields: TRANSFER },
  /**
   * Buys shares of an outcome, up to `budgetMicros` (without the fee) or `sizeLots`, whichever is
   * reached first. A buy "for 10 dollars" has sizeLots = UNSIZED_LOTS. A buy "of 7 shares at 0.4"
   * has budgetMicros = sizeLots × priceTicks.
   */
  buy: { number: 8, fields: { ...ORDER, budgetMicros: 'number' } },
  sell: { number: 9, fields: ORDER },
  /** Names the order by its orderId or its clientOrderId. */
  cancel: {
    number: 10,
    fields: {
      ...USER,
      marketId: 'number',
      /** The order id; 0 with a clientOrderId. */
      orderId: 'number',
      clientOrderId: 'name',
    },
  },
  cancelAll: { number: 11, fields: { ...USER, marketId: 'number' } },
  claim: { number: 12, fields: { ...USER, marketId: 'number' } },
  stake: { number: 13, fields: { ...USER, amountMicros: 'number' } },
  /** Closes a vault deposit: principal and yield return to the balance. */
  unstake: { number: 14, fields: { ...USER, depositId: 'number' } },
  claimYield: { number: 15, fields: { ...USER, depositId: 'number' } },
  /** 3 to 20 of A-Z 0-9 _ -, in any case; stored in upper case. Old codes stay valid. */
  setReferralCode: { number: 16, fields: { ...USER, code: 'text' } },
  /**
   * Runs 1 to 100 operations in order without interruption; `atomic`: all of them or none. Their
   * `userId` equals the batch's and their keys are null.
   */
  batch: { number: 17, fields: { ...USER, operations: 'operations', atomic: 'set' } },
  cancelEverywhere: { number: 18, fields: USER },
  /**
   * Changes the size or the price of a resting order. With only a smaller size the order keeps its
   * place in the queue; otherwise it leaves the book and is placed again, under the same id.
   */
  amend: {
    number: 19,
    fields: {
      ...USER,
      marketId: 'number',
      /** The order id; 0 with a clientOrderId. */
      orderId: 'number',
      /** The new total size, filled plus resting; 0 leaves it unchanged. */
      sizeLots: 'number',
      /** The new price; 0 leaves it unchanged. */
      priceTicks: 'number',
      clientOrderId: 'name',
    },
  },
  /**
   * Cancels the user's resting orders in all markets, because a connection with
   * cancel-on-disconnect has ended. Orders with ids above `lastOrderId` were placed later, on
   * another connection.
   */
  cancelDisconnected: { number: 20, fields: { userId: 'user', lastOrderId: 'number' } },
  /** Lets a program act for the user, within a scope, until the token ends. */
  createToken: {
    number: 25,
    fields: {
      userId: 'user',
      scope: 'number',
      /** When the token expires; MAX_TIME_MS means never. */
      expiresAtMs: 'number',
      /** 1 to 64 characters. */
      name: 'text',
      /** The gateway checks the client's address against them; empty allows any address. */
      allowedAddresses: 'text',
    },
  },
  revokeToken: { number: 26, fields: { userId: 'user', tokenId: 'number' } },
  /**
   * The dead man's switch: cancels all of the user's resting orders after this time (0: never),
   * unless the command is repeated before.
   */
  setCancelAfter: { number: 27, fields: { ...USER, timeoutMs: 'number' } },
  /** Pauses or resumes a market (0: none), an asset (-1: none) or, with neither, everything. */
  setPaused: {
    number: 28,
    fields: { marketId: 'number', asset: 'number', paused: 'set', ...OPERATOR },
  },
  /** Freezing a user also cancels its resting orders. */
  setFrozen: { number: 29, fields: { userId: 'user', frozen: 'set', ...OPERATOR } },
  operatorCancel: { number: 30, fields: { userId: 'user', ...OPERATOR } },
  /** Declares an unresolved market VOID. An active market ends first. */
  voidMarket: { number: 31, fields: { marketId: 'number', ...OPERATOR } },
  /**
   * Records a snapshot's hash, so that the journal's chain covers the snapshot. The exchange sends
   * it after its follower has written the snapshot. It changes nothing.
   */
  vouchForSnapshot: {
    number: 40,
    fields: {
      /** The sequence of the snapshot's last command, less than this command's own. */
      snapshotSequence: 'number',
      /** SHA-256 over the snapshot, 64 hex digits in lower case. */
      snapshotHash: 'text',
    },
  },
  /** The rules apply from this command on (rule-sets.ts). */
  setRules: {
    number: 41,
    fields: {
      ruleSet: 'number',
      takerFeeBasisPoints: 'number',
      curveFeeBasisPoints: 'number',
      makerSharePercent: 'number',
      vaultSharePercent: 'number',
      maxOrderMicros: 'number',
      maxOpenOrders: 'number',
      minRestingMicros: 'number',
      ...OPERATOR,
    },
  },
  /**
   * Records that the journal up to here was copied from an older format. The upgrade sends it. It
   * changes nothing.
   */
  recordUpgrade: {
    number: 42,
    fields: {
      fromVersion: 'number',
      toVersion: 'number',
      /** The hash of the older journal's last batch, 64 hex digits in lower case. */
      chainHash: 'text',
    },
  },
  /** A price from one of several feeds. The asset's price is the median of their last prices. */
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
  merge: { number: 45, fields: SETS },
  setPrivacy: { number: 46, fields: { ...USER, privacy: 'number' } },
  /**
   * Makes an order group: once its orders have filled `maxFilledLots` within a window, its resting
   * orders are cancelled, and the group takes no orders until it is reset.
   */
  createOrderGroup: {
    number: 47,
    fields: { ...USER, maxFilledLots: 'number', windowMs: 'number' },
  },
  /** The group takes orders again, with nothing filled. */
  resetOrderGroup: { number: 48, fields: GROUP },
  /** Cancels the group's orders, and ends it. */
  removeOrderGroup: { number: 49, fields: GROUP },
  /**
   * Whether the asset's markets are listed ahead of their windows, so that orders may rest in them.
   * The exchange sends it at its start.
   */
  listMarkets: { number: 50, fields: { asset: 'number', ahead: 'set' } },
  /** Opens an account that belongs to the user: no password, no play money. */
  createSubAccount: {
    number: 51,
    fields: {
      ...USER,
      username: 'text',
    },
  },
  /** Moves available money between the user and its sub-accounts, or between two of these. */
  transferMoney: {
    number: 52,
    fields: { ...USER, fromUserId: 'number', toUserId: 'number', amountMicros: 'number' },
  },
  /** Replaces the credential of a user who has forgotten the password; all tokens end. */
  resetCredential: {
    number: 53,
    fields: { userId: 'user', credential: 'text', ...OPERATOR },
  },
  /** Whether the settlement of a market pays the user's position, so that no claim is needed. */
  setAutoClaim: { number: 54, fields: { ...USER, enabled: 'set' } },
  /** Tops up the available money to `grantMicros` of play money, once a day, if little is left. */
  startAgain: { number: 55, fields: { ...USER, grantMicros: 'number' } },
  /** Multiplies the rate limits of a user and its sub-accounts (RATE_TIERS). */
  setRateTier: { number: 56, fields: { userId: 'user', rateTier: 'number', ...OPERATOR } },
} as const satisfies Record<string, CommandEntry>;

type Commands = typeof COMMANDS;
export type CommandName = keyof Commands;
export const COMMAND_NAMES = Object.keys(COMMANDS) as CommandName[];

export const CommandKind = Object.freeze(
  Object.fromEntries(COMMAND_NAMES.map((name) => [name, COMMANDS[name].number])),
) as { readonly [K in CommandName]: Commands[K]['number'] };

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
