/**
 * Limits and field forms that random commands do not reach, or reach too rarely. Each is a short
 * script that goes just below a maximum, to it, and past it. The duel compares the results; the
 * scripts only get there.
 */
import { numberedKey } from '../../../engine/interface/client-sequence.js';
import { Code } from '../../../engine/interface/codes.js';
import type {
  Batch,
  BatchOperation,
  Buy,
  Cancel,
  Command,
  ObservePrice,
} from '../../../engine/interface/commands.js';
import {
  marketIdOf,
  Outcome,
  SelfTrade,
  TimeInForce,
  TokenScope,
  WINDOW_MS,
} from '../../../engine/interface/domain.js';
import {
  IDEMPOTENCY_KEPT_MS,
  MAX_ASSETS,
  MAX_FILLS_PER_ORDER,
  MAX_OPEN_ORDERS_PER_USER,
  MAX_PARTNERS,
  MAX_PRICE_SOURCES,
  MAX_REFERRAL_CODES_PER_USER,
  MAX_REMEMBERED_PRICES,
  MAX_TIME_MS,
  MAX_TOKENS_PER_USER,
  MAX_TOTAL_MICROS,
  MAX_TRANSFER_MICROS,
  MAX_VAULT_DEPOSITS_PER_USER,
} from '../../../engine/interface/limits.js';
import { EXPIRED_TOKEN_KEPT_MS } from '../../../engine/interface/parameters.js';
import { FIRST_RULES, type Rules } from '../../../engine/interface/rule-sets.js';
import type { IdempotencyBounds } from '../../../engine/state/idempotency.js';
import { ODD_NUMBERS, ODD_TEXTS } from '../../support/random-commands.js';
import type { Duel } from './duel.js';

const START_MS = 1_763_700_300_000;
const MARKET = marketIdOf(0, START_MS);
const { UP, DOWN } = Outcome;

interface LimitPlay {
  name: string;
  /** In place of the stated ones, which only maxima.test.ts reaches. */
  bounds?: IdempotencyBounds;
  play(duel: Duel): void;
}

/** Applies a command that must give `code`: a script that misses its limit tests nothing. */
function expectCode(duel: Duel, command: Command, code: number, atMs = duel.naive.nowMs): void {
  duel.apply(command, atMs);
  const got = duel.naive.result[1];
  if (got !== code) throw new Error(`${command.kind} should give code ${code}, but gave ${got}`);
}

const { ok: OK, limit_reached: LIMIT_REACHED, price_not_met: PRICE_NOT_MET } = Code;

function registration(
  username: string,
  grantMicros: number,
  partner: string | null = null,
): Command {
  return { kind: 'register', username, credential: 'c', referralCode: '', grantMicros, partner };
}

/** One asset with an active market, and users with 1,000 dollars each. */
function openMarket(duel: Duel, users: number): void {
  expectCode(duel, { kind: 'listAsset', symbol: 'BTC' }, OK, START_MS);
  expectCode(
    duel,
    { kind: 'observePrice', asset: 0, priceMicros: 9e10, observedAtMs: START_MS },
    OK,
  );
  for (let i = 1; i <= users; i++) expectCode(duel, registration(`user${i}`, 1e9), OK);
}

function bid(userId: number, outcome: Outcome, sizeLots: number, timeInForce: TimeInForce): Buy {
  return {
    kind: 'buy',
    userId,
    idempotencyKey: null,
    marketId: MARKET,
    outcome,
    budgetMicros: sizeLots * 500,
    sizeLots,
    priceTicks: 500,
    timeInForce,
    postOnly: false,
    validUntilMs: MAX_TIME_MS,
  };
}

function batchOf(userId: number, operations: BatchOperation[]): Batch {
  return { kind: 'batch', userId, idempotencyKey: null, operations, atomic: true };
}

function assets(duel: Duel): void {
  for (let i = 0; i < MAX_ASSETS; i++)
    expectCode(duel, { kind: 'listAsset', symbol: `A${i}` }, OK, START_MS);
  expectCode(duel, { kind: 'listAsset', symbol: 'ONEMORE' }, LIMIT_REACHED);
  expectCode(duel, { kind: 'listAsset', symbol: 'A63' }, OK);
}

