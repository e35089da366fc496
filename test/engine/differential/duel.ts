/**
 * Two engines in lockstep: each command goes to both, and their results, events and views must be
 * equal. It also counts what happened, so that a test can show that every case was covered.
 */
import { isDeepStrictEqual } from 'node:util';
import { Engine } from '../../../engine/engine.js';
import { CODES } from '../../../engine/interface/codes.js';
import type { Command } from '../../../engine/interface/commands.js';
import {
  CancelReason,
  DepositSource,
  MatchType,
  Outcome,
  PointsReason,
  Resolution,
  Side,
  TokenState,
} from '../../../engine/interface/domain.js';
import {
  decodeEvents,
  EVENT_FIELDS,
  EVENT_LENGTHS,
  type EventRecord,
  EventType,
} from '../../../engine/interface/events.js';
import { RESULT_FIELDS, RESULT_HEAD_LENGTH } from '../../../engine/interface/results.js';
import type { DepthLevel } from '../../../engine/interface/views.js';
import { POOL_SIZES } from '../../../engine/state/access/room.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import { NaiveEngine } from '../../support/naive-engine/naive-engine.js';
import type { QuoteRequest } from '../../support/naive-engine/views.js';
import { watchRows } from './touched-rows.js';

/** A quote request: a buy by amount, a buy by size, or a sale. */
const QUOTES: Omit<QuoteRequest, 'marketId' | 'userId'>[] = [
  {
    side: Side.BUY,
    outcome: Outcome.UP,
    budgetMicros: 5_000_000,
    sizeLots: 10_000_000_000,
    priceTicks: 999,
  },
  { side: Side.BUY, outcome: Outcome.DOWN, budgetMicros: 700, sizeLots: 3, priceTicks: 600 },
  { side: Side.SELL, outcome: Outcome.UP, budgetMicros: 0, sizeLots: 7_000, priceTicks: 1 },
  {
    side: Side.SELL,
    outcome: Outcome.DOWN,
    budgetMicros: 0,
    sizeLots: 10_000_000,
    priceTicks: 400,
  },
];

const NO_MARKET = { marketId: 0, userId: 0 };

export class Duel {
  readonly engine: Engine;
  readonly naive: NaiveEngine;
  commands = 0;

  constructor(
    /** Names the run in the message of a mismatch. */
    private readonly label: string,
    private readonly counts: Map<string, number>,
    sizes = POOL_SIZES,
  ) {
    this.engine = new Engine(sizes);
    this.naive = new NaiveEngine(sizes);
    watchRows(this.engine);
  }

  apply(command: Command, atMs: number): void {
    this.commands++;
    this.naive.apply(command, atMs);
    this.engine.apply(command, atMs);
    const { engine, naive } = this;
    if (!sameNumbers(engine.result, naive.result) || !sameEvents(engine.events, naive.events)) {
      throw new Error(this.difference(command, atMs));
    }
    this.expectSame('replayed', engine.replayed, naive.replayed);
    this.expectSame('sequence', engine.sequence, naive.sequence);
    this.expectSame('nowMs', engine.nowMs, naive.nowMs);
    if (engine.nextDueMs() > naive.nextDueMs()) {
      this.expectSame('nextDueMs', engine.nextDueMs(), naive.nextDueMs());
    }
    this.count(command);
  }

  /** Compares every view of both engines and checks the invariants of each. */
  compareState(): void {
    const { engine, naive } = this;
    engine.checkInvariants();
    naive.checkInvariants();
    this.expectSame('userCount', engine.userCount, naive.userCount);
    this.expectSame('assetCount', engine.assetCount, naive.assetCount);
    this.expectSame('operatorActions', engine.operatorActions(), naive.operatorActions());
    this.expectSame('rules', engine.rules(), naive.rules());
    this.expectSame('vault', engine.vault(), naive.vault());
    for (let asset = 0; asset < naive.assetCount; asset++) {
      const same = (name: string, real: unknown, expected: unknown) =>
        this.expectSame(`${name} of asset ${asset}`, real, expected);
      const symbol = engine.assetSymbol(asset);
      same('price', engine.assetPriceMicros(asset), naive.assetPriceMicros(asset));
      same('active market', engine.activeMarket(asset), naive.activeMarket(asset));
      same('number', engine.findAsset(symbol), naive.findAsset(symbol));
    }
    const frozen = naive.state.users.filter((user) => user.frozen).map((user) => user.userId);
    this.expectSame('frozenUsers', engine.frozenUsers(), frozen);
    const staked = naive.state.vault.deposits.length;
    for (let depositId = Math.max(0, staked - 5); depositId <= staked; depositId++)
      this.expectSame('a deposit', engine.vaultDeposit(depositId), naive.deposit(depositId));
    for (let userId = 0; userId <= naive.userCount + 1; userId++) this.compareUser(userId);
    this.expectSame('marketIds', engine.marketIds(), naive.marketIds());
    for (const marketId of [0, ...naive.marketIds()]) this.compareMarket(marketId);
  }

