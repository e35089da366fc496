/** The naive engine's named tokens, in order of creation; expired ones stay for a week. */
import type { CommandOf } from '../../../../engine/interface/commands.js';
import type { TokenScope } from '../../../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../../../engine/interface/limits.js';
import type { AccessTokenView } from '../../../../engine/interface/views.js';
import {
  type Answer,
  emit,
  type NaiveState,
  type NaiveToken,
  ok,
  reject,
  rejectLimit,
  userOf,
} from '../state.js';
import { mayTakeOne } from './room.js';

const KNOWN_FOR_MS = 7 * 24 * 3_600_000;

export function createToken(state: NaiveState, command: CommandOf<'createToken'>): Answer {
  const { userId, name, scope, expiresAtMs, allowedAddresses } = command;
  if (userOf(state, userId) === undefined) return reject('user_not_found');
  if (!mayTakeOne(state, 'tokens', userId)) return rejectLimit('tokens');
  state.tokensMade++;
  const tokenId = state.tokensMade;
  const createdAtMs = state.nowMs;
  const isExpired = false;
  state.tokens.push({
    tokenId,
    userId,
    name,
    scope: scope as TokenScope,
    createdAtMs,
    expiresAtMs,
    allowedAddresses,
    isExpired,
  });
  emit(state, { type: 'tokenCreated', tokenId, userId, scope, expiresAtMs });
  return ok({ tokenId, userId, expiresAtMs });
}

export function revokeToken(
  state: NaiveState,
  { userId, tokenId }: CommandOf<'revokeToken'>,
): Answer {
  if (userOf(state, userId) === undefined) return reject('user_not_found');
  const token = state.tokens.find((one) => one.tokenId === tokenId && one.userId === userId);
  if (token === undefined) return reject('token_not_found');
  remove(state, token);
  emit(state, { type: 'tokenRevoked', tokenId, userId });
  return ok({ tokenId, userId });
}

export function endTokensOf(state: NaiveState, userId: number): void {
  state.tokens = state.tokens.filter((token) => token.userId !== userId);
}

/** The next due time of a token: it expires, or is forgotten after it has expired. */
function dueAtMs({ isExpired, expiresAtMs }: NaiveToken): number {
  if (expiresAtMs === MAX_TIME_MS) return Number.POSITIVE_INFINITY;
  return isExpired ? expiresAtMs + KNOWN_FOR_MS : expiresAtMs;
}

export function nextTokenDueMs(state: NaiveState): number {
  return Math.min(Number.POSITIVE_INFINITY, ...state.tokens.map(dueAtMs));
}

/** Processes all tokens that are due, the earliest first; at equal times, by id. */
export function expireTokens(state: NaiveState): void {
  for (;;) {
    const due = state.tokens.filter((token) => dueAtMs(token) <= state.nowMs);
    const first = due.sort((a, b) => dueAtMs(a) - dueAtMs(b) || a.tokenId - b.tokenId)[0];
    if (first === undefined) return;
    if (first.isExpired) remove(state, first);
    else {
      first.isExpired = true;
      emit(state, { type: 'tokenExpired', tokenId: first.tokenId, userId: first.userId });
    }
  }
}

function remove(state: NaiveState, token: NaiveToken): void {
  state.tokens.splice(state.tokens.indexOf(token), 1);
}

export function tokenViews(state: NaiveState, userId: number): AccessTokenView[] {
  return state.tokens.filter((token) => token.userId === userId).map((token) => ({ ...token }));
}
