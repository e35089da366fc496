/**
 * A batch: up to 100 operations in order, without interruption. Its result is the number of
 * operations and, for each, the length of its result and the result.
 *
 * An atomic batch runs while the undo log records. The first refusal restores everything, ids
 * included, and every other operation gets `batch_aborted`.
 */

import { Code } from '../interface/codes.js';
import type { CommandRecord } from '../interface/command-record.js';
import { MAX_BATCH_OPERATIONS } from '../interface/limits.js';
import { REJECT_RESULT_LENGTH, RESULT_HEAD_LENGTH, ResultHead } from '../interface/results.js';
import type { State } from '../state/state.js';
import { isIntegerBetween } from '../storage/arithmetic.js';

/** Runs one operation and writes its whole result, head included; returns its code. */
type Run = (operation: CommandRecord) => number;

/** Runs the operations with `run`, which gets the same `operation` object each time. */
export function runBatch(
  state: State,
  batch: CommandRecord,
  operation: CommandRecord,
  run: Run,
): number {
  const count = batch.operationCount;
  if (!isIntegerBetween(count, 1, MAX_BATCH_OPERATIONS)) return Code.invalid_command;
  const { records } = batch;
  let at = batch.afterKey;
  for (let i = 0; i < count; i++, at = operation.next) {
    operation.openOperation(records, at);
    if (operation.userId !== batch.userId || operation.isKeyed) return Code.invalid_command;
  }
  if (!state.users.exists(batch.userId)) return Code.user_not_found;
  state.result.push(count);
  if (batch.isSet) {
    runAllOrNone(state, batch, operation, run);
    return Code.ok;
  }
  at = batch.afterKey;
  for (let i = 0; i < count; i++, at = operation.next) {
    operation.openOperation(records, at);
    runOne(state, operation, run);
  }
  return Code.ok;
}

function runOne(state: State, operation: CommandRecord, run: Run): number {
  const lengthAt = state.result.reserve(1);
  const code = run(operation);
  state.result.values[lengthAt] = state.result.length - lengthAt - 1;
  return code;
}

function runAllOrNone(
  state: State,
  batch: CommandRecord,
  operation: CommandRecord,
  run: Run,
): void {
  const count = batch.operationCount;
  const resultStart = state.result.length;
  const eventStart = state.events.length;
  state.undo.begin();
  state.lastKeptOrderId = state.lastOrderId;
  let at = batch.afterKey;
  for (let i = 0; i < count; i++, at = operation.next) {
    operation.openOperation(batch.records, at);
    const code = runOne(state, operation, run);
    if (code === Code.ok) continue;
    const { required, available } = state;
    state.undo.rollBack();
    state.lastKeptOrderId = Number.MAX_SAFE_INTEGER;
    state.result.length = resultStart;
    state.events.length = eventStart;
    writeAborted(state, batch, operation, { index: i, code, required, available });
    return;
  }
  state.undo.keep();
  state.lastKeptOrderId = Number.MAX_SAFE_INTEGER;
}

function writeAborted(
  state: State,
  batch: CommandRecord,
  operation: CommandRecord,
  refused: { index: number; code: number; required: number; available: number },
): void {
  let at = batch.afterKey;
  for (let i = 0; i < batch.operationCount; i++, at = operation.next) {
    operation.openOperation(batch.records, at);
    const isRefused = i === refused.index;
    state.result.push(REJECT_RESULT_LENGTH);
    const base = state.result.reserve(REJECT_RESULT_LENGTH);
    const { values } = state.result;
    values[base + ResultHead.kind] = operation.kind;
    values[base + ResultHead.code] = isRefused ? refused.code : Code.batch_aborted;
    values[base + ResultHead.sequence] = state.sequence;
    values[base + ResultHead.atMs] = state.nowMs;
    values[base + RESULT_HEAD_LENGTH] = isRefused ? refused.required : 0;
    values[base + RESULT_HEAD_LENGTH + 1] = isRefused ? refused.available : 0;
  }
}
