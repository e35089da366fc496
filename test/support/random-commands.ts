/**
 * Seeded random commands for a running exchange: mostly valid, some late, repeated, refused or
 * malformed. They are chosen from the naive engine's state, so that they meet makers, sell existing
 * shares and name real markets. Equal seeds give equal commands as long as the engine gives equal
 * results.
 */

import { numberedKey } from '../../engine/interface/client-sequence.js';
import {
  type BatchOperation,
  COMMANDS,
  type Command,
  type CommandName,
  type CommandOf,
  type Deposit,
  type Withdraw,
} from '../../engine/interface/commands.js';
import {
  MarketStatus,
  Outcome,
  SelfTrade,
  Side,
  TimeInForce,
  TokenScope,
} from '../../engine/interface/domain.js';
import { MAX_TIME_MS, MAX_TRANSFER_MICROS, UNSIZED_LOTS } from '../../engine/interface/limits.js';
import { FIRST_RULES, type Rules } from '../../engine/interface/rule-sets.js';
import { ANY_SIZE_RESTS } from './engine-support.js';
import type { KeyedCommand } from './naive-engine/memory.js';
import { NaiveEngine } from './naive-engine/naive-engine.js';
import {
  lotsOf,
  marketOf,
  type NaiveMarket,
  type NaiveOrder,
  takesOrders,
} from './naive-engine/state.js';
import { Random } from './workload/random.js';
import type { TimedCommand } from './workload/workload.js';

export interface Scenario {
  name: string;
  commands: number;
  assets: number;
  users: number;
  grantMicros: number;
  /** Mean time between two commands. */
  stepMs: number;
  /** How often a command comes exactly at a deadline, or after a long silence. */
  deadlineShare: number;
  silenceShare: number;
  /** How often a price comes, and how often the feed is silent for minutes. */
  priceShare: number;
  outageShare: number;
  /**
   * The largest order in lots; the spread of prices around the middle; and the number of resting
   * orders above which some are cancelled.
   */
  maxLots: number;
  spreadTicks: number;
  maxRestingOrders: number;
  /** How often a limit order is priced to cross. */
  crossingShare: number;
  /** Weights of staking and unstaking. When they are nearly equal, the vault is often empty. */
  stakeWeight: number;
  unstakeWeight: number;
}

/** An exchange in which everything happens. */
export const USUAL: Scenario = {
  name: 'usual',
  commands: 14_000,
  assets: 1,
  users: 12,
  grantMicros: 1_000_000_000,
  stepMs: 1_500,
  deadlineShare: 0.01,
  silenceShare: 0.0005,
  priceShare: 0.12,
  outageShare: 0.0015,
  maxLots: 50_000,
  spreadTicks: 60,
  maxRestingOrders: 40,
  crossingShare: 0.35,
  stakeWeight: 2,
  unstakeWeight: 1.2,
};

/** Weights of the commands of users and partners. Prices are extra. */
const WEIGHTS = {
  advanceTime: 1,
  listAsset: 0.1,
  listMarkets: 0.4,
  register: 0.7,
  setCredential: 0.5,
  deposit: 1.5,
  withdraw: 1.5,
  buy: 42,
  sell: 26,
  cancel: 8,
  cancelAll: 1.2,
  cancelEverywhere: 0.6,
  cancelDisconnected: 0.6,
  amend: 9,
  claim: 4,
  split: 3,
  merge: 3,
  claimYield: 2,
  setReferralCode: 1.2,
  setPrivacy: 0.6,
  setAutoClaim: 0.6,
  startAgain: 1,
  createSubAccount: 0.6,
  transferMoney: 3,
  batch: 5,
  vouchForSnapshot: 0.3,
  createToken: 0.6,
  revokeToken: 0.4,
  setCancelAfter: 2,
  createOrderGroup: 1,
  resetOrderGroup: 1.5,
  removeOrderGroup: 0.6,
  setPaused: 0.3,
  setFrozen: 0.3,
  operatorCancel: 0.2,
  voidMarket: 0.03,
  setRules: 0.2,
  resetCredential: 0.3,
  setRateTier: 0.3,
  recordUpgrade: 0.1,
} satisfies Partial<Record<CommandName, number>>;

const OPERATION_WEIGHTS = {
  buy: 40,
  sell: 30,
  cancel: 20,
  claim: 10,
  amend: 12,
  cancelAll: 1.5,
  cancelEverywhere: 1,
  split: 3,
  merge: 3,
} satisfies Record<BatchOperation['kind'], number>;

type Made = keyof typeof WEIGHTS | 'stake' | 'unstake';
type FieldsOf<K extends Made> = Omit<CommandOf<K>, 'kind' | 'idempotencyKey'>;

