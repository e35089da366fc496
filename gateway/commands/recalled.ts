/**
 * Answers a repeated idempotency key whose result memory no longer has. The result comes from the
 * history (persistence/history/runs/keyed-results.ts), and the answer is written from it like the
 * first one.
 *
 * Invariant: the command is not executed again. While the history cannot give the result, the
 * answer is 503 with the sequence of the first execution. The asker's user pays a read.
 */
import { Code } from '../../engine/interface/codes.js';
import { RESULT_HEAD_LENGTH, ResultHead } from '../../engine/interface/results.js';
import { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { type Asker, chargeRead, readerOf } from './asking.js';

/** Whether the engine has executed the command before, and its result is not in memory. */
export function isForgotten({ values }: NumberBuffer): boolean {
  return values[ResultHead.code] === Code.executed_before;
}

/**
 * Reads the result of the command's first execution from the history, and calls `then` with it. If
 * the history does not have it, or the asker cannot pay for the read, `then` gets a copy of
 * `result`. If the client leaves, `then` is not called.
 */
export function recall(
  asker: Asker,
  result: NumberBuffer,
  then: (result: NumberBuffer) => void,
): void {
  const { gateway } = asker;
  const given = copyOf(result);
  const respond = (found: NumberBuffer) => {
    if (asker.isOver) return;
    try {
      then(found);
    } catch (error) {
      gateway.fail(error);
    }
  };
  if (!chargeRead(asker)) {
    respond(given);
    return;
  }
  const sequence = result.values[RESULT_HEAD_LENGTH]!;
  const request = { kind: 'keyedResult', sequence } as const;
  const reader = readerOf(asker);
  asker.onLeft = gateway.history.read(
    request,
    sequence,
    (reply) => {
      if (reply.status === 'ok' && reply.answer !== null) respond(bufferOf(reply.answer));
      else {
        const reason = reply.status === 'ok' ? 'it is not there' : reply.reason;
        gateway.warnings.warn({ reason, sequence }, 'the answer to a repeated key was not found');
        respond(given);
      }
    },
    reader,
  );
}

/** A copy that outlives the engine's result, which is valid until the next command. */
export function copyOf({ values, length }: NumberBuffer): NumberBuffer {
  return bufferOf(values.subarray(0, length));
}

function bufferOf(values: Float64Array): NumberBuffer {
  const copy = new NumberBuffer();
  copy.reserve(values.length);
  copy.values.set(values);
  return copy;
}
