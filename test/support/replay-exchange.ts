/**
 * An exchange for the tests of the replay tool: a seeded run of varied commands through the real
 * sequencer into a real journal. The run has several hours of markets in two assets, and ends with
 * a day without claims.
 */

import { Engine } from '../../engine/engine.js';
import type { BatchOperation, Command } from '../../engine/interface/commands.js';
import { Outcome, TimeInForce, TokenScope } from '../../engine/interface/domain.js';
import { decodeEvents, type EventName } from '../../engine/interface/events.js';
import { MAX_TIME_MS } from '../../engine/interface/limits.js';
import { FIRST_RULES } from '../../engine/interface/rule-sets.js';
import type {
  AccountView,
  FundsView,
  MarketView,
  OrderView,
} from '../../engine/interface/views.js';
import type { Journal } from '../../persistence/journal/journal.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { Sequencer } from '../../persistence/sequencer.js';
import { buy, sell } from './engine-support.js';
import { replay } from './journal-fixture.js';
import { Random } from './workload/random.js';

export const START_MS = 1_763_700_300_000;
const USERS = 12;
const HOUR_MS = 3_600_000;
/** Not a multiple of a batch's size, so that checkpoints also fall in the middle of batches. */
const CHECKPOINT_EVERY = 391;

export interface Checkpoint {
  sequence: number;
  digest: string;
  funds: FundsView;
  accounts: AccountView[];
  orders: OrderView[];
  markets: MarketView[];
}

export const IDLE_USER = USERS + 1;

export class ReplayExchange {
  /** The time of each command, from index 1. */
  readonly times: number[] = [0];
  /** Checkpoints, one every CHECKPOINT_EVERY commands. */
  readonly checkpoints: Checkpoint[] = [];
  readonly commandKinds = new Map<string, number>();
  readonly eventCounts = new Map<EventName, number>();
  readonly refusals = new Set<number>();
  nowMs = START_MS;
  private readonly random: Random;
  private references = 0;

  private constructor(
    readonly engine: Engine,
    readonly sequencer: Sequencer,
    readonly journal: Journal,
    seed: string,
    now: { ms: () => number },
  ) {
    this.random = new Random(seed);
    this.nowMs = Math.max(START_MS, engine.nowMs);
    now.ms = () => this.nowMs;
  }

  /** A new exchange, or one that continues from the journal in the folder. */
  static async open(folder: string, seed: string): Promise<ReplayExchange> {
    const journal = await openJournal({ folder });
    const engine = new Engine();
    if (journal.end.sequence > 0) await replay(folder, engine);
    const now = { ms: () => START_MS };
    const onFatal = (error: Error) => {
      throw error;
    };
    const sequencer = new Sequencer({ engine, journal, now: () => now.ms(), onFatal });
    return new ReplayExchange(engine, sequencer, journal, seed, now);
  }

  /** The whole run: assets, users, trading, a market without a price, a day without claims. */
  async run(commands: number, settled: () => void = () => {}): Promise<void> {
    for (const symbol of ['BTC', 'ETH']) this.submit({ kind: 'listAsset', symbol });
    for (let i = 1; i <= IDLE_USER; i++) this.submit(this.registration(i));
    for (let i = 0; i < commands; i++) {
      // Half an hour without prices: markets that end in it are VOID.
      this.trade(i > commands / 2 && i < commands / 2 + 400);
      if (i % 25 !== 0) continue;
      await this.settle();
      settled();
    }
    this.nowMs += 25 * HOUR_MS;
    for (let i = 0; i < 20; i++) this.submit({ kind: 'advanceTime' });
    await this.settle();
  }

  /** Executes one random command, some seconds later. */
  trade(isOutage = false): void {
    this.nowMs += this.random.whole(0, 9_000);
    this.submit(!isOutage && this.random.whole(0, 4) === 0 ? this.price() : this.ask());
  }