const HOUR_MS = 3_600_000;
/** The time within a window at which one minute is left. */
const LEAST_LEFT_FROM_MS = 840_000;
/** Values that are invalid for all or most fields, by type. */
export const ODD_NUMBERS = [
  0,
  -1,
  -0,
  0.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 53,
  2 ** 31,
  1e15,
  2e12,
  3,
];
export const ODD_TEXTS = [
  '',
  'a',
  'a b',
  'x'.repeat(129),
  'x'.repeat(600),
  'Ünïcode',
  'ıſß',
  '0',
  '__proto__',
  'a\nb',
  '~ ~',
  '\u00010:5',
  '\u00010:0',
  '\u000100:5',
  '\u00010:9007199254740992',
  '\u00019:5',
  '\x7f',
];

const SIGNED = { operator: 'op', reason: 'a test' };
const PARTNERS = ['bank', 'card'];
const SOURCES = ['coinbase', 'kraken', 'bitstamp'];

export class RandomCommands {
  private readonly random: Random;
  private outageUntilMs = 0;
  /** A source's present mistake, and the number of prices that will still have it. */
  private mistake: { source: string | null; factor: number; left: number } = {
    source: null,
    factor: 1,
    left: 0,
  };
  private readonly assetPrices: number[];
  private middleTicks = 500;
  private keysMade = 0;
  private referencesMade = 0;
  private readonly keyed: KeyedCommand[] = [];
  private readonly transfers: (Deposit | Withdraw)[] = [];

  constructor(
    seed: string,
    private readonly scenario: Scenario,
    private readonly naive: NaiveEngine,
  ) {
    this.random = new Random(seed);
    this.assetPrices = Array.from({ length: scenario.assets }, () => 90_000_000_000);
  }

  /** The commands that start every scenario: its assets and users. */
  opening(): Command[] {
    const { assets, users, grantMicros } = this.scenario;
    const listed = ['BTC', 'ETH', 'SOL', 'XRP'].slice(0, assets);
    return [
      ANY_SIZE_RESTS,
      ...listed.map((symbol): Command => ({ kind: 'listAsset', symbol })),
      { kind: 'listMarkets', asset: 0, ahead: true },
      ...Array.from({ length: users }, (_, index): Command => {
        const referralCode = index % 3 === 2 ? `q00000${(index - 1).toString(36)}` : '';
        return {
          kind: 'register',
          username: `user${index + 1}`,
          credential: 'c',
          referralCode,
          grantMicros,
          partner: this.partner(),
        };
      }),
    ];
  }

  next(): TimedCommand {
    const atMs = this.time();
    if (this.random.chance(0.02)) this.middleTicks = this.nextMiddle();
    const { priceShare } = this.scenario;
    if (this.random.chance(pricesMatter(atMs) ? Math.max(0.5, priceShare) : priceShare)) {
      const price = this.price(atMs);
      if (price !== null) return { command: this.maybeMalformed(price), atMs };
    }
    return {
      command: this.maybeMalformed(this.repeated() ?? this.keyedOrNot(this.fresh(atMs))),
      atMs,
    };
  }

  /**
   * The next middle price. It drifts and sometimes jumps: anywhere, or to a price that rules depend
   * on.
   */
  private nextMiddle(): number {
    const { random } = this;
    if (random.chance(0.15)) return random.pick([1, 29, 30, 31, 969, 970, 971, 999]);
    if (random.chance(0.15)) return random.whole(100, 900);
    return clampTicks(this.middleTicks + random.whole(-60, 60));
  }

  private time(): number {
    const { random, naive, scenario } = this;
    const { nowMs } = naive;
    if (random.chance(scenario.silenceShare)) {
      return (
        nowMs +
        random.pick([60_000, 120_000, 300_000, 2 * HOUR_MS, 26 * HOUR_MS, random.whole(0, HOUR_MS)])
      );
    }
    if (random.chance(scenario.deadlineShare)) {
      return Math.max(
        nowMs,
        naive.nextDueMs() + random.pick([-1, 0, 0, 1, random.whole(2, 3_000)]),
      );
    }
    if (random.chance(scenario.deadlineShare / 2)) {
      // Close to the last moment at which a window without a price may open.
      const leastLeftMs = Math.floor(nowMs / 900_000) * 900_000 + LEAST_LEFT_FROM_MS;
      return Math.max(nowMs, leastLeftMs + random.whole(-1, 1));
    }
    if (random.chance(0.2)) return nowMs;
    return nowMs + Math.floor(random.untilNext(1 / scenario.stepMs));
  }

