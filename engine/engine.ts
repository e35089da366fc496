/**
 * The engine: a pure state machine. `apply(command, atMs)` is all that changes it; the same commands at the same times
 * give the same results, events, digest and state, on any machine. It reads no clock and no randomness, does no I/O and
 * uses no fractions. An expected refusal is a result code; a throw is a bug, after which the engine must not be used.
 *
 * RULES.md beside this file says what each command does.
 */

import { Code } from './interface/codes.js';
import { type Command, CommandKind, type ListAsset, type ObservePrice } from './interface/commands.js';
import { fingerprint, type KeyedCommand } from './interface/fingerprint.js';
import {
  MAX_ASSET_PRICE_MICROS,
  MAX_ASSETS,
  MAX_FILLS_PER_ORDER,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  MAX_TIME_MS,
  WORK_UNITS_PER_COMMAND,
} from './interface/limits.js';
import { PRICE_REMEMBERED_MS } from './interface/parameters.js';
import { RESULT_HEAD_LENGTH, ResultHead } from './interface/results.js';
import { Reads } from './reads.js';
import * as accounts from './rules/accounts.js';
import { runBatch } from './rules/batch.js';
import { cancel, cancelAll, claimWinnings } from './rules/cancel-and-claim.js';
import { checkCollateral, checkEverything, checkTotals } from './rules/invariants.js';
import * as life from './rules/market-life.js';
import { placeOrder } from './rules/place-order.js';
import { runPendingWork } from './rules/settlement.js';
import { Taker } from './rules/taker.js';
import { Found } from './state/idempotency.js';
import { State } from './state/state.js';
import type { Archive } from './storage/archive.js';
import { StateReader } from './storage/archive.js';
import { isIntegerBetween } from './storage/arithmetic.js';
import { Digest } from './storage/digest.js';
import type { NumberBuffer } from './storage/number-buffer.js';

const ASSET_SYMBOL = /^[A-Z0-9]{2,10}$/;

export class Engine extends Reads {
  private readonly taker = new Taker();
  private readonly running = new Digest();
  private readonly run = (command: Command): number => this.answer(command);

  constructor() {
    super(new State());
  }

  /** An engine in the state that the bytes of an archive hold. Throws when they are not one. */
  static restore(bytes: Uint8Array): Engine {
    const engine = new Engine();
    const reader = new StateReader(bytes);
    engine.archive(reader);
    reader.finish();
    checkTotals(engine.state);
    return engine;
  }

  /** Makes room for the stated maxima, so that growing holds no command up; memory is only taken as it is used. */
  reserve(): void {
    this.state.reserve();
  }

  /** Answer to the last command, valid until the next. Layout: results.ts. */
  get result(): NumberBuffer {
    return this.state.result;
  }

  /** What the last command made happen, valid until the next. Layout: events.ts. */
  get events(): NumberBuffer {
    return this.state.events;
  }

  /** Whether the last answer is that of an earlier command with the same idempotency key or reference. */
  get replayed(): boolean {
    return this.state.replayed;
  }

  /** 16 hex digits over all results and events so far. */
  digest(): string {
    return this.running.toString();
  }

  /**
   * When a command must come at the latest for everything to happen in time; not later than now while ended
   * markets have left work. Infinity: nothing is due.
   */
  nextDueMs(): number {
    return this.state.schedule.hasWork ? this.state.nowMs : this.state.schedule.nextAtMs;
  }

  /** Applies one command. Throws when time goes back. */
  apply(command: Command, atMs: number): void {
    const { state } = this;
    if (!isIntegerBetween(atMs, state.nowMs, MAX_TIME_MS))
      throw new Error(`time goes from ${state.nowMs} to ${atMs}`);
    state.sequence++;
    state.nowMs = atMs;
    state.result.clear();
    state.events.clear();
    state.resultSequence = state.sequence;
    state.resultAtMs = atMs;
    state.replayed = false;
    state.refuse(Code.ok, 0, 0);
    state.fillsLeft = MAX_FILLS_PER_ORDER;
    state.userStatistics.setTime(atMs);

    if (state.schedule.nextAtMs <= atMs) life.applyDeadlines(state, atMs);
    if (state.schedule.hasWork) runPendingWork(state, WORK_UNITS_PER_COMMAND);
    if ('idempotencyKey' in command && command.idempotencyKey !== null) this.answerOnce(command);
    else this.answer(command);

    this.running.add(state.result);
    this.running.add(state.events);
    checkTotals(state);
  }

  /** Throws, naming the first broken invariant. Looks at everything; for tests and audits. */
  checkInvariants(): void {
    checkEverything(this.state);
  }

  /** Writes the whole state, or takes it over. */
  archive(archive: Archive): void {
    this.state.archive(archive);
    this.running.archive(archive);
  }