function prices(duel: Duel): void {
  expectCode(duel, { kind: 'listAsset', symbol: 'BTC' }, OK, START_MS);
  const observed = (atMs: number): ObservePrice => ({
    kind: 'observePrice',
    asset: 0,
    priceMicros: 9e10,
    observedAtMs: atMs,
  });
  for (let i = 1; i <= MAX_REMEMBERED_PRICES; i++)
    expectCode(duel, observed(START_MS + i), OK, START_MS + i);
  const fullMs = duel.naive.nowMs;
  expectCode(duel, observed(fullMs), LIMIT_REACHED);
  const ofSource = { kind: 'observeSourcePrice' as const, source: 'kraken' };
  expectCode(duel, { ...observed(fullMs), ...ofSource }, LIMIT_REACHED);
  // A full store is reported before a price that is too old.
  expectCode(duel, observed(fullMs - 300_001), LIMIT_REACHED);
  expectCode(duel, observed(fullMs + 600_000), OK, fullMs + 600_000);
}

/** Sources, what is fresh, even numbers of them, and the guard to the millisecond. */
function priceSources(duel: Duel): void {
  openMarket(duel, 1);
  const tick = (source: string, dollars: number, observedAtMs: number): Command => {
    const priceMicros = dollars * 1_000_000;
    return { kind: 'observeSourcePrice', asset: 0, priceMicros, observedAtMs, source };
  };
  const at = (ms: number) => START_MS + ms;
  for (let i = 0; i < MAX_PRICE_SOURCES; i++)
    expectCode(duel, tick(`s${i}`, 90_000 + 7 * i, at(0)), OK);
  expectCode(duel, tick('one-more', 90_000, at(0)), LIMIT_REACHED);
  expectCode(duel, tick('s3', 90_000, at(0)), OK, at(15_000));
  expectCode(duel, tick('s3', 90_000, at(0)), Code.price_too_old, at(15_001));
  expectCode(duel, tick('a', 90_000, at(15_000)), OK);
  expectCode(duel, tick('a', 90_000, at(14_999)), Code.price_too_old);
  duel.compareState();
  // Two that disagree: the one near the last price counts, on either side.
  expectCode(duel, tick('b', 900_000, at(15_000)), OK);
  expectCode(duel, tick('b', 9_000, at(15_001)), OK);
  expectCode(duel, tick('b', 112_500, at(15_001)), OK);
  if (duel.naive.assetPriceMicros(0) !== 101_250_000_000) throw new Error('not the mean');
  // Alone, it is confirmed after half a minute, not before.
  const held = () => duel.naive.events.some((event) => event.type === 'priceHeld');
  for (const [ms, isHeld] of [
    [40_000, true],
    [69_999, true],
    [70_000, false],
  ] as const) {
    expectCode(duel, tick('b', 900_000, at(ms)), OK, at(ms));
    if (held() !== isHeld) throw new Error(`held at ${ms}: ${held()}`);
    duel.compareState();
  }
  // Half a minute without prices confirms nothing.
  for (const [ms, isHeld] of [
    [80_000, true],
    [200_000, true],
    [200_000, false],
  ] as const) {
    expectCode(duel, tick('b', 90_000, at(ms)), OK, at(ms));
    if (held() !== isHeld) throw new Error(`held at ${ms}: ${held()}`);
  }
}

function orders(duel: Duel): void {
  openMarket(duel, 7);
  const { GTC, IOC, FOK } = TimeInForce;
  // Shares for user 1 to sell.
  expectCode(duel, bid(2, DOWN, 5, GTC), OK);
  expectCode(duel, bid(1, UP, 5, IOC), OK);
  for (let userId = 1; userId <= 6; userId++) {
    for (let i = 0; i < MAX_OPEN_ORDERS_PER_USER; i++)
      expectCode(duel, bid(userId, DOWN, 1, GTC), OK);
  }
  expectCode(duel, bid(1, DOWN, 1, GTC), LIMIT_REACHED);
  expectCode(duel, batchOf(1, [bid(1, DOWN, 1, GTC)]), OK);
  const { budgetMicros: _, ...sale } = bid(1, UP, 5, GTC);
  expectCode(duel, { ...sale, kind: 'sell' }, LIMIT_REACHED);
  duel.compareState();

  const tooMany = MAX_FILLS_PER_ORDER + 1;
  expectCode(duel, bid(7, UP, tooMany, FOK), PRICE_NOT_MET);
  const failing: Cancel = {
    kind: 'cancel',
    userId: 7,
    marketId: MARKET,
    orderId: 1,
    idempotencyKey: null,
  };
  expectCode(duel, batchOf(7, [bid(7, UP, MAX_FILLS_PER_ORDER, IOC), failing]), OK);
  duel.compareState();
  // A batch may trade with no more makers than one order.
  const half = MAX_FILLS_PER_ORDER / 2;
  expectCode(
    duel,
    batchOf(7, [bid(7, UP, half, IOC), bid(7, UP, half + 5, FOK), bid(7, UP, 1, IOC)]),
    OK,
  );
  duel.compareState();
  // 500 lots are left and are dropped, although the order is GTC.
  expectCode(duel, bid(7, UP, MAX_FILLS_PER_ORDER + 500, GTC), OK);
  duel.compareState();
}

