/** Answers to order entry: HTTP receipts in an envelope. They depend only on request and result. */
import type { Batch, BatchOperation } from '../../../engine/interface/commands.js';
import type { Assets } from '../../../engine/interface/notation.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import { refusalAnswer } from '../../commands/errors.js';
import { isAtomicBatch, refusalIn } from '../../commands/execution.js';
import type { ExplainedResult } from '../../commands/past-market-errors.js';
import { AsciiWriter, ascii } from '../../json/ascii-writer.js';
import { textBuffers } from '../../json/text-buffers.js';
import { writeBatchReceipt, writeOperation } from '../../resources/batch/receipts.js';

import { errorText } from '../channels/message-text.js';

const ID = ascii('{"type":"receipt","id":');
const EXECUTED = ascii(',"replayed":false');
const REPLAYED = ascii(',"replayed":true');
const COMMA = 44;
/** Receipts up to this length share a buffer. */
const SHORT_BYTES = 2_048;

const out = new AsciiWriter();

export interface Answered {
  id: string;
  command: Batch | BatchOperation;
  isReplayed: boolean;
}

export function orderAnswer(
  assets: Assets,
  result: NumberBuffer,
  { id, command, isReplayed }: Answered,
): { status: number; text: string | Uint8Array } {
  const refusal = refusalIn(result, isAtomicBatch(command));
  if (refusal !== null) {
    const { error } = refusalAnswer(refusal);
    return { status: error.status, text: errorText(error, { id }) };
  }
  const at = begin(id, isReplayed);
  if (command.kind === 'batch') writeBatchReceipt(out, assets, result, command.operations);
  else writeOperation(out, assets, result, 0, command);
  return { status: 200, text: end(at) };
}

/** Wraps an answer that HTTP would send unchanged: an error, or a receipt in bytes. */
export function writtenAnswer(
  { status, text }: ExplainedResult,
  id: string,
  isReplayed: boolean,
): ExplainedResult {
  if (typeof text === 'string') return { status, text: errorText({ status, text }, { id }) };
  const at = begin(id, isReplayed);
  out.text(Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString('latin1'));
  textBuffers.give(text);
  return { status, text: end(at) };
}

function begin(id: string, replayed: boolean): number {
  out.clear();
  out.put(ID);
  out.text(asciiJson(id));
  out.put(replayed ? REPLAYED : EXECUTED);
  return out.position;
}

/** Joins envelope and receipt into one object: the receipt's opening brace becomes a comma. */
function end(receiptAt: number): Uint8Array {
  out.replaceByte(receiptAt, COMMA);
  return out.byteLength > SHORT_BYTES ? out.handOver() : out.take();
}

const PLAIN = /^[\w .:-]*$/;
const BEYOND_ASCII = /[\u007f-\uffff]/g;

function asciiJson(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  return JSON.stringify(text).replace(
    BEYOND_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
