/** Executes client commands from HTTP or the stream, and reports their outcomes. */
import { CODES, Code, type CodeName } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { type RecordBuffer, RecordError } from '../../engine/interface/records.js';
import {
  FIRST_OPERATION,
  nextOperation,
  RESULT_HEAD_LENGTH,
  ResultHead,
} from '../../engine/interface/results.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { type Sequencer, SubmitRefused } from '../../persistence/sequencer.js';
import { unitsOfSeen } from '../access/fair-use/charges.js';
import type { Bill, FairUse } from '../access/fair-use/fair-use.js';
import { elapsedMs } from '../observe/clock.js';
import type { Log } from '../observe/log.js';
import type { Metrics } from '../observe/metrics.js';
import type { RationedLog } from '../observe/rationed-log.js';

export interface Executor {
  readonly sequencer: Pick<Sequencer, 'submit' | 'submitRecord' | 'engine'>;
  readonly fairUse: FairUse;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly warnings: RationedLog;
  halted(): string | null;
}

export interface Submission {
  readonly receivedMs: number;
  /** Costs found during execution are added. */
  readonly bill: Bill;
  /** Read only to log, because it may be made anew at each read. */
  readonly logFields: object;
}

export interface Refusal {
  /** `unavailable`: the engine did not see it, so the answer need not wait for the disk. */
  code: CodeName | 'unavailable';
  required: number;
  available: number;
  operation: number | null;
}

export interface Execution {
  /** The result, valid until the next command; `null` if the engine did not see it. */
  result: NumberBuffer | null;
  refusal: Refusal | null;
  /** The time of execution; 0 if the engine did not see the command. */
  appliedMs: number;
}

const NOT_ACCEPTED = notExecuted('unavailable');

function notExecuted(code: Refusal['code']): Execution {
  const refusal = { code, required: 0, available: 0, operation: null };
  return { result: null, refusal, appliedMs: 0 };
}

export function execute(executor: Executor, command: Command, submission: Submission): Execution {
  if (executor.halted() !== null) return NOT_ACCEPTED;
  const { metrics, sequencer } = executor;
  const startedMs = elapsedMs();
  let result: NumberBuffer;
  try {
    result = sequencer.submit(command);
  } catch (error) {
    if (!(error instanceof RecordError)) return notAccepted(executor, error, submission.logFields);
    // Nothing has changed: a schema accepted a command that the journal cannot hold, a bug.
    const fields = { ...submission.logFields, reason: error.message };
    executor.log.error(fields, 'a command cannot be journalled');
    return notExecuted('invalid_command');
  }
  const appliedMs = elapsedMs();
  oweMakers(executor, submission.bill);
  metrics.receiveMs.observe(startedMs - submission.receivedMs);
  metrics.applyMs.observe(appliedMs - startedMs);
  const refusal = refusalIn(result, isAtomicBatch(command));
  if (refusal?.code === 'invalid_command') logInvalid(executor, submission.logFields);
  return { result, refusal, appliedMs };
}

/** Returns `null` if the engine did not see the record. */
export function executeRecord(
  executor: Executor,
  records: RecordBuffer,
  { bill, ...logFields }: { bill: Bill; user: number },
): NumberBuffer | null {
  if (executor.halted() !== null) return null;
  try {
    const result = executor.sequencer.submitRecord(records, 0);
    oweMakers(executor, bill);
    return result;
  } catch (error) {
    return notAccepted(executor, error, logFields).result;
  }
}

/** Charges for resting orders visited, since a command may visit many and trade with none. */
function oweMakers({ sequencer, fairUse }: Executor, bill: Bill): void {
  const units = unitsOfSeen(sequencer.engine.makersSeen);
  if (units > 0) fairUse.owe(bill, units);
}

function notAccepted({ warnings }: Executor, error: unknown, logFields: object): Execution {
  if (!(error instanceof SubmitRefused)) throw error;
  warnings.warn({ ...logFields, reason: error.message }, 'a command was refused');
  return NOT_ACCEPTED;
}

export function logInvalid({ log }: Executor, logFields: object): void {
  log.error(logFields, 'the engine rejected a request that its schema accepts');
}

export function isAtomicBatch(command: Command): boolean {
  return command.kind === 'batch' && command.atomic;
}

/** Returns `null` if the command was executed. `isAtomic`: see {@link isAtomicBatch}. */
export function refusalIn(result: NumberBuffer, isAtomic: boolean): Refusal | null {
  const { values } = result;
  if (values[ResultHead.code] !== Code.ok) return refusalAt(result, 0, null);
  if (!isAtomic) return null;
  const count = values[RESULT_HEAD_LENGTH]!;
  let at = FIRST_OPERATION;
  for (let operation = 0; operation < count; operation++, at = nextOperation(values, at)) {
    const code = values[at + ResultHead.code];
    if (code !== Code.ok && code !== Code.batch_aborted) return refusalAt(result, at, operation);
  }
  return null;
}

export function refusalAt({ values }: NumberBuffer, at: number, operation: number | null): Refusal {
  return {
    code: CODES[values[at + ResultHead.code]!]!,
    required: values[at + RESULT_HEAD_LENGTH]!,
    available: values[at + RESULT_HEAD_LENGTH + 1]!,
    operation,
  };
}
