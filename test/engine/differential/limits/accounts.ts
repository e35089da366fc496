/** Scripts about a user's money, referral codes, partner, tokens, and deposits in the vault. */
import { Code } from '../../../../engine/interface/codes.js';
import type { Command } from '../../../../engine/interface/commands.js';
import { TimeInForce, TokenScope, WINDOW_MS } from '../../../../engine/interface/domain.js';
import {
  MAX_ALLOWED_ADDRESSES_LENGTH,
  MAX_DEPOSITED_MICROS,
  MAX_GRANTED_MICROS,
  MAX_PARTNERS,
  MAX_SUB_ACCOUNTS_PER_USER,
  MAX_TIME_MS,
  MAX_TOKENS_PER_USER,
  MAX_TRANSFER_MICROS,
  OPERATOR_ACTIONS_KEPT,
  TRANSFER_KEPT_MS,
  TRANSFER_PERIOD_MS,
} from '../../../../engine/interface/limits.js';
import { EXPIRED_TOKEN_KEPT_MS } from '../../../../engine/interface/parameters.js';
import type { Duel } from '../duel.js';
import {
  bid,
  DOWN,
  expectCode,
  LIMIT_REACHED,
  type LimitPlay,
  MARKET,
  OK,
  openMarket,
  registration,
  START_MS,
  UP,
} from './script.js';

function money(duel: Duel): void {
  expectCode(duel, registration('rich', 0, 'bank'), OK, START_MS);
  const transfer = (
    kind: 'deposit' | 'withdraw',
    amountMicros: number,
    reference: number,
  ): Command => ({ kind, userId: 1, amountMicros, partner: 'bank', reference: `${reference}` });
  const deposits = MAX_DEPOSITED_MICROS / MAX_TRANSFER_MICROS;
  for (let i = 1; i <= deposits; i++)
    expectCode(duel, transfer('deposit', MAX_TRANSFER_MICROS, i), OK);
  expectCode(duel, transfer('deposit', 1, 0), LIMIT_REACHED);
  // Play money has a maximum of its own.
  const grants = MAX_GRANTED_MICROS / MAX_TRANSFER_MICROS;
  for (let i = 1; i <= grants; i++)
    expectCode(duel, registration(`player${i}`, MAX_TRANSFER_MICROS), OK);
  expectCode(duel, registration('another', 1), LIMIT_REACHED);
  expectCode(duel, registration('another', 0), OK);
  expectCode(duel, transfer('withdraw', 1, 1_000), OK);
  expectCode(duel, registration('one-more', 1), LIMIT_REACHED);
  // A refused deposit does not use up its reference.
  expectCode(duel, transfer('deposit', 1, 0), OK);
  // References are forgotten 90 days after the end of their period of ten days.
  const lastMs = Math.ceil(START_MS / TRANSFER_PERIOD_MS) * TRANSFER_PERIOD_MS + TRANSFER_KEPT_MS;
  expectCode(duel, transfer('withdraw', 2, 1), Code.reference_reused, lastMs - 1);
  expectCode(duel, transfer('withdraw', 1, 1_000), OK);
  expectCode(duel, transfer('withdraw', 2, 1), OK, lastMs);
  expectCode(duel, transfer('withdraw', 2, 1_000), OK);
  expectCode(duel, transfer('withdraw', 3, 1_000), Code.reference_reused);
}

