/**
 * A command as one 64-bit number, to tell whether an idempotency key comes back with the same command. Two commands
 * have the same fingerprint if all their fields but the key are equal.
 */

import { Digest } from '../storage/digest.js';
import { NumberBuffer } from '../storage/number-buffer.js';
import { type Buy, type Command, CommandKind, type Sell } from './commands.js';

/** The commands that can carry an idempotency key. */
export type KeyedCommand = Extract<Command, { idempotencyKey: string | null }>;

const tape = new NumberBuffer();
const bits = new Float64Array(1);
const words = new Uint32Array(bits.buffer);

export function fingerprint(command: KeyedCommand): Digest {
  tape.clear();
  writeFields(command);
  const digest = new Digest();
  digest.add(tape);
  return digest;
}

function writeFields(command: KeyedCommand): void {
  tape.push(CommandKind[command.kind]);
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

/** A field that is no integer is told from all others, too: by the bits of the double. A -0 is a 0, as everywhere in the engine. */
function writeField(value: number): void {
  if (Number.isSafeInteger(value)) {
    tape.push(value);
    return;
  }
  bits[0] = value;
  tape.write(-1, words[0]!, words[1]!);
}
