/**
 * Sub-accounts: users that belong to another user, their parent, with separate money, positions,
 * orders and tokens. A parent and its sub-accounts are a family: they share the room of one user
 * (state/access/room.ts), do not trade with each other, and transfer money only within the family.
 */

import { Code } from '../interface/codes.js';
import type { CommandOf } from '../interface/commands.js';
import { EventType } from '../interface/events.js';
import { isUsername } from '../interface/fields.js';
import { Limit, MAX_TRANSFER_MICROS, MAX_USERS } from '../interface/limits.js';
import { Pool } from '../state/access/room.js';
import type { State } from '../state/state.js';
import type { Users } from '../state/users.js';
import { isIntegerBetween } from '../storage/arithmetic.js';

export function createSubAccount(state: State, command: CommandOf<'createSubAccount'>): number {
  const { users, accounts, room } = state;
  const { userId: parentId, username } = command;
  if (!isUsername(username)) return Code.invalid_command;
  if (!users.exists(parentId)) return Code.user_not_found;
  if (accounts.isFrozen(parentId)) return Code.user_frozen;
  if (users.find(username) !== 0) return Code.username_taken;
  if (users.count >= MAX_USERS) return state.refuseLimit(Limit.accounts);
  if (users.parent(parentId) !== 0 || !state.mayTake(Pool.subAccounts, parentId))
    return state.refuseLimit(Limit.subAccounts);

  if (accounts.family(parentId) === 0) {
    const family = room.addFamily((pool) => state.taken(pool, parentId));
    accounts.joinFamily(parentId, family);
  }
  const partner = users.partner(parentId);
  // A sub-account begins without a referrer: only the parent counts as a referred user.
  const userId = users.add({ username, credential: '', referrerId: 0, partner }, state.nowMs);
  state.ensureUsers(userId + 1);
  const referrerId = accounts.referrer(parentId);
  accounts.setReferrer(userId, referrerId);
  accounts.joinFamily(userId, accounts.family(parentId));
  users.setPrivacy(userId, users.privacy(parentId));
  users.setAutoClaim(userId, users.autoClaim(parentId));
  users.addSubAccount(parentId, userId);
  room.count(Pool.subAccounts, parentId, 1);
  state.events.write(EventType.userRegistered, userId, referrerId, partner, parentId);
  state.result.push(userId);
  return Code.ok;
}

export function transferMoney(state: State, command: CommandOf<'transferMoney'>): number {
  const { users, accounts, ledger } = state;
  const { userId, fromUserId, toUserId, amountMicros } = command;
  if (!isIntegerBetween(amountMicros, 1, MAX_TRANSFER_MICROS)) return Code.invalid_command;
  if (fromUserId === toUserId) return Code.invalid_command;
  if (!users.exists(userId)) return Code.user_not_found;
  if (!isOf(users, userId, fromUserId) || !isOf(users, userId, toUserId))
    return Code.user_not_found;
  if ([userId, fromUserId, toUserId].some((each) => accounts.isFrozen(each)))
    return Code.user_frozen;
  const available = ledger.available(fromUserId);
  if (available < amountMicros)
    return state.refuse(Code.insufficient_balance, amountMicros, available);

  ledger.addAvailable(fromUserId, 0 - amountMicros);
  ledger.addAvailable(toUserId, amountMicros);
  state.events.write(EventType.transferredOut, fromUserId, toUserId, amountMicros);
  state.events.write(EventType.transferredIn, toUserId, fromUserId, amountMicros);
  state.result.write(
    fromUserId,
    toUserId,
    amountMicros,
    available - amountMicros,
    ledger.available(toUserId),
  );
  return Code.ok;
}

function isOf(users: Users, userId: number, accountId: number): boolean {
  return users.exists(accountId) && (accountId === userId || users.parent(accountId) === userId);
}