/** One grant a day, if the family has less than a tenth of it, and nothing else. */
function startAgain(duel: Duel): void {
  openMarket(duel, 2);
  const again = (userId: number, grantMicros = 1e9): Command => ({
    kind: 'startAgain',
    userId,
    idempotencyKey: null,
    grantMicros,
  });
  const withdraw = (amountMicros: number): Command => {
    const reference = `${duel.naive.sequence}`;
    return { kind: 'withdraw', userId: 3, amountMicros, partner: 'bank', reference };
  };
  const of3 = { userId: 3, idempotencyKey: null } as const;
  const tooMuch = Code.too_much_to_start_again;
  expectCode(duel, registration('poor', 1e8, 'bank'), OK);
  expectCode(duel, again(3), tooMuch);
  expectCode(duel, withdraw(1), OK);
  expectCode(duel, again(3, 0), tooMuch);
  // An order, a position, a stake, and money in a sub-account.
  expectCode(duel, bid(3, UP, 10_000, TimeInForce.GTC), OK);
  expectCode(duel, again(3), tooMuch);
  expectCode(duel, bid(1, DOWN, 10_000, TimeInForce.IOC), OK);
  expectCode(duel, again(3), tooMuch);
  const operator = { operator: 'op', reason: 'a test' };
  expectCode(duel, { kind: 'voidMarket', marketId: MARKET, ...operator }, OK);
  expectCode(duel, again(3), tooMuch);
  expectCode(duel, { kind: 'claim', ...of3, marketId: MARKET }, OK);
  expectCode(duel, { kind: 'stake', ...of3, amountMicros: 7e6 }, OK);
  expectCode(duel, again(3), tooMuch);
  expectCode(duel, { kind: 'unstake', ...of3, depositId: 1 }, OK);
  expectCode(duel, { kind: 'createSubAccount', ...of3, username: 'sub' }, OK);
  const move = { kind: 'transferMoney', ...of3, fromUserId: 3, toUserId: 4 } as const;
  expectCode(duel, { ...move, amountMicros: 5e7 }, OK);
  expectCode(duel, again(3, 999_999_999), tooMuch);
  expectCode(duel, again(4), Code.user_not_found);
  const freeze = { kind: 'setFrozen', userId: 3, ...operator } as const;
  expectCode(duel, { ...freeze, frozen: true }, OK);
  expectCode(duel, again(3), Code.user_frozen);
  expectCode(duel, { ...freeze, frozen: false }, OK);
  expectCode(duel, again(3), OK);
  const given = duel.naive.events[0]!;
  if (given.type !== 'deposited' || given.amountMicros !== 900_000_001) throw new Error('grant');
  expectCode(duel, again(3), tooMuch);
  expectCode(duel, withdraw(940_000_000), OK);
  const midnightMs = Math.ceil(START_MS / 86_400_000) * 86_400_000;
  expectCode(duel, again(3), LIMIT_REACHED, midnightMs - 1);
  duel.compareState();
  expectCode(duel, again(3), OK, midnightMs);
  duel.compareState();
  // Half of the play money is only for new accounts.
  for (let i = 1; i <= MAX_GRANTED_MICROS / 2 / MAX_TRANSFER_MICROS; i++)
    expectCode(duel, registration(`new${i}`, MAX_TRANSFER_MICROS), OK);
  expectCode(duel, withdraw(950_000_000), OK);
  expectCode(duel, again(3), LIMIT_REACHED, midnightMs + 86_400_000);
}

function partners(duel: Duel): void {
  for (let i = 1; i <= MAX_PARTNERS; i++) {
    expectCode(duel, registration(`user${i}`, 0, `partner ${i}`), OK, START_MS);
  }
  expectCode(duel, registration('one-more', 0, 'one more'), LIMIT_REACHED);
  expectCode(duel, registration('one-more', 0, `partner ${MAX_PARTNERS}`), OK);
  expectCode(duel, registration('of-nobody', 0), OK);
}

function token(userId: number, expiresAtMs = MAX_TIME_MS): Command {
  const bot = { scope: TokenScope.TRADE, name: 'bot', allowedAddresses: '' };
  return { kind: 'createToken', userId, expiresAtMs, ...bot };
}

/** Expired tokens count until they are forgotten, a week later; a new password ends all tokens. */
function tokens(duel: Duel): void {
  for (const name of ['ada', 'bob']) expectCode(duel, registration(name, 0), OK, START_MS);
  const most = MAX_TOKENS_PER_USER;
  for (let i = 1; i < most; i++) expectCode(duel, token(1, START_MS + 1_000 + (i % 3)), OK);
  expectCode(duel, token(1), OK);
  expectCode(duel, token(1), LIMIT_REACHED);
  expectCode(duel, token(2, START_MS), OK);
  expectCode(duel, token(1), LIMIT_REACHED, START_MS + 2_000);
  duel.compareState();
  const forgottenMs = START_MS + 1_000 + EXPIRED_TOKEN_KEPT_MS;
  expectCode(duel, token(1), LIMIT_REACHED, forgottenMs - 1);
  expectCode(duel, token(1), OK, forgottenMs);
  duel.compareState();
  expectCode(duel, { kind: 'setCredential', userId: 1, credential: 'new' }, OK, forgottenMs + 2);
  expectCode(duel, { kind: 'revokeToken', userId: 1, tokenId: most }, Code.token_not_found);
  for (let i = 0; i < most; i++) expectCode(duel, token(1), OK);
  expectCode(duel, token(1), LIMIT_REACHED);
  const tooLong = { allowedAddresses: 'a'.repeat(MAX_ALLOWED_ADDRESSES_LENGTH + 1) };
  expectCode(duel, { ...token(2), ...tooLong } as Command, Code.invalid_command);
}

/**
 * A sub-account cannot have sub-accounts, shares its owner's room, and loses its tokens with the
 * owner's password.
 */
