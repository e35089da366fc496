/**
 * A command as one 64-bit number, to tell whether an idempotency key comes back with the same command. Two commands
 * have the same fingerprint if all their fields but the key are equal.
 */
import { type Buy, type Cancel, type Claim, type Command, CommandKind, type Sell } from './commands.js';
import { Digest } from './digest.js';
import { Tape } from './tape.js';

/** The commands that can carry an idempotency key. */
export type KeyedCommand = Extract<Command, { idempotencyKey: string | null }>;

const tape = new Tape();

export function fingerprint(command: KeyedCommand): Digest {
  tape.clear();
  writeFields(command);
  const digest = new Digest();
  digest.add(tape);
  return digest;
}

function writeFields(command: KeyedCommand): void {
  tape.push(CommandKind[command.kind]);
  tape.push(command.userId);
  switch (command.kind) {
    case 'buy':
    case 'sell':
      writeOrder(command);
      return;
    case 'cancel':
      writeCancel(command);
      return;
    case 'cancelAll':
    case 'claim':
      writeMarket(command);
      return;
    case 'stake':
      tape.push(command.amountMicros);
      return;
    case 'unstake':
    case 'claimYield':
      tape.push(command.depositId);
      return;
    case 'setReferralCode':
      for (let i = 0; i < command.code.length; i++) tape.push(command.code.charCodeAt(i));
      return;
    case 'batch':
      tape.push(Number(command.atomic));
      for (const operation of command.operations) writeFields(operation);
      return;
  }
}

function writeOrder(order: Buy | Sell): void {
  tape.push(order.marketId);
  tape.push(order.outcome);
  tape.push(order.kind === 'buy' ? order.budgetMicros : 0);
  tape.push(order.sizeLots);
  tape.push(order.priceTicks);
  tape.push(order.timeInForce);
  tape.push(Number(order.postOnly));
  tape.push(order.validUntilMs);
}

function writeCancel(cancel: Cancel): void {
  tape.push(cancel.marketId);
  tape.push(cancel.orderId);
}

function writeMarket(command: { marketId: number } | Claim): void {
  tape.push(command.marketId);
}
