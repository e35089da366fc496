/**
 * What a day's fees earn others, by the rules of the API, with big.js and none of the engine's
 * code: yield of vault deposits, and referrals.
 *
 * A market's fees are shared when it is resolved: 40% to the earning deposits, pro rata; a tenth of
 * each referred user's fees to the referrer; the rest to the treasury. Shares are floored to a
 * micro-dollar. On VOID nothing is shared.
 */
import { Big } from 'big.js';
import { expect } from 'vitest';
import {
  type Beyond,
  expectDecimal,
  type LedgerDeposit,
  type ResolutionName,
} from './user-ledger.js';

const MICRO_PLACES = 6;
/** Each earning micro-dollar gets a whole number of 10^-18 micro-dollars. */
const YIELD_PLACES = 18;
const RESOLVES_AFTER_MS = 2_000;
const ZERO = new Big(0);

/** As many digits as the vault needs, without changing the shared Big. */
const Exact = Big();
Exact.DP = 40;

export const floorToMicros = (money: Big): Big => money.round(MICRO_PLACES, Big.roundDown);

/** A market that shares its fees. */
export interface SharedMarket {
  id: string;
  endsAtMs: number;
  resolution: ResolutionName;
  /** The sequence of the command that resolved it. */
  sequence: number;
  /** Paid by all takers. */
  fees: Big;
}

/** Checks every yield that a deposit was paid. Returns what the vault received and what it paid. */
export function checkYields(
  deposits: readonly LedgerDeposit[],
  markets: readonly SharedMarket[],
): { given: Big; paid: Big } {
  const growths = markets.map((market) => ({ ...market, ...growthAt(deposits, market) }));
  let paid = ZERO;
  for (const deposit of deposits) {
    let before = ZERO;
    for (const { sequence, amount } of deposit.yields) {
      // Due work happens before the command.
      const counted = growths.filter(
        (growth) => growth.sequence <= sequence && earnsAt(deposit, growth),
      );
      const perDollar = counted.reduce((sum, { perDollar }) => sum.plus(perDollar), ZERO);
      const due = floorToMicros(perDollar.times(deposit.amount)).minus(before);
      expect(due.gte(0)).toBe(true);
      expectDecimal(amount.toNumber(), due, `yield of ${deposit.depositId} at ${sequence}`);
      before = before.plus(due);
    }
    paid = paid.plus(before);
  }
  const given = growths.reduce((sum, growth) => sum.plus(growth.given), ZERO);
  expect(paid.lte(given)).toBe(true);
  return { given, paid };
}

function earnsAt(deposit: LedgerDeposit, { endsAtMs, sequence }: SharedMarket): boolean {
  const isOpen = deposit.closedSequence === null || sequence <= deposit.closedSequence;
  return isOpen && deposit.sequence < sequence && deposit.earnsFromMs <= endsAtMs;
}

/** What each earning dollar gets of a market's fees, and the maximum for all of them together. */
function growthAt(
  deposits: readonly LedgerDeposit[],
  market: SharedMarket,
): { perDollar: Big; given: Big } {
  const staked = deposits
    .filter((deposit) => earnsAt(deposit, market))
    .reduce((sum, { amount }) => sum.plus(amount), new Exact(0));
  if (market.resolution === 'VOID' || staked.eq(0)) return { perDollar: ZERO, given: ZERO };
  const share = floorToMicros(new Exact(market.fees).times('0.4'));
  const perDollar = share.div(staked).round(YIELD_PLACES, Big.roundDown);
  return { perDollar, given: share };
}

/** A referrer's income from one market. */
export interface Income {
  endsAtMs: number;
  amount: Big;
}

/**
 * Explains the difference between receipts and the user's books by the user's incomes, earliest
 * market first: exactly those resolved by then if the receipt has a time, otherwise some number of
 * the first ones, which only grows.
 */
export function checkBeyond(
  userId: string,
  beyond: readonly Beyond[],
  incomes: readonly Income[],
): void {
  const sums = [ZERO];
  for (const { amount } of incomes) sums.push(sums.at(-1)!.plus(amount));
  let least = 0;
  for (const { sequence, atMs, amount } of beyond) {
    const what = `income beyond the books of ${userId} at ${sequence}`;
    if (atMs !== null) {
      least = incomes.filter(({ endsAtMs }) => endsAtMs + RESOLVES_AFTER_MS <= atMs).length;
      expectDecimal(amount.toNumber(), sums[least]!, what);
    } else {
      const place = sums.findIndex((sum, i) => i >= least && sum.eq(amount));
      expect(place, `${what}: ${amount.toFixed()}`).toBeGreaterThanOrEqual(0);
      least = place;
    }
  }
}