function subAccounts(duel: Duel): void {
  for (const name of ['ada', 'bob']) expectCode(duel, registration(name, 100), OK, START_MS);
  const create = (userId: number, username: string): Command => ({
    kind: 'createSubAccount',
    userId,
    username,
    idempotencyKey: null,
  });
  expectCode(duel, token(1), OK);
  for (let i = 1; i <= MAX_SUB_ACCOUNTS_PER_USER; i++) expectCode(duel, create(1, `sub${i}`), OK);
  const [first, last] = [3, 2 + MAX_SUB_ACCOUNTS_PER_USER];
  expectCode(duel, create(1, 'one-more'), LIMIT_REACHED);
  expectCode(duel, create(first, 'of-a-sub'), LIMIT_REACHED);
  expectCode(duel, create(2, 'bobs'), OK);
  for (let i = 1; i < MAX_TOKENS_PER_USER; i++) expectCode(duel, token(first + (i % 5)), OK);
  for (const userId of [1, first, last]) expectCode(duel, token(userId), LIMIT_REACHED);
  expectCode(duel, token(last + 1), OK);
  duel.compareState();
  const password = (userId: number): Command => ({
    kind: 'setCredential',
    userId,
    credential: 'new',
  });
  expectCode(duel, password(first), Code.user_not_found);
  expectCode(duel, password(1), OK);
  duel.compareState();
  for (const userId of [1, first, last]) expectCode(duel, token(userId), OK);
  const freeze = (frozen: boolean): Command => ({
    kind: 'setFrozen',
    userId: 1,
    frozen,
    operator: 'op',
    reason: 'a test',
  });
  const move = (fromUserId: number, toUserId: number, amountMicros: number): Command => ({
    kind: 'transferMoney',
    userId: 1,
    fromUserId,
    toUserId,
    amountMicros,
    idempotencyKey: null,
  });
  expectCode(duel, move(1, last, 100), OK);
  expectCode(duel, move(last, first, 100), OK);
  expectCode(duel, move(last, first, 1), Code.insufficient_balance);
  expectCode(duel, move(first, 2, 1), Code.user_not_found);
  expectCode(duel, freeze(true), OK);
  expectCode(duel, move(first, 1, 1), Code.user_frozen);
  expectCode(duel, freeze(false), OK);
  expectCode(duel, move(first, 1, 100), OK);
  duel.compareState();
}

/**
 * The latest operator actions are kept; a paused asset's market opens paused; an ended market is
 * declared VOID.
 */
function operators(duel: Duel): void {
  openMarket(duel, 1);
  const operator = { operator: 'op', reason: 'a test' };
  for (let i = 0; i <= OPERATOR_ACTIONS_KEPT; i++)
    expectCode(duel, { kind: 'setFrozen', userId: 1, frozen: i % 2 === 0, ...operator }, OK);
  duel.compareState();
  expectCode(
    duel,
    { kind: 'setPaused', marketId: 0, asset: 0, paused: true, ...operator },
    OK,
    START_MS + 1,
  );
  const observedAtMs = START_MS + WINDOW_MS - 1;
  const price = { kind: 'observePrice', asset: 0, priceMicros: 9e10, observedAtMs } as const;
  expectCode(duel, price, OK, observedAtMs);
  const voiding = { kind: 'voidMarket', marketId: MARKET, ...operator } as const;
  expectCode(duel, voiding, OK, START_MS + WINDOW_MS + 1);
  duel.compareState();
}

/**
 * Three equal deposits share 20,000 micro-dollars of fees; the indivisible remainder of two is left
 * when the last deposit closes.
 */
function vaultRemainder(duel: Duel): void {
  openMarket(duel, 5);
  const savers = [3, 4, 5];
  for (const userId of savers) {
    expectCode(duel, { kind: 'stake', userId, amountMicros: 7e6, idempotencyKey: null }, OK);
  }
  expectCode(duel, bid(1, UP, 20_000, TimeInForce.GTC), OK);
  expectCode(duel, bid(2, DOWN, 20_000, TimeInForce.IOC), OK);
  const endsAtMs = START_MS + WINDOW_MS;
  const observedAtMs = endsAtMs - 1_000;
  expectCode(
    duel,
    { kind: 'observePrice', asset: 0, priceMicros: 9e10, observedAtMs },
    OK,
    observedAtMs,
  );
  expectCode(duel, { kind: 'advanceTime' }, OK, endsAtMs + 2_000);
  for (const [i, userId] of savers.entries()) {
    expectCode(duel, { kind: 'unstake', userId, depositId: i + 1, idempotencyKey: null }, OK);
  }
  const left = duel.naive.events.filter((event) => event.type === 'vaultRemainder');
  if (left.length !== 1) throw new Error('no remainder');
  duel.compareState();
}

export const ACCOUNT_PLAYS: LimitPlay[] = [
  { name: 'all money', play: money },
  { name: 'new starts with play money', play: startAgain },
  { name: 'partners', play: partners },
  { name: 'tokens of a user', play: tokens },
  { name: 'sub-accounts of a user', play: subAccounts },
  { name: 'actions of operators', play: operators },
  { name: 'vault yield, down to the remainder', play: vaultRemainder },
];
