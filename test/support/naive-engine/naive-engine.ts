/**
 * A second engine, written from engine/RULES.md alone, slow and obvious: plain arrays, exact
 * decimals of dollars, no deferred work. It shares only the contract with the first engine
 * (commands, results, events, codes, limits), so where the two agree, the rules were followed.
 */

import { Code } from '../../../engine/interface/codes.js';
import {
  type Batch,
  type BatchOperation,
  type Command,
  CommandKind,
  type CommandName,
  type CommandOf,
} from '../../../engine/interface/commands.js';
import { MarketStatus } from '../../../engine/interface/domain.js';
import type { EventRecord } from '../../../engine/interface/events.js';
import { MAX_FILLS_PER_ORDER, OPERATOR_ACTIONS_KEPT } from '../../../engine/interface/limits.js';
import { REJECT_FIELDS, RESULT_FIELDS } from '../../../engine/interface/results.js';
import { POOL_SIZES } from '../../../engine/state/access/room.js';
import { setCancelAfter } from './access/cancel-after.js';
import { createOrderGroup, removeOrderGroup, resetOrderGroup } from './access/groups.js';
import {
  operatorCancel,
  resetCredential,
  setFrozen,
  setPaused,
  setRateTier,
  setRules,
  voidMarket,
} from './access/operators.js';
import { createToken, revokeToken, tokenViews } from './access/tokens.js';
import {
  createSubAccount,
  deposit,
  earlierTransfer,
  register,
  setAutoClaim,
  setCredential,
  setPrivacy,
  setReferralCode,
  startAgain,
  transferMoney,
  withdraw,
} from './accounts.js';
import { amend } from './amend.js';
import { listAsset, observePrice, observeSourcePrice, vouchForSnapshot } from './assets.js';
import { asRecorded, copyOf } from './copy.js';
import { micros } from './decimal.js';
import { isKey, isWellFormed } from './fields.js';
import { claim, listMarkets, nextDueMs, passTime } from './market.js';
import { keyOf, NaiveMemory, sameCommand } from './memory.js';
import {
  cancel,
  cancelAll,
  cancelDisconnected,
  cancelEverywhere,
  lotsAhead,
  placeOrder,
} from './orders.js';
import { merge, split } from './sets.js';
import { type Answer, type NaiveMarket, NaiveState, ok, reject, userOf } from './state.js';
import { claimYield, stake, unstake } from './vault.js';
import * as views from './views.js';

export class NaiveEngine {
  readonly state = new NaiveState();
  /** The last command's result, in the layout of engine/interface/results.ts. */
  result: number[] = [];
  /** Whether the last result repeats a remembered one. */
  replayed = false;
  private readonly memory = new NaiveMemory();
  /** The greatest executed number of each user and token. */
  private readonly numbersUsed = new Map<string, number>();

  constructor(sizes = POOL_SIZES) {
    this.state.poolSizes = sizes;
  }

  get events(): EventRecord[] {
    return this.state.events;
  }
  get sequence(): number {
    return this.state.sequence;
  }
  get nowMs(): number {
    return this.state.nowMs;
  }

  apply(command: Command, atMs: number): void {
    if (atMs < this.state.nowMs)
      throw new Error(`time goes back from ${this.state.nowMs} to ${atMs}`);
    this.state.sequence++;
    this.state.fillsLeft = MAX_FILLS_PER_ORDER;
    this.state.events = [];
    this.replayed = false;
    this.memory.forgetExpired(atMs);
    passTime(this.state, atMs);
    this.result = this.answer(asRecorded(command));
    const setsCredential = 'credential' in command;
    if (setsCredential && this.result[1] === Code.ok && command.credential !== '')
      this.state.hadCredential = true;
  }

  private answer(command: Command): number[] {
    const key = keyOf(command);
    if (typeof key === 'string' && key.startsWith('\u0001')) return this.numbered(command, key);
    if (key === null || !isKey(key)) return this.carryOut(command);
    const { userId } = command as { userId: number };
    // Results for an unknown user are not remembered.
    if (userOf(this.state, userId) === undefined) return this.carryOut(command);
    // No client can have signed in before the first credential, so keys are refused.
    if (!this.state.hadCredential) return this.flat(command, reject('invalid_command'));
    const earlier = this.memory.find(userId, key, this.state.nowMs);
    if (earlier === undefined) {
      const isCancel = ['cancel', 'cancelAll', 'cancelEverywhere'].includes(command.kind);
      const required = this.memory.fullForMs(this.state, userId, isCancel);
      if (required > 0) return this.flat(command, reject('idempotency_full', required));
      const result = this.carryOut(command);
      this.memory.remember(userId, key, { command, result, atMs: this.state.nowMs });
      return result;
    }
    if (!sameCommand(earlier.command, command)) {
      return this.flat(command, reject('idempotency_key_reused'));
    }
    this.replayed = true;
    return earlier.result;
  }