  private price(atMs: number): CommandOf<'observePrice'> | CommandOf<'observeSourcePrice'> | null {
    const { random, scenario } = this;
    if (atMs < this.outageUntilMs) return null;
    if (random.chance(scenario.outageShare))
      this.outageUntilMs = atMs + random.whole(60_000, 2_400_000);
    const asset = random.chance(0.01) ? scenario.assets : random.whole(0, scenario.assets - 1);
    const moved =
      (this.assetPrices[asset] ?? 0) + random.pick([-1_000_001, -500_000, 0, 0, 500_000, 999_999]);
    this.assetPrices[asset] = moved;
    const source = random.chance(0.3) ? random.pick(SOURCES) : null;
    const priceMicros = Math.max(1, this.wrong(source, moved));
    const observedAtMs = this.observedAt(atMs);
    if (source === null) return { kind: 'observePrice', asset, priceMicros, observedAtMs };
    return { kind: 'observeSourcePrice', asset, priceMicros, observedAtMs, source };
  }

  /** A price from a source that temporarily loses or gains a digit. */
  private wrong(source: string | null, priceMicros: number): number {
    const { random } = this;
    if (random.chance(0.004)) {
      const factor = random.pick([0.1, 0.8, 1.2500001, 10]);
      this.mistake = { source: random.pick([null, ...SOURCES]), factor, left: random.whole(1, 40) };
    }
    const { mistake } = this;
    if (mistake.left === 0 || mistake.source !== source) return priceMicros;
    mistake.left--;
    return Math.floor(priceMicros * mistake.factor);
  }

  private observedAt(atMs: number): number {
    const { random } = this;
    const windowMs = Math.floor(atMs / 900_000) * 900_000;
    if (isEarly(atMs) && random.chance(0.5)) return windowMs - random.magnitude(30_000);
    switch (random.weighted({ fresh: 75, late: 15, edge: 5, old: 3, future: 1 })) {
      case 'fresh':
        return atMs - random.whole(0, Math.min(400, atMs));
      case 'late':
        return atMs - random.magnitude(200_000);
      case 'edge':
        return Math.min(
          atMs,
          windowMs - random.pick([0, 1, 60_000, 60_001, 59_999, 179_999, 180_000, 180_001]),
        );
      case 'old':
        return atMs - 300_000 - random.pick([-1, 0, 1, 5_000, 1_000_000]);
      case 'future':
        return atMs + random.whole(1, 1_000);
    }
  }

  /**
   * Sometimes repeats a command, either unchanged or with another content under the same key or
   * reference.
   */
  private repeated(): Command | null {
    const { random } = this;
    if (this.keyed.length > 0 && random.chance(0.025)) {
      const earlier = this.earlierKeyed();
      if (random.chance(0.5)) return structuredClone(earlier);
      if (random.chance(0.7)) return this.altered(earlier);
      const kind = random.pick(['buy', 'sell', 'cancel', 'claim'] as const);
      const other = this.made(kind, this.naive.nowMs);
      return { ...other, userId: earlier.userId, idempotencyKey: earlier.idempotencyKey };
    }
    if (this.transfers.length > 0 && random.chance(0.006)) {
      const earlier = random.pick(this.transfers);
      const change = random.whole(0, 3);
      if (change === 0) return { ...earlier, amountMicros: earlier.amountMicros + 1 };
      if (change === 1)
        return { ...earlier, kind: earlier.kind === 'deposit' ? 'withdraw' : 'deposit' };
      return { ...earlier };
    }
    return null;
  }

  /** A command with a key. Half the time, every kind is equally likely. */
  private earlierKeyed(): KeyedCommand {
    const { random } = this;
    if (random.chance(0.5))
      return random.pick(random.chance(0.7) ? this.keyed.slice(-20) : this.keyed);
    const kind = random.pick([...new Set(this.keyed.map((command) => command.kind))]);
    return random.pick(this.keyed.filter((command) => command.kind === kind));
  }

  /** A copy of the command with one changed field, and the same user and key. */
  private altered(command: KeyedCommand): KeyedCommand {
    const fields = Object.entries(command).filter(
      ([name]) => !['kind', 'userId', 'idempotencyKey', 'operations'].includes(name),
    );
    if (fields.length === 0) return { ...command };
    const [name, value] = this.random.pick(fields);
    if (typeof value === 'boolean') return { ...command, [name]: !value };
    return { ...command, [name]: typeof value === 'number' ? value + 1 : `${value}x` };
  }

  private keyedOrNot(command: Command): Command {
    if (command.kind === 'deposit' || command.kind === 'withdraw') this.transfers.push(command);
    if (!('idempotencyKey' in command) || !this.random.chance(0.2)) return command;
    if (this.random.chance(0.3))
      return { ...command, idempotencyKey: this.numbered(command.userId) };
    this.keysMade++;
    const keyed = { ...command, idempotencyKey: `key-${this.keysMade}` };
    this.keyed.push(keyed);
    if (this.keyed.length > 400) this.keyed.shift();
    return keyed;
  }

  /** A number instead of a key: mostly the token's next one, sometimes a used one. */
  private numbered(userId: number): string {
    const { random, naive } = this;
    const tokens = naive.state.tokens.filter((one) => one.userId === userId);
    const tokenId = random.chance(0.4) && tokens.length > 0 ? random.pick(tokens).tokenId : 0;
    const last = naive.clientSequence(userId, tokenId);
    const number = last + (random.chance(0.8) ? random.magnitude(5) : -random.whole(0, 2));
    return numberedKey(random.chance(0.97) ? tokenId : random.whole(1, 99), number);
  }

