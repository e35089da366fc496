/** Scripts about what identifies a request: idempotency keys and numbers of clients. */
import { numberedKey } from '../../../../engine/interface/client-sequence.js';
import { Code } from '../../../../engine/interface/codes.js';
import type { Command } from '../../../../engine/interface/commands.js';
import { type Outcome, TimeInForce, TokenScope } from '../../../../engine/interface/domain.js';
import { IDEMPOTENCY_KEPT_MS, MAX_TIME_MS } from '../../../../engine/interface/limits.js';
import { POOL_SIZES, type PoolSizes } from '../../../../engine/state/access/room.js';
import type { Duel } from '../duel.js';
import {
  bid,
  expectCode,
  type LimitPlay,
  OK,
  openMarket,
  registration,
  START_MS,
  UP,
} from './script.js';
import { keyedCommands } from './well-formed.js';

const KEYS: PoolSizes = { ...POOL_SIZES, keys: { size: 16_000, most: 2_000, assured: 100 } };

const {
  idempotency_key_reused: REUSED,
  idempotency_full: FULL,
  market_not_found: NOT_FOUND,
} = Code;

/** A command with a key. Market 1 does not exist, and the refusal is remembered. */
function asked(userId: number, key: number | string, marketId = 1): Command {
  return { kind: 'cancelAll', userId, marketId, idempotencyKey: `key-${key}` };
}

/** Sends new keys, `stepMs` apart, until there is no room. Returns how many were taken. */
function askUntilFull(duel: Duel, userId: number, name: string, stepMs = 0): number {
  const fromMs = duel.naive.nowMs;
  for (let i = 0; i < 10_000; i++) {
    duel.apply(asked(userId, `${name}${i}`), fromMs + i * stepMs);
    if (duel.naive.result[1] === FULL) return i;
  }
  throw new Error('there is always room');
}

function keys(duel: Duel): void {
  for (const name of ['ada', 'bob', 'cyd', 'dan'])
    expectCode(duel, registration(name, 0), OK, START_MS);
  const endsMs = START_MS + IDEMPOTENCY_KEPT_MS;
  // A third of what is left of three quarters of the newcomers' half.
  expectTaken(askUntilFull(duel, 1, '', 1), 1_500);
  expectCode(duel, asked(1, 'more', 2), FULL);
  for (const command of keyedCommands()) {
    expectCode(duel, { ...command, userId: 1, idempotencyKey: 'one more' }, FULL);
    expectCode(duel, { ...command, userId: 1, idempotencyKey: 'key-0' }, REUSED);
  }
  // A remembered key is still answered, and refused for another command.
  expectCode(duel, asked(1, 0), NOT_FOUND);
  expectCode(duel, asked(1, 0, 2), REUSED);
  expectCode(duel, { ...asked(1, 0), idempotencyKey: null } as Command, NOT_FOUND);
  // A key of an unknown user is not remembered, so it needs no room.
  expectCode(duel, asked(99, 'nobody'), Code.user_not_found);
  expectCode(duel, asked(1, 'more'), FULL, endsMs - 1);
  expectCode(duel, asked(1, 'more'), NOT_FOUND, endsMs);
  expectCode(duel, asked(1, 'again'), FULL);
  expectCode(duel, asked(1, 0, 2), FULL);
  expectCode(duel, asked(1, 1, 2), REUSED);
  // Some of user 1's keys have expired: the same number of new keys fits, and an expired key can be
  // reused.
  expectCode(duel, asked(1, 7, 2), NOT_FOUND, endsMs + 10);
  expectTaken(askUntilFull(duel, 1, 'new'), 9);
  expectCode(duel, asked(1, 7), REUSED);
  // The less room there is, the less the next user gets; but each user is assured of some.
  expectTaken(askUntilFull(duel, 2, ''), 1_125);
  expectTaken(askUntilFull(duel, 3, ''), 844);
  // Hours later all keys have expired. A command forgets a thousand of them.
  const lateMs = endsMs + 5 * IDEMPOTENCY_KEPT_MS;
  expectCode(duel, asked(1, 0, 2), NOT_FOUND, lateMs);
  for (let i = 0; i < 5; i++) expectCode(duel, { kind: 'advanceTime' }, OK);
  expectTaken(askUntilFull(duel, 2, 'late'), 1_500);
  for (let i = 0; i < 10; i++) expectCode(duel, asked(4, i), NOT_FOUND);
}

function expectTaken(taken: number, wanted: number): void {
  if (taken !== wanted) throw new Error(`${taken} keys were taken, not ${wanted}`);
}

/**
 * A malformed order and the valid order that resembles it are different commands under one key,
 * whichever comes first.
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

/**
 * Numbers of clients: with each command of a user, stale, of another user's token, and after a
 * refusal.
 */
function clientSequences(duel: Duel): void {
  openMarket(duel, 2);
  const scope = TokenScope.TRADE;
  const token = { scope, expiresAtMs: MAX_TIME_MS, name: 'bot', allowedAddresses: '' };
  expectCode(duel, { kind: 'createToken', userId: 1, ...token }, OK);
  expectCode(duel, { kind: 'createToken', userId: 2, ...token }, OK);
  let number = 0;
  for (const command of keyedCommands()) {
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

export const KEY_PLAYS: LimitPlay[] = [
  { name: 'idempotency keys: shares, and their expiry', sizes: KEYS, play: keys },
  { name: 'odd values under idempotency keys', play: oddValuesUnderKeys },
  { name: 'numbers of clients', play: clientSequences },
];