  /** Handles a client's number in place of a key. */
  private numbered(command: Command, key: string): number[] {
    const { userId } = command as { userId: number };
    const parts = /^(0|[1-9]\d*):([1-9]\d*)$/.exec(key.slice(1));
    const [tokenId, number] = [Number(parts?.[1]), Number(parts?.[2])];
    if (parts === null || tokenId >= 2 ** 31 || !Number.isSafeInteger(number))
      return this.flat(command, reject('invalid_command'));
    const plain = { ...command, idempotencyKey: null } as Command;
    if (userOf(this.state, userId) === undefined) return this.carryOut(plain);
    const token = this.state.tokens.find((one) => one.tokenId === tokenId);
    if (tokenId !== 0 && token?.userId !== userId)
      return this.flat(command, reject('token_not_found'));
    const name = `${userId} ${tokenId}`;
    const last = this.numbersUsed.get(name) ?? 0;
    if (number <= last) return this.flat(command, reject('client_sequence_stale', last));
    const result = this.carryOut(plain);
    if (result[1] !== Code.invalid_command) this.numbersUsed.set(name, number);
    return result;
  }

  clientSequence(userId: number, tokenId: number): number {
    return this.numbersUsed.get(`${userId} ${tokenId}`) ?? 0;
  }

  private carryOut(command: Command): number[] {
    if (!this.isWellFormed(command)) return this.flat(command, reject('invalid_command'));
    if (command.kind === 'batch') return this.batch(command);
    if (command.kind !== 'deposit' && command.kind !== 'withdraw') {
      return this.flat(command, perform(this.state, command));
    }
    const earlier = earlierTransfer(this.state, command);
    if (earlier !== undefined && sameCommand(earlier.command, command)) {
      this.replayed = true;
      return earlier.result;
    }
    const answer = perform(this.state, command);
    const result = this.flat(command, answer);
    if (answer.code === 'ok')
      this.state.transfers.push({ command, result, atMs: this.state.nowMs });
    return result;
  }

  /** No client exists before the first credential, so client order ids are refused. */
  private isWellFormed(command: Command | BatchOperation): boolean {
    const isNamed = 'clientOrderId' in command && typeof command.clientOrderId === 'string';
    return isWellFormed(command, this.state.nowMs) && (!isNamed || this.state.hadCredential);
  }

  private flat(command: Command, answer: Answer): number[] {
    const names = answer.code === 'ok' ? RESULT_FIELDS[command.kind] : REJECT_FIELDS;
    return [
      CommandKind[command.kind],
      Code[answer.code],
      this.state.sequence,
      this.state.nowMs,
      ...names.map((name) => {
        const value = answer.fields[name];
        if (value === undefined) throw new Error(`the result of ${command.kind} lacks ${name}`);
        return value;
      }),
      ...(answer.fills ?? []),
      ...packed(answer.name ?? ''),
    ];
  }

  private batch(command: Batch): number[] {
    const { state } = this;
    if (userOf(state, command.userId) === undefined)
      return this.flat(command, reject('user_not_found'));
    // Only an atomic batch can be undone.
    const before = command.atomic ? copyOf(state) : null;
    if (command.atomic) state.lastKeptOrderId = state.ordersAccepted;
    const results: number[][] = [];
    for (const operation of command.operations) {
      const result = this.operation(operation);
      results.push(result);
      if (before !== null && result[1] !== Code.ok) {
        Object.assign(state, before);
        state.lastKeptOrderId = Number.POSITIVE_INFINITY;
        return this.aborted(command, results);
      }
    }
    state.lastKeptOrderId = Number.POSITIVE_INFINITY;
    return this.batchResult(command, results);
  }

  private operation(operation: BatchOperation): number[] {
    const formed = this.isWellFormed(operation);
    return this.flat(
      operation,
      formed ? perform(this.state, operation) : reject('invalid_command'),
    );
  }

  /** The result of an atomic batch that was undone; the last of `results` is the refusal. */
  private aborted(command: Batch, results: number[][]): number[] {
    const all = command.operations.map((operation, index) =>
      index === results.length - 1
        ? results[index]!
        : this.flat(operation, reject('batch_aborted')),
    );
    return this.batchResult(command, all);
  }

