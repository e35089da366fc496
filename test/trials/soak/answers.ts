/** The exact answer to a command, made from the engine's result when the journal is replayed. */
import type { Engine } from '../../../engine/engine.js';
import { CODES, Code } from '../../../engine/interface/codes.js';
import type { Batch, Command } from '../../../engine/interface/commands.js';
import { RESULT_HEAD_LENGTH, ResultHead } from '../../../engine/interface/results.js';
import { batchRejection, rejection } from '../../../gateway/http/errors.js';
import type { ReceiptWriter } from '../../../gateway/http/receipt.js';
import { batchReceipt, refusedOperation } from '../../../gateway/resources/batch/receipts.js';
import { amendReceipt, orderReceipt } from '../../../gateway/resources/orders/order-receipt.js';
import {
  cancelAllReceipt,
  cancelEverywhereReceipt,
  cancelReceipt,
  claimReceipt,
} from '../../../gateway/resources/orders/receipts.js';
import {
  claimYieldReceipt,
  stakeReceipt,
  unstakeReceipt,
} from '../../../gateway/resources/vault/receipts.js';

export interface ExpectedAnswer {
  status: number;
  body: string | Uint8Array;
}

/** Call it right after the engine has applied the command. */
export function answerOf(engine: Engine, command: Command): ExpectedAnswer {
  const { values } = engine.result;
  const code = CODES[values[ResultHead.code]!]!;
  if (code !== 'ok') {
    const detail = (i: number) => values[RESULT_HEAD_LENGTH + i]!;
    const { status, text } = rejection(code, detail(0), detail(1));
    return { status, body: text };
  }
  if (command.kind === 'batch') return batchAnswer(engine, command);
  const writer = WRITERS[command.kind];
  if (writer === undefined) throw new Error(`the soak does not send ${command.kind}`);
  return {
    status: command.kind === 'stake' ? 201 : 200,
    body: writer(engine, engine.result, 0, command),
  };
}

function batchAnswer(engine: Engine, { atomic, operations }: Batch): ExpectedAnswer {
  const refused = atomic ? refusedOperation(engine.result) : null;
  if (refused === null)
    return { status: 200, body: batchReceipt(engine, engine.result, operations) };
  const { operation, code, required, available } = refused;
  const { status, text } = batchRejection(operation, code, required, available);
  return { status, body: text };
}

const WRITERS: { [Kind in Command['kind']]?: ReceiptWriter<string | Uint8Array> } = {
  buy: orderReceipt,
  sell: orderReceipt,
  cancel: cancelReceipt,
  cancelAll: cancelAllReceipt,
  cancelEverywhere: cancelEverywhereReceipt,
  amend: amendReceipt,
  claim: claimReceipt,
  stake: stakeReceipt,
  unstake: unstakeReceipt,
  claimYield: claimYieldReceipt,
};

/** Whether the order or the batch was executed: its receipt then has fills. */
export function hasReceipt(engine: Engine): boolean {
  return engine.result.values[ResultHead.code] === Code.ok;
}
