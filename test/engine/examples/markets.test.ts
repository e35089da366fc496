/** The end of a market by worked examples: settlement, fees, stakes and VOID. */
import { describe, expect, test } from 'vitest';
import { CODES } from '../../../engine/interface/codes.js';
import type { Command } from '../../../engine/interface/commands.js';
import { marketIdOf, Resolution } from '../../../engine/interface/domain.js';
import {
  ALICE,
  BOB,
  bid,
  buyFor,
  CAROL,
  DAVE,
  DOWN,
  END_MS,
  EXCHANGES,
  exchangeAfter,
  MARKET,
  price,
  START_MS,
  UP,
} from './exchanges.js';

/**
 * Dave, whom Carol referred, buys 20 UP for 10 dollars and a fee of 0.05; Bob pays 10 for 20
 * DOWN.
 */
const DAVES_BUY = [bid(BOB, DOWN, 20, 0.5), buyFor(DAVE, UP, 10)];

describe.each(Object.entries(EXCHANGES))('%s', (_name, start) => {
  test('a winning share pays a dollar; 10% of the fee goes to the referrer and, without stakes, the rest to the treasury', () => {
    const { exchange } = exchangeAfter(start, DAVES_BUY);
    exchange.apply(price(90_000, END_MS - 30_000), END_MS - 30_000);
    exchange.apply({ kind: 'advanceTime' }, END_MS);
    expect(exchange.events().map((event) => event.type)).toEqual(['marketEnded', 'marketOpened']);
    exchange.apply({ kind: 'advanceTime' }, END_MS + 2_000);
    const settled = exchange.events();
    expect(settled[0]).toEqual({
      type: 'marketResolved',
      marketId: MARKET,
      resolution: Resolution.UP,
      endPriceMicros: 90_000_000_000,
    });
    expect(settled).toContainEqual({
      type: 'feesShared',
      marketId: MARKET,
      vaultMicros: 0,
      referrersMicros: 5_000,
      treasuryMicros: 45_000,
    });
    expect(
      settled.filter((event) => event.type === 'pointsCredited').map((event) => event.microPoints),
    ).toEqual([5_000_000, 500_000]);
    expect(exchange.money(CAROL).available).toBe(1000.005);

    exchange.apply(
      { kind: 'claim', userId: DAVE, marketId: MARKET, idempotencyKey: null },
      END_MS + 3_000,
    );
    expect(exchange.money(DAVE).available).toBe(1009.95);
    exchange.apply(
      { kind: 'claim', userId: BOB, marketId: MARKET, idempotencyKey: null },
      END_MS + 3_000,
    );
    expect(CODES[exchange.result()[1]!]).toBe('nothing_to_claim');
    expect(exchange.money(BOB).available).toBe(990);
  });

  test('an earning stake gets 40% of the fees, and unstaking pays both', () => {
    const { exchange } = exchangeAfter(start, [
      { kind: 'stake', userId: ALICE, amountMicros: 100_000_000, idempotencyKey: null },
    ]);
    // The stake earns from the next quarter hour but one, so from the third window's settlement.
    const thirdMs = START_MS + 2 * 900_000;
    const marketId = marketIdOf(0, thirdMs);
    exchange.apply(price(90_000, thirdMs - 1_000), thirdMs - 1_000);
    for (const command of DAVES_BUY)
      exchange.apply({ ...command, marketId } as Command, thirdMs + 10_000);
    exchange.apply(price(90_000, thirdMs + 890_000), thirdMs + 890_000);
    exchange.apply({ kind: 'advanceTime' }, thirdMs + 902_000);
    expect(exchange.events()).toContainEqual({
      type: 'feesShared',
      marketId,
      vaultMicros: 20_000,
      referrersMicros: 5_000,
      treasuryMicros: 25_000,
    });
    exchange.apply(
      { kind: 'unstake', userId: ALICE, depositId: 1, idempotencyKey: null },
      thirdMs + 903_000,
    );
    expect(exchange.money(ALICE).available).toBe(1000.02);
  });

  test('a market without a price is void: shares pay half a dollar and the fee is refunded', () => {
    const { exchange } = exchangeAfter(start, DAVES_BUY);
    exchange.apply({ kind: 'advanceTime' }, END_MS + 60_000);
    const settled = exchange.events();
    expect(settled).toContainEqual({
      type: 'marketResolved',
      marketId: MARKET,
      resolution: Resolution.VOID,
      endPriceMicros: 0,
    });
    // Nobody claims; a day later everything is paid.
    exchange.apply({ kind: 'advanceTime' }, END_MS + 60_000 + 24 * 3_600_000);
    expect(exchange.events().map((event) => event.type)).toEqual([
      'claimed',
      'claimed',
      'marketClosed',
    ]);
    expect(exchange.money(DAVE).available).toBe(1000);
    expect(exchange.money(BOB).available).toBe(1000);
    expect(exchange.money(CAROL).available).toBe(1000);
  });
});
