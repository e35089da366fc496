/**
 * The response to POST /batch, as JSON in ASCII, written from the engine's result: for each
 * operation the receipt or the error that its own route would send.
 */
import { CODES, Code, type CodeName } from '../../../engine/interface/codes.js';
import { type BatchOperation, CommandKind } from '../../../engine/interface/commands.js';
import type { Assets } from '../../../engine/interface/notation.js';
import {
  FIRST_OPERATION,
  nextOperation,
  RESULT_HEAD_LENGTH,
  ResultHead,
} from '../../../engine/interface/results.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import { rejection } from '../../http/errors.js';
import { AsciiWriter, ascii } from '../../json/ascii-writer.js';
import {
  clientOrderIdOf,
  ReceiptParts,
  writeAmendReceipt,
  writeOrderReceipt,
} from '../orders/order-receipt.js';
import {
  cancelAllReceipt,
  cancelEverywhereReceipt,
  cancelReceipt,
  claimReceipt,
} from '../orders/receipts.js';

const RESULTS = ascii('{"results":[');
const SEQUENCE = ascii('],"sequence":');
const COMMA = 44;
const BRACE = 125;
const out = new AsciiWriter();

/** The receipt of a batch that is `ok`. Single operations may have been refused. */
export function batchReceipt(
  assets: Assets,
  result: NumberBuffer,
  operations: readonly BatchOperation[],
): Uint8Array {
  out.clear();
  writeBatchReceipt(out, assets, result, operations);
  return out.handOver();
}

/** Writes the same behind what is written. */
export function writeBatchReceipt(
  out: AsciiWriter,
  assets: Assets,
  result: NumberBuffer,
  operations: readonly BatchOperation[],
): void {
  const { values } = result;
  const count = values[RESULT_HEAD_LENGTH]!;
  const parts = new ReceiptParts();
  out.put(RESULTS);
  let at = FIRST_OPERATION;
  for (let i = 0; i < count; i++, at = nextOperation(values, at)) {
    if (i > 0) out.byte(COMMA);
    writeOperation(out, parts, assets, result, at, operations[i]!);
  }
  out.integer(SEQUENCE, values[ResultHead.sequence]!);
  out.byte(BRACE);
}

/** Writes the receipt or the error of the operation whose result begins at `at`. */
export function writeOperation(
  out: AsciiWriter,
  parts: ReceiptParts,
  assets: Assets,
  result: NumberBuffer,
  at: number,
  operation: BatchOperation,
): void {
  const { values } = result;
  if (values[at + ResultHead.code] !== Code.ok) {
    const [required, available] = rejectFields(result, at);
    out.text(rejection(codeName(result, at), required, available).text);
    return;
  }
  switch (values[at + ResultHead.kind]) {
    case CommandKind.buy:
    case CommandKind.sell:
      writeOrderReceipt(out, parts, assets, result, at, clientOrderIdOf(operation));
      break;
    case CommandKind.cancel:
      out.text(cancelReceipt(assets, result, at));
      break;
    case CommandKind.cancelAll:
      out.text(cancelAllReceipt(assets, result, at, operation));
      break;
    case CommandKind.cancelEverywhere:
      out.text(cancelEverywhereReceipt(assets, result, at, operation));
      break;
    case CommandKind.amend:
      writeAmendReceipt(out, parts, assets, result, at);
      break;
    case CommandKind.claim:
      out.text(claimReceipt(assets, result, at, operation));
      break;
    default:
      throw new Error('a batch cannot contain a result of this kind');
  }
}

/** The operation that stopped an atomic batch. */
export interface RefusedOperation {
  /** Its index in the batch. */
  operation: number;
  code: CodeName;
  required: number;
  available: number;
}

/** null: the whole batch was executed. Otherwise the other operations are `batch_aborted`. */
export function refusedOperation(result: NumberBuffer): RefusedOperation | null {
  const { values } = result;
  const count = values[RESULT_HEAD_LENGTH]!;
  let at = FIRST_OPERATION;
  for (let operation = 0; operation < count; operation++, at = nextOperation(values, at)) {
    const code = codeName(result, at);
    if (code === 'ok' || code === 'batch_aborted') continue;
    const [required, available] = rejectFields(result, at);
    return { operation, code, required, available };
  }
  return null;
}

function codeName({ values }: NumberBuffer, at: number): CodeName {
  return CODES[values[at + ResultHead.code]!]!;
}

/** The fields of a result that is not `ok`. */
function rejectFields({ values }: NumberBuffer, at: number): [required: number, available: number] {
  return [values[at + RESULT_HEAD_LENGTH]!, values[at + RESULT_HEAD_LENGTH + 1]!];
}
