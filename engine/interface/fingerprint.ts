/**
 * A 64-bit hash of a command, to tell whether an idempotency key returns with the same command. It
 * covers every field but the key.
 */

import { Digest } from '../storage/digest.js';
import { NumberBuffer } from '../storage/number-buffer.js';
import { type Buy, type Command, CommandKind, type Sell } from './commands.js';

/** The commands that can carry an idempotency key. */
export type KeyedCommand = Extract<Command, { idempotencyKey: string | null }>;

const fields = new NumberBuffer();
const bits = new Float64Array(1);
const words = new Uint32Array(bits.buffer);

export function fingerprint(command: KeyedCommand): Digest {
  fields.clear();
  writeFields(command);
  const digest = new Digest();
  digest.add(fields);
  return digest;
}

function writeFields(command: KeyedCommand): void {
  fields.push(CommandKind[command.kind]);
  writeField(command.userId);
  switch (command.kind) {
    case 'buy':
    case 'sell':
      writeOrder(command);
      return;
    case 'cancel':
      writeField(command.marketId);
      writeField(command.orderId);
      return;
    case 'cancelAll':
    case 'claim':
      writeField(command.marketId);
      return;
    case 'stake':
      writeField(command.amountMicros);
      return;
    case 'unstake':
    case 'claimYield':
      writeField(command.depositId);
      return;
    case 'setReferralCode':
      for (let i = 0; i < command.code.length; i++) writeField(command.code.charCodeAt(i));
      return;
    case 'batch':
      writeField(Number(command.atomic));
      for (const operation of command.operations) writeFields(operation);
      return;
  }
}

function writeOrder(order: Buy | Sell): void {
  writeField(order.marketId);
  writeField(order.outcome);
  writeField(order.kind === 'buy' ? order.budgetMicros : 0);
  writeField(order.sizeLots);
  writeField(order.priceTicks);
  writeField(order.timeInForce);
  writeField(Number(order.postOnly));
  writeField(order.validUntilMs);
}

/** Numbers that are not safe integers are hashed by the bits of the double. -0 counts as 0. */
function writeField(value: number): void {
  if (Number.isSafeInteger(value)) {
    fields.push(value);
    return;
  }
  bits[0] = value;
  fields.write(-1, words[0]!, words[1]!);
}
