/**
 * Commands about people and their money outside of markets: accounts, partners' transfers, the vault, referral codes.
 * Each function checks everything, then changes state, and writes the fields of its result; it returns the code.
 */

import { Code } from '../interface/codes.js';
import type {
  ClaimYield,
  Deposit,
  Register,
  SetCredential,
  SetReferralCode,
  Stake,
  Unstake,
  Withdraw,
} from '../interface/commands.js';
import { DepositSource } from '../interface/domain.js';
import { EventType } from '../interface/events.js';
import {
  MAX_CHOSEN_REFERRAL_CODES,
  MAX_CREDENTIAL_LENGTH,
  MAX_PARTNERS,
  MAX_REFERENCE_LENGTH,
  MAX_REFERRAL_CODES_PER_USER,
  MAX_TOTAL_MICROS,
  MAX_TRANSFER_MICROS,
  MAX_TRANSFERS,
  MAX_USERS,
  MAX_VAULT_DEPOSITS,
  MAX_VAULT_DEPOSITS_PER_USER,
  MIN_STAKE_MICROS,
} from '../interface/limits.js';
import { REFERRAL_DIVISOR } from '../interface/parameters.js';
import type { Partners } from '../state/partners.js';
import type { State } from '../state/state.js';
import { isRepeatOf } from '../state/transfers.js';
import { isReferralCode, isUsername, type Users } from '../state/users.js';
import type { VaultDeposit } from '../state/vault-deposits.js';
import { isIntegerBetween } from '../storage/arithmetic.js';

export function register(state: State, command: Register): number {
  const { users } = state;
  if (!isUsername(command.username) || !isText(command.credential, 0, MAX_CREDENTIAL_LENGTH)) {
    return Code.invalid_command;
  }
  if (!isText(command.referralCode, 0, MAX_REFERENCE_LENGTH)) return Code.invalid_command;
  if (!isIntegerBetween(command.grantMicros, 0, MAX_TRANSFER_MICROS)) return Code.invalid_command;
  if (command.partner !== null && !isText(command.partner, 1, MAX_REFERENCE_LENGTH))
    return Code.invalid_command;
  if (users.find(command.username) !== 0) return Code.username_taken;
  const referrerId = command.referralCode === '' ? 0 : users.codes.ownerOf(command.referralCode);
  if (command.referralCode !== '' && referrerId === 0) return Code.referral_code_unknown;
  if (users.count >= MAX_USERS || exceedsTotal(state, command.grantMicros)) return Code.limit_reached;
  if (isOneTooMany(users.partners, command.partner)) return Code.limit_reached;

  const { username, credential } = command;
  const partner = command.partner === null ? 0 : users.partners.findOrAdd(command.partner);
  const userId = users.add({ username, credential, referrerId, partner }, state.nowMs);
  state.ensureUsers(userId + 1);
  state.learnSecret(command.credential);
  state.events.write(EventType.userRegistered, userId, referrerId, partner);
  if (command.grantMicros > 0) {
    state.ledger.addAvailable(userId, command.grantMicros);
    state.ledger.netDeposits.add(command.grantMicros);
    state.events.write(EventType.deposited, userId, DepositSource.GRANT, command.grantMicros);
  }
  state.result.push(userId);
  return Code.ok;
}

function isOneTooMany(partners: Partners, name: string | null): boolean {
  return name !== null && partners.find(name) === 0 && partners.count >= MAX_PARTNERS;
}

export function setCredential(state: State, command: SetCredential): number {
  if (!isText(command.credential, 0, MAX_CREDENTIAL_LENGTH)) return Code.invalid_command;
  if (!state.users.exists(command.userId)) return Code.user_not_found;
  const version = state.users.setCredential(command.userId, command.credential);
  state.learnSecret(command.credential);
  state.events.write(EventType.credentialSet, command.userId, version);
  state.result.write(command.userId, version);
  return Code.ok;
}

/**
 * Money comes in or goes out through a partner; a repeat answers as the first time. Whether the partner may is asked before what
 * there is, so that a refusal tells nothing of a balance.
 */
