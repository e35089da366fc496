/**
 * The audit's second set of books agrees with a sound engine, and reports a balance that is off by
 * one micro-dollar.
 */
import { expect, it } from 'vitest';
import { Engine } from '../../../../engine/engine.js';
import { decodeEvents } from '../../../../engine/interface/events.js';
import type { FundsView } from '../../../../engine/interface/views.js';
import { Auditor } from '../../../../persistence/tools/replay/commands/audit.js';
import { Books } from '../../../../persistence/tools/replay/proofs/books.js';
import { buy, DOLLAR, openMarket, price, registration } from '../../../support/engine-support.js';

/** Two traders with a complete set each, a stake, and fees in escrow, all entered in the books. */
function scene(): { engine: Engine; books: Books } {
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
  return { engine, books };
}

const USED = [
  ...(['availableMicros', 'heldMicros', 'collateralMicros'] as const),
  ...(['feeEscrowMicros', 'stakedMicros'] as const),
];

it('agrees with a sound engine', () => {
  const { engine, books } = scene();
  for (const pot of USED) expect(engine.funds()[pot], pot).toBeGreaterThan(0);
  expect(books.problems(engine)).toEqual([]);
});

it.each<[changes: Partial<FundsView>, says: RegExp]>([
  [{ availableMicros: 1 }, /available funds of users.*not conserved/s],
  [{ heldMicros: 1 }, /held funds.*not conserved/s],
  [{ collateralMicros: 1 }, /collateral: .*not conserved/s],
  [{ feeEscrowMicros: 1 }, /fee escrow and yield due.*not conserved/s],
  [{ yieldDueMicros: 1 }, /fee escrow and yield due.*not conserved/s],
  [{ stakedMicros: 1 }, /stakes in the vault.*not conserved/s],
  [{ treasuryMicros: 1 }, /treasury.*not conserved/s],
  [{ netDepositsMicros: 1 }, /deposits less withdrawals.*not conserved/s],
  [{ treasuryMicros: 1, availableMicros: -1 }, /available funds .*\ntreasury: /],
  [{ treasuryMicros: -1 }, /treasuryMicros is negative/],
])('finds what is off by a micro-dollar: %j', (changes, says) => {
  const { engine, books } = scene();
  const funds = { ...engine.funds() };
  for (const [pot, micros] of Object.entries(changes)) funds[pot as keyof FundsView] += micros;
  engine.funds = () => funds;
  expect(books.problems(engine).join('\n')).toMatch(says);
});

it('finds a remainder of the vault that the engine does not know', () => {
  const { engine, books } = scene();
  books.add({ type: 'vaultRemainder', amountMicros: 1 });
  expect(books.problems(engine).join('\n')).toMatch(/treasury: .*yield due: /s);
});

it('ends the audit with a finding that names the sequence', () => {
  const { engine } = scene();
  const auditor = new Auditor(engine);
  expect(auditor.proven()).toBe(false);
  expect(auditor.findings[0]!.place).toBe(`sequence ${engine.sequence} (the end of its batch)`);
});
