/** Commands about named tokens, and their expiry. */

import { Code } from '../../interface/codes.js';
import type { CommandOf } from '../../interface/commands.js';
import { TokenScope } from '../../interface/domain.js';
import { EventType } from '../../interface/events.js';
import { isText } from '../../interface/fields.js';
import {
  Limit,
  MAX_ALLOWED_ADDRESSES_LENGTH,
  MAX_TIME_MS,
  MAX_TOKEN_NAME_LENGTH,
} from '../../interface/limits.js';
import { Pool } from '../../state/access/room.js';
import type { State } from '../../state/state.js';
import { isIntegerBetween } from '../../storage/arithmetic.js';

export function createToken(state: State, command: CommandOf<'createToken'>): number {
  const { tokens } = state;
  const { userId, name, expiresAtMs, allowedAddresses } = command;
  const scope = command.scope as TokenScope;
  if (!isText(name, 1, MAX_TOKEN_NAME_LENGTH)) return Code.invalid_command;
  if (!isText(allowedAddresses, 0, MAX_ALLOWED_ADDRESSES_LENGTH)) return Code.invalid_command;
  if (!isIntegerBetween(scope, TokenScope.READ, TokenScope.TRADE)) return Code.invalid_command;
  if (!isIntegerBetween(expiresAtMs, 1, MAX_TIME_MS)) return Code.invalid_command;
  if (!state.users.exists(userId)) return Code.user_not_found;
  if (!state.mayTake(Pool.tokens, userId)) return state.refuseLimit(Limit.tokens);

  const token = { userId, name, scope, createdAtMs: state.nowMs, expiresAtMs, allowedAddresses };
  const tokenId = tokens.add(token);
  state.schedule.findNext();
  state.events.write(EventType.tokenCreated, tokenId, userId, scope, expiresAtMs);
  state.result.write(tokenId, userId, expiresAtMs);
  return Code.ok;
}

export function revokeToken(state: State, command: CommandOf<'revokeToken'>): number {
  const { tokens } = state;
  const { userId, tokenId } = command;
  if (!state.users.exists(userId)) return Code.user_not_found;
  const row = tokens.find(tokenId);
  if (row === 0 || tokens.userId(row) !== userId) return Code.token_not_found;

  tokens.remove(row);
  state.schedule.findNext();
  state.events.write(EventType.tokenRevoked, tokenId, userId);
  state.result.write(tokenId, userId);
  return Code.ok;
}

/** Expires tokens, and forgets those that expired long ago. Returns the units left. */
export function expireTokens(state: State, units: number): number {
  const { tokens } = state;
  const { deadlines } = tokens;
  let left = units;
  while (deadlines.firstAtMs <= state.nowMs) {
    if (left === 0) return 0;
    const row = deadlines.first;
    if (tokens.isExpired(row)) tokens.remove(row);
    else {
      tokens.expire(row);
      state.events.write(EventType.tokenExpired, tokens.id(row), tokens.userId(row));
    }
    left--;
  }
  state.schedule.removeWork();
  state.schedule.findNext();
  return left;
}