/**
 * As many makers as an order may trade with, then the user's own order, which does not count; then
 * one maker too many.
 */
function ownOrderBehindTheLastMaker(duel: Duel): void {
  const makers = MAX_FILLS_PER_ORDER / MAX_OPEN_ORDERS_PER_USER;
  openMarket(duel, makers + 2);
  const own = makers + 1;
  const { GTC, FOK } = TimeInForce;
  const fill = () => {
    for (let userId = 1; userId <= makers; userId++) {
      for (let i = 0; i < MAX_OPEN_ORDERS_PER_USER; i++)
        expectCode(duel, bid(userId, DOWN, 1, GTC), OK);
    }
    expectCode(duel, bid(own, DOWN, 1, GTC), OK);
  };
  fill();
  expectCode(duel, bid(own, UP, MAX_FILLS_PER_ORDER, FOK), OK);
  duel.compareState();
  fill();
  expectCode(duel, bid(own, UP, MAX_FILLS_PER_ORDER + 1, GTC), OK);
  duel.compareState();
  expectCode(duel, { kind: 'cancelAll', userId: own, marketId: MARKET, idempotencyKey: null }, OK);
  fill();
  expectCode(duel, bid(own + 1, DOWN, 1, GTC), OK);
  expectCode(duel, bid(own, UP, MAX_FILLS_PER_ORDER + 1, GTC), OK);
  duel.compareState();
}

/** Refused FOK orders use up the batch's makers. */
function fillOrKillInVain(duel: Duel): void {
  openMarket(duel, 4);
  const { GTC, IOC, FOK } = TimeInForce;
  for (let userId = 1; userId <= 3; userId++) {
    for (let i = 0; i < MAX_OPEN_ORDERS_PER_USER; i++)
      expectCode(duel, bid(userId, DOWN, 1, GTC), OK);
  }
  const tooMany = bid(4, UP, 3 * MAX_OPEN_ORDERS_PER_USER + 1, FOK);
  const atomic = { ...batchOf(4, [bid(4, UP, 2, IOC), tooMany]), atomic: true };
  expectCode(duel, atomic, OK);
  expectCode(
    duel,
    { ...atomic, operations: [tooMany, tooMany, bid(4, UP, 2, IOC)], atomic: false },
    OK,
  );
  expectCode(
    duel,
    { ...atomic, operations: [tooMany, bid(4, UP, 2_001, IOC), tooMany], atomic: false },
    OK,
  );
  duel.compareState();
}

function money(duel: Duel): void {
  expectCode(duel, registration('rich', 0, 'bank'), OK, START_MS);
  const transfer = (
    kind: 'deposit' | 'withdraw',
    amountMicros: number,
    reference: number,
  ): Command => ({
    kind,
    userId: 1,
    amountMicros,
    partner: 'bank',
    reference: `${reference}`,
  });
  const deposits = MAX_TOTAL_MICROS / MAX_TRANSFER_MICROS;
  for (let i = 1; i <= deposits; i++)
    expectCode(duel, transfer('deposit', MAX_TRANSFER_MICROS, i), OK);
  expectCode(duel, transfer('deposit', 1, 0), LIMIT_REACHED);
  expectCode(duel, registration('another', 1), LIMIT_REACHED);
  expectCode(duel, registration('another', 0), OK);
  expectCode(duel, transfer('withdraw', 1, 1_000), OK);
  // A refused deposit does not use up its reference.
  expectCode(duel, transfer('deposit', 1, 0), OK);
}

const KEYS: IdempotencyBounds = {
  keysPerUser: 1_000,
  keysInAll: 2_500,
  bytesPerUser: 2 ** 28,
  bytesInAll: 2 ** 30,
};

const {
  idempotency_key_reused: REUSED,
  idempotency_full: FULL,
  market_not_found: NOT_FOUND,
} = Code;

/** A refusal is remembered, too; market 1 does not exist. */
function asked(userId: number, key: number | string, marketId = 1): Command {
  return { kind: 'cancelAll', userId, marketId, idempotencyKey: `key-${key}` };
}

/** Every command of the module's list that takes a key. */
function keyedCommands(): Extract<Command, { idempotencyKey: string | null }>[] {
  return wellFormed().filter((command) => 'idempotencyKey' in command);
}

