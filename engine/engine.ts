/**
 * The engine: a pure state machine, changed only by `apply` and `applyRecord`. The same commands at
 * the same times give the same results, events, digest and state on any machine: the engine reads
 * no clock and no randomness and does no I/O, and all numbers that it stores are integers that a
 * double holds exactly. An expected refusal is a result code. A throw is a bug; the engine must not
 * be used afterwards, unless its method states that nothing has changed.
 *
 * RULES.md says what each command does.
 */

import { ClientSequence } from './interface/client-sequence.js';
import { Code } from './interface/codes.js';
import { CommandRecord, timeOf } from './interface/command-record.js';
import { type Command, CommandKind } from './interface/commands.js';
import { Fingerprint } from './interface/fingerprint.js';
import {
  MAX_FILLS_PER_ORDER,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  MAX_PASSES_PER_COMMAND,
  MAX_TIME_MS,
  WORK_UNITS_PER_COMMAND,
} from './interface/limits.js';
import { RecordBuffer } from './interface/records.js';
import { RESULT_HEAD_LENGTH, ResultHead } from './interface/results.js';
import { Reads } from './reads.js';
import { runBatch } from './rules/batch.js';
import { checkEverything, checkTotals } from './rules/invariants.js';
import { applyDeadlines, applyExpiries } from './rules/markets/market-life.js';
import { runPendingWork } from './rules/markets/pending-work.js';
import { RULES } from './rules/rules.js';
import { POOL_SIZES } from './state/access/room.js';
import { KeyLookup } from './state/idempotency.js';
import { State } from './state/state.js';
import { type Archive, type ByteSource, StateReader } from './storage/archive.js';
import { isIntegerBetween } from './storage/arithmetic.js';
import { Digest } from './storage/digest.js';
import { type IncrementalTask, runToEnd } from './storage/incremental-task.js';
import type { NumberBuffer } from './storage/number-buffer.js';

export class Engine extends Reads {
  private readonly running = new Digest();
  private readonly command = new CommandRecord();
  private readonly operation = new CommandRecord();
  private readonly print = new Fingerprint();
  private readonly numbering = new ClientSequence();
  /** The record of a command that was given as an object. */
  private readonly scratch = new RecordBuffer();
  private readonly run = (operation: CommandRecord): number => this.execute(operation);

  /** @param sizes other sizes are for tests only */
  constructor(sizes = POOL_SIZES) {
    super(new State(sizes));
  }

  /** An engine in the state of an archive. Throws if the bytes are not an archive. */
  static restore(bytes: Uint8Array | ByteSource): Engine {
    const engine = new Engine();
    const reader = new StateReader(bytes);
    engine.archive(reader);
    reader.finish();
    checkTotals(engine.state);
    return engine;
  }

  /**
   * Reserves room for the maxima, so that no command pays for a resize. Unused room takes no
   * memory.
   */
  reserve(): void {
    runToEnd(this.reserveInPieces());
  }

  /** {@link reserve} in pieces: between two pieces the engine may be read, but not changed. */
  reserveInPieces(): IncrementalTask<void> {
    return this.state.reserve();
  }

  /** The result of the last command, valid until the next. Layout: results.ts. */
  get result(): NumberBuffer {
    return this.state.result;
  }

  /** The events of the last command, valid until the next. Layout: events.ts. */
  get events(): NumberBuffer {
    return this.state.events;
  }

  /**
   * Whether the last command repeated the idempotency key or the reference of an earlier one. Its
   * result is that of the earlier command, or `executed_before` if memory no longer has it.
   */
  get replayed(): boolean {
    return this.state.replayed;
  }

  /**
   * Whether the last command has used a new idempotency key, so that a repeat may ask for its
   * result.
   */
  get remembered(): boolean {
    return this.state.remembered;
  }

  /** The sequence of the oldest command whose idempotency key is known; 0 if there is none. */
  get oldestKeySequence(): number {
    return this.state.idempotency.oldestSequence(this.state.sequence);
  }

  /**
   * The maximum of words of results kept in memory for repeated keys. State and digest ignore it.
   */
  keepRecentResults(mostWords: number): void {
    this.state.recentResults.limit(mostWords);
  }

  /** 16 hex digits over all results and events so far. */
  digest(): string {
    return this.running.toString();
  }

  /**
   * The time by which the next command is due: the next deadline or expiry, or now if work is
   * pending. Infinity: nothing is due.
   */
  nextDueMs(): number {
    const { schedule, expiries, nowMs } = this.state;
    return schedule.hasWork ? nowMs : Math.min(schedule.nextAtMs, expiries.firstAtMs);
  }

  /**
   * Applies one command. Throws when time goes back, and a RecordError when the types do not allow
   * the command; both change nothing.
   */
  apply(command: Command, atMs: number): void {
    this.scratch.clear();
    this.applyRecord(this.scratch, this.scratch.append(command, atMs));
  }