  /**
   * Actions of programs and operators: tokens, one of which expires; a dead man's switch that
   * fires; an asset and a user that are stopped for a while; cancelled orders; a VOID market; a
   * price that is held back; markets that are listed ahead; and a sub-account. Random commands
   * continue in between.
   */
  operate(): void {
    const token = { kind: 'createToken', scope: TokenScope.TRADE, allowedAddresses: '' } as const;
    const byOperator = { operator: 'olga', reason: 'prices of the feed are wrong' };
    const rest = (userId: number): Command =>
      buy({
        userId,
        marketId: this.engine.activeMarket(0),
        priceTicks: 1,
        sizeLots: 1_000_000,
        timeInForce: TimeInForce.GTC,
        clientOrderId: `rest-${userId}`,
      });
    this.submit({ kind: 'listMarkets', asset: 0, ahead: true });
    this.tripGroup();
    this.useSubAccount();
    const expiresAtMs = this.nowMs + 1_000;
    this.submit({ ...token, userId: 1, expiresAtMs: MAX_TIME_MS, name: 'for good' });
    this.submit({ ...token, userId: 2, expiresAtMs, name: 'for a second' });
    this.submit({ kind: 'revokeToken', userId: 1, tokenId: 1 });
    this.submit(rest(1));
    this.submit({ kind: 'setCancelAfter', userId: 1, idempotencyKey: null, timeoutMs: 1_000 });
    this.nowMs += 2_000;
    this.submit({ kind: 'advanceTime' });
    const asset = { kind: 'setPaused', ...byOperator, marketId: 0, asset: 1 } as const;
    this.submit({ ...asset, paused: true });
    this.submit(rest(2));
    this.submit({ kind: 'setFrozen', ...byOperator, userId: 2, frozen: true });
    for (let i = 0; i < 10; i++) this.trade();
    this.submit({ ...asset, paused: false });
    this.submit({ kind: 'setFrozen', ...byOperator, userId: 2, frozen: false });
    this.submit(rest(3));
    this.submit({ kind: 'operatorCancel', ...byOperator, userId: 3 });
    this.submit({ kind: 'setRateTier', ...byOperator, userId: 3, rateTier: 5 });
    const fees = { takerFeeBasisPoints: 80, curveFeeBasisPoints: 300, makerSharePercent: 25 };
    const rules = { ...FIRST_RULES, ruleSet: 3, ...fees, maxOpenOrders: 500 };
    this.submit({ kind: 'setRules', ...rules, ...byOperator });
    const shares = { marketId: this.engine.activeMarket(0), sizeLots: 4_000 };
    const resting = { outcome: Outcome.DOWN, timeInForce: TimeInForce.GTC };
    this.submit(buy({ userId: 3, ...shares, ...resting, priceTicks: 500 }));
    this.submit(buy({ userId: 2, ...shares, priceTicks: 999 }));
    for (let i = 0; i < 10; i++) this.trade();
    this.submit({ kind: 'setRules', ...FIRST_RULES, ...byOperator });
    // All of these commands share one batch, so all have the hash of the batch before.
    const chainHash = this.journal.end.hash.toString('hex');
    this.submit({ kind: 'recordUpgrade', fromVersion: 0, toVersion: 1, chainHash });
    this.submit({ kind: 'setPrivacy', userId: 1, idempotencyKey: null, privacy: 1 });
    this.submit({ kind: 'setAutoClaim', userId: 1, idempotencyKey: null, enabled: true });
    this.submit({ kind: 'startAgain', userId: 5, idempotencyKey: null, grantMicros: 1_000 });
    const tenfold = { asset: 0, priceMicros: 900_000_000_000, observedAtMs: this.nowMs };
    this.submit({ kind: 'observePrice', ...tenfold });
    this.submit({ kind: 'voidMarket', ...byOperator, marketId: this.engine.activeMarket(1) });
    this.submit({ kind: 'listMarkets', asset: 0, ahead: false });
  }

  /** Creates an order group of one share, which this order's trade or the next one trips. */
  private tripGroup(): void {
    const user = { userId: 3, idempotencyKey: null };
    this.submit({ kind: 'createOrderGroup', ...user, maxFilledLots: 1, windowMs: 60_000 });
    const marketId = this.engine.activeMarket(0);
    const rests = { timeInForce: TimeInForce.GTC, groupId: 1 };
    this.submit(buy({ userId: 3, marketId, priceTicks: 998, sizeLots: 2_000, ...rests }));
    const cheap = { outcome: Outcome.DOWN, priceTicks: 2, sizeLots: 10 };
    this.submit(buy({ userId: 1, marketId, ...cheap }));
    this.submit({ kind: 'resetOrderGroup', ...user, groupId: 1 });
    this.submit({ kind: 'removeOrderGroup', ...user, groupId: 1 });
  }

  /** Transfers a dollar to a sub-account, and half of it back. */
  useSubAccount(): void {
    const user = { userId: 3, idempotencyKey: null };
    const subAccount = IDLE_USER + 1;
    this.submit({ kind: 'createSubAccount', ...user, username: 'trader-3-b' });
    const terms = { kind: 'transferMoney', ...user } as const;
    this.submit({ ...terms, fromUserId: 3, toUserId: subAccount, amountMicros: 1_000_000 });
    this.submit({ ...terms, fromUserId: subAccount, toUserId: 3, amountMicros: 500_000 });
  }

  submit(command: Command): void {
    this.sequencer.submit(command);
    this.times.push(this.engine.nowMs);
    this.commandKinds.set(command.kind, (this.commandKinds.get(command.kind) ?? 0) + 1);
    if (this.engine.sequence % CHECKPOINT_EVERY === 0)
      this.checkpoints.push(checkpointOf(this.engine));
    for (const event of decodeEvents(this.engine.events)) {
      this.eventCounts.set(event.type, (this.eventCounts.get(event.type) ?? 0) + 1);
    }
    this.refusals.add(this.engine.result.values[1]!);
  }

  /** Resolves when all commands so far are durable. */
  settle(): Promise<void> {
    return new Promise((resolve) =>
      this.sequencer.releaseAt(this.engine.sequence, { release: resolve }),
    );
  }