function keys(duel: Duel): void {
  for (const name of ['ada', 'bob', 'cyd', 'dan'])
    expectCode(duel, registration(name, 0), OK, START_MS);
  const { keysPerUser, keysInAll } = KEYS;
  const endsMs = START_MS + IDEMPOTENCY_KEPT_MS;
  for (let i = 0; i < keysPerUser; i++) expectCode(duel, asked(1, i), NOT_FOUND, START_MS + i);
  expectCode(duel, asked(1, 'more'), FULL);
  expectCode(duel, asked(1, 'more', 2), FULL);
  for (const command of keyedCommands()) {
    expectCode(duel, { ...command, userId: 1, idempotencyKey: 'one more' }, FULL);
    expectCode(duel, { ...command, userId: 1, idempotencyKey: 'key-0' }, REUSED);
  }
  // A remembered key is still answered, and refused for another command.
  expectCode(duel, asked(1, 0), NOT_FOUND);
  expectCode(duel, asked(1, 0, 2), REUSED);
  expectCode(duel, { ...asked(1, 0), idempotencyKey: null } as Command, NOT_FOUND);
  // Other users have room until the total is reached.
  for (let i = 0; i < keysPerUser; i++) expectCode(duel, asked(2, i), NOT_FOUND);
  for (let i = 2 * keysPerUser; i < keysInAll; i++) expectCode(duel, asked(3, i), NOT_FOUND);
  expectCode(duel, asked(3, 'more'), FULL);
  expectCode(duel, asked(4, 'first'), FULL);
  // A key of an unknown user is not remembered, so it needs no room.
  expectCode(duel, asked(99, 'nobody'), Code.user_not_found);
  expectCode(duel, asked(1, 'more'), FULL, endsMs - 1);
  expectCode(duel, asked(1, 'more'), NOT_FOUND, endsMs);
  expectCode(duel, asked(1, 'again'), FULL);
  expectCode(duel, asked(1, 0, 2), FULL);
  expectCode(duel, asked(1, 1, 2), REUSED);
  // Half of user 1's keys have expired: as many new ones fit, and an expired key can be reused.
  const half = keysPerUser / 2;
  expectCode(duel, { kind: 'advanceTime' }, OK, endsMs + half);
  expectCode(duel, asked(1, 7, 2), NOT_FOUND);
  for (let i = 1; i < half; i++) expectCode(duel, asked(1, `new ${i}`), NOT_FOUND);
  expectCode(duel, asked(1, 'too many'), FULL);
  expectCode(duel, asked(1, 7), REUSED);
  // Hours later all have expired at once.
  const lateMs = endsMs + 5 * IDEMPOTENCY_KEPT_MS;
  for (let i = 0; i < keysPerUser; i++) expectCode(duel, asked(2, i, 2), NOT_FOUND, lateMs);
  expectCode(duel, asked(2, 'more'), FULL);
  for (let i = 0; i < 10; i++) expectCode(duel, asked(4, i), NOT_FOUND);
}

/** The longest result takes 146,476 bytes, for which room is always kept. */
const BYTES: IdempotencyBounds = {
  keysPerUser: 1_000,
  keysInAll: 10_000,
  bytesPerUser: 146_476 + 60_000,
  bytesInAll: 146_476 + 65_000,
};

function keyedBytes(duel: Duel): void {
  openMarket(duel, 8);
  const { GTC, IOC } = TimeInForce;
  const [taker, other] = [7, 8];
  const fill = () => {
    for (let userId = 1; userId <= 5; userId++) {
      for (let i = 0; i < MAX_OPEN_ORDERS_PER_USER; i++)
        expectCode(duel, bid(userId, DOWN, 1, GTC), OK);
    }
  };
  fill();
  // 5,000 fills take more than 60,000 bytes: they still fit, but nothing after them.
  const large = { ...bid(taker, UP, MAX_FILLS_PER_ORDER, IOC), idempotencyKey: 'large' };
  expectCode(duel, large, OK);
  expectCode(duel, asked(taker, 'small'), FULL);
  expectCode(duel, { ...large, idempotencyKey: 'larger' }, FULL);
  expectCode(duel, large, OK);
  expectCode(duel, asked(other, 'small'), NOT_FOUND);
  // A refusal takes 64 bytes; another user takes the rest of the total.
  let count = 0;
  while (duel.naive.result[1] === NOT_FOUND && count < 100) {
    duel.apply(asked(other, count), duel.naive.nowMs);
    count++;
  }
  expectCode(duel, asked(other, 'one more'), FULL);
  duel.compareState();
  const { nowMs } = duel.naive;
  expectCode(duel, asked(taker, 'small'), NOT_FOUND, nowMs + IDEMPOTENCY_KEPT_MS);
  expectCode(duel, asked(taker, 'large'), NOT_FOUND);
}

/**
 * Under one key, a malformed order and the valid order that resembles it are different commands, in
 * either order.
 */
