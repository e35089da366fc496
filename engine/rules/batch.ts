/**
 * A batch: up to 100 operations in order, without interruption. Its result is the number of
 * operations and, for each, the length of its result and the result.
 *
 * An atomic batch runs while the undo log records. The first refusal restores everything, ids
 * included, and every other operation gets `batch_aborted`.
 */

import { Code } from '../interface/codes.js';
import { type Batch, type BatchOperation, CommandKind } from '../interface/commands.js';
import { MAX_BATCH_OPERATIONS } from '../interface/limits.js';
import { REJECT_RESULT_LENGTH, ResultHead } from '../interface/results.js';
import type { State } from '../state/state.js';
import { isIntegerBetween } from '../storage/arithmetic.js';

const OPERATIONS: ReadonlySet<string> = new Set(['buy', 'sell', 'cancel', 'claim']);

/** Runs one operation and writes its whole result, head included; returns its code. */
type Run = (operation: BatchOperation) => number;

export function runBatch(state: State, command: Batch, run: Run): number {
  const { operations } = command;
  if (!isIntegerBetween(operations.length, 1, MAX_BATCH_OPERATIONS)) return Code.invalid_command;
  for (const operation of operations) {
    const isMine = operation.userId === command.userId && operation.idempotencyKey === null;
    if (!isMine || !OPERATIONS.has(operation.kind)) return Code.invalid_command;
  }
  if (!state.users.exists(command.userId)) return Code.user_not_found;
  state.result.push(operations.length);
  if (command.atomic) runAllOrNone(state, operations, run);
  else for (const operation of operations) runOne(state, operation, run);
  return Code.ok;
}

function runOne(state: State, operation: BatchOperation, run: Run): number {
  const lengthAt = state.result.reserve(1);
  const code = run(operation);
  state.result.values[lengthAt] = state.result.length - lengthAt - 1;
  return code;
}

function runAllOrNone(state: State, operations: readonly BatchOperation[], run: Run): void {
  const resultStart = state.result.length;
  const eventStart = state.events.length;
  state.undo.begin();
  for (let i = 0; i < operations.length; i++) {
    const code = runOne(state, operations[i]!, run);
    if (code === Code.ok) continue;
    const { required, available } = state;
    state.undo.rollBack();
    state.result.length = resultStart;
    state.events.length = eventStart;
    writeAborted(state, operations, { index: i, code, required, available });
    return;
  }
  state.undo.keep();
}

function writeAborted(
  state: State,
  operations: readonly BatchOperation[],
  refused: { index: number; code: number; required: number; available: number },
): void {
  for (let i = 0; i < operations.length; i++) {
    const isRefused = i === refused.index;
    state.result.push(REJECT_RESULT_LENGTH);
    const base = state.result.reserve(REJECT_RESULT_LENGTH);
    const { values } = state.result;
    values[base + ResultHead.kind] = CommandKind[operations[i]!.kind];
    values[base + ResultHead.code] = isRefused ? refused.code : Code.batch_aborted;
    values[base + ResultHead.sequence] = state.sequence;
    values[base + ResultHead.atMs] = state.nowMs;
    values[base + ResultHead.atMs + 1] = isRefused ? refused.required : 0;
    values[base + ResultHead.atMs + 2] = isRefused ? refused.available : 0;
  }
}
