/** Commands about the vault: staking money, unstaking it, claiming its yield. */

import { Code } from '../interface/codes.js';
import type { CommandOf } from '../interface/commands.js';
import { EventType } from '../interface/events.js';
import { Limit, MAX_TRANSFER_MICROS, MIN_STAKE_MICROS } from '../interface/limits.js';
import { Pool } from '../state/access/room.js';
import type { State } from '../state/state.js';
import type { VaultDeposit } from '../state/vault-deposits.js';
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
  ledger.addStaked(command.amountMicros);
  const deposit = vault.add(command.userId, command.amountMicros, state.nowMs);
  state.room.count(Pool.vaultDeposits, command.userId, 1);
  state.events.write(
    EventType.staked,
    deposit.depositId,
    command.userId,
    command.amountMicros,
    deposit.earnsFromMs,
  );
  writeDeposit(state, deposit);
  state.writeBalance(command.userId);
  return Code.ok;
}

export function unstake(state: State, command: CommandOf<'unstake'>): number {
  const { ledger, vault } = state;
  const deposit = findDeposit(state, command);
  if (typeof deposit === 'number') return deposit;
  const yieldMicros = vault.payYield(deposit);
  vault.close(deposit);
  state.room.count(Pool.vaultDeposits, deposit.userId, -1);
  ledger.addStaked(0 - deposit.amountMicros);
  ledger.addYieldDue(0 - yieldMicros);
  ledger.addAvailable(deposit.userId, deposit.amountMicros + yieldMicros);
  state.events.write(
    EventType.unstaked,
    deposit.depositId,
    deposit.userId,
    deposit.amountMicros,
    yieldMicros,
  );
  if (vault.deposits.liveCount === 0 && ledger.yieldDue > 0) {
    state.events.write(EventType.vaultRemainder, ledger.yieldDue);
    ledger.addTreasury(ledger.yieldDue);
    ledger.addYieldDue(0 - ledger.yieldDue);
  }
  writeYieldResult(state, deposit, yieldMicros);
  return Code.ok;
}

export function claimYield(state: State, command: CommandOf<'claimYield'>): number {
  const deposit = findDeposit(state, command);
  if (typeof deposit === 'number') return deposit;
  if (state.vault.accrued(deposit) === 0) return Code.nothing_to_claim;
  const yieldMicros = state.vault.payYield(deposit);
  state.ledger.addYieldDue(0 - yieldMicros);
  state.ledger.addAvailable(deposit.userId, yieldMicros);
  state.events.write(EventType.yieldClaimed, deposit.depositId, deposit.userId, yieldMicros);
  writeYieldResult(state, deposit, yieldMicros);
  return Code.ok;
}

function findDeposit(
  state: State,
  command: CommandOf<'unstake'> | CommandOf<'claimYield'>,
): VaultDeposit | number {
  if (!state.users.exists(command.userId)) return Code.user_not_found;
  const deposit = state.vault.deposits.find(command.depositId);
  if (deposit === null || deposit.userId !== command.userId) return Code.deposit_not_found;
  return deposit.closed ? Code.deposit_closed : deposit;
}

function writeYieldResult(state: State, deposit: VaultDeposit, yieldMicros: number): void {
  writeDeposit(state, deposit);
  state.result.write(deposit.paidYieldMicros, yieldMicros);
  state.writeBalance(deposit.userId);
}

function writeDeposit(state: State, deposit: VaultDeposit): void {
  state.result.write(
    deposit.depositId,
    deposit.userId,
    deposit.amountMicros,
    deposit.earnsFromMs,
    deposit.stakedAtMs,
  );
}