function oddValuesUnderKeys(duel: Duel): void {
  openMarket(duel, 1);
  const INVALID = 2;
  const order = { ...bid(1, UP, 5, TimeInForce.GTC), idempotencyKey: 'odd first' };
  expectCode(duel, { ...order, outcome: 0.5 as Outcome }, INVALID);
  expectCode(duel, order, REUSED);
  const sound = { ...order, idempotencyKey: 'odd second' };
  expectCode(duel, sound, OK);
  expectCode(duel, { ...sound, outcome: Number.NaN as Outcome }, REUSED);
  const minusZero = { ...order, idempotencyKey: 'odd third', outcome: -0 as Outcome };
  expectCode(duel, minusZero, OK);
  expectCode(duel, { ...minusZero, outcome: UP }, OK);
}

function referralCodes(duel: Duel): void {
  expectCode(duel, registration('vain', 0), OK, START_MS);
  const set = (code: string): Command => ({
    kind: 'setReferralCode',
    userId: 1,
    code,
    idempotencyKey: null,
  });
  for (let i = 1; i < MAX_REFERRAL_CODES_PER_USER; i++) expectCode(duel, set(`code${i}`), OK);
  expectCode(duel, set('onemore'), LIMIT_REACHED);
  expectCode(duel, set('CODE3'), OK);
  duel.compareState();
}

function vaultDeposits(duel: Duel): void {
  expectCode(duel, registration('saver', 2e10), OK, START_MS);
  expectCode(duel, registration('another', 2e10), OK, START_MS);
  const stake = (userId: number): Command => ({
    kind: 'stake',
    userId,
    amountMicros: 1e6,
    idempotencyKey: null,
  });
  for (let i = 0; i < MAX_VAULT_DEPOSITS_PER_USER; i++) expectCode(duel, stake(1), OK);
  expectCode(duel, stake(1), LIMIT_REACHED);
  expectCode(duel, stake(2), OK);
  duel.compareState();
  expectCode(duel, { kind: 'unstake', userId: 1, depositId: 77, idempotencyKey: null }, OK);
  expectCode(duel, stake(1), OK);
  expectCode(duel, stake(1), LIMIT_REACHED);
}

/** Expired tokens count until they are forgotten, a week later; a new password ends all. */
function tokens(duel: Duel): void {
  for (const name of ['ada', 'bob']) expectCode(duel, registration(name, 0), OK, START_MS);
  const create = (userId: number, expiresAtMs: number): Command => ({
    kind: 'createToken',
    userId,
    scope: TokenScope.READ,
    expiresAtMs,
    name: 'bot',
    allowedAddresses: '',
  });
  const most = MAX_TOKENS_PER_USER;
  for (let i = 1; i < most; i++) expectCode(duel, create(1, START_MS + 1_000 + (i % 3)), OK);
  expectCode(duel, create(1, MAX_TIME_MS), OK);
  expectCode(duel, create(1, MAX_TIME_MS), LIMIT_REACHED);
  expectCode(duel, create(2, START_MS), OK);
  expectCode(duel, create(1, MAX_TIME_MS), LIMIT_REACHED, START_MS + 2_000);
  duel.compareState();
  const forgottenMs = START_MS + 1_000 + EXPIRED_TOKEN_KEPT_MS;
  expectCode(duel, create(1, MAX_TIME_MS), LIMIT_REACHED, forgottenMs - 1);
  expectCode(duel, create(1, MAX_TIME_MS), OK, forgottenMs);
  duel.compareState();
  expectCode(duel, { kind: 'setCredential', userId: 1, credential: 'new' }, OK, forgottenMs + 2);
  expectCode(duel, { kind: 'revokeToken', userId: 1, tokenId: most }, Code.token_not_found);
  for (let i = 0; i < most; i++) expectCode(duel, create(1, MAX_TIME_MS), OK);
  expectCode(duel, create(1, MAX_TIME_MS), LIMIT_REACHED);
}

function partners(duel: Duel): void {
  for (let i = 1; i <= MAX_PARTNERS; i++) {
    expectCode(duel, registration(`user${i}`, 0, `partner ${i}`), OK, START_MS);
  }
  expectCode(duel, registration('one-more', 0, 'one more'), LIMIT_REACHED);
  expectCode(duel, registration('one-more', 0, `partner ${MAX_PARTNERS}`), OK);
  expectCode(duel, registration('of-nobody', 0), OK);
}