  private maybeMalformed(command: Command): Command {
    const { random } = this;
    const fields = Object.entries(command).filter(
      ([name]) => name !== 'kind' && name !== 'operations',
    );
    const share = command.kind === 'buy' || command.kind === 'sell' ? 0.01 : 0.04;
    if (fields.length === 0 || !random.chance(share)) return command;
    const [name, value] = random.pick(fields);
    if (typeof value === 'boolean') return { ...command, [name]: !value };
    return {
      ...command,
      [name]: random.pick<unknown>(typeof value === 'number' ? ODD_NUMBERS : ODD_TEXTS),
    };
  }

  private fresh(atMs: number): Command {
    const { stakeWeight: stake, unstakeWeight: unstake } = this.scenario;
    return this.made(this.random.weighted({ ...WEIGHTS, stake, unstake }), atMs);
  }

  /** A command of the given kind, without a key. */
  private made<K extends Made>(kind: K, atMs: number): CommandOf<K> {
    const key = 'idempotencyKey' in COMMANDS[kind].fields ? { idempotencyKey: null } : {};
    return { kind, ...key, ...this.fieldsOf[kind](atMs) } as CommandOf<K>;
  }

  private readonly fieldsOf: { [K in Made]: (atMs: number) => FieldsOf<K> } = {
    advanceTime: () => ({}),
    listAsset: () => ({ symbol: this.random.pick(['BTC', 'ETH', 'btc', 'X', 'TOOLONGSYMBOL']) }),
    listMarkets: () => ({ asset: this.asset(0), ahead: this.random.chance(0.8) }),
    register: () => this.registration(),
    setCredential: () => ({ ...this.one(), credential: `credential ${this.random.whole(1, 9)}` }),
    deposit: () => this.transfer(),
    withdraw: () => this.transfer(),
    buy: (atMs) => this.buy(atMs),
    sell: (atMs) => this.sell(atMs),
    cancel: () => this.cancellation(),
    cancelAll: () => ({ ...this.one(), marketId: this.marketId() }),
    cancelEverywhere: () => this.one(),
    cancelDisconnected: () => ({ ...this.one(), lastOrderId: this.orderId(0) }),
    amend: () => this.amendment(),
    claim: () => this.claiming(),
    split: () => ({ ...this.one(), marketId: this.marketId(), sizeLots: this.setLots() }),
    merge: () => this.merging(),
    stake: () => ({ ...this.one(), amountMicros: this.stakeMicros() }),
    unstake: () => this.vaultDeposit(),
    claimYield: () => this.vaultDeposit(),
    setReferralCode: () => ({ ...this.one(), code: this.referralCode() }),
    setPrivacy: () => ({ ...this.one(), privacy: this.random.whole(0, 2) }),
    setAutoClaim: () => ({ ...this.one(), enabled: this.random.chance(0.4) }),
    startAgain: () => ({ ...this.one(), grantMicros: this.newGrantMicros() }),
    createSubAccount: () => this.subAccountCreation(),
    transferMoney: () => this.moneyTransfer(),
    batch: (atMs) => this.batch(atMs),
    vouchForSnapshot: () => ({
      snapshotSequence: this.random.pick([1, 2, 3, 1e12]),
      snapshotHash: this.hash(),
    }),
    createToken: (atMs) => this.tokenCreation(atMs),
    revokeToken: () => this.tokenRevocation(),
    setCancelAfter: () => ({
      ...this.one(),
      timeoutMs: this.random.pick([0, 999, 1_000, 5_000, 30_000, 300_000, 3_600_000]),
    }),
    createOrderGroup: () => ({
      ...this.one(),
      maxFilledLots: this.random.magnitude(this.scenario.maxLots),
      windowMs: this.random.pick([100, 5_000, 60_000, 3_600_000, 3_600_000, 3_600_001]),
    }),
    resetOrderGroup: () => this.group(),
    removeOrderGroup: () => this.group(),
    setPaused: () => this.pause(),
    setFrozen: () => ({ ...this.one(), frozen: this.random.chance(0.3), ...SIGNED }),
    operatorCancel: () => ({ ...this.one(), ...SIGNED }),
    voidMarket: () => ({ marketId: this.marketId(), ...SIGNED }),
    setRules: () => ({ ...this.rules(), ...SIGNED }),
    resetCredential: () => ({
      ...this.one(),
      credential: `code ${this.random.whole(1, 9)}`,
      ...SIGNED,
    }),
    setRateTier: () => ({ ...this.one(), rateTier: this.random.pick([1, 2, 5, 10, 3]), ...SIGNED }),
    recordUpgrade: () => ({
      fromVersion: this.random.whole(0, 2),
      toVersion: this.random.whole(1, 3),
      chainHash: this.hash(),
    }),
  };