export function transfer(state: State, command: Deposit | Withdraw): number {
  const { ledger, transfers } = state;
  const isDeposit = command.kind === 'deposit';
  if (!isIntegerBetween(command.amountMicros, 1, MAX_TRANSFER_MICROS)) return Code.invalid_command;
  if (!isText(command.partner, 1, MAX_REFERENCE_LENGTH)) return Code.invalid_command;
  if (!isText(command.reference, 1, MAX_REFERENCE_LENGTH)) return Code.invalid_command;
  const earlier = transfers.find(command.partner, command.reference);
  if (earlier !== null && isRepeatOf(command, earlier)) {
    state.markReplayed(earlier.sequence, earlier.atMs);
    writeTransferResult(state, command, earlier.availableMicros, earlier.heldMicros);
    return Code.ok;
  }
  if (!state.users.exists(command.userId)) return Code.user_not_found;
  if (state.users.isOfExchange(command.userId)) return Code.exchange_account;
  if (command.kind === 'withdraw' && !isOfPartner(state.users, command)) return Code.user_not_of_partner;
  if (isDeposit && exceedsTotal(state, command.amountMicros)) return Code.limit_reached;
  if (transfers.count >= MAX_TRANSFERS) return Code.limit_reached;
  const available = ledger.available.values[command.userId]!;
  if (!isDeposit && available < command.amountMicros) {
    return state.refuse(Code.insufficient_balance, command.amountMicros, available);
  }
  if (earlier !== null) return Code.reference_reused;

  const change = isDeposit ? command.amountMicros : 0 - command.amountMicros;
  ledger.addAvailable(command.userId, change);
  ledger.netDeposits.add(change);
  const availableMicros = available + change;
  const heldMicros = ledger.held.values[command.userId]!;
  transfers.add(command.partner, command.reference, {
    isDeposit,
    userId: command.userId,
    amountMicros: command.amountMicros,
    sequence: state.sequence,
    atMs: state.nowMs,
    availableMicros,
    heldMicros,
  });
  if (isDeposit)
    state.events.write(EventType.deposited, command.userId, DepositSource.PARTNER, command.amountMicros);
  else state.events.write(EventType.withdrawn, command.userId, command.amountMicros);
  writeTransferResult(state, command, availableMicros, heldMicros);
  return Code.ok;
}

/** Deposits make no difference: only who registered the user does. */
function isOfPartner(users: Users, { userId, partner }: Withdraw): boolean {
  return users.partners.nameOf(users.partner.values[userId]!) === partner;
}

export function stake(state: State, command: Stake): number {
  const { ledger, vault } = state;
  if (!isIntegerBetween(command.amountMicros, MIN_STAKE_MICROS, MAX_TRANSFER_MICROS))
    return Code.invalid_command;
  if (!state.users.exists(command.userId)) return Code.user_not_found;
  const { liveCount } = vault.deposits;
  if (
    liveCount >= MAX_VAULT_DEPOSITS ||
    vault.deposits.countOf(command.userId) >= MAX_VAULT_DEPOSITS_PER_USER
  ) {
    return Code.limit_reached;
  }
  const available = ledger.available.values[command.userId]!;
  if (available < command.amountMicros) {
    return state.refuse(Code.insufficient_balance, command.amountMicros, available);
  }

  ledger.addAvailable(command.userId, 0 - command.amountMicros);
  ledger.staked.add(command.amountMicros);
  const deposit = vault.add(command.userId, command.amountMicros, state.nowMs);
  state.events.write(
    EventType.staked,
    deposit.depositId,
    command.userId,
    command.amountMicros,
    deposit.earnsFromMs,
  );
  writeDeposit(state, deposit);
  writeBalance(state, command.userId);
  return Code.ok;
}

