/**
 * The archive holds the whole state: an engine restored from it behaves exactly like the one that
 * wrote it, and writes the same bytes.
 */
import { expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import type { Command } from '../../engine/interface/commands.js';
import { Outcome, TimeInForce, TokenScope } from '../../engine/interface/domain.js';
import { StateWriter } from '../../engine/storage/archive.js';
import {
  at,
  buy,
  DOLLAR,
  openMarket,
  price,
  registration,
  sell,
} from '../support/engine-support.js';

function archiveOf(engine: Engine): Uint8Array {
  const pieces: Uint8Array[] = [];
  const writer = new StateWriter((bytes) => pieces.push(bytes.slice()));
  engine.archive(writer);
  writer.finish();
  return Buffer.concat(pieces);
}

/** Seeded commands of every kind over an hour, a fifth of them with idempotency keys. */
function* commands(engine: Engine, count: number): Generator<[Command, number]> {
  let state = 7;
  const below = (bound: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * bound);
  };
  for (let i = 0; i < count; i++) {
    const nowMs = at(1_000 + Math.floor((i * 4_500_000) / count));
    const userId = 1 + below(20);
    const marketId = engine.activeMarket(0);
    const idempotencyKey = below(5) === 0 ? `key-${below(300)}` : null;
    const gtc = { timeInForce: TimeInForce.GTC, idempotencyKey };
    const outcome = below(2) === 0 ? Outcome.UP : Outcome.DOWN;
    const size = { sizeLots: 1 + below(5_000), priceTicks: 450 + below(100) };
    const open = engine.orders(userId)[0];
    const choices: Command[] = [
      buy({ userId, marketId, outcome, ...size, ...gtc }),
      buy({ userId, marketId, outcome, budgetMicros: 1 + below(20 * DOLLAR), idempotencyKey }),
      sell({ userId, marketId, outcome, ...size, ...gtc }),
      { kind: 'cancel', userId, marketId, orderId: open?.orderId ?? 1, idempotencyKey },
      { kind: 'claim', userId, marketId: engine.marketIds()[0]!, idempotencyKey },
      { kind: 'stake', userId, amountMicros: (1 + below(50)) * DOLLAR, idempotencyKey },
      { kind: 'unstake', userId, depositId: 1 + below(40), idempotencyKey },
      { kind: 'claimYield', userId, depositId: 1 + below(40), idempotencyKey },
      { kind: 'setReferralCode', userId, code: `code-${below(30)}`, idempotencyKey },
      { kind: 'deposit', userId, amountMicros: 5, partner: 'bank', reference: `r${below(50)}` },
      {
        kind: 'createToken',
        userId,
        scope: TokenScope.TRADE,
        expiresAtMs: nowMs + below(300_000),
        name: `bot ${below(9)}`,
        allowedAddresses: '',
      },
      { kind: 'revokeToken', userId, tokenId: engine.tokens(userId)[0]?.tokenId ?? 1 },
      { kind: 'setFrozen', userId, frozen: below(6) === 0, operator: 'op', reason: 'a test' },
      { kind: 'setPaused', marketId: 0, asset: 0, paused: false, operator: 'op', reason: 'test' },
      { kind: 'setCancelAfter', userId, timeoutMs: 1_000 + below(60_000), idempotencyKey },
      price(99_990 + below(20), nowMs),
      registration(`new${i}`, 100, `Q00000${1 + below(9)}`),
    ];
    yield [choices[below(choices.length)]!, nowMs];
  }
}

test('an engine restored at any point behaves like the one that wrote the archive', () => {
  const { engine } = openMarket(20);
  let restored: Engine | null = null;
  let comparisons = 0;
  let index = 0;
  for (const [command, nowMs] of commands(engine, 12_000)) {
    engine.apply(command, nowMs);
    restored?.apply(command, nowMs);
    if (restored !== null && index % 100 === 0) {
      expect(restored.digest()).toBe(engine.digest());
      comparisons++;
    }
    if (index % 1_000 === 500) {
      const bytes = archiveOf(engine);
      if (restored !== null) expect(Buffer.compare(archiveOf(restored), bytes)).toBe(0);
      restored = Engine.restore(bytes);
      restored.checkInvariants();
      expect(Buffer.compare(archiveOf(restored), bytes)).toBe(0);
    }
    index++;
  }
  expect(comparisons).toBeGreaterThan(100);
  expect(engine.marketIds().length).toBeGreaterThan(3);
  expect(engine.vault().yieldPaidMicros).toBeGreaterThan(0);
  restored!.checkInvariants();
});

test('refuses an archive that is too short or too long', () => {
  const { engine } = openMarket(3);
  const bytes = archiveOf(engine);
  expect(() => Engine.restore(bytes.subarray(0, bytes.length - 1))).toThrow(/truncated/);
  expect(() => Engine.restore(Buffer.concat([bytes, new Uint8Array(1)]))).toThrow(
    /more than the state/,
  );
});
