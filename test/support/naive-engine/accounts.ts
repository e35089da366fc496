/**
 * The naive engine's accounts: registration, credentials, referral codes, deposits and withdrawals.
 */
import type { CommandOf, Deposit, Withdraw } from '../../../engine/interface/commands.js';
import { DepositSource, Privacy } from '../../../engine/interface/domain.js';
import {
  MAX_DEPOSITED_MICROS,
  MAX_GRANTED_MICROS,
  MAX_PARTNERS,
  TRANSFER_KEPT_MS,
  TRANSFER_PERIOD_MS,
} from '../../../engine/interface/limits.js';
import { isOfExchange, mayTakeOne, ownersOf } from './access/room.js';
import { endTokensOf } from './access/tokens.js';
import { type Dollars, dollars, micros, sum, ZERO } from './decimal.js';
import { referrersPartOf } from './market.js';
import {
  type Answer,
  areFamily,
  emit,
  type NaiveState,
  type NaiveUser,
  ok,
  reject,
  rejectLimit,
  userOf,
  withSubAccounts,
} from './state.js';

export function register(state: NaiveState, command: CommandOf<'register'>): Answer {
  const { username, credential, grantMicros, partner } = command;
  if (isTaken(state, username)) return reject('username_taken');
  const referrer = ownerOfCode(state, command.referralCode);
  if (command.referralCode !== '' && referrer === undefined) return reject('referral_code_unknown');
  if (state.granted.plus(dollars(grantMicros)).gt(dollars(MAX_GRANTED_MICROS)))
    return rejectLimit('playMoney');
  const isNewPartner = partner !== null && !state.partners.includes(partner);
  if (isNewPartner && state.partners.length >= MAX_PARTNERS) return rejectLimit('partners');
  if (isNewPartner) state.partners.push(partner);
  const fields = { username, credential, referrerId: referrer?.userId ?? 0, partner };
  const { userId } = addUser(state, {
    ...fields,
    parentId: 0,
    privacy: Privacy.OPEN,
    autoClaim: false,
  });
  if (grantMicros > 0) grant(state, userOf(state, userId)!, dollars(grantMicros));
  return ok({ userId });
}

function grant(state: NaiveState, user: NaiveUser, amount: Dollars): void {
  user.available = user.available.plus(amount);
  state.total = state.total.plus(amount);
  state.granted = state.granted.plus(amount);
  const { userId } = user;
  const source = DepositSource.GRANT;
  emit(state, { type: 'deposited', userId, source, amountMicros: micros(amount) });
}

export function startAgain(state: NaiveState, command: CommandOf<'startAgain'>): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined || user.parentId !== 0) return reject('user_not_found');
  if (isOfExchange(user)) return reject('exchange_account');
  if (user.frozen) return reject('user_frozen');
  const family = withSubAccounts(state, user);
  const left = sum(family.map(({ available }) => available));
  const bound = Math.floor(command.grantMicros / 10);
  const isBound = (['orders', 'positions', 'vaultDeposits'] as const).some((pool) =>
    ownersOf(state, pool).some((owner) => areFamily(state, owner, user.userId)),
  );
  if (isBound || left.gte(dollars(bound)))
    return reject('too_much_to_start_again', bound, micros(left));
  const day = Math.floor(state.nowMs / 86_400_000);
  if (user.startedAgainOn === day) return rejectLimit('startAgain');
  const amount = dollars(command.grantMicros).minus(left);
  if (state.granted.plus(amount).gt(dollars(MAX_GRANTED_MICROS / 2)))
    return rejectLimit('playMoney');
  user.startedAgainOn = day;
  grant(state, user, amount);
  return ok(transferFields(user, micros(amount)));
}