export function unstake(state: State, command: Unstake): number {
  const { ledger, vault } = state;
  const deposit = findDeposit(state, command);
  if (typeof deposit === 'number') return deposit;
  const yieldMicros = vault.payYield(deposit);
  vault.close(deposit);
  ledger.staked.add(0 - deposit.amountMicros);
  ledger.yieldDue.add(0 - yieldMicros);
  ledger.addAvailable(deposit.userId, deposit.amountMicros + yieldMicros);
  state.events.write(
    EventType.unstaked,
    deposit.depositId,
    deposit.userId,
    deposit.amountMicros,
    yieldMicros,
  );
  if (vault.deposits.liveCount === 0 && ledger.yieldDue.value > 0) {
    state.events.write(EventType.vaultRemainder, ledger.yieldDue.value);
    ledger.treasury.add(ledger.yieldDue.value);
    ledger.yieldDue.set(0);
  }
  writeYieldResult(state, deposit, yieldMicros);
  return Code.ok;
}

export function claimYield(state: State, command: ClaimYield): number {
  const deposit = findDeposit(state, command);
  if (typeof deposit === 'number') return deposit;
  if (state.vault.accrued(deposit) === 0) return Code.nothing_to_claim;
  const yieldMicros = state.vault.payYield(deposit);
  state.ledger.yieldDue.add(0 - yieldMicros);
  state.ledger.addAvailable(deposit.userId, yieldMicros);
  state.events.write(EventType.yieldClaimed, deposit.depositId, deposit.userId, yieldMicros);
  writeYieldResult(state, deposit, yieldMicros);
  return Code.ok;
}

export function setReferralCode(state: State, command: SetReferralCode): number {
  const { users } = state;
  if (!isReferralCode(command.code)) return Code.invalid_command;
  if (!users.exists(command.userId)) return Code.user_not_found;
  const owner = users.codes.ownerOf(command.code);
  if (owner !== 0 && owner !== command.userId) return Code.referral_code_taken;
  if (owner === 0 && isOutOfCodes(users, command.userId)) return Code.limit_reached;

  users.codes.set(command.userId, command.code);
  state.events.write(EventType.referralCodeSet, command.userId);
  state.result.write(
    command.userId,
    users.referredUsers.values[command.userId]!,
    users.referralEarned.values[command.userId]!,
    pendingReferral(state, command.userId),
    users.referrer.values[command.userId]!,
  );
  return Code.ok;
}

/** First codes do not count: a registration must not fail for want of them. */
function isOutOfCodes({ codes, count }: Users, userId: number): boolean {
  return (
    codes.countOf(userId) >= MAX_REFERRAL_CODES_PER_USER || codes.count - count >= MAX_CHOSEN_REFERRAL_CODES
  );
}

/** A tenth of the fees that referred users have paid in markets that are not settled yet. */
export function pendingReferral(state: State, userId: number): number {
  return Math.floor(state.users.referralPendingFees.values[userId]! / REFERRAL_DIVISOR);
}

/** The user's balance, as the last two fields of a result. */
export function writeBalance(state: State, userId: number): void {
  state.result.write(state.ledger.available.values[userId]!, state.ledger.held.values[userId]!);
}

function findDeposit(state: State, command: Unstake | ClaimYield): VaultDeposit | number {
  if (!state.users.exists(command.userId)) return Code.user_not_found;
  const deposit = state.vault.deposits.find(command.depositId);
  if (deposit === null || deposit.userId !== command.userId) return Code.deposit_not_found;
  return deposit.closed ? Code.deposit_closed : deposit;
}

function writeTransferResult(
  state: State,
  command: Deposit | Withdraw,
  availableMicros: number,
  heldMicros: number,
): void {
  state.result.write(command.userId, command.amountMicros, availableMicros, heldMicros);
}

function writeYieldResult(state: State, deposit: VaultDeposit, yieldMicros: number): void {
  writeDeposit(state, deposit);
  state.result.write(deposit.paidYieldMicros, yieldMicros);
  writeBalance(state, deposit.userId);
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

function exceedsTotal(state: State, micros: number): boolean {
  return micros > MAX_TOTAL_MICROS - state.ledger.netDeposits.value;
}

function isText(text: string, least: number, most: number): boolean {
  return typeof text === 'string' && text.length >= least && text.length <= most;
}