  private one(): { userId: number } {
    return { userId: this.user() };
  }

  private asset(least: number): number {
    return this.random.whole(least, this.scenario.assets);
  }

  private orderId(least: number): number {
    return this.random.whole(least, this.naive.state.ordersAccepted + 2);
  }

  private hash(): string {
    return this.random.pick(['0f', '0F']).repeat(32);
  }

  /** Pauses and resumes; mostly resumes, so that pauses are short. */
  private pause(): FieldsOf<'setPaused'> {
    const { random } = this;
    const paused = random.chance(0.3);
    const marketId = random.chance(0.4) ? this.marketId() : 0;
    const asset = marketId !== 0 || random.chance(0.5) ? -1 : this.asset(0);
    return { marketId, asset, paused, ...SIGNED };
  }

  /**
   * Often returns to the initial rules or to rules without a minimum size, so that orders reach
   * other limits.
   */
  private rules(): Rules {
    const { random } = this;
    if (random.chance(0.25)) return FIRST_RULES;
    if (random.chance(0.4)) return ANY_SIZE_RESTS;
    const ruleSet = random.chance(0.95) ? random.pick([2, 3, 3]) : random.whole(0, 4);
    return {
      ruleSet,
      takerFeeBasisPoints: random.pick([0, 1, 7, 30, 50, 100, 1_000]),
      curveFeeBasisPoints: ruleSet === 3 ? random.pick([0, 1, 77, 700, 1_000]) : 0,
      makerSharePercent: ruleSet === 3 ? random.pick([0, 1, 25, 50]) : 0,
      vaultSharePercent: random.pick([0, 15, 40, 90]),
      maxOrderMicros: random.pick([5_000_000, 500_000_000, 1e12]),
      maxOpenOrders: random.pick([3, 20, 1_000]),
      minRestingMicros: random.pick([0, 50_000, 1_000_000, 5_000_000]),
    };
  }

  private group(): { userId: number; groupId: number } {
    const { random } = this;
    const { groups, groupsMade } = this.naive.state;
    const tripped = groups.filter((group) => group.tripped);
    const any = { userId: this.user(), groupId: groupsMade };
    const group = random.pick([...groups, ...tripped, any]);
    const groupId = random.chance(0.9) ? group.groupId : random.whole(0, groupsMade + 2);
    return { userId: random.chance(0.9) ? group.userId : this.user(), groupId };
  }

  private batch(atMs: number): FieldsOf<'batch'> {
    const { random } = this;
    const count = random.chance(0.02) ? random.pick([0, 100, 101]) : random.whole(1, 6);
    const operations = Array.from({ length: count }, () =>
      this.made(random.weighted(OPERATION_WEIGHTS), atMs),
    );
    const userId = operations[0]?.userId ?? this.user();
    return {
      userId,
      operations: operations.map((operation) => ({
        ...(this.maybeMalformed(operation) as BatchOperation),
        userId: random.chance(0.998) ? userId : operation.userId,
        idempotencyKey: random.chance(0.998) ? null : 'key-of-an-operation',
      })),
      atomic: random.chance(0.6),
    };
  }

  private user(unknownShare = 0.04): number {
    const { userCount } = this.naive;
    if (this.random.chance(unknownShare)) return userCount + this.random.whole(1, 1_000);
    // Squared, so that some users trade far more than others.
    return Math.min(userCount, 1 + Math.floor(this.random.next() ** 2 * userCount));
  }

  private registration(): FieldsOf<'register'> {
    const { random, naive } = this;
    const isNew = naive.userCount < this.scenario.users + 12 && random.chance(0.4);
    const username = isNew
      ? `Late-${naive.userCount}`
      : `USER${random.whole(1, this.scenario.users)}`;
    const referralCode = random.chance(0.5) ? this.referralCode() : '';
    const grantMicros = random.chance(0.5) ? 0 : this.scenario.grantMicros;
    const credential = random.chance(0.7) ? 'c' : '';
    return { username, credential, referralCode, grantMicros, partner: this.partner() };
  }

  /** A few accounts have sub-accounts, so that these trade with all others and each other. */
  private subAccountCreation(): FieldsOf<'createSubAccount'> {
    const { random, naive } = this;
    const isNew = naive.userCount < this.scenario.users + 12 && random.chance(0.5);
    const username = isNew ? `Sub-${naive.userCount}` : `USER${random.whole(1, 9)}`;
    return { userId: random.chance(0.6) ? random.whole(1, 3) : this.user(), username };
  }

