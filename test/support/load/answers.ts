/** Computes the exact answer to a command from the engine's result in a replay of the journal. */
import type { Command } from '../../../engine/interface/commands.js';
import type { Assets } from '../../../engine/interface/notation.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import { refusalAnswer } from '../../../gateway/commands/errors.js';
import { isAtomicBatch, refusalIn } from '../../../gateway/commands/execution.js';
import type { ReceiptWriter } from '../../../gateway/commands/receipt.js';
import { batchReceipt } from '../../../gateway/resources/batch/receipts.js';
import { RECEIPTS } from '../../../gateway/resources/orders/receipts.js';
import {
  claimYieldReceipt,
  stakeReceipt,
  unstakeReceipt,
} from '../../../gateway/resources/vault/receipts.js';

export interface ExpectedAnswer {
  status: number;
  body: string | Uint8Array;
}

/** An engine, or the naive one, that has applied a command. */
export interface Applied extends Assets {
  readonly result: NumberBuffer;
  readonly sequence: number;
  readonly replayed: boolean;
}

export function answerOf(engine: Applied, command: Command): ExpectedAnswer {
  const refusal = refusalIn(engine.result, isAtomicBatch(command));
  if (refusal !== null) {
    const { status, text } = refusalAnswer(refusal).error;
    return { status, body: text };
  }
  const writer = WRITERS[command.kind];
  if (writer === undefined) throw new Error(`no load sends ${command.kind}`);
  return {
    status: command.kind === 'stake' ? 201 : 200,
    body: writer(engine, engine.result, 0, command),
  };
}

const WRITERS: { [Kind in Command['kind']]?: ReceiptWriter<string | Uint8Array> } = {
  ...RECEIPTS,
  stake: stakeReceipt,
  unstake: unstakeReceipt,
  claimYield: claimYieldReceipt,
  batch: batchReceipt,
};