  compareUser(userId: number): void {
    const { engine, naive } = this;
    const same = (name: string, real: unknown, expected: unknown) =>
      this.expectSame(`${name} of user ${userId}`, real, expected);
    same('account', engine.account(userId), naive.account(userId));
    same('referral', engine.referral(userId), naive.referral(userId));
    same('credential', engine.credential(userId), naive.credential(userId));
    same('credential version', engine.credentialVersion(userId), naive.credentialVersion(userId));
    same('tokens', engine.tokens(userId), naive.tokens(userId));
    for (const token of naive.tokens(userId)) {
      const { tokenId, isExpired } = token;
      same('token', engine.token(tokenId), token);
      const state = isExpired ? TokenState.EXPIRED : TokenState.VALID;
      same('state of a token', engine.tokenState(tokenId), state);
      const used = naive.clientSequence(userId, tokenId);
      same('client sequence', engine.clientSequence(userId, tokenId), used);
    }
    const used = naive.account(userId) === null ? -1 : naive.clientSequence(userId, 0);
    same('client sequence', engine.clientSequence(userId, 0), used);
    same('order groups', engine.orderGroups(userId), naive.orderGroups(userId));
    const subAccounts = naive.state.users.filter(({ parentId }) => parentId === userId);
    const ids = userId === 0 ? [] : subAccounts.map((account) => account.userId);
    same('sub-accounts', engine.subAccounts(userId), ids);
    const parentId = naive.account(userId)?.parentId ?? 0;
    same('parent', engine.parent(userId), parentId);
    same('payer', engine.payer(userId), parentId || userId);
    same('cancelAtMs', engine.cancelAtMs(userId), naive.cancelAtMs(userId));
    same('orders', engine.orders(userId), naive.orders(userId));
    for (const { orderId } of naive.orders(userId).slice(0, 40))
      same('lots ahead', engine.lotsAhead([orderId]).get(orderId), naive.lotsAhead(orderId));
    same('positions', engine.positions(userId), naive.positions(userId));
    same('deposits', engine.vaultDeposits(userId), naive.deposits(userId));
    const username = naive.account(userId)?.username.toUpperCase() ?? 'no such user';
    same('name', engine.findUser(username), naive.findUser(username));
  }

  private compareMarket(marketId: number): void {
    const { engine, naive } = this;
    this.expectSame(`market ${marketId}`, engine.market(marketId), naive.market(marketId));
    const depth = naive.depth(marketId, 1_000);
    this.expectSame(`depth of ${marketId}`, engine.depth(marketId, 1_000), depth);
    const lots = (side: Side, levels: readonly DepthLevel[] | undefined) => {
      for (const { priceTicks, sizeLots } of levels ?? [{ priceTicks: 500, sizeLots: 0 }])
        this.expectSame('a level', engine.levelLots(marketId, side, priceTicks), sizeLots);
    };
    lots(Side.BUY, depth?.bids);
    lots(Side.SELL, depth?.asks);
    if (marketId === 0)
      this.expectSame('quote', engine.quote({ ...NO_MARKET, ...QUOTES[0]! }), null);
    if (marketId !== naive.activeMarket(marketId % 64)) return;
    this.expectSame(`top of ${marketId}`, engine.depth(marketId, 2), naive.depth(marketId, 2));
    for (const quote of QUOTES) {
      for (const userId of [0, 1 + (this.commands % naive.userCount)]) {
        const request = { ...quote, marketId, userId };
        const name = `quote ${JSON.stringify(request)}`;
        this.expectSame(name, engine.quote(request), naive.quote(request));
      }
    }
  }

