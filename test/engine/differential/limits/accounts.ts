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
  LIMIT_REACHED,
  type LimitPlay,
  MARKET,
  OK,
  openMarket,
  own,
  type Play,
  registration,
  SIGNED,
  START_MS,
  STATE,
  UP,
} from './script.js';

function* money(): Play {
  yield [registration('rich', 0, 'bank'), OK, START_MS];
  const transfer = (
    kind: 'deposit' | 'withdraw',
    amountMicros: number,
    reference: number,
  ): Command => ({ kind, userId: 1, amountMicros, partner: 'bank', reference: `${reference}` });
  const deposits = MAX_DEPOSITED_MICROS / MAX_TRANSFER_MICROS;
  for (let i = 1; i <= deposits; i++) yield [transfer('deposit', MAX_TRANSFER_MICROS, i)];
  yield [transfer('deposit', 1, 0), LIMIT_REACHED];
  // Play money has a maximum of its own.
  const grants = MAX_GRANTED_MICROS / MAX_TRANSFER_MICROS;
  for (let i = 1; i <= grants; i++) yield [registration(`player${i}`, MAX_TRANSFER_MICROS)];
  yield [registration('another', 1), LIMIT_REACHED];
  yield [registration('another', 0)];
  yield [transfer('withdraw', 1, 1_000)];
  yield [registration('one-more', 1), LIMIT_REACHED];
  // A refused deposit does not use up its reference.
  yield [transfer('deposit', 1, 0)];
  // References are forgotten 90 days after the end of their period of ten days.
  const lastMs = Math.ceil(START_MS / TRANSFER_PERIOD_MS) * TRANSFER_PERIOD_MS + TRANSFER_KEPT_MS;
  yield [transfer('withdraw', 2, 1), Code.reference_reused, lastMs - 1];
  yield [transfer('withdraw', 1, 1_000)];
  yield [transfer('withdraw', 2, 1), OK, lastMs];
  yield [transfer('withdraw', 2, 1_000)];
  yield [transfer('withdraw', 3, 1_000), Code.reference_reused];
}

/** One grant a day, if the family has less than a tenth of it, and nothing else. */
function* startAgain(duel: Duel): Play {
  yield* openMarket(2);
  const again = (userId: number, grantMicros = 1e9): Command => {
    return { kind: 'startAgain', ...own(userId), grantMicros };
  };
  const withdraw = (amountMicros: number): Command => {
    const reference = `${duel.naive.sequence}`;
    return { kind: 'withdraw', userId: 3, amountMicros, partner: 'bank', reference };
  };
  const of3 = own(3);
  const tooMuch = Code.too_much_to_start_again;
  yield [registration('poor', 1e8, 'bank')];
  yield [again(3), tooMuch];
  yield [withdraw(1)];
  yield [again(3, 0), tooMuch];
  // An order, a position, a stake, and money in a sub-account.
  yield [bid(3, UP, 10_000, TimeInForce.GTC)];
  yield [again(3), tooMuch];
  yield [bid(1, DOWN, 10_000, TimeInForce.IOC)];
  yield [again(3), tooMuch];
  yield [{ kind: 'voidMarket', marketId: MARKET, ...SIGNED }];
  yield [again(3), tooMuch];
  yield [{ kind: 'claim', ...of3, marketId: MARKET }];
  yield [{ kind: 'stake', ...of3, amountMicros: 7e6 }];
  yield [again(3), tooMuch];
  yield [{ kind: 'unstake', ...of3, depositId: 1 }];
  yield [{ kind: 'createSubAccount', ...of3, username: 'sub' }];
  const move = { kind: 'transferMoney', ...of3, fromUserId: 3, toUserId: 4 } as const;
  yield [{ ...move, amountMicros: 5e7 }];
  yield [again(3, 999_999_999), tooMuch];
  yield [again(4), Code.user_not_found];
  const freeze = { kind: 'setFrozen', userId: 3, ...SIGNED } as const;
  yield [{ ...freeze, frozen: true }];
  yield [again(3), Code.user_frozen];
  yield [{ ...freeze, frozen: false }];
  yield [again(3)];
  const given = duel.naive.events[0]!;
  if (given.type !== 'deposited' || given.amountMicros !== 900_000_001) throw new Error('grant');
  yield [again(3), tooMuch];
  yield [withdraw(940_000_000)];
  const midnightMs = Math.ceil(START_MS / 86_400_000) * 86_400_000;
  yield [again(3), LIMIT_REACHED, midnightMs - 1];
  yield STATE;
  yield [again(3), OK, midnightMs];
  yield STATE;
  // Half of the play money is only for new accounts.
  for (let i = 1; i <= MAX_GRANTED_MICROS / 2 / MAX_TRANSFER_MICROS; i++)
    yield [registration(`new${i}`, MAX_TRANSFER_MICROS)];
  yield [withdraw(950_000_000)];
  yield [again(3), LIMIT_REACHED, midnightMs + 86_400_000];
}

function* partners(): Play {
  for (let i = 1; i <= MAX_PARTNERS; i++) {
    yield [registration(`user${i}`, 0, `partner ${i}`), OK, START_MS];
  }
  yield [registration('one-more', 0, 'one more'), LIMIT_REACHED];
  yield [registration('one-more', 0, `partner ${MAX_PARTNERS}`)];
  yield [registration('of-nobody', 0)];
}

function token(userId: number, expiresAtMs = MAX_TIME_MS): Command {
  const bot = { scope: TokenScope.TRADE, name: 'bot', allowedAddresses: '' };
  return { kind: 'createToken', userId, expiresAtMs, ...bot };
}