  private registration(i: number): Command {
    const referralCode = i % 3 === 0 ? this.engine.referral(i - 1)!.code : '';
    const grantMicros = i === 5 || i === IDLE_USER ? 0 : 2_000_000_000;
    return {
      kind: 'register',
      username: `trader-${i}`,
      credential: 'secret-hash',
      referralCode,
      grantMicros,
      partner: i % 4 === 3 ? null : 'acme',
    };
  }

  private price(): Command {
    const asset = this.random.whole(0, 1);
    const priceMicros = 90_000_000_000 + this.random.whole(-500, 500) * 1_000_000;
    return { kind: 'observePrice', asset, priceMicros, observedAtMs: this.nowMs };
  }

  private ask(): Command {
    const { random } = this;
    const userId = random.whole(1, USERS);
    const idempotencyKey = random.whole(0, 3) === 0 ? `key-${random.whole(1, 500)}` : null;
    const user = { userId, idempotencyKey };
    const kind = random.whole(0, 99);
    if (kind < 70) return { ...this.operation(userId), idempotencyKey };
    if (kind < 74) return this.transfer(userId);
    if (kind < 79)
      return { kind: 'stake', ...user, amountMicros: random.whole(500_000, 60_000_000) };
    if (kind < 82) return { kind: 'unstake', ...user, depositId: this.depositOf(userId) };
    if (kind < 86) return { kind: 'claimYield', ...user, depositId: this.depositOf(userId) };
    if (kind < 87) return { kind: 'setReferralCode', ...user, code: `CODE-${random.whole(1, 40)}` };
    if (kind < 88) return { kind: 'setCredential', userId, credential: 'other-hash' };
    if (kind < 89) return { kind: 'cancelAll', ...user, marketId: this.marketId() };
    if (kind < 90) return { kind: 'cancelEverywhere', ...user };
    if (kind < 92) return { kind: 'advanceTime' };
    const operations = Array.from({ length: random.whole(1, 6) }, () => this.operation(userId));
    return { kind: 'batch', ...user, operations, atomic: random.whole(0, 1) === 0 };
  }

  private operation(userId: number): BatchOperation {
    const { random } = this;
    const user = { userId, idempotencyKey: null, marketId: this.marketId() };
    const outcome = random.whole(0, 1) === 0 ? Outcome.UP : Outcome.DOWN;
    const terms = {
      outcome,
      priceTicks: random.whole(380, 620),
      timeInForce: random.whole(0, 3) === 0 ? TimeInForce.IOC : TimeInForce.GTC,
    };
    const order = this.engine.orders(userId)[0];
    if (order !== undefined && random.whole(0, 9) === 0) {
      const { orderId, marketId } = order;
      const terms = { sizeLots: random.whole(1, 40_000), priceTicks: 0 };
      return { kind: 'amend', ...user, marketId, orderId, ...terms };
    }
    switch (random.whole(0, 11)) {
      case 10:
        return { kind: 'split', ...user, sizeLots: random.whole(1, 9_000) };
      case 11:
        return { kind: 'merge', ...user, sizeLots: random.whole(1, 3_000) };
      case 0:
      case 1:
        return { kind: 'claim', ...user, marketId: this.claimable(userId) };
      case 2:
        return { kind: 'cancel', ...user, orderId: this.engine.orders(userId)[0]?.orderId ?? 1 };
      case 3:
      case 4:
      case 5:
        return sell({ ...user, ...terms, sizeLots: random.whole(1, 20_000) });
      case 6:
        return buy({ ...user, outcome, budgetMicros: random.whole(1, 30_000_000) });
      default: {
        const isGtc = terms.timeInForce === TimeInForce.GTC;
        const expiry = isGtc ? { expiresAtMs: this.nowMs + 300_000 } : {};
        return buy({ ...user, ...terms, ...expiry, sizeLots: random.whole(1, 40_000) });
      }
    }
  }

  private transfer(userId: number): Command {
    const kind = this.random.whole(0, 1) === 0 ? 'deposit' : 'withdraw';
    this.references += this.random.whole(0, 1);
    const amountMicros = this.random.whole(1, 90_000_000);
    return { kind, userId, amountMicros, partner: 'acme', reference: `ref-${this.references}` };
  }

  private marketId(): number {
    return this.engine.activeMarket(this.random.whole(0, 1)) || 1;
  }

  /** A resolved market in which the user has a position, otherwise any market. */
  private claimable(userId: number): number {
    const held = this.engine.positions(userId).map(({ marketId }) => this.engine.market(marketId)!);
    return held.find(({ resolution }) => resolution !== 0)?.marketId ?? this.marketId();
  }

  private depositOf(userId: number): number {
    return this.engine.vaultDeposits(userId)[0]?.depositId ?? 1;
  }
}

export function checkpointOf(engine: Engine): Checkpoint {
  const userIds = Array.from({ length: engine.userCount }, (_, i) => i + 1);
  return {
    sequence: engine.sequence,
    digest: engine.digest(),
    funds: engine.funds(),
    accounts: userIds.map((userId) => engine.account(userId)!),
    orders: userIds.flatMap((userId) => engine.orders(userId)),
    markets: engine.marketIds().map((marketId) => engine.market(marketId)!),
  };
}