  private batchResult(command: Batch, results: number[][]): number[] {
    const head = this.flat(command, ok({ operationCount: results.length }));
    return [...head, ...results.flatMap((result) => [result.length, ...result])];
  }

  nextDueMs = () => nextDueMs(this.state);
  checkInvariants = () => views.assertConserved(this.state);

  get userCount(): number {
    return this.state.users.length;
  }
  get assetCount(): number {
    return this.state.assets.length;
  }
  findUser = (username: string) => {
    const lower = username.toLowerCase();
    return this.state.users.find((user) => user.username.toLowerCase() === lower)?.userId ?? 0;
  };
  account = (userId: number) => views.accountView(this.state, userId);
  credential = (userId: number) => userOf(this.state, userId)?.credential ?? null;
  credentialVersion = (userId: number) => userOf(this.state, userId)?.credentialVersion ?? 0;
  referral = (userId: number) => views.referralView(this.state, userId);
  cancelAtMs = (userId: number) => userOf(this.state, userId)?.cancelAtMs ?? null;
  tokens = (userId: number) => tokenViews(this.state, userId);

  findAsset = (symbol: string) => this.state.assets.findIndex((asset) => asset.symbol === symbol);
  assetPriceMicros = (asset: number) => {
    const last = this.state.assets[asset]?.prices.at(-1);
    return last === undefined ? null : micros(last.price);
  };

  market = (marketId: number) => views.marketView(this.state, marketId);
  marketIds = () => this.state.markets.map(({ marketId }) => marketId).sort((a, b) => a - b);
  activeMarket = (asset: number) => {
    const isActive = (one: NaiveMarket) =>
      one.asset === asset && one.status === MarketStatus.ACTIVE;
    return this.state.markets.find(isActive)?.marketId ?? 0;
  };
  depth = (marketId: number, levels: number) => views.depthView(this.state, marketId, levels);
  quote = (request: views.QuoteRequest) => views.quoteView(this.state, request);

  positions = (userId: number) => views.positionViews(this.state, userId);
  position = (userId: number, marketId: number) =>
    this.positions(userId).find((position) => position.marketId === marketId) ?? null;
  orders = (userId: number) => views.orderViews(this.state, userId);
  lotsAhead = (orderId: number) => lotsAhead(this.state, orderId);
  orderGroups = (userId: number) => views.groupViews(this.state, userId);

  rules = () => this.state.rules;
  operatorActions = () => this.state.actions.slice(-OPERATOR_ACTIONS_KEPT).reverse();

  vault = () => views.vaultView(this.state);
  deposit = (depositId: number) => {
    const found = this.state.vault.deposits[depositId - 1];
    return found === undefined ? null : views.depositView(this.state, found);
  };
  deposits = (userId: number) =>
    this.state.vault.deposits
      .filter((one) => one.userId === userId && !one.closed)
      .map((one) => views.depositView(this.state, one));
}

const RULES: {
  [K in Exclude<CommandName, 'batch'>]: (state: NaiveState, command: CommandOf<K>) => Answer;
} = {
  advanceTime: () => ok({}),
  listAsset,
  listMarkets,
  observePrice,
  observeSourcePrice,
  register,
  setCredential,
  deposit,
  withdraw,
  buy: placeOrder,
  sell: placeOrder,
  cancel,
  cancelAll,
  cancelEverywhere,
  cancelDisconnected,
  amend,
  claim,
  split,
  merge,
  stake,
  unstake,
  claimYield,
  setReferralCode,
  setAutoClaim,
  startAgain,
  setPrivacy,
  createSubAccount,
  transferMoney,
  vouchForSnapshot,
  createToken,
  revokeToken,
  setCancelAfter,
  createOrderGroup,
  resetOrderGroup,
  removeOrderGroup,
  setPaused,
  setFrozen,
  operatorCancel,
  voidMarket,
  setRules,
  resetCredential,
  setRateTier,
  recordUpgrade: (_state, { toVersion }) => ok({ toVersion }),
};

function perform(state: NaiveState, command: Exclude<Command, Batch>): Answer {
  const rule = RULES[command.kind] as (state: NaiveState, command: Command) => Answer;
  return rule(state, command);
}

/** Packs four characters into a number, the first in its lowest byte. */
function packed(text: string): number[] {
  const fours = text.match(/.{1,4}/g) ?? [];
  return fours.map((four) =>
    [...four].reduce((sum, character, at) => sum + character.charCodeAt(0) * 256 ** at, 0),
  );
}