  private expectSame(name: string, real: unknown, expected: unknown): void {
    if (isDeepStrictEqual(real, expected)) return;
    throw new Error(
      `${this.label}, command ${this.commands}: ${name} differs\n  engine: ${show(real)}\n  naive:  ${show(expected)}`,
    );
  }

  private difference(command: Command, atMs: number): string {
    const { engine, naive } = this;
    const realResult = Array.from(engine.result.values.subarray(0, engine.result.length));
    const realEvents = decodeEvents(engine.events);
    const firstOther = realEvents.findIndex(
      (event, index) => !isDeepStrictEqual(event, naive.events[index]),
    );
    return [
      `${this.label}, command ${this.commands} at ${atMs}: ${show(command)}`,
      `  engine: ${CODES[realResult[1]!]} ${show(realResult)}`,
      `  naive:  ${CODES[naive.result[1]!]} ${show(naive.result)}`,
      `  engine's events (first difference: ${firstOther}): ${realEvents.map(show).join('\n    ')}`,
      `  naive's events: ${naive.events.map(show).join('\n    ')}`,
    ].join('\n');
  }

  private count(command: Command): void {
    const { naive } = this;
    const add = (name: string) => this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    if (naive.replayed) add(`${command.kind} replayed`);
    else add(`${command.kind} ${CODES[naive.result[1]!]}`);
    if (command.kind === 'batch' && naive.result[1] === 0)
      this.countOperations(command.operations, add);
    for (const event of naive.events) add(nameOf(event));
  }

  private countOperations(operations: { kind: string }[], add: (name: string) => void): void {
    let at = RESULT_HEAD_LENGTH + RESULT_FIELDS.batch.length;
    for (const { kind } of operations) {
      add(`batch: ${kind} ${CODES[this.naive.result[at + 2]!]}`);
      at += 1 + this.naive.result[at]!;
    }
  }
}

/** An event's name and variant. */
function nameOf(event: EventRecord): string {
  switch (event.type) {
    case 'trade': {
      const taker = `${word(Side, event.takerSide)} ${word(Outcome, event.takerOutcome)}`;
      return `event trade ${word(MatchType, event.matchType)} by ${taker}`;
    }
    case 'marketResolved':
      return `event marketResolved ${word(Resolution, event.resolution)}`;
    case 'orderPlaced':
      if (event.anew === 1) return 'event orderPlaced anew';
      return `event orderPlaced and ${event.restingLots > 0 ? 'resting' : 'ended'}`;
    case 'orderCancelled':
      return `event orderCancelled ${word(CancelReason, event.reason)}`;
    case 'orderAmended': {
      const kept = event.sizeLots === 0 ? 'and closed' : 'in place';
      return `event orderAmended ${event.keptPriority === 1 ? kept : 'and placed anew'}`;
    }
    case 'deposited':
      return `event deposited ${word(DepositSource, event.source)}`;
    case 'pointsCredited':
      return `event pointsCredited ${word(PointsReason, event.reason)}`;
    case 'claimed':
      return `event claimed ${event.automatic === 1 ? 'automatically' : 'on request'}`;
    default:
      return `event ${event.type}`;
  }
}

function word(words: Record<string, number>, value: number): string {
  return Object.keys(words).find((one) => words[one] === value)!;
}

function sameNumbers(tape: NumberBuffer, expected: number[]): boolean {
  if (tape.length !== expected.length) return false;
  for (let i = 0; i < expected.length; i++)
    if (!Object.is(tape.values[i], expected[i])) return false;
  return true;
}

function sameEvents(tape: NumberBuffer, expected: EventRecord[]): boolean {
  let at = 0;
  for (const event of expected) {
    const type = EventType[event.type];
    if (tape.values[at] !== type) return false;
    const record = event as unknown as Record<string, number>;
    for (const [index, field] of EVENT_FIELDS[event.type].entries()) {
      if (!Object.is(tape.values[at + 1 + index], record[field])) return false;
    }
    at += EVENT_LENGTHS[type]!;
  }
  return at === tape.length;
}

/** JSON, extended with the numbers that JSON cannot express. */
function show(value: unknown): string {
  return JSON.stringify(value, (_name, one) => {
    if (typeof one !== 'number') return one;
    return Object.is(one, -0) ? '-0' : Number.isFinite(one) ? one : `${one}`;
  });
}
