/** Edge side: a stream's orders as records for the core, and the core's results as messages. */
import { numberedKey } from '../../engine/interface/client-sequence.js';
import type { Assets } from '../../engine/interface/notation.js';
import { RecordBuffer } from '../../engine/interface/records.js';
import { ResultHead } from '../../engine/interface/results.js';
import { textBuffers } from '../json/text-buffers.js';
import { orderAnswer, writtenAnswer } from '../stream/orders/answers.js';
import type { OrderRequest } from '../stream/orders/order-messages.js';
import { type FrameReader, FrameWriter, ResultFlag, ToCore } from './link/frames.js';
import { readNumbers } from './results.js';

const records = new RecordBuffer();
const writer = new FrameWriter();

/** The record is valid until the next call. */
export function recordOf({ command, clientSequence }: OrderRequest, tokenId: number): Uint8Array {
  if (clientSequence !== 0) command.idempotencyKey = numberedKey(tokenId, clientSequence);
  records.clear();
  records.append(command, 0);
  return records.bytes.subarray(0, records.byteLength);
}

/** Begins a frame, before the record. Valid until the next call. */
export function orderFrame(stream: number, number: number, own: number): FrameWriter {
  return writer.begin(ToCore.streamCommand, stream, { own }).integer(number);
}

/** The core's reply to an order. `sequence` is 0 if the engine did not see the order. */
export interface OrderReply {
  text: string | Uint8Array;
  sequence: number;
}

/** The frame has been read up to the request's number. */
export function readReply(
  frame: FrameReader,
  assets: Assets,
  { id, command }: OrderRequest,
): OrderReply {
  const isReplayed = (frame.flags & ResultFlag.replayed) !== 0;
  if ((frame.flags & ResultFlag.written) !== 0) {
    const { own: status } = frame;
    const sequence = frame.number();
    const written = frame.rest();
    const text = status === 200 ? written : Buffer.from(written).toString();
    return { text: writtenAnswer({ status, text }, id, isReplayed).text, sequence };
  }
  const result = readNumbers(frame.rest());
  const { text } = orderAnswer(assets, result, { id, command, isReplayed });
  return { text, sequence: result.values[ResultHead.sequence]! };
}

export function replySent({ text }: OrderReply): void {
  if (typeof text !== 'string') textBuffers.give(text);
}