function addUser(
  state: NaiveState,
  fields: Pick<
    NaiveUser,
    'username' | 'credential' | 'referrerId' | 'partner' | 'parentId' | 'privacy' | 'autoClaim'
  >,
): NaiveUser {
  const userId = state.users.length + 1;
  const user: NaiveUser = {
    userId,
    credentialVersion: 1,
    createdAtMs: state.nowMs,
    available: ZERO,
    held: ZERO,
    volume: ZERO,
    realizedProfit: ZERO,
    tradeCount: 0,
    microPoints: 0,
    referralCodes: [firstCode(state, userId)],
    referralEarned: ZERO,
    cancelAtMs: null,
    frozen: false,
    startedAgainOn: 0,
    rateTier: 1,
    ...fields,
  };
  state.users.push(user);
  const { referrerId, parentId } = fields;
  const partner = fields.partner === null ? 0 : state.partners.indexOf(fields.partner) + 1;
  emit(state, { type: 'userRegistered', userId, referrerId, partner, parentId });
  return user;
}

export function createSubAccount(
  state: NaiveState,
  { userId: parentId, username }: CommandOf<'createSubAccount'>,
): Answer {
  const parent = userOf(state, parentId);
  if (parent === undefined) return reject('user_not_found');
  if (parent.frozen) return reject('user_frozen');
  if (isTaken(state, username)) return reject('username_taken');
  if (parent.parentId !== 0 || !mayTakeOne(state, 'subAccounts', parentId))
    return rejectLimit('subAccounts');
  const { referrerId, partner, privacy, autoClaim } = parent;
  const fields = { username, credential: '', referrerId, partner, parentId, privacy, autoClaim };
  return ok({ userId: addUser(state, fields).userId });
}

export function transferMoney(
  state: NaiveState,
  { userId, fromUserId, toUserId, amountMicros }: CommandOf<'transferMoney'>,
): Answer {
  const parent = userOf(state, userId);
  const accounts = parent === undefined ? [] : withSubAccounts(state, parent);
  const from = accounts.find((account) => account.userId === fromUserId);
  const to = accounts.find((account) => account.userId === toUserId);
  if (from === undefined || to === undefined) return reject('user_not_found');
  if (parent!.frozen || from.frozen || to.frozen) return reject('user_frozen');
  const amount = dollars(amountMicros);
  if (amount.gt(from.available))
    return reject('insufficient_balance', amountMicros, micros(from.available));
  from.available = from.available.minus(amount);
  to.available = to.available.plus(amount);
  emit(state, { type: 'transferredOut', userId: fromUserId, toUserId, amountMicros });
  emit(state, { type: 'transferredIn', userId: toUserId, fromUserId, amountMicros });
  return ok({
    fromUserId,
    toUserId,
    amountMicros,
    fromAvailableMicros: micros(from.available),
    toAvailableMicros: micros(to.available),
  });
}

function isTaken(state: NaiveState, username: string): boolean {
  return state.users.some((user) => user.username.toLowerCase() === username.toLowerCase());
}

function ownerOfCode(state: NaiveState, code: string): NaiveUser | undefined {
  return state.users.find((user) => user.referralCodes.includes(code.toUpperCase()));
}

function firstCode(state: NaiveState, userId: number): string {
  let code = `Q${userId.toString(36).toUpperCase().padStart(6, '0')}`;
  while (ownerOfCode(state, code) !== undefined) code = `Q${code}`;
  return code;
}

export function setCredential(state: NaiveState, command: CommandOf<'setCredential'>): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined || user.parentId !== 0) return reject('user_not_found');
  user.credential = command.credential;
  for (const account of withSubAccounts(state, user)) {
    account.credentialVersion++;
    endTokensOf(state, account.userId);
    const { userId, credentialVersion: version } = account;
    emit(state, { type: 'credentialSet', userId, version });
  }
  return ok({ userId: user.userId, version: user.credentialVersion });
}

export function deposit(state: NaiveState, command: Deposit): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined) return reject('user_not_found');
  if (isOfExchange(user)) return reject('exchange_account');
  const { amountMicros } = command;
  const deposited = state.total.minus(state.granted).plus(dollars(amountMicros));
  if (deposited.gt(dollars(MAX_DEPOSITED_MICROS))) return rejectLimit('deposits');
  if (earlierTransfer(state, command) !== undefined) return reject('reference_reused');
  state.total = state.total.plus(dollars(amountMicros));
  user.available = user.available.plus(dollars(amountMicros));
  emit(state, {
    type: 'deposited',
    userId: user.userId,
    source: DepositSource.PARTNER,
    amountMicros,
  });
  return ok(transferFields(user, amountMicros));
}