/**
 * Three equal deposits share 20,000 micro-dollars of fees; the two that cannot be divided remain
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

/** One valid command of each kind that has fields. */
function wellFormed(): Command[] {
  const user = { userId: 1, idempotencyKey: null };
  const transfer = { userId: 1, amountMicros: 5, partner: 'bank', reference: 'r' };
  const { budgetMicros: _, ...sale } = bid(1, UP, 5, TimeInForce.GTC);
  return [
    { kind: 'listAsset', symbol: 'ETH' },
    { kind: 'observePrice', asset: 0, priceMicros: 9e10, observedAtMs: START_MS },
    {
      kind: 'observeSourcePrice',
      asset: 0,
      priceMicros: 9e10,
      observedAtMs: START_MS,
      source: 'kraken',
    },
    registration('newcomer', 5),
    { kind: 'setCredential', userId: 1, credential: 'c' },
    { kind: 'deposit', ...transfer },
    { kind: 'withdraw', ...transfer },
    bid(1, UP, 5, TimeInForce.GTC),
    { ...sale, kind: 'sell' },
    { ...bid(1, UP, 5, TimeInForce.GTC), clientOrderId: 'mine' },
    { ...sale, kind: 'sell', clientOrderId: 'mine-2' },
    { kind: 'cancel', ...user, marketId: MARKET, orderId: 0, clientOrderId: 'mine' },
    { kind: 'cancel', ...user, marketId: MARKET, orderId: 1 },
    { kind: 'cancelAll', ...user, marketId: MARKET },
    { kind: 'cancelEverywhere', ...user },
    { kind: 'amend', ...user, marketId: MARKET, orderId: 1, sizeLots: 3, priceTicks: 400 },
    { ...bid(1, UP, 5, TimeInForce.GTC), expiresAtMs: START_MS + 60_000 },
    { ...bid(1, UP, 5, TimeInForce.GTC), selfTrade: SelfTrade.CANCEL_BOTH },
    { kind: 'claim', ...user, marketId: MARKET },
    { kind: 'stake', ...user, amountMicros: 2_000_000 },
    { kind: 'unstake', ...user, depositId: 1 },
    { kind: 'claimYield', ...user, depositId: 1 },
    { kind: 'setReferralCode', ...user, code: 'code' },
    batchOf(1, [bid(1, UP, 5, TimeInForce.GTC)]),
    { kind: 'vouchForSnapshot', snapshotSequence: 1, snapshotHash: 'a1'.repeat(32) },
    {
      kind: 'createToken',
      userId: 1,
      scope: TokenScope.TRADE,
      expiresAtMs: START_MS + 5,
      name: 'bot',
      allowedAddresses: '',
    },
    { kind: 'revokeToken', userId: 1, tokenId: 1 },
    { kind: 'setCancelAfter', ...user, timeoutMs: 1_000 },
    { kind: 'setPaused', marketId: 0, asset: 0, paused: true, operator: 'op', reason: 'a test' },
    { kind: 'setPaused', marketId: 0, asset: 0, paused: false, operator: 'op', reason: 'a test' },
    { kind: 'setFrozen', userId: 1, frozen: false, operator: 'op', reason: 'a test' },
    { kind: 'operatorCancel', userId: 1, operator: 'op', reason: 'a test' },
    { kind: 'voidMarket', marketId: MARKET, operator: 'op', reason: 'a test' },
    { kind: 'setRules', ...FIRST_RULES, operator: 'op', reason: 'a test' },
    { kind: 'setRules', ...FIRST_RULES, ruleSet: 2, operator: 'op', reason: 'a test' },
    { kind: 'recordUpgrade', fromVersion: 0, toVersion: 1, chainHash: 'a1'.repeat(32) },
  ];
}

/** Every field of every command with every odd value of its type, the other fields being valid. */
function fields(duel: Duel): void {
  openMarket(duel, 2);
  for (const command of wellFormed()) {
    for (const [name, value] of Object.entries(command)) {
      if (name === 'kind' || name === 'operations') continue;
      const odd =
        typeof value === 'boolean' ? [!value] : typeof value === 'number' ? ODD_NUMBERS : ODD_TEXTS;
      for (const one of odd) duel.apply({ ...command, [name]: one } as Command, START_MS + 1);
    }
  }
  for (const count of [0, 1, 100, 101]) {
    const operation = bid(1, UP, 1, TimeInForce.IOC);
    duel.apply(batchOf(1, Array<BatchOperation>(count).fill(operation)), START_MS + 1);
  }
  duel.apply(batchOf(1, [bid(2, UP, 1, TimeInForce.IOC)]), START_MS + 1);
  duel.apply(
    batchOf(1, [{ ...bid(1, UP, 1, TimeInForce.IOC), idempotencyKey: 'key' }]),
    START_MS + 1,
  );
}