/** Expired tokens count until they are forgotten, a week later; a new password ends all tokens. */
function* tokens(): Play {
  for (const name of ['ada', 'bob']) yield [registration(name, 0), OK, START_MS];
  const most = MAX_TOKENS_PER_USER;
  for (let i = 1; i < most; i++) yield [token(1, START_MS + 1_000 + (i % 3))];
  yield [token(1)];
  yield [token(1), LIMIT_REACHED];
  yield [token(2, START_MS)];
  yield [token(1), LIMIT_REACHED, START_MS + 2_000];
  yield STATE;
  const forgottenMs = START_MS + 1_000 + EXPIRED_TOKEN_KEPT_MS;
  yield [token(1), LIMIT_REACHED, forgottenMs - 1];
  yield [token(1), OK, forgottenMs];
  yield STATE;
  yield [{ kind: 'setCredential', userId: 1, credential: 'new' }, OK, forgottenMs + 2];
  yield [{ kind: 'revokeToken', userId: 1, tokenId: most }, Code.token_not_found];
  for (let i = 0; i < most; i++) yield [token(1)];
  yield [token(1), LIMIT_REACHED];
  const tooLong = { allowedAddresses: 'a'.repeat(MAX_ALLOWED_ADDRESSES_LENGTH + 1) };
  yield [{ ...token(2), ...tooLong } as Command, Code.invalid_command];
}

/**
 * A sub-account cannot have sub-accounts, shares its owner's room, and loses its tokens with the
 * owner's password.
 */
function* subAccounts(): Play {
  for (const name of ['ada', 'bob']) yield [registration(name, 100), OK, START_MS];
  const create = (userId: number, username: string): Command => {
    return { kind: 'createSubAccount', ...own(userId), username };
  };
  yield [token(1)];
  for (let i = 1; i <= MAX_SUB_ACCOUNTS_PER_USER; i++) yield [create(1, `sub${i}`)];
  const [first, last] = [3, 2 + MAX_SUB_ACCOUNTS_PER_USER];
  yield [create(1, 'one-more'), LIMIT_REACHED];
  yield [create(first, 'of-a-sub'), LIMIT_REACHED];
  yield [create(2, 'bobs')];
  for (let i = 1; i < MAX_TOKENS_PER_USER; i++) yield [token(first + (i % 5))];
  for (const userId of [1, first, last]) yield [token(userId), LIMIT_REACHED];
  yield [token(last + 1)];
  yield STATE;
  const password = (userId: number): Command => {
    return { kind: 'setCredential', userId, credential: 'new' };
  };
  yield [password(first), Code.user_not_found];
  yield [password(1)];
  yield STATE;
  for (const userId of [1, first, last]) yield [token(userId)];
  const freeze = (frozen: boolean): Command => {
    return { kind: 'setFrozen', userId: 1, frozen, ...SIGNED };
  };
  const move = (fromUserId: number, toUserId: number, amountMicros: number): Command => {
    return { kind: 'transferMoney', ...own(1), fromUserId, toUserId, amountMicros };
  };
  yield [move(1, last, 100)];
  yield [move(last, first, 100)];
  yield [move(last, first, 1), Code.insufficient_balance];
  yield [move(first, 2, 1), Code.user_not_found];
  yield [freeze(true)];
  yield [move(first, 1, 1), Code.user_frozen];
  yield [freeze(false)];
  yield [move(first, 1, 100)];
  yield STATE;
}

/**
 * The latest operator actions are kept; a paused asset's market opens paused; an ended market is
 * declared VOID.
 */
function* operators(): Play {
  yield* openMarket(1);
  for (let i = 0; i <= OPERATOR_ACTIONS_KEPT; i++)
    yield [{ kind: 'setFrozen', userId: 1, frozen: i % 2 === 0, ...SIGNED }];
  yield STATE;
  yield [{ kind: 'setPaused', marketId: 0, asset: 0, paused: true, ...SIGNED }, OK, START_MS + 1];
  const observedAtMs = START_MS + WINDOW_MS - 1;
  const price = { kind: 'observePrice', asset: 0, priceMicros: 9e10, observedAtMs } as const;
  yield [price, OK, observedAtMs];
  const voiding = { kind: 'voidMarket', marketId: MARKET, ...SIGNED } as const;
  yield [voiding, OK, START_MS + WINDOW_MS + 1];
  yield STATE;
}

/**
 * Three equal deposits share 20,000 micro-dollars of fees; the indivisible remainder of two is left
 * when the last deposit closes.
 */
function* vaultRemainder(duel: Duel): Play {
  yield* openMarket(5);
  const savers = [3, 4, 5];
  for (const userId of savers) {
    yield [{ kind: 'stake', ...own(userId), amountMicros: 7e6 }];
  }
  yield [bid(1, UP, 20_000, TimeInForce.GTC)];
  yield [bid(2, DOWN, 20_000, TimeInForce.IOC)];
  const endsAtMs = START_MS + WINDOW_MS;
  const observedAtMs = endsAtMs - 1_000;
  yield [{ kind: 'observePrice', asset: 0, priceMicros: 9e10, observedAtMs }, OK, observedAtMs];
  yield [{ kind: 'advanceTime' }, OK, endsAtMs + 2_000];
  for (const [i, userId] of savers.entries()) {
    yield [{ kind: 'unstake', ...own(userId), depositId: i + 1 }];
  }
  const left = duel.naive.events.filter((event) => event.type === 'vaultRemainder');
  if (left.length !== 1) throw new Error('no remainder');
  yield STATE;
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
