/**
 * What the fees of a day earn others, by the rules that the API states, with big.js and nothing of
 * the engine's code: the yield of vault deposits, and what users get for the fees of those whom
 * they brought.
 *
 * A market's fees are shared out when it is resolved: 40% to the deposits that earn then, pro rata;
 * a tenth of each referred user's fees to the referrer; the rest to the treasury. Shares are
 * floored to a micro-dollar. On VOID nothing is shared.
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

/** As many digits as the vault needs, without a change to everybody's Big. */
const Exact = Big();
Exact.DP = 40;

export const floorToMicros = (money: Big): Big => money.round(MICRO_PLACES, Big.roundDown);

/** A market when it shares out its fees. */
export interface SharedMarket {
  id: string;
  endsAtMs: number;
  resolution: ResolutionName;
  /** Of the command with which it was resolved. */
  sequence: number;
  /** That all takers paid. */
  fees: Big;
}

/**
 * Checks every yield that a deposit was paid. Returns what the vault took in, and what it paid for
 * good.
 */
export function checkYields(
  deposits: readonly LedgerDeposit[],
  markets: readonly SharedMarket[],
): { given: Big; paid: Big } {
  const growths = markets.map((market) => ({ ...market, ...growthAt(deposits, market) }));
  let paid = ZERO;
  for (const deposit of deposits) {
    let before = ZERO;
    for (const { sequence, amount } of deposit.yields) {
      // What is due happens before the command that brings the time.
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

/** What each earning dollar gets of a market's fees, and all of them together at most. */
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

/** What one market's fees bring a referrer. */
export interface Income {
  endsAtMs: number;
  amount: Big;
}

/**
 * Explains what receipts had beyond a user's books by the user's incomes, those of the earliest
 * market first: exactly by what had been resolved where the receipt says when it was, and else by
 * some number of the first ones, which only grows.
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
    const what = `beyond the books of ${userId} at ${sequence}`;
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
