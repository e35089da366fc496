/** POST /batch's response: per operation, its `type` and its own route's receipt or error. */
import { Code } from '../../../engine/interface/codes.js';
import type { Batch, BatchOperation } from '../../../engine/interface/commands.js';
import type { Assets } from '../../../engine/interface/notation.js';
import {
  FIRST_OPERATION,
  nextOperation,
  RESULT_HEAD_LENGTH,
  ResultHead,
} from '../../../engine/interface/results.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import { type ErrorAnswer, refusalAnswer } from '../../commands/errors.js';
import { refusalAt } from '../../commands/execution.js';
import type { ReceiptWriter } from '../../commands/receipt.js';
import { AsciiWriter, ascii, type Piece } from '../../json/ascii-writer.js';
import { writeAmendReceipt, writeOrderReceipt } from '../orders/order-receipt.js';
import { RECEIPTS } from '../orders/receipts.js';

const RESULTS = ascii('{"results":[');
const SEQUENCE = ascii('],"sequence":');
const AT_MS = ascii(',"atMs":');
const typed = (type: string) => ascii(`{"type":"${type}"`);
const ERROR = typed('error');
const TYPES = Object.fromEntries(
  Object.keys(RECEIPTS).map((kind) => [kind, typed(kind.replace('Everywhere', 'All'))]),
) as Record<BatchOperation['kind'], Piece>;
const COMMA = 44;
const BRACE = 125;
const out = new AsciiWriter();
const NO_ERRORS: ReadonlyMap<number, ErrorAnswer> = new Map();

/** Some operations of an accepted batch may have been refused. */
export const batchReceipt: ReceiptWriter<Uint8Array> = (assets, result, _at, command, errors) => {
  out.clear();
  writeBatchReceipt(out, assets, result, (command as Batch).operations, errors);
  return out.handOver();
};

/** `errors` replaces the engine's errors, by index. */
export function writeBatchReceipt(
  out: AsciiWriter,
  assets: Assets,
  result: NumberBuffer,
  operations: readonly BatchOperation[],
  errors: ReadonlyMap<number, ErrorAnswer> = NO_ERRORS,
): void {
  const { values } = result;
  const count = values[RESULT_HEAD_LENGTH]!;
  out.put(RESULTS);
  let at = FIRST_OPERATION;
  for (let i = 0; i < count; i++, at = nextOperation(values, at)) {
    if (i > 0) out.byte(COMMA);
    const operation = operations[i]!;
    const isOk = values[at + ResultHead.code] === Code.ok;
    out.put(isOk ? TYPES[operation.kind] : ERROR);
    const receiptAt = out.position;
    const error = errors.get(i);
    if (error !== undefined) out.text(error.text);
    else writeOperation(out, assets, result, at, operation);
    out.replaceByte(receiptAt, COMMA);
  }
  out.integer(SEQUENCE, values[ResultHead.sequence]!);
  out.integer(AT_MS, values[ResultHead.atMs]!);
  out.byte(BRACE);
}

/** The operation's result begins at `at`. */
export function writeOperation(
  out: AsciiWriter,
  assets: Assets,
  result: NumberBuffer,
  at: number,
  operation: BatchOperation,
): void {
  const { values } = result;
  if (values[at + ResultHead.code] !== Code.ok) {
    out.text(refusalAnswer(refusalAt(result, at, null)).error.text);
    return;
  }
  if (operation.kind === 'amend') writeAmendReceipt(out, assets, result, at, operation);
  else if (operation.kind === 'buy' || operation.kind === 'sell')
    writeOrderReceipt(out, assets, result, at, operation);
  else out.text(RECEIPTS[operation.kind](assets, result, at, operation));
}
