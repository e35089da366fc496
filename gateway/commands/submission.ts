/**
 * Submits a client's command, over HTTP or over the stream, and turns what refuses it into the
 * API's errors.
 */
import { CODES } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { RecordError } from '../../engine/interface/records.js';
import { RESULT_HEAD_LENGTH, ResultHead } from '../../engine/interface/results.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { SubmitRefused } from '../../persistence/sequencer.js';
import { type ErrorAnswer, rateLimited, rejection, UNAVAILABLE } from '../http/errors.js';
import type { Gateway } from '../http/gateway.js';

/** The request that submits a command. */
export interface Submission {
  /** What the log says about it. */
  readonly logFields: object;
}

/** A command that was not executed. */
export interface NotExecuted {
  error: ErrorAnswer;
  /** Whether the error depends on the request alone, so that it need not wait for the disk. */
  isImmediate: boolean;
}

const NOT_ACCEPTED: NotExecuted = { error: UNAVAILABLE, isImmediate: true };

/** The engine's result, valid until the next command. */
export function submitCommand(
  gateway: Gateway,
  command: Command,
  submission: Submission,
): NumberBuffer | NotExecuted {
  if (gateway.halted() !== null) return NOT_ACCEPTED;
  try {
    return gateway.sequencer.submit(command);
  } catch (error) {
    if (error instanceof RecordError) {
      // Nothing has changed. A schema accepted a command that the journal cannot hold: a bug, but
      // not a reason to stop.
      const fields = { ...submission.logFields, reason: error.message };
      gateway.log.error(fields, 'a command cannot be journalled');
      return { error: rejection('invalid_command', 0, 0), isImmediate: false };
    }
    if (!(error instanceof SubmitRefused)) throw error;
    gateway.warnings.warn(
      { ...submission.logFields, reason: error.message },
      'a command was refused',
    );
    return NOT_ACCEPTED;
  }
}

/** The error of a result that is not `ok`. `retryAfter`: a header; null: none. */
export function rejectionOf(
  gateway: Gateway,
  { values }: NumberBuffer,
  submission: Submission,
): { error: ErrorAnswer; retryAfter: string | null } {
  const name = CODES[values[ResultHead.code]!]!;
  if (name === 'invalid_command')
    gateway.log.error(
      submission.logFields,
      'the engine rejected a request that its schema accepts',
    );
  // The fields of a reject: required and available.
  const [required, available] = [values[RESULT_HEAD_LENGTH]!, values[RESULT_HEAD_LENGTH + 1]!];
  if (name === 'idempotency_full') return rateLimited(required, name);
  return { error: rejection(name, required, available), retryAfter: null };
}