/** Every refusal of an amendment that depends on money, shares and the book, alone and batched. */
function amendments(duel: Duel): void {
  openMarket(duel, 2);
  const { GTC, IOC } = TimeInForce;
  const at = (userId: number, outcome: Outcome, priceTicks: number, rest: object): Buy => {
    const order = { ...bid(userId, outcome, 100, GTC), priceTicks, budgetMicros: 100 * priceTicks };
    return { ...order, ...rest };
  };
  expectCode(duel, at(2, DOWN, 400, {}), OK);
  expectCode(duel, at(1, UP, 500, {}), OK);
  expectCode(duel, at(1, UP, 400, { postOnly: true }), OK);
  expectCode(duel, at(1, UP, 600, { timeInForce: IOC, sizeLots: 10, budgetMicros: 6_000 }), OK);
  const { budgetMicros: _, ...sale } = bid(1, UP, 10, GTC);
  expectCode(duel, { ...sale, kind: 'sell', priceTicks: 900 }, OK);
  const amend = (orderId: number, sizeLots: number, priceTicks: number): BatchOperation => {
    const head = { userId: 1, idempotencyKey: null, marketId: MARKET };
    return { kind: 'amend', ...head, orderId, sizeLots, priceTicks };
  };
  const refused: [BatchOperation, number][] = [
    [amend(2, 10_000_000_000, 0), LIMIT_REACHED],
    [amend(2, 1_900_000_000, 0), Code.insufficient_balance],
    [amend(3, 0, 600), Code.post_only_would_trade],
    [amend(5, 50, 0), Code.insufficient_shares],
  ];
  for (const [operation, code] of refused) {
    expectCode(duel, operation, code);
    expectCode(duel, batchOf(1, [operation]), OK);
  }
  // User 1 sells UP for 0.9: a sale of DOWN for 0.1 would trade with it.
  const crossing = { ...sale, kind: 'sell', userId: 2, outcome: DOWN, priceTicks: 100 } as const;
  const postOnly = { ...crossing, postOnly: true };
  expectCode(duel, postOnly, Code.post_only_would_trade);
  expectCode(duel, batchOf(2, [postOnly]), OK);
  duel.compareState();
  expectCode(duel, amend(2, 110, 0), OK);
  expectCode(duel, amend(2, 5, 0), OK);
  pausedAmendment(duel, amend(3, 0, 450));
}

function pausedAmendment(duel: Duel, operation: BatchOperation): void {
  const by = { operator: 'op', reason: 'a test' };
  const unknown = marketIdOf(0, START_MS + 10 * WINDOW_MS);
  const pause: Command = { kind: 'setPaused', marketId: unknown, asset: -1, paused: true, ...by };
  expectCode(duel, pause, Code.market_not_found);
  expectCode(duel, { ...pause, marketId: 0, asset: 1 }, Code.asset_not_found);
  expectCode(duel, { ...pause, marketId: MARKET }, OK);
  expectCode(duel, operation, Code.market_paused);
  expectCode(duel, batchOf(1, [operation]), OK);
}

/** A cancel by the client's id names no order besides. */
function cancelByTwoIds(duel: Duel): void {
  openMarket(duel, 1);
  const user = { userId: 1, idempotencyKey: null };
  const cancel: Cancel = {
    kind: 'cancel',
    ...user,
    marketId: MARKET,
    orderId: 1,
    clientOrderId: 'mine',
  };
  expectCode(duel, cancel, Code.invalid_command);
  expectCode(duel, batchOf(1, [cancel]), OK);
}

