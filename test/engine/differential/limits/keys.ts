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
  type LimitPlay,
  OK,
  openMarket,
  type Play,
  registration,
  START_MS,
  STATE,
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

function* keys(duel: Duel): Play {
  for (const name of ['ada', 'bob', 'cyd', 'dan']) yield [registration(name, 0), OK, START_MS];
  const endsMs = START_MS + IDEMPOTENCY_KEPT_MS;
  // A third of what is left of three quarters of the newcomers' half.
  expectTaken(askUntilFull(duel, 1, '', 1), 1_500);
  yield [asked(1, 'more', 2), FULL];
  for (const command of keyedCommands()) {
    yield [{ ...command, userId: 1, idempotencyKey: 'one more' }, FULL];
    yield [{ ...command, userId: 1, idempotencyKey: 'key-0' }, REUSED];
  }
  // A remembered key is still answered, and refused for another command.
  yield [asked(1, 0), NOT_FOUND];
  yield [asked(1, 0, 2), REUSED];
  yield [{ ...asked(1, 0), idempotencyKey: null } as Command, NOT_FOUND];
  // A key of an unknown user is not remembered, so it needs no room.
  yield [asked(99, 'nobody'), Code.user_not_found];
  yield [asked(1, 'more'), FULL, endsMs - 1];
  yield [asked(1, 'more'), NOT_FOUND, endsMs];
  yield [asked(1, 'again'), FULL];
  yield [asked(1, 0, 2), FULL];
  yield [asked(1, 1, 2), REUSED];
  // Some of user 1's keys have expired: the same number of new keys fits, and an expired key can be
  // reused.
  yield [asked(1, 7, 2), NOT_FOUND, endsMs + 10];
  expectTaken(askUntilFull(duel, 1, 'new'), 9);
  yield [asked(1, 7), REUSED];
  // The less room there is, the less the next user gets; but each user is assured of some.
  expectTaken(askUntilFull(duel, 2, ''), 1_125);
  expectTaken(askUntilFull(duel, 3, ''), 844);
  // Hours later all keys have expired. A command forgets a thousand of them.
  const lateMs = endsMs + 5 * IDEMPOTENCY_KEPT_MS;
  yield [asked(1, 0, 2), NOT_FOUND, lateMs];
  for (let i = 0; i < 5; i++) yield [{ kind: 'advanceTime' }];
  expectTaken(askUntilFull(duel, 2, 'late'), 1_500);
  for (let i = 0; i < 10; i++) yield [asked(4, i), NOT_FOUND];
}

function expectTaken(taken: number, wanted: number): void {
  if (taken !== wanted) throw new Error(`${taken} keys were taken, not ${wanted}`);
}

/**
 * A malformed order and the valid order that resembles it are different commands under one key,
 * whichever comes first.
 */
function* oddValuesUnderKeys(): Play {
  yield* openMarket(1);
  const INVALID = 2;
  const order = { ...bid(1, UP, 5, TimeInForce.GTC), idempotencyKey: 'odd first' };
  yield [{ ...order, outcome: 0.5 as Outcome }, INVALID];
  yield [order, REUSED];
  const sound = { ...order, idempotencyKey: 'odd second' };
  yield [sound];
  yield [{ ...sound, outcome: Number.NaN as Outcome }, REUSED];
  const minusZero = { ...order, idempotencyKey: 'odd third', outcome: -0 as Outcome };
  yield [minusZero];
  yield [{ ...minusZero, outcome: UP }];
}

/**
 * Numbers of clients: with each command of a user, stale, of another user's token, and after a
 * refusal.
 */
function* clientSequences(duel: Duel): Play {
  yield* openMarket(2);
  const scope = TokenScope.TRADE;
  const token = { scope, expiresAtMs: MAX_TIME_MS, name: 'bot', allowedAddresses: '' };
  yield [{ kind: 'createToken', userId: 1, ...token }];
  yield [{ kind: 'createToken', userId: 2, ...token }];
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
      yield [numbered(tokenId, stale), Code.client_sequence_stale];
      yield [numbered(tokenId, stale - 1), Code.client_sequence_stale];
    }
    yield [numbered(2, number + 1), Code.token_not_found];
    yield [numbered(9, number + 1), Code.token_not_found];
  }
  const stake: Command = { kind: 'stake', userId: 1, amountMicros: 0, idempotencyKey: null };
  const last = Number.MAX_SAFE_INTEGER;
  yield [{ ...stake, idempotencyKey: numberedKey(0, last) }, Code.invalid_command];
  const valid = { ...stake, amountMicros: 1e6 };
  yield [{ ...valid, idempotencyKey: numberedKey(0, last) }];
  yield STATE;
}

export const KEY_PLAYS: LimitPlay[] = [
  { name: 'idempotency keys: shares, and their expiry', sizes: KEYS, play: keys },
  { name: 'odd values under idempotency keys', play: oddValuesUnderKeys },
  { name: 'numbers of clients', play: clientSequences },
];
