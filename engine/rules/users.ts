/** Commands about accounts: registration, credentials, settings, referral codes. */

import { Code } from '../interface/codes.js';
import type { CommandOf } from '../interface/commands.js';
import { DepositSource, Privacy } from '../interface/domain.js';
import { EventType } from '../interface/events.js';
import { isReferralCode, isText, isUsername } from '../interface/fields.js';
import {
  Limit,
  MAX_CREDENTIAL_LENGTH,
  MAX_GRANTED_AGAIN_MICROS,
  MAX_PARTNERS,
  MAX_REFERENCE_LENGTH,
  MAX_TRANSFER_MICROS,
  MAX_USERS,
} from '../interface/limits.js';
import { Pool } from '../state/access/room.js';
import { dayOf } from '../state/accounts.js';
import type { Partners } from '../state/partners.js';
import type { State } from '../state/state.js';
import { isIntegerBetween } from '../storage/arithmetic.js';

export function register(state: State, command: CommandOf<'register'>): number {
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
  if (users.count >= MAX_USERS) return state.refuseLimit(Limit.accounts);
  if (state.ledger.exceedsGrants(command.grantMicros)) return state.refuseLimit(Limit.playMoney);
  if (isOneTooMany(users.partners, command.partner)) return state.refuseLimit(Limit.partners);

  const { username, credential } = command;
  const partner = command.partner === null ? 0 : users.partners.findOrAdd(command.partner);
  const userId = users.add({ username, credential, referrerId, partner }, state.nowMs);
  state.ensureUsers(userId + 1);
  state.accounts.setReferrer(userId, referrerId);
  state.learnSecret(command.credential);
  state.events.write(EventType.userRegistered, userId, referrerId, partner, 0);
  if (command.grantMicros > 0) grant(state, userId, command.grantMicros);
  state.result.push(userId);
  return Code.ok;
}

function grant(state: State, userId: number, micros: number): void {
  state.ledger.addAvailable(userId, micros);
  state.ledger.addGranted(micros);
  state.events.write(EventType.deposited, userId, DepositSource.GRANT, micros);
}

/** Part of the grant below which an account may start again. */
const START_AGAIN_DIVISOR = 10;

/** Checks the whole family, or a user could put money aside in a sub-account. */
export function startAgain(state: State, command: CommandOf<'startAgain'>): number {
  const { users, ledger } = state;
  const { userId, grantMicros } = command;
  if (!isIntegerBetween(grantMicros, 0, MAX_TRANSFER_MICROS)) return Code.invalid_command;
  if (!users.exists(userId) || users.parent(userId) !== 0) return Code.user_not_found;
  if (users.isOfExchange(userId)) return Code.exchange_account;
  if (state.accounts.isFrozen(userId)) return Code.user_frozen;
  const family = users.withSubAccounts(userId);
  const left = family.reduce((sum, each) => sum + ledger.available(each), 0);
  const bound = Math.floor(grantMicros / START_AGAIN_DIVISOR);
  if (left >= bound || family.some((each) => hasStakes(state, each)))
    return state.refuse(Code.too_much_to_start_again, bound, left);
  const today = dayOf(state.nowMs);
  if (users.startedAgainOn(userId) === today) return state.refuseLimit(Limit.startAgain);
  const micros = grantMicros - left;
  if (ledger.exceedsGrants(micros, MAX_GRANTED_AGAIN_MICROS))
    return state.refuseLimit(Limit.playMoney);

  users.setStartedAgainOn(userId, today);
  grant(state, userId, micros);
  state.result.write(userId, micros, ledger.available(userId), ledger.held(userId));
  return Code.ok;
}

/** Whether the user has anything other than available money. */
function hasStakes(state: State, userId: number): boolean {
  const pools = [Pool.orders, Pool.positions, Pool.vaultDeposits];
  return pools.some((pool) => state.taken(pool, userId) > 0);
}

function isOneTooMany(partners: Partners, name: string | null): boolean {
  return name !== null && partners.find(name) === 0 && partners.count >= MAX_PARTNERS;
}

export function setCredential(state: State, command: CommandOf<'setCredential'>): number {
  if (!isText(command.credential, 0, MAX_CREDENTIAL_LENGTH)) return Code.invalid_command;
  const { users } = state;
  if (!users.exists(command.userId)) return Code.user_not_found;
  if (users.parent(command.userId) !== 0) return Code.user_not_found;
  changeCredential(state, command.userId, command.credential);
  state.result.write(command.userId, users.credentialVersion(command.userId));
  return Code.ok;
}

/** Replaces the credential, and ends all tokens of the user and of its sub-accounts. */
export function changeCredential(state: State, ofUserId: number, text: string): void {
  const { users, tokens } = state;
  for (const userId of users.withSubAccounts(ofUserId)) {
    const version = users.setCredential(userId, userId === ofUserId ? text : '');
    tokens.removeAllOf(userId);
    state.events.write(EventType.credentialSet, userId, version);
  }
  state.schedule.findNext();
  state.learnSecret(text);
}

export function setPrivacy(state: State, command: CommandOf<'setPrivacy'>): number {
  const { users } = state;
  const { userId, privacy } = command;
  if (!isIntegerBetween(privacy, Privacy.OPEN, Privacy.LISTED)) return Code.invalid_command;
  if (!users.exists(userId)) return Code.user_not_found;
  if (users.privacy(userId) !== privacy) {
    users.setPrivacy(userId, privacy);
    state.events.write(EventType.privacyChanged, userId, privacy);
  }
  state.result.write(userId, privacy);
  return Code.ok;
}

export function setAutoClaim(state: State, command: CommandOf<'setAutoClaim'>): number {
  const { users } = state;
  const { userId } = command;
  if (!users.exists(userId)) return Code.user_not_found;
  const enabled = Number(command.enabled);
  if (users.autoClaim(userId) !== enabled) {
    users.setAutoClaim(userId, enabled);
    state.events.write(EventType.autoClaimChanged, userId, enabled);
  }
  state.result.write(userId, enabled);
  return Code.ok;
}

export function setReferralCode(state: State, command: CommandOf<'setReferralCode'>): number {
  const { users } = state;
  if (!isReferralCode(command.code)) return Code.invalid_command;
  if (!users.exists(command.userId)) return Code.user_not_found;
  const owner = users.codes.ownerOf(command.code);
  if (owner !== 0 && owner !== command.userId) return Code.referral_code_taken;
  if (owner === 0) {
    if (!state.mayTake(Pool.referralCodes, command.userId))
      return state.refuseLimit(Limit.referralCodes);
    state.room.count(Pool.referralCodes, command.userId, 1);
  }
  users.codes.set(command.userId, command.code);
  state.events.write(EventType.referralCodeSet, command.userId);
  state.result.write(
    command.userId,
    users.referredUsers(command.userId),
    users.referralEarned(command.userId),
    users.pendingReferralMicros(command.userId),
    state.accounts.referrer(command.userId),
  );
  return Code.ok;
}
