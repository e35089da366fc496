/**
 * The audit's second set of books agrees with a sound engine, and reports a balance that is off by
 * one micro-dollar.
 */
import { describe, expect, it } from 'vitest';
import { Engine } from '../../../../engine/engine.js';
import { decodeEvents } from '../../../../engine/interface/events.js';
import type { FundsView } from '../../../../engine/interface/views.js';
import { Auditor } from '../../../../persistence/tools/replay/commands/audit.js';
import { Books } from '../../../../persistence/tools/replay/proofs/books.js';
import { buy, DOLLAR, openMarket, price, registration } from '../../../support/engine-support.js';

/** Two traders with a complete set each, a stake, and fees in escrow, all entered in the books. */
function scene(): { engine: Engine; books: Books; marketId: number } {
  const { engine: shape, marketId } = openMarket(0);
  const engine = new Engine();
  const books = new Books();
  const apply = (...args: Parameters<Engine['apply']>) => {
    engine.apply(...args);
    for (const event of decodeEvents(engine.events)) books.add(event);
  };
  const atMs = shape.nowMs;
  apply({ kind: 'listAsset', symbol: 'BTC' }, atMs);
  apply(price(100_000, atMs), atMs);
  for (const name of ['ann', 'bob']) apply(registration(name, 1_000), atMs);
  apply(buy({ userId: 1, marketId, sizeLots: 10_000, priceTicks: 400, timeInForce: 2 }), atMs);
  apply(buy({ userId: 2, marketId, outcome: 1, budgetMicros: 3 * DOLLAR }), atMs);
  apply({ kind: 'stake', userId: 1, idempotencyKey: null, amountMicros: 50 * DOLLAR }, atMs);
  return { engine, books, marketId };
}

it('agrees with a sound engine', () => {
  const { engine, books } = scene();
  const funds = engine.funds();
  for (const pot of [
    'availableMicros',
    'heldMicros',
    'collateralMicros',
    'feeEscrowMicros',
    'stakedMicros',
  ] as const) {
    expect(funds[pot], pot).toBeGreaterThan(0);
  }
  expect(books.problems(engine)).toEqual([]);
});

describe('a balance that is off by one micro-dollar', () => {
  const POTS: [keyof FundsView, RegExp][] = [
    ['availableMicros', /available funds of users/],
    ['heldMicros', /held funds/],
    ['collateralMicros', /collateral does not add up/],
    ['feeEscrowMicros', /fee escrow does not add up/],
    ['stakedMicros', /stakes in the vault/],
    ['yieldDueMicros', /yield due/],
    ['treasuryMicros', /treasury/],
    ['netDepositsMicros', /deposits less withdrawals/],
  ];
  it.each(POTS)('%s', (pot, message) => {
    const { engine, books } = scene();
    const funds = engine.funds();
    engine.funds = () => ({ ...funds, [pot]: funds[pot] + 1 });
    const problems = books.problems(engine).join('\n');
    expect(problems).toMatch(message);
    expect(problems).toContain('money is not conserved');
  });

  it('that offsets another one', () => {
    const { engine, books } = scene();
    const funds = engine.funds();
    const { treasuryMicros, availableMicros } = funds;
    engine.funds = () => ({
      ...funds,
      treasuryMicros: treasuryMicros + 1,
      availableMicros: availableMicros - 1,
    });
    expect(books.problems(engine).length).toBe(2);
  });

  it.each(['collateralMicros', 'feeEscrowMicros'] as const)('%s of a market', (pot) => {
    const { engine, books, marketId } = scene();
    const held = engine.marketFunds(marketId)!;
    engine.marketFunds = () => ({ ...held, [pot]: held[pot] - 1 });
    expect(books.problems(engine).join('\n')).toMatch(/btc-15m-\d+: (collateral|fee escrow) is /);
  });

  it.each(['collateralMicros', 'escrowMicros'] as const)('%s of a closed market', (pot) => {
    const { engine, books, marketId } = scene();
    const nothing = { collateralMicros: 0, escrowMicros: 0 };
    Object.assign(books.markets.get(marketId)!, { ...nothing, [pot]: 1, closed: true });
    expect(books.problems(engine)[0]).toMatch(/it was closed with .* of \$0\.000001/);
  });

  it('an open interest that is not the value of the collateral', () => {
    const { engine, books, marketId } = scene();
    const view = engine.market(marketId)!;
    engine.market = () => ({ ...view, openInterestLots: view.openInterestLots + 1 });
    expect(books.problems(engine)[0]).toContain('not the value of its complete sets');
  });

  it('a pot below zero', () => {
    const { engine, books } = scene();
    const funds = engine.funds();
    engine.funds = () => ({ ...funds, treasuryMicros: -1 });
    expect(books.problems(engine)).toContain('treasuryMicros is negative');
  });

  it('a remainder of the vault that the engine does not know', () => {
    const { engine, books } = scene();
    books.add({ type: 'vaultRemainder', amountMicros: 1 });
    expect(books.problems(engine).join('\n')).toMatch(/treasury: .*yield due: /s);
  });

  it('a market that the engine removes while money is in it', () => {
    const { engine, books } = scene();
    engine.marketFunds = () => null;
    expect(books.problems(engine)[0]).toContain('the engine has removed it');
  });
});

it('ends the audit with a finding that names the sequence', () => {
  const { engine } = scene();
  const auditor = new Auditor(engine);
  expect(auditor.proven()).toBe(false);
  expect(auditor.findings[0]!.place).toBe(`sequence ${engine.sequence} (the end of its batch)`);
});
