/**
 * Deposits and withdrawals: a partner moves money into an account or out of it. Each transfer
 * happens once per partner and reference; while the reference is remembered, a repeat gets the
 * original result. A full memory of references refuses deposits, but no withdrawal.
 */

import { Code } from '../interface/codes.js';
import { CommandKind, type Deposit, type Withdraw } from '../interface/commands.js';
import { DepositSource } from '../interface/domain.js';
import { EventType } from '../interface/events.js';
import { isText } from '../interface/fields.js';
import {
  Limit,
  MAX_REFERENCE_LENGTH,
  MAX_TRANSFER_MICROS,
  MAX_TRANSFERS,
} from '../interface/limits.js';
import { Pot } from '../state/ledger.js';
import type { State } from '../state/state.js';
import { isRepeatOf } from '../state/transfers.js';
import type { Users } from '../state/users.js';
import { isIntegerBetween } from '../storage/arithmetic.js';

/** Checks the partner's right before the balance, so that a refusal does not reveal the balance. */
export function transfer(state: State, command: Deposit | Withdraw): number {
  const { ledger, transfers } = state;
  const isDeposit = command.kind === 'deposit';
  if (!isIntegerBetween(command.amountMicros, 1, MAX_TRANSFER_MICROS)) return Code.invalid_command;
  if (!isText(command.partner, 1, MAX_REFERENCE_LENGTH)) return Code.invalid_command;
  if (!isText(command.reference, 1, MAX_REFERENCE_LENGTH)) return Code.invalid_command;
  transfers.forgetOld(state.nowMs);
  const earlier = transfers.find(command.partner, command.reference);
  if (earlier !== null && isRepeatOf(command, earlier)) {
    state.markReplayed(earlier.sequence, earlier.atMs);
    writeTransferResult(state, command, earlier.availableMicros, earlier.heldMicros);
    return Code.ok;
  }
  if (!state.users.exists(command.userId)) return Code.user_not_found;
  if (state.users.isOfExchange(command.userId)) return Code.exchange_account;
  if (command.kind === 'withdraw' && !isOfPartner(state.users, command))
    return Code.user_not_of_partner;
  if (!isDeposit && state.accounts.isFrozen(command.userId)) return Code.user_frozen;
  if (isDeposit && ledger.exceedsDeposits(command.amountMicros))
    return state.refuseLimit(Limit.deposits);
  if (isDeposit && transfers.count >= MAX_TRANSFERS) return state.refuseLimit(Limit.transfers);
  const available = ledger.available(command.userId);
  if (!isDeposit && available < command.amountMicros) {
    return state.refuse(Code.insufficient_balance, command.amountMicros, available);
  }
  if (earlier !== null) return Code.reference_reused;

  const change = isDeposit ? command.amountMicros : 0 - command.amountMicros;
  ledger.addAvailable(command.userId, change);
  ledger.add(Pot.netDeposits, change);
  const availableMicros = available + change;
  const heldMicros = ledger.held(command.userId);
  transfers.add(command.partner, command.reference, {
    kind: CommandKind[command.kind],
    userId: command.userId,
    amountMicros: command.amountMicros,
    sequence: state.sequence,
    atMs: state.nowMs,
    availableMicros,
    heldMicros,
  });
  if (isDeposit)
    state.events.write(
      EventType.deposited,
      command.userId,
      DepositSource.PARTNER,
      command.amountMicros,
    );
  else state.events.write(EventType.withdrawn, command.userId, command.amountMicros);
  writeTransferResult(state, command, availableMicros, heldMicros);
  return Code.ok;
}

/** The user's partner is the one that registered the user; deposits do not change it. */
function isOfPartner(users: Users, { userId, partner }: Withdraw): boolean {
  return users.partners.nameOf(users.partner(userId)) === partner;
}

function writeTransferResult(
  state: State,
  command: Deposit | Withdraw,
  availableMicros: number,
  heldMicros: number,
): void {
  state.result.write(command.userId, command.amountMicros, availableMicros, heldMicros);
}
