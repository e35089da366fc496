/** Edge side: answers a command from the numbers of the engine's result. */
import type { Command } from '../../engine/interface/commands.js';
import type { Assets } from '../../engine/interface/notation.js';
import { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { refusalAnswer } from '../commands/errors.js';
import { isAtomicBatch, refusalIn } from '../commands/execution.js';
import type { Reply } from '../http/answers/reply.js';
import type { Route } from '../http/route.js';
import { FrameError, type FrameReader, ResultFlag } from './link/frames.js';

interface Asked {
  reply: Reply;
  route: Route;
  command: Command;
  assets: Assets;
}

const NUMBER_BYTES = 8;
const result = new NumberBuffer();

/** Prepares the answer for {@link Reply.release}. The numbers are valid until the next call. */
export function prepareResult(
  frame: FrameReader,
  { reply, route, command, assets }: Asked,
): Float64Array {
  if ((frame.flags & ResultFlag.limited) !== 0) {
    const [limit, remaining, resetSeconds] = [frame.integer(), frame.integer(), frame.integer()];
    reply.wallet.rateLimit = { limit, remaining, resetSeconds };
  }
  if ((frame.flags & ResultFlag.replayed) !== 0) reply.addHeader('Idempotency-Replayed', 'true');
  readNumbers(frame.rest());
  const refusal = refusalIn(result, isAtomicBatch(command));
  if (refusal === null) reply.prepare(200, route.command!.receipt(assets, result, 0, command));
  else {
    const { error, retryAfter } = refusalAnswer(refusal);
    if (retryAfter !== null) reply.addHeader('Retry-After', retryAfter);
    reply.prepare(error.status, error.text);
  }
  return result.values;
}

/** Valid until the next call. @throws FrameError */
export function readNumbers(bytes: Uint8Array): NumberBuffer {
  if (bytes.byteLength % NUMBER_BYTES !== 0)
    throw new FrameError(
      `a result has ${bytes.byteLength} bytes, not a multiple of ${NUMBER_BYTES}`,
    );
  result.clear();
  result.reserve(bytes.byteLength / NUMBER_BYTES);
  new Uint8Array(result.values.buffer).set(bytes);
  return result;
}