  /** A transfer, mostly within a family and of less than the balance. */
  private moneyTransfer(): FieldsOf<'transferMoney'> {
    const { random, naive } = this;
    const subs = naive.state.users.filter(({ parentId }) => parentId !== 0);
    const sub = subs.length > 0 && random.chance(0.9) ? random.pick(subs) : undefined;
    const userId = sub?.parentId ?? this.user();
    const other = random.chance(0.7) ? userId : random.pick([this.user(), sub?.userId ?? userId]);
    const one = sub?.userId ?? this.user();
    const [fromUserId, toUserId] = random.chance(0.5) ? [one, other] : [other, one];
    const available = naive.account(fromUserId)?.availableMicros ?? 0;
    const amountMicros = random.magnitude(Math.max(1, available) * 1.1);
    return { userId, fromUserId, toUserId, amountMicros };
  }

  /**
   * One of a few codes, so that users take, look up and return to the same ones; some are the
   * generated codes of later users.
   */
  private referralCode(): string {
    const { random, naive } = this;
    const kind = random.weighted({ own: 6, first: 2, coming: 1, unknown: 1 });
    if (kind === 'own')
      return `${random.pick(['Code', 'CODE', 'c-o-d-e', 'x_y'])}${random.whole(1, 30)}`;
    if (kind === 'first') return `q00000${random.whole(1, 9)}`;
    if (kind === 'coming') return `Q${(naive.userCount + 1).toString(36).padStart(6, '0')}`;
    return `nobody-${random.whole(1, 1_000)}`;
  }

  private transfer(): FieldsOf<'deposit'> {
    const { random } = this;
    this.referencesMade++;
    const amountMicros = random.magnitude(this.scenario.grantMicros * 2);
    const userId = this.user();
    // Usually the user's own partner, because no other partner may withdraw.
    const own = this.naive.account(userId)?.partner ?? null;
    const partner = own !== null && random.chance(0.7) ? own : random.pick(PARTNERS);
    return { userId, amountMicros, partner, reference: `r${this.referencesMade}` };
  }

  private newGrantMicros(): number {
    const { grantMicros } = this.scenario;
    return this.random.pick([0, grantMicros, Math.min(grantMicros * 20, MAX_TRANSFER_MICROS)]);
  }

  private partner(): string | null {
    return this.random.chance(0.8) ? this.random.pick(PARTNERS) : null;
  }

  private marketId(): number {
    const { random, naive } = this;
    const asset = random.whole(0, this.scenario.assets - 1);
    const upcoming = naive.state.markets.filter(
      (market) => market.asset === asset && market.status === MarketStatus.UPCOMING,
    );
    // Usually the next market, which soon opens with its resting orders.
    if (upcoming.length > 0 && random.chance(0.2))
      return (random.chance(0.8) ? upcoming[0]! : random.pick(upcoming)).marketId;
    const id = naive.activeMarket(asset);
    if (id !== 0 && random.chance(0.97)) return id;
    const known = naive.marketIds();
    if (known.length > 0 && random.chance(0.7)) return random.pick(known);
    return random.whole(1, 200_000_000);
  }

  private market(): NaiveMarket | undefined {
    return marketOf(this.naive.state, this.marketId());
  }

  private terms(atMs: number) {
    const { random } = this;
    const timeInForce = random.pick([
      TimeInForce.IOC,
      TimeInForce.FOK,
      TimeInForce.GTC,
      TimeInForce.GTC,
    ]);
    const validUntilMs = random.chance(0.03) ? atMs + random.pick([-1, 0, 1, 1_000]) : MAX_TIME_MS;
    const postOnly = random.chance(timeInForce === TimeInForce.GTC ? 0.25 : 0.003);
    return {
      marketId: this.marketId(),
      timeInForce,
      postOnly,
      validUntilMs,
      ...this.maybeNamed(),
      ...this.maybeExpiring(atMs, timeInForce),
      ...(random.chance(0.25)
        ? { selfTrade: random.pick([SelfTrade.CANCEL_TAKER, SelfTrade.CANCEL_BOTH]) }
        : {}),
    };
  }

  private maybeExpiring(atMs: number, timeInForce: TimeInForce): { expiresAtMs?: number } {
    const { random, scenario } = this;
    if (!random.chance(timeInForce === TimeInForce.GTC ? 0.3 : 0.003)) return {};
    const afterMs = random.pick([
      random.magnitude(scenario.stepMs * 50),
      random.whole(1, 5) * 1_000,
      random.pick([-1, 0, 1]),
      2_000_000,
    ]);
    return { expiresAtMs: Math.max(0, atMs + afterMs) };
  }

  /** A third of the orders have a client order id, sometimes a used one. */
  private maybeNamed(): { clientOrderId?: string } {
    const { random } = this;
    if (!random.chance(0.35)) return {};
    return { clientOrderId: `c-${random.whole(1, 60)}` };
  }

