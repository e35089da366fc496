/**
 * The naive engine's flex vault: deposits in order of creation, and the total yield of each earning
 * dollar. Before fees are shared, every deposit whose time has come starts to earn.
 */
import type { CommandOf } from '../../../engine/interface/commands.js';
import { WINDOW_MS } from '../../../engine/interface/domain.js';
import { mayTakeOne } from './access/room.js';
import { type Dollars, dollars, floorToMicros, micros, perDollar, sum, ZERO } from './decimal.js';
import {
  type Answer,
  emit,
  type NaiveDeposit,
  type NaiveState,
  type NaiveUser,
  ok,
  reject,
  rejectLimit,
  userOf,
} from './state.js';

export function stake(state: NaiveState, command: CommandOf<'stake'>): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined) return reject('user_not_found');
  if (user.frozen) return reject('user_frozen');
  if (!mayTakeOne(state, 'vaultDeposits', user.userId)) return rejectLimit('vaultDeposits');
  const { amountMicros } = command;
  const amount = dollars(amountMicros);
  if (amount.gt(user.available))
    return reject('insufficient_balance', amountMicros, micros(user.available));
  user.available = user.available.minus(amount);
  const deposit: NaiveDeposit = {
    depositId: state.vault.deposits.length + 1,
    userId: user.userId,
    amount,
    stakedAtMs: state.nowMs,
    earnsFromMs: Math.ceil((state.nowMs + WINDOW_MS) / WINDOW_MS) * WINDOW_MS,
    yieldPerDollarBefore: null,
    claimedYield: ZERO,
    closed: false,
  };
  state.vault.deposits.push(deposit);
  const { depositId, userId, earnsFromMs } = deposit;
  emit(state, { type: 'staked', depositId, userId, amountMicros, earnsFromMs });
  return ok(fieldsOf(deposit, user));
}

export function unstake(state: NaiveState, command: CommandOf<'unstake'>): Answer {
  const found = openDeposit(state, command);
  if ('code' in found) return found;
  const { user, deposit } = found;
  const accrued = accruedYield(state, deposit);
  payYield(state, { user, deposit, accrued });
  user.available = user.available.plus(deposit.amount);
  deposit.closed = true;
  const { depositId, userId } = deposit;
  const yieldMicros = micros(accrued);
  emit(state, {
    type: 'unstaked',
    depositId,
    userId,
    amountMicros: micros(deposit.amount),
    yieldMicros,
  });
  if (openDeposits(state).length === 0) giveRemainderToTreasury(state);
  return ok({ ...fieldsOf(deposit, user), yieldMicros });
}

export function claimYield(state: NaiveState, command: CommandOf<'claimYield'>): Answer {
  const found = openDeposit(state, command);
  if ('code' in found) return found;
  const { user, deposit } = found;
  const accrued = accruedYield(state, deposit);
  if (accrued.eq(ZERO)) return reject('nothing_to_claim');
  payYield(state, { user, deposit, accrued });
  const yieldMicros = micros(accrued);
  emit(state, {
    type: 'yieldClaimed',
    depositId: deposit.depositId,
    userId: user.userId,
    yieldMicros,
  });
  return ok({ ...fieldsOf(deposit, user), yieldMicros });
}

function openDeposit(
  state: NaiveState,
  { userId, depositId }: CommandOf<'unstake'> | CommandOf<'claimYield'>,
) {
  const user = userOf(state, userId);
  if (user === undefined) return reject('user_not_found');
  const deposit = state.vault.deposits[depositId - 1];
  if (deposit === undefined || deposit.userId !== userId) return reject('deposit_not_found');
  return deposit.closed ? reject('deposit_closed') : { user, deposit };
}

/** The fields that the three results share. The balance is that after the command. */
function fieldsOf(deposit: NaiveDeposit, user: NaiveUser): Record<string, number> {
  return {
    depositId: deposit.depositId,
    userId: deposit.userId,
    amountMicros: micros(deposit.amount),
    earnsFromMs: deposit.earnsFromMs,
    stakedAtMs: deposit.stakedAtMs,
    claimedYieldMicros: micros(deposit.claimedYield),
    availableMicros: micros(user.available),
    heldMicros: micros(user.held),
  };
}

export function openDeposits(state: NaiveState): NaiveDeposit[] {
  return state.vault.deposits.filter((deposit) => !deposit.closed);
}

/** A deposit's total yield, rounded down to a micro, minus the part already paid. */
export function accruedYield(state: NaiveState, deposit: NaiveDeposit): Dollars {
  if (deposit.closed || deposit.yieldPerDollarBefore === null) return ZERO;
  const perStakedDollar = state.vault.yieldPerDollar.minus(deposit.yieldPerDollarBefore);
  return floorToMicros(deposit.amount.times(perStakedDollar)).minus(deposit.claimedYield);
}

function payYield(
  state: NaiveState,
  { user, deposit, accrued }: { user: NaiveUser; deposit: NaiveDeposit; accrued: Dollars },
): void {
  deposit.claimedYield = deposit.claimedYield.plus(accrued);
  user.available = user.available.plus(accrued);
  state.vault.yieldDue = state.vault.yieldDue.minus(accrued);
  state.vault.yieldPaid = state.vault.yieldPaid.plus(accrued);
}

/** Shares fees among the earning deposits. Returns the amount shared. */
export function shareWithVault(state: NaiveState, offered: Dollars): Dollars {
  const { vault } = state;
  const earning = openDeposits(state).filter((deposit) => deposit.earnsFromMs <= state.nowMs);
  for (const deposit of earning) deposit.yieldPerDollarBefore ??= vault.yieldPerDollar;
  const earningDollars = sum(earning.map((deposit) => deposit.amount));
  if (earningDollars.eq(ZERO)) return ZERO;
  const most = floorToMicros(earningDollars.times('0.001'));
  const share = offered.gt(most) ? most : offered;
  // Rounding to eighteen places loses less than a micro over all deposits, so the vault takes the
  // whole share.
  vault.yieldPerDollar = vault.yieldPerDollar.plus(perDollar(share, earningDollars));
  vault.yieldDue = vault.yieldDue.plus(share);
  return share;
}

function giveRemainderToTreasury(state: NaiveState): void {
  const remainder = state.vault.yieldDue;
  if (remainder.eq(ZERO)) return;
  state.vault.yieldDue = ZERO;
  state.treasury = state.treasury.plus(remainder);
  emit(state, { type: 'vaultRemainder', amountMicros: micros(remainder) });
}