  /**
   * Applies the command of a record, which a RecordBuffer wrote or checkRecord checked, and returns
   * where the next record starts. Throws when time goes back; then nothing has changed.
   */
  applyRecord(records: RecordBuffer, at: number): number {
    const { state, command } = this;
    const atMs = timeOf(records, at);
    if (!isIntegerBetween(atMs, state.nowMs, MAX_TIME_MS))
      throw new Error(`time goes from ${state.nowMs} to ${atMs}`);
    state.sequence++;
    state.nowMs = atMs;
    state.result.clear();
    state.events.clear();
    state.amounts.clear();
    state.resultSequence = state.sequence;
    state.resultAtMs = atMs;
    state.replayed = false;
    state.remembered = false;
    state.fillsLeft = MAX_FILLS_PER_ORDER;
    state.passesLeft = MAX_PASSES_PER_COMMAND;
    state.makersSeen = 0;
    state.accounts.setTime(atMs);
    if (state.orderDetails.hasEnded) state.orderDetails.forgetEnded();
    state.idempotency.forgetExpired(atMs);

    if (state.schedule.nextAtMs <= atMs) applyDeadlines(state, atMs);
    if (state.expiries.count !== 0) applyExpiries(state, atMs);
    if (state.schedule.hasWork) runPendingWork(state, WORK_UNITS_PER_COMMAND);
    state.overdueMs = state.expiries.firstAtMs <= atMs ? atMs : -1;
    command.open(records, at);
    if (command.isKeyed) this.executeOnce(command);
    else this.execute(command);

    this.running.add(state.result, state.events);
    checkTotals(state);
    if (state.replayed) this.recall();
    return command.next;
  }

  /** Checks everything and throws at the first broken invariant. For tests and audits. */
  checkInvariants(): void {
    checkEverything(this.state);
  }

  /** Writes the whole state to the archive, or replaces the state by the archive's. */
  archive(archive: Archive): void {
    runToEnd(this.archiveInPieces(archive));
  }

  /** {@link archive} in pieces: between two pieces the engine may be read, but not changed. */
  *archiveInPieces(archive: Archive): IncrementalTask<void> {
    yield* this.state.archive(archive);
    this.running.archive(archive);
  }

  /**
   * Replaces `executed_before` by the first result, if that is in memory. Whether it is depends on
   * the process, not on the commands, so the digest must already include `executed_before`.
   */
  private recall(): void {
    const { result, idempotency } = this.state;
    if (result.values[ResultHead.code] !== Code.executed_before) return;
    const { length } = result;
    result.clear();
    if (!idempotency.readFound(result)) result.length = length;
  }

  /** Executes the command, unless its key was used before. */
  private executeOnce(command: CommandRecord): void {
    const { state, print } = this;
    const { hash, idempotency, nowMs, result } = state;
    const { userId, keyFrom, keyLength } = command;
    const { bytes, ints } = command.records;
    if (ClientSequence.isIn(bytes, keyFrom, keyLength)) {
      this.executeNumbered(command);
      return;
    }
    const isKey = keyLength >= 1 && keyLength <= MAX_IDEMPOTENCY_KEY_LENGTH;
    if (!isKey || !hash.pairOf(userId, ints, keyFrom, keyLength)) {
      this.reject(command, Code.invalid_command);
      return;
    }
    if (!state.users.exists(userId)) {
      this.execute(command);
      return;
    }
    // Before the first credential the hash has no key, and clients could compute its collisions.
    if (!hash.hasKey) {
      this.reject(command, Code.invalid_command);
      return;
    }
    const { low, high } = hash;
    const fingerprint = print.of(command);
    switch (idempotency.lookUp(userId, low, high, fingerprint)) {
      case KeyLookup.SAME_REQUEST:
        state.replayed = true;
        this.reject(command, Code.executed_before, idempotency.foundSequence(state.sequence));
        return;
      case KeyLookup.DIFFERENT_REQUEST:
        this.reject(command, Code.idempotency_key_reused);
        return;
      case KeyLookup.ABSENT:
        if (!idempotency.hasRoomFor(userId, isCancel(command))) {
          this.reject(command, Code.idempotency_full, idempotency.fullForMs(nowMs));
          return;
        }
        this.execute(command);
        state.remembered = true;
        idempotency.remember(userId, low, high, fingerprint, state.sequence, nowMs, result);
    }
  }

  /** Executes a command if its number is greater than all numbers that its token has used. */
  private executeNumbered(command: CommandRecord): void {
    const { state, numbering } = this;
    const { clientSequences } = state;
    const { userId } = command;
    if (!numbering.read(command.records.bytes, command.keyFrom, command.keyLength)) {
      this.reject(command, Code.invalid_command);
      return;
    }
    if (!state.users.exists(userId)) {
      this.execute(command);
      return;
    }
    const { tokenId, number } = numbering;
    const last = clientSequences.last(userId, tokenId);
    if (last === -1) this.reject(command, Code.token_not_found);
    else if (number <= last) this.reject(command, Code.client_sequence_stale, last);
    else if (this.execute(command) !== Code.invalid_command)
      clientSequences.use(userId, tokenId, number);
  }

  private execute(command: CommandRecord): number {
    const { state } = this;
    state.refuse(Code.ok, 0, 0);
    const base = state.result.reserve(RESULT_HEAD_LENGTH);
    const code =
      command.kind === CommandKind.batch
        ? runBatch(state, command, this.operation, this.run)
        : RULES[command.kind]!(state, command, base);
    if (code !== Code.ok) {
      state.result.length = base + RESULT_HEAD_LENGTH;
      state.result.push(state.required);
      state.result.push(state.available);
    }
    this.writeHead(command, base, code);
    return code;
  }

  private reject(command: CommandRecord, code: number, required = 0): void {
    const base = this.state.result.reserve(RESULT_HEAD_LENGTH);
    this.state.result.write(required, 0);
    this.writeHead(command, base, code);
  }

  private writeHead(command: CommandRecord, base: number, code: number): void {
    const { values } = this.state.result;
    values[base + ResultHead.kind] = command.kind;
    values[base + ResultHead.code] = code;
    values[base + ResultHead.sequence] = this.state.resultSequence;
    values[base + ResultHead.atMs] = this.state.resultAtMs;
  }
}

function isCancel({ kind }: CommandRecord): boolean {
  return (
    kind === CommandKind.cancel ||
    kind === CommandKind.cancelAll ||
    kind === CommandKind.cancelEverywhere
  );
}
