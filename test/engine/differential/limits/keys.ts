/** What identifies a request: idempotency keys, and numbers of clients. */
import { numberedKey } from '../../../../engine/interface/client-sequence.js';
import { Code } from '../../../../engine/interface/codes.js';
import type { Command } from '../../../../engine/interface/commands.js';
import { type Outcome, TimeInForce, TokenScope } from '../../../../engine/interface/domain.js';
import {
  IDEMPOTENCY_KEPT_MS,
  MAX_FILLS_PER_ORDER,
  MAX_OPEN_ORDERS_PER_USER,
  MAX_TIME_MS,
} from '../../../../engine/interface/limits.js';
import type { IdempotencyBounds } from '../../../../engine/state/idempotency.js';
import type { Duel } from '../duel.js';
import {
  bid,
  DOWN,
  expectCode,
  type LimitPlay,
  OK,
  openMarket,
  registration,
  START_MS,
  UP,
} from './script.js';
import { keyedCommands } from './well-formed.js';

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

/** Numbers of clients: each command of a user, stale, of another's token, and after a refusal. */
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
  { name: 'idempotency keys of a user, of all users, and their expiry', bounds: KEYS, play: keys },
  { name: 'bytes of remembered results', bounds: BYTES, play: keyedBytes },
  { name: 'odd values under idempotency keys', play: oddValuesUnderKeys },
  { name: 'numbers of clients', play: clientSequences },
];