/** The bounds of every parameter of rule set 2, and orders at the limits that it sets. */
function rules(duel: Duel): void {
  openMarket(duel, 2);
  const { GTC, IOC } = TimeInForce;
  const given = (values: Partial<Rules>): Command => {
    const base = { ...FIRST_RULES, ruleSet: 2, operator: 'op', reason: 'a test' };
    return { kind: 'setRules', ...base, ...values };
  };
  const bounds: [keyof Rules, number, number][] = [
    ['takerFeeBasisPoints', 0, 1_000],
    ['vaultSharePercent', 0, 90],
    ['maxOrderMicros', 1_000_000, 1_000_000_000_000],
    ['maxOpenOrders', 1, 1_000],
  ];
  for (const [name, least, most] of bounds) {
    for (const value of [least, most]) expectCode(duel, given({ [name]: value }), OK);
    for (const value of [least - 1, most + 1, least + 0.5])
      expectCode(duel, given({ [name]: value }), Code.invalid_command);
    expectCode(duel, given({ ruleSet: 1, [name]: least }), Code.invalid_command);
  }
  for (const ruleSet of [0, 3]) expectCode(duel, given({ ruleSet }), Code.invalid_command);
  expectCode(duel, given({ maxOrderMicros: 1_000_000, maxOpenOrders: 2 }), OK);
  const buy = (sizeLots: number, rest: object = {}) => ({ ...bid(1, UP, sizeLots, GTC), ...rest });
  expectCode(duel, buy(1_000, { priceTicks: 500, budgetMicros: 1_000_001 }), LIMIT_REACHED);
  expectCode(duel, buy(1_000, { priceTicks: 500, budgetMicros: 1_000_000 }), OK);
  expectCode(duel, buy(1_000, { priceTicks: 500, budgetMicros: 500_000 }), OK);
  expectCode(duel, buy(1_000, { priceTicks: 500, budgetMicros: 500_000 }), LIMIT_REACHED);
  const { budgetMicros: _, ...sale } = bid(1, UP, 5, GTC);
  expectCode(duel, batchOf(1, [{ ...sale, kind: 'sell' }]), OK);
  const amend = { kind: 'amend', userId: 1, idempotencyKey: null, marketId: MARKET } as const;
  expectCode(duel, { ...amend, orderId: 1, sizeLots: 2_001, priceTicks: 0 }, LIMIT_REACHED);
  for (const takerFeeBasisPoints of [0, 7, 1_000]) {
    expectCode(duel, given({ takerFeeBasisPoints }), OK);
    const taker = { ...bid(2, DOWN, 333, IOC), priceTicks: 500, budgetMicros: 166_500 };
    expectCode(duel, taker, OK);
    duel.compareState();
  }
  expectCode(duel, given({ ruleSet: 1 }), OK);
  expectCode(duel, buy(1_000, { priceTicks: 500, budgetMicros: 500_000 }), OK);
  duel.compareState();
}

/** Numbers of clients: each command of a user, stale, of another's token, and after a refusal. */
function clientSequences(duel: Duel): void {
  openMarket(duel, 2);
  const scope = TokenScope.TRADE;
  const token = { scope, expiresAtMs: MAX_TIME_MS, name: 'bot', allowedAddresses: '' };
  expectCode(duel, { kind: 'createToken', userId: 1, ...token }, OK);
  expectCode(duel, { kind: 'createToken', userId: 2, ...token }, OK);
  let number = 0;
  for (const command of wellFormed()) {
    if (!('idempotencyKey' in command)) continue;
    const numbered = (tokenId: number, clientSequence: number): Command => ({
      ...command,
      idempotencyKey: numberedKey(tokenId, clientSequence),
    });
    number += 7;
    duel.apply(numbered(0, number), duel.naive.nowMs);
    duel.apply(numbered(1, number), duel.naive.nowMs);
    for (const tokenId of [0, 1]) {
      const stale = duel.naive.clientSequence(1, tokenId);
      if (stale !== number) throw new Error(`${command.kind} did not use its number`);
      expectCode(duel, numbered(tokenId, stale), Code.client_sequence_stale);
      expectCode(duel, numbered(tokenId, stale - 1), Code.client_sequence_stale);
    }
    expectCode(duel, numbered(2, number + 1), Code.token_not_found);
    expectCode(duel, numbered(9, number + 1), Code.token_not_found);
  }
  const stake: Command = { kind: 'stake', userId: 1, amountMicros: 0, idempotencyKey: null };
  const last = Number.MAX_SAFE_INTEGER;
  expectCode(duel, { ...stake, idempotencyKey: numberedKey(0, last) }, Code.invalid_command);
  const valid = { ...stake, amountMicros: 1e6 };
  expectCode(duel, { ...valid, idempotencyKey: numberedKey(0, last) }, OK);
  duel.compareState();
}

export const LIMIT_PLAYS: LimitPlay[] = [
  { name: 'numbers of clients', play: clientSequences },
  { name: 'rules and their bounds', play: rules },
  { name: 'refused amendments', play: amendments },
  { name: 'a cancel by two ids', play: cancelByTwoIds },
  { name: 'every field, with invalid values', play: fields },
  { name: 'assets', play: assets },
  { name: 'remembered prices of an asset', play: prices },
  { name: 'sources of prices, and the guard', play: priceSources },
  { name: 'resting orders of a user and makers of an order', play: orders },
  { name: "makers, with the user's own order behind the last", play: ownOrderBehindTheLastMaker },
  { name: 'makers of refused FOK orders', play: fillOrKillInVain },
  { name: 'all money', play: money },
  { name: 'idempotency keys of a user, of all users, and their expiry', bounds: KEYS, play: keys },
  { name: 'bytes of remembered results', bounds: BYTES, play: keyedBytes },
  { name: 'odd values under idempotency keys', play: oddValuesUnderKeys },
  { name: 'referral codes of a user', play: referralCodes },
  { name: 'partners', play: partners },
  { name: 'tokens of a user', play: tokens },
  { name: 'vault deposits of a user', play: vaultDeposits },
  { name: 'vault yield, down to the remainder', play: vaultRemainder },
];
