/**
 * Answers a repeated idempotency key whose result is no longer in memory, from the original result
 * in the history (persistence/history/runs/keyed-results.ts).
 *
 * Invariant: the command is not executed again. Without the original result, the answer is 503 with
 * the sequence of the first execution. The reader pays for one read.
 */
import { Code } from '../../engine/interface/codes.js';
import { RESULT_HEAD_LENGTH, ResultHead } from '../../engine/interface/results.js';
import { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { chargeRead, type HistoryReader, readerKeyOf } from './history-query.js';

export function isResultEvicted({ values }: NumberBuffer): boolean {
  return values[ResultHead.code] === Code.executed_before;
}

/**
 * Calls `then` with the result of the first execution, or with a copy of `result` if the history
 * does not have it or the reader cannot pay. Does not call `then` if the client leaves.
 */
export function loadStoredResult(
  reader: HistoryReader,
  result: NumberBuffer,
  then: (result: NumberBuffer) => void,
): void {
  const { gateway } = reader;
  const given = copyOf(result);
  const respond = (found: NumberBuffer) => {
    if (reader.isOver) return;
    try {
      then(found);
    } catch (error) {
      gateway.fail(error);
    }
  };
  if (!chargeRead(reader)) {
    respond(given);
    return;
  }
  const sequence = result.values[RESULT_HEAD_LENGTH]!;
  const request = { kind: 'keyedResult', sequence } as const;
  const readerKey = readerKeyOf(reader);
  reader.onLeft = gateway.history.read(
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
    readerKey,
  );
}

/** Copies a result, because the engine overwrites its own at the next command. */
export function copyOf({ values, length }: NumberBuffer): NumberBuffer {
  return bufferOf(values.subarray(0, length));
}

function bufferOf(values: Float64Array): NumberBuffer {
  const copy = new NumberBuffer();
  copy.reserve(values.length);
  copy.values.set(values);
  return copy;
}
