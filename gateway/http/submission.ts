/** Executes the commands of requests, and answers with their receipts or refusals. */
import type { CodeName } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { refusalAnswer } from '../commands/errors.js';
import {
  type Execution,
  execute,
  isAtomicBatch,
  type Refusal,
  refusalIn,
} from '../commands/execution.js';
import { finalizeResult } from '../commands/final-result.js';
import type { ReceiptWriter } from '../commands/receipt.js';
import type { Call } from './call.js';

export function executeFor(
  call: Call,
  command: Command,
  status: number,
  receipt: ReceiptWriter<string | Uint8Array>,
): void {
  const { result, refusal } = run(call, command);
  if (result === null) {
    refuse(call, refusal!);
    return;
  }
  const options = { reader: call, read: () => command, receipt };
  finalizeResult(result, options, ({ result: found, explained, isReplayed }) => {
    if (isReplayed) call.addHeader('Idempotency-Replayed', 'true');
    if (explained !== null) {
      call.answerWhenDurable(explained.status, explained.text);
      return;
    }
    const refused = found === result ? refusal : refusalIn(found, isAtomicBatch(command));
    if (refused !== null) refuse(call, refused);
    else call.answerWhenDurable(status, receipt(call.engine, found, 0, command));
  });
}

/** Returns `null` after answering an error other than `besides`. */
export function submitFor(
  call: Call,
  command: Command,
  besides: CodeName | null = null,
): NumberBuffer | null {
  const { result, refusal } = run(call, command);
  if (refusal === null || refusal.code === besides) return result;
  refuse(call, refusal);
  return null;
}

function run(call: Call, command: Command): Execution {
  const execution = execute(call.gateway, command, call);
  call.appliedMs = execution.appliedMs;
  return execution;
}

function refuse(call: Call, refusal: Refusal): void {
  const { error, retryAfter } = refusalAnswer(refusal);
  if (retryAfter !== null) call.addHeader('Retry-After', retryAfter);
  if (refusal.code === 'unavailable') call.refuseNow(error);
  else call.refuseWhenDurable(error);
}