  /** Answers from memory if the key is remembered; else answers, and remembers. */
  private answerOnce(command: KeyedCommand): void {
    const { state } = this;
    const key = command.idempotencyKey!;
    if (!isKey(key)) {
      this.writeAnswer(command, this.state.result.reserve(RESULT_HEAD_LENGTH), Code.invalid_command);
      return;
    }
    const print = fingerprint(command);
    switch (state.idempotency.lookUp(command.userId, key, print, state.nowMs, state.result)) {
      case Found.SAME:
        state.replayed = true;
        return;
      case Found.OTHER:
        this.writeAnswer(command, state.result.reserve(RESULT_HEAD_LENGTH), Code.idempotency_key_reused);
        return;
      case Found.NOTHING:
        this.answer(command);
        if (state.users.exists(command.userId)) {
          state.idempotency.remember(command.userId, key, print, state.nowMs, state.result);
        }
    }
  }

  /** Carries a command out and writes its result at the end of the tape; returns the code. */
  private answer(command: Command): number {
    const { state } = this;
    state.refuse(Code.ok, 0, 0);
    const base = state.result.reserve(RESULT_HEAD_LENGTH);
    const code = this.carryOut(command, base);
    this.writeAnswer(command, base, code);
    return code;
  }

  private writeAnswer(command: Command, base: number, code: number): void {
    const { state } = this;
    if (code !== Code.ok) {
      state.result.length = base + RESULT_HEAD_LENGTH;
      state.result.push(state.required);
      state.result.push(state.available);
    }
    const tape = state.result.values;
    tape[base + ResultHead.kind] = CommandKind[command.kind];
    tape[base + ResultHead.code] = code;
    tape[base + ResultHead.sequence] = state.resultSequence;
    tape[base + ResultHead.atMs] = state.resultAtMs;
  }

  private carryOut(command: Command, base: number): number {
    const { state } = this;
    switch (command.kind) {
      case 'buy':
      case 'sell': {
        const code = placeOrder(state, this.taker, command, base);
        if (code === Code.ok) checkCollateral(state, this.taker.slot);
        return code;
      }
      case 'cancel':
        return cancel(state, command);
      case 'cancelAll':
        return cancelAll(state, command);
      case 'claim':
        return claimWinnings(state, command);
      case 'batch':
        return runBatch(state, command, this.run);
      case 'advanceTime':
        return Code.ok;
      case 'observePrice':
        return this.observePrice(command);
      case 'listAsset':
        return this.listAsset(command);
      case 'register':
        return accounts.register(state, command);
      case 'setCredential':
        return accounts.setCredential(state, command);
      case 'deposit':
      case 'withdraw':
        return accounts.transfer(state, command);
      case 'stake':
        return accounts.stake(state, command);
      case 'unstake':
        return accounts.unstake(state, command);
      case 'claimYield':
        return accounts.claimYield(state, command);
      case 'setReferralCode':
        return accounts.setReferralCode(state, command);
      default:
        return refuseUnknown(command);
    }
  }

  private listAsset(command: ListAsset): number {
    const { state } = this;
    if (!ASSET_SYMBOL.test(command.symbol)) return Code.invalid_command;
    const known = state.prices.find(command.symbol);
    if (known === -1 && state.prices.assetCount >= MAX_ASSETS) return Code.limit_reached;
    state.result.push(known === -1 ? life.listAsset(state, command.symbol) : known);
    return Code.ok;
  }

  private observePrice(command: ObservePrice): number {
    const { state } = this;
    const { asset, priceMicros, observedAtMs } = command;
    if (!isIntegerBetween(priceMicros, 1, MAX_ASSET_PRICE_MICROS)) return Code.invalid_command;
    if (!isIntegerBetween(observedAtMs, 0, state.nowMs)) return Code.invalid_command;
    if (!isIntegerBetween(asset, 0, state.prices.assetCount - 1)) return Code.asset_not_found;
    // Forgetting is not a change that anybody could see: no reference price looks that far back.
    state.prices.forgetOld(asset, state.nowMs);
    if (state.prices.isFull(asset)) return Code.limit_reached;
    if (observedAtMs < state.nowMs - PRICE_REMEMBERED_MS) return Code.price_too_old;
    life.observePrice(state, asset, observedAtMs, priceMicros);
    return Code.ok;
  }
}

function isKey(key: string): boolean {
  if (key.length < 1 || key.length > MAX_IDEMPOTENCY_KEY_LENGTH) return false;
  // Keys are remembered as one byte per character.
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    if (unit < 32 || unit > 126) return false;
  }
  return true;
}

/** Exhaustiveness: a kind without a case above does not compile. */
function refuseUnknown(command: never): number {
  throw new Error(`no such command: ${String((command as Command).kind)}`);
}
