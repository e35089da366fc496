/** Commands about the vault: staking money, unstaking it, claiming its yield. */

import { Code } from '../interface/codes.js';
import type { CommandOf } from '../interface/commands.js';
import { EventType } from '../interface/events.js';
import { Limit, MAX_TRANSFER_MICROS, MIN_STAKE_MICROS } from '../interface/limits.js';
import { Pool } from '../state/access/room.js';
import { Pot } from '../state/ledger.js';
import type { State } from '../state/state.js';
import { isIntegerBetween } from '../storage/arithmetic.js';

export function stake(state: State, command: CommandOf<'stake'>): number {
  const { ledger, vault } = state;
  if (!isIntegerBetween(command.amountMicros, MIN_STAKE_MICROS, MAX_TRANSFER_MICROS))
    return Code.invalid_command;
  if (!state.users.exists(command.userId)) return Code.user_not_found;
  if (state.accounts.isFrozen(command.userId)) return Code.user_frozen;
  if (!state.mayTake(Pool.vaultDeposits, command.userId))
    return state.refuseLimit(Limit.vaultDeposits);
  const available = ledger.available(command.userId);
  if (available < command.amountMicros) {
    return state.refuse(Code.insufficient_balance, command.amountMicros, available);
  }

  ledger.addAvailable(command.userId, 0 - command.amountMicros);
  ledger.add(Pot.staked, command.amountMicros);
  const row = vault.add(command.userId, command.amountMicros, state.nowMs);
  state.room.count(Pool.vaultDeposits, command.userId, 1);
  state.events.write(
    EventType.staked,
    vault.deposits.depositId(row),
    command.userId,
    command.amountMicros,
    vault.deposits.earnsFromMs(row),
  );
  writeDeposit(state, row);
  state.writeBalance(command.userId);
  return Code.ok;
}

export function unstake(state: State, command: DepositCommand): number {
  const { ledger, vault } = state;
  const code = checkDeposit(state, command);
  if (code !== Code.ok) return code;
  const { depositId, userId } = command;
  const row = vault.deposits.find(depositId);
  const amountMicros = vault.deposits.amountMicros(row);
  const yieldMicros = vault.payYield(row);
  vault.close(row);
  state.room.count(Pool.vaultDeposits, userId, -1);
  ledger.add(Pot.staked, 0 - amountMicros);
  ledger.add(Pot.yieldDue, 0 - yieldMicros);
  ledger.addAvailable(userId, amountMicros + yieldMicros);
  state.events.write(EventType.unstaked, depositId, userId, amountMicros, yieldMicros);
  if (vault.deposits.liveCount === 0 && ledger.of(Pot.yieldDue) > 0) {
    state.events.write(EventType.vaultRemainder, ledger.of(Pot.yieldDue));
    ledger.add(Pot.treasury, ledger.of(Pot.yieldDue));
    ledger.add(Pot.yieldDue, 0 - ledger.of(Pot.yieldDue));
  }
  writeYieldResult(state, row, yieldMicros);
  return Code.ok;
}

export function claimYield(state: State, command: DepositCommand): number {
  const { ledger, vault } = state;
  const code = checkDeposit(state, command);
  if (code !== Code.ok) return code;
  const { depositId, userId } = command;
  const row = vault.deposits.find(depositId);
  if (vault.accrued(row) === 0) return Code.nothing_to_claim;
  const yieldMicros = vault.payYield(row);
  ledger.add(Pot.yieldDue, 0 - yieldMicros);
  ledger.addAvailable(userId, yieldMicros);
  state.events.write(EventType.yieldClaimed, depositId, userId, yieldMicros);
  writeYieldResult(state, row, yieldMicros);
  return Code.ok;
}

type DepositCommand = CommandOf<'unstake'> | CommandOf<'claimYield'>;

/** Whether the command names a live deposit of its user. */
function checkDeposit({ users, vault }: State, { userId, depositId }: DepositCommand): number {
  if (!users.exists(userId)) return Code.user_not_found;
  const row = vault.deposits.find(depositId);
  if (row === 0 || vault.deposits.userId(row) !== userId) return Code.deposit_not_found;
  return vault.deposits.closed(row) === 1 ? Code.deposit_closed : Code.ok;
}

function writeYieldResult(state: State, row: number, yieldMicros: number): void {
  const { deposits } = state.vault;
  writeDeposit(state, row);
  state.result.write(deposits.paidYieldMicros(row), yieldMicros);
  state.writeBalance(deposits.userId(row));
}

function writeDeposit({ result, vault: { deposits } }: State, row: number): void {
  result.write(
    deposits.depositId(row),
    deposits.userId(row),
    deposits.amountMicros(row),
    deposits.earnsFromMs(row),
    deposits.stakedAtMs(row),
  );
}