  /** A group for most resting orders of users that have groups. */
  private grouped(userId: number, { timeInForce }: { timeInForce: TimeInForce }) {
    const { random, naive } = this;
    const { groups, groupsMade } = naive.state;
    const own = groups.filter((group) => group.userId === userId);
    if (random.chance(0.005)) return { groupId: random.whole(0, groupsMade + 2) };
    if (timeInForce !== TimeInForce.GTC || own.length === 0 || random.chance(0.25)) return {};
    return { groupId: random.pick(own).groupId };
  }

  /** A price near the outcome's middle, on the order's own side or crossing. */
  private ticksFor(buys: boolean, outcome: Outcome): number {
    const { random, scenario } = this;
    const middle = outcome === Outcome.UP ? this.middleTicks : 1000 - this.middleTicks;
    const away = random.magnitude(scenario.spreadTicks);
    const crosses = random.chance(scenario.crossingShare);
    return clampTicks(middle + (buys === crosses ? away : -away));
  }

  private buy(atMs: number): FieldsOf<'buy'> {
    const { random, scenario } = this;
    const terms = this.terms(atMs);
    const userId = this.user(0.005);
    const outcome = random.pick([Outcome.UP, Outcome.DOWN]);
    const order = { userId, outcome, ...terms, ...this.grouped(userId, terms) };
    const priceTicks = this.ticksFor(true, outcome);
    const sizeLots = random.magnitude(scenario.maxLots);
    const budgetMicros = random.magnitude(scenario.maxLots * 600);
    const resting = marketOf(this.naive.state, terms.marketId)?.orders.length ?? 0;
    const amount = resting > scenario.maxRestingOrders ? 300 : 30;
    switch (random.weighted({ amount, size: 50, both: 20 })) {
      case 'amount': {
        const anyPrice = { budgetMicros, sizeLots: UNSIZED_LOTS, priceTicks: 999 };
        return { ...order, ...anyPrice, ...this.atOnce() };
      }
      case 'size':
        return { ...order, budgetMicros: sizeLots * priceTicks, sizeLots, priceTicks };
      case 'both':
        return {
          ...order,
          budgetMicros,
          sizeLots: random.chance(0.5) ? UNSIZED_LOTS : sizeLots,
          priceTicks: random.chance(0.9) ? priceTicks : 999,
        };
    }
  }

  /** The terms of an order that does not rest. */
  private atOnce() {
    const timeInForce = this.random.chance(0.8) ? TimeInForce.IOC : TimeInForce.FOK;
    return { timeInForce, postOnly: false, groupId: 0 };
  }

  private sell(atMs: number): FieldsOf<'sell'> {
    const { random, naive, scenario } = this;
    const terms = this.terms(atMs);
    const market = marketOf(naive.state, terms.marketId);
    const owners =
      market?.positions.filter((position) => position.lots[0] + position.lots[1] > 0) ?? [];
    const owner = owners.length > 0 && random.chance(0.97) ? random.pick(owners) : undefined;
    const userId = owner?.userId ?? this.user(0.005);
    const outcome = owner === undefined ? random.pick([0, 1] as const) : owner.lots[0] > 0 ? 0 : 1;
    const owned = market === undefined ? 0 : lotsOf(market, userId, outcome);
    const part = random.pick([random.magnitude(Math.max(1, owned)), owned, Math.ceil(owned / 3)]);
    const sizeLots = random.chance(0.9) && part > 0 ? part : random.magnitude(scenario.maxLots);
    const order = { userId, outcome, sizeLots, ...terms, ...this.grouped(userId, terms) };
    if (random.chance(0.3)) return { ...order, priceTicks: 1, ...this.atOnce() };
    return { ...order, priceTicks: this.ticksFor(false, outcome) };
  }

  private cancellation(): FieldsOf<'cancel'> {
    const { random } = this;
    const orders = this.market()?.orders ?? [];
    if (orders.length === 0 || random.chance(0.05))
      return { ...this.one(), marketId: this.marketId(), orderId: this.orderId(1) };
    const order = random.pick(orders);
    const userId = random.chance(0.95) ? order.userId : this.user();
    return { userId, marketId: order.marketId, ...this.named(order) };
  }

  /** Names an order by its order id or its client order id. */
  private named({ orderId, clientOrderId }: NaiveOrder) {
    const { random } = this;
    if (clientOrderId === null || random.chance(0.5)) return { orderId };
    const name = random.chance(0.9) ? clientOrderId : `c-${random.whole(1, 60)}`;
    return { orderId: random.chance(0.97) ? 0 : orderId, clientOrderId: name };
  }

