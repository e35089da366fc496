/** The exact answer to a command, made from the engine's result when the journal is replayed. */
import type { Engine } from '../../engine/engine.js';
import { CODES, Code } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { RESULT_HEAD_LENGTH, ResultHead } from '../../engine/interface/results.js';
import { batchRejection, rejection } from '../../gateway/http/errors.js';
import type { ReceiptWriter } from '../../gateway/http/receipt.js';
import { batchReceipt, refusedOperation } from '../../gateway/resources/batch/receipts.js';
import { orderReceipt } from '../../gateway/resources/orders/order-receipt.js';
import {
  cancelAllReceipt,
  cancelReceipt,
  claimReceipt,
} from '../../gateway/resources/orders/receipts.js';
import {
  claimYieldReceipt,
  stakeReceipt,
  unstakeReceipt,
} from '../../gateway/resources/vault/receipts.js';

export interface ExpectedAnswer {
  status: number;
  body: string | Uint8Array;
}

/** Call it right after the engine has applied the command. */
export function answerOf(engine: Engine, command: Command): ExpectedAnswer {
  const { values } = engine.result;
  const code = CODES[values[ResultHead.code]!]!;
  if (code !== 'ok') {
    const { status, text } = rejection(
      code,
      values[RESULT_HEAD_LENGTH]!,
      values[RESULT_HEAD_LENGTH + 1]!,
    );
    return { status, body: text };
  }
  if (command.kind === 'batch') return batchAnswer(engine, command.atomic);
  return {
    status: command.kind === 'stake' ? 201 : 200,
    body: writerOf(command)(engine, engine.result, 0),
  };
}

function batchAnswer(engine: Engine, isAtomic: boolean): ExpectedAnswer {
  const refused = isAtomic ? refusedOperation(engine.result) : null;
  if (refused === null) return { status: 200, body: batchReceipt(engine, engine.result) };
  const { operation, code, required, available } = refused;
  const { status, text } = batchRejection(operation, code, required, available);
  return { status, body: text };
}

function writerOf({ kind }: Command): ReceiptWriter {
  switch (kind) {
    case 'buy':
    case 'sell':
      return orderReceipt;
    case 'cancel':
      return cancelReceipt;
    case 'cancelAll':
      return cancelAllReceipt;
    case 'claim':
      return claimReceipt;
    case 'stake':
      return stakeReceipt;
    case 'unstake':
      return unstakeReceipt;
    case 'claimYield':
      return claimYieldReceipt;
    default:
      throw new Error(`the soak does not send ${kind}`);
  }
}

/** Whether the order or the batch was executed: its receipt then has fills. */
export function hasReceipt(engine: Engine): boolean {
  return engine.result.values[ResultHead.code] === Code.ok;
}