export function withdraw(state: NaiveState, command: Withdraw): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined) return reject('user_not_found');
  if (isOfExchange(user)) return reject('exchange_account');
  if (user.partner !== command.partner) return reject('user_not_of_partner');
  if (user.frozen) return reject('user_frozen');
  const { amountMicros } = command;
  const amount = dollars(amountMicros);
  if (amount.gt(user.available))
    return reject('insufficient_balance', amountMicros, micros(user.available));
  if (earlierTransfer(state, command) !== undefined) return reject('reference_reused');
  state.total = state.total.minus(amount);
  user.available = user.available.minus(amount);
  emit(state, { type: 'withdrawn', userId: user.userId, amountMicros });
  return ok(transferFields(user, amountMicros));
}

/**
 * The deposit or withdrawal that used the partner's reference, if the reference is remembered: for
 * 90 days after the end of its ten-day period.
 */
export function earlierTransfer(state: NaiveState, { partner, reference }: Deposit | Withdraw) {
  const forgottenAtMs = (atMs: number) =>
    (Math.floor(atMs / TRANSFER_PERIOD_MS) + 1) * TRANSFER_PERIOD_MS + TRANSFER_KEPT_MS;
  return state.transfers.find(
    ({ command, atMs }) =>
      command.partner === partner &&
      command.reference === reference &&
      forgottenAtMs(atMs) > state.nowMs,
  );
}

function transferFields(user: NaiveUser, amountMicros: number): Record<string, number> {
  return {
    userId: user.userId,
    amountMicros,
    availableMicros: micros(user.available),
    heldMicros: micros(user.held),
  };
}

export function setPrivacy(state: NaiveState, command: CommandOf<'setPrivacy'>): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined) return reject('user_not_found');
  const { userId, privacy } = command;
  if (user.privacy !== privacy) emit(state, { type: 'privacyChanged', userId, privacy });
  user.privacy = privacy;
  return ok({ userId, privacy });
}

export function setAutoClaim(state: NaiveState, command: CommandOf<'setAutoClaim'>): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined) return reject('user_not_found');
  const { userId } = user;
  const enabled = command.enabled ? 1 : 0;
  if (user.autoClaim !== command.enabled)
    emit(state, { type: 'autoClaimChanged', userId, enabled });
  user.autoClaim = command.enabled;
  return ok({ userId, enabled });
}

export function setReferralCode(state: NaiveState, command: CommandOf<'setReferralCode'>): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined) return reject('user_not_found');
  const code = command.code.toUpperCase();
  const owner = ownerOfCode(state, code);
  if (owner !== undefined && owner !== user) return reject('referral_code_taken');
  if (owner === undefined && !mayTakeOne(state, 'referralCodes', user.userId))
    return rejectLimit('referralCodes');
  user.referralCodes = [...user.referralCodes.filter((one) => one !== code), code];
  emit(state, { type: 'referralCodeSet', userId: user.userId });
  return ok(referralFields(state, user));
}

export function referralFields(state: NaiveState, user: NaiveUser) {
  return {
    userId: user.userId,
    referredUsers: state.users.filter(
      (other) => other.referrerId === user.userId && other.parentId === 0,
    ).length,
    earnedMicros: micros(user.referralEarned),
    pendingMicros: micros(pendingReferral(state, user)),
    referrerId: user.referrerId,
  };
}

/** The referrer's part of the referred users' fees in markets that are not settled. */
function pendingReferral(state: NaiveState, user: NaiveUser): Dollars {
  const fees: Dollars[] = [];
  for (const market of state.markets) {
    for (const position of market.positions) {
      const referred = userOf(state, position.userId)!.referrerId === user.userId;
      if (referred && !position.settled) fees.push(position.fees);
    }
  }
  return referrersPartOf(sum(fees));
}