  /**
   * An amendment, mostly of a resting order: to a smaller, larger or its filled size, or to another
   * price.
   */
  private amendment(): FieldsOf<'amend'> {
    const { random } = this;
    const orders = this.market()?.orders ?? [];
    if (orders.length === 0 || random.chance(0.08)) {
      const orderId = this.orderId(1);
      const known = this.naive.state.history[orderId - 1];
      const userId = random.chance(0.7) ? (known?.userId ?? this.user()) : this.user();
      const marketId = random.chance(0.7) ? (known?.marketId ?? 1) : this.marketId();
      return { userId, marketId, orderId, sizeLots: 5, priceTicks: 0 };
    }
    const order = random.pick(orders);
    const userId = random.chance(0.97) ? order.userId : this.user();
    const { originalLots, filledLots, marketId, side, outcome } = order;
    const sizeLots = random.pick([
      0,
      Math.max(1, filledLots),
      Math.max(1, originalLots - random.magnitude(originalLots)),
      originalLots,
      originalLots + random.magnitude(this.scenario.maxLots),
    ]);
    const priceTicks = random.chance(0.5) ? 0 : this.ticksFor(side === Side.BUY, outcome);
    return { userId, marketId, sizeLots, priceTicks, ...this.named(order) };
  }

  private claiming(): FieldsOf<'claim'> {
    const { random } = this;
    const resolved = this.naive.state.markets.filter(
      (market) => market.status === MarketStatus.RESOLVED && market.positions.length > 0,
    );
    if (resolved.length === 0 || random.chance(0.2))
      return { ...this.one(), marketId: this.marketId() };
    const { marketId, positions } = random.pick(resolved);
    return { userId: random.chance(0.9) ? random.pick(positions).userId : this.user(), marketId };
  }

  private setLots(): number {
    return this.random.magnitude(this.scenario.maxLots * 20);
  }

  /** A merge, mostly of shares that the user has, sometimes of all. */
  private merging(): FieldsOf<'merge'> {
    const { random } = this;
    const owned = this.naive.state.markets
      .filter(takesOrders)
      .flatMap(({ marketId, positions }) => positions.map((position) => ({ marketId, position })));
    if (owned.length === 0 || random.chance(0.2))
      return { ...this.one(), marketId: this.marketId(), sizeLots: this.setLots() };
    const { marketId, position } = random.pick(owned);
    const pairs = Math.min(...position.lots);
    const sizeLots = Math.max(1, random.chance(0.3) ? pairs : random.magnitude(pairs + 2));
    return { userId: position.userId, marketId, sizeLots };
  }

  private stakeMicros(): number {
    return 1_000_000 + this.random.magnitude(Math.floor(this.scenario.grantMicros / 20));
  }

  private tokenCreation(atMs: number): FieldsOf<'createToken'> {
    const { random } = this;
    const hours = random.pick([0, 1, 24, 24 * 7]);
    return {
      ...this.one(),
      scope: random.pick([TokenScope.READ, TokenScope.TRADE]),
      expiresAtMs: random.chance(0.3) ? MAX_TIME_MS : atMs + hours * HOUR_MS + random.whole(-1, 9),
      name: `bot ${random.whole(1, 99)}`,
      allowedAddresses: random.pick(['', '10.0.0.0/8']),
    };
  }

  private tokenRevocation(): FieldsOf<'revokeToken'> {
    const { random, naive } = this;
    const { tokens, tokensMade } = naive.state;
    const token = tokens.length > 0 && random.chance(0.9) ? random.pick(tokens) : undefined;
    const userId = token !== undefined && random.chance(0.9) ? token.userId : this.user();
    const tokenId = token?.tokenId ?? random.whole(1, tokensMade + 2);
    return { userId, tokenId };
  }

  private vaultDeposit(): { userId: number; depositId: number } {
    const { random, naive } = this;
    const { deposits } = naive.state.vault;
    const open = deposits.filter((deposit) => !deposit.closed);
    if (open.length > 0 && random.chance(0.9)) {
      const { userId, depositId } = random.pick(open);
      return { userId, depositId };
    }
    const any = deposits.length > 0 && random.chance(0.8) ? random.pick(deposits) : undefined;
    return {
      userId: any?.userId ?? this.user(),
      depositId: any?.depositId ?? random.whole(1, 10_000),
    };
  }
}

/** All commands of an exchange. The naive engine applies each before the next is chosen. */
export function* randomDay(
  seed: string,
  scenario: Scenario,
  startMs: number,
): Generator<TimedCommand> {
  const naive = new NaiveEngine();
  const random = new RandomCommands(seed, scenario, naive);
  const opening = random.opening();
  for (let i = 0; i < opening.length + scenario.commands; i++) {
    const first = opening[i];
    const timed = first === undefined ? random.next() : { command: first, atMs: startMs };
    naive.apply(timed.command, timed.atMs);
    yield timed;
  }
}

/** Whether a price may fix a start price or open a market late. */
function pricesMatter(atMs: number): boolean {
  return isEarly(atMs) || Math.abs((atMs % 900_000) - LEAST_LEFT_FROM_MS) <= 1;
}

/** Whether the window's start price may still change. */
function isEarly(atMs: number): boolean {
  return atMs % 900_000 < 2_000;
}

function clampTicks(ticks: number): number {
  return Math.min(999, Math.max(1, ticks));
}
