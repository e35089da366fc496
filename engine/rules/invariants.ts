/**
 * The invariants that hold after every command. `checkTotals` and `checkCollateral` are cheap
 * enough for production. `checkEverything` looks at all accounts, markets, positions and orders,
 * for tests and audits. All of them throw: a broken invariant is a bug.
 */

import { MarketStatus, Resolution, Side } from '../interface/domain.js';
import { MAX_TOTAL_MICROS, MICROS_PER_SET } from '../interface/limits.js';
import { bookSideOf, outcomeOf, sideOf } from '../state/orders.js';
import type { State } from '../state/state.js';
import { payoutOf } from './settlement.js';

/** Money is conserved: all pots together equal deposits less withdrawals. */
export function checkTotals(state: State): void {
  const { ledger } = state;
  if (ledger.total() !== ledger.netDeposits.value) {
    throw new Error(
      `money is not conserved: ${ledger.total()} micros for ${ledger.netDeposits.value}`,
    );
  }
}

/** In an unresolved market, collateral is 1,000 micros per complete set. */
export function checkCollateral(state: State, slot: number): void {
  const setLots = state.markets.setLots.values[slot]!;
  if (state.ledger.collateral.values[slot] !== setLots * MICROS_PER_SET || setLots < 0) {
    throw new Error(
      `market ${state.markets.id.values[slot]} has other collateral than its sets are worth`,
    );
  }
}

export function checkEverything(state: State): void {
  checkTotals(state);
  expect(
    state.ledger.netDeposits.value <= MAX_TOTAL_MICROS,
    'there is more money than the stated maximum',
  );
  checkAccounts(state);
  checkVault(state);
  checkReferrals(state);
  let orders = 0;
  let positions = 0;
  let collateral = 0;
  let escrow = 0;
  for (const marketId of state.markets.ids()) {
    const slot = state.markets.find(marketId);
    positions += checkPositions(state, slot);
    if (state.markets.hasBook(slot)) orders += checkBook(state, slot);
    collateral += state.ledger.collateral.values[slot]!;
    escrow += state.ledger.escrow.values[slot]!;
  }
  expect(orders === state.orders.count, 'the books do not hold all resting orders');
  expect(positions === state.positions.count, 'the markets do not hold all positions');
  expect(collateral === state.ledger.totalCollateral.value, 'the total of collateral is off');
  expect(escrow === state.ledger.totalEscrow.value, 'the total of fee escrow is off');
}

/** Totals are sums, nothing is negative, and held money is what resting buys hold. */
function checkAccounts(state: State): void {
  const { ledger, orders } = state;
  let available = 0;
  let held = 0;
  for (let userId = 1; userId <= state.users.count; userId++) {
    available += ledger.available.values[userId]!;
    held += ledger.held.values[userId]!;
    let heldByOrders = 0;
    let count = 0;
    for (let row = orders.firstOfUser(userId); row !== 0; row = orders.nextOfUser(row)) {
      count++;
      if (sideOf(orders.kind.values[row]!) === Side.BUY) {
        heldByOrders += orders.lots.values[row]! * orders.level.values[row]!;
      }
    }
    expect(ledger.available.values[userId]! >= 0, `user ${userId} has less than nothing`);
    expect(
      ledger.held.values[userId] === heldByOrders,
      `user ${userId}'s held money is not what orders hold`,
    );
    expect(orders.countOfUser.values[userId] === count, `user ${userId}'s orders are miscounted`);
  }
  expect(available === ledger.totalAvailable.value, 'the total of available money is off');
  expect(held === ledger.totalHeld.value, 'the total of held money is off');
  expect(ledger.staked.value >= 0 && ledger.yieldDue.value >= 0, 'the vault owes more than it has');
  expect(ledger.treasury.value >= 0, 'the treasury has less than nothing');
}

/** The stake is the sum of the open deposits, and the yield due covers what they can claim. */
function checkVault({ users, vault, ledger }: State): void {
  let staked = 0;
  let accrued = 0;
  let live = 0;
  for (let userId = 1; userId <= users.count; userId++) {
    const ids = vault.deposits.idsOf(userId);
    expect(
      ids.length === vault.deposits.countOf(userId),
      `user ${userId}'s deposits are miscounted`,
    );
    for (const depositId of ids) {
      const deposit = vault.deposits.find(depositId);
      expect(
        deposit !== null && deposit.userId === userId && !deposit.closed,
        'a deposit is not in the index',
      );
      if (deposit === null) continue;
      const due = vault.accrued(deposit);
      expect(due >= 0, 'a deposit was paid more than it accrued');
      staked += deposit.amountMicros;
      accrued += due;
      live++;
    }
  }
  expect(live === vault.deposits.liveCount, 'the live deposits are miscounted');
  expect(staked === ledger.staked.value, 'the stake is not that of the deposits');
  expect(accrued <= ledger.yieldDue.value, 'the vault owes more yield than there is');
}

/** Pending referral fees are the fees of referred users in markets that are not settled. */
function checkReferrals({ users, positions, markets }: State): void {
  const pending = new Map<number, number>();
  for (const marketId of markets.ids()) {
    let row = positions.firstInMarket(markets.find(marketId));
    for (; row !== 0; row = positions.nextInMarket(row)) {
      if (positions.settled.values[row] === 1) continue;
      const referrer = users.referrer.values[positions.userId.values[row]!]!;
      pending.set(referrer, (pending.get(referrer) ?? 0) + positions.feesMicros.values[row]!);
    }
  }
  for (let userId = 1; userId <= users.count; userId++) {
    const fees = users.referralPendingFees.values[userId]!;
    expect(fees === (pending.get(userId) ?? 0), `what user ${userId}'s referral may bring is off`);
  }
}

/**
 * UP = DOWN = collateral, and held shares are what resting sells hold. Returns the position count.
 */
function checkPositions(state: State, slot: number): number {
  const { positions, markets } = state;
  const name = `market ${markets.id.values[slot]}`;
  const lots = [0, 0];
  let payouts = 0;
  let fees = 0;
  let count = 0;
  const isResolved = markets.status.values[slot] === MarketStatus.RESOLVED;
  for (let row = positions.firstInMarket(slot); row !== 0; row = positions.nextInMarket(row)) {
    count++;
    for (const outcome of [0, 1]) {
      lots[outcome]! += positions.lots.values[row * 2 + outcome]!;
      checkHeldLots(state, row, outcome);
    }
    expect(
      positions.find(positions.userId.values[row]!, slot) === row,
      `${name} has a position not in the index`,
    );
    fees += positions.feesMicros.values[row]!;
    if (isResolved) payouts += payoutOf(state, slot, row);
  }
  const collateral = state.ledger.collateral.values[slot]!;
  if (isResolved) {
    expect(payouts === collateral, `${name} does not hold what it owes`);
    const isVoid = markets.resolution.values[slot] === Resolution.VOID;
    if (isVoid)
      expect(
        fees === state.ledger.escrow.values[slot],
        `${name} does not hold the fees that it owes`,
      );
    return count;
  }
  expect(lots[0] === lots[1], `${name} has other UP than DOWN shares`);
  expect(lots[0] === markets.setLots.values[slot], `${name} has other shares than complete sets`);
  expect(lots[0]! * MICROS_PER_SET === collateral, `${name} has other collateral than shares`);
  expect(
    fees === state.ledger.escrow.values[slot],
    `${name} has other fees in escrow than were paid`,
  );
  return count;
}

function checkHeldLots(state: State, row: number, outcome: number): void {
  const { positions, orders } = state;
  const slot = positions.slot.values[row]!;
  let held = 0;
  let order = orders.firstOfUser(positions.userId.values[row]!);
  for (; order !== 0; order = orders.nextOfUser(order)) {
    const kind = orders.kind.values[order]!;
    if (
      orders.slot.values[order] !== slot ||
      sideOf(kind) !== Side.SELL ||
      outcomeOf(kind) !== outcome
    )
      continue;
    held += orders.lots.values[order]!;
  }
  expect(
    positions.heldLots.values[row * 2 + outcome] === held,
    'held shares are not what orders hold',
  );
  expect(held <= positions.lots.values[row * 2 + outcome]!, 'more shares are held than owned');
}

/** The book is not crossed; its levels and bitset match its orders. Returns the order count. */
function checkBook(state: State, slot: number): number {
  const { orders } = state;
  const book = state.markets.book(slot);
  expect(
    book[0].best() + book[1].best() < MICROS_PER_SET || isEnded(state, slot),
    'the book is crossed',
  );
  let count = 0;
  for (const bookSide of [0, 1] as const) {
    const ladder = book[bookSide];
    let seen = ladder.best();
    for (let level = MICROS_PER_SET - 1; level >= 1; level--) {
      let lots = 0;
      for (let row = ladder.levels.first(level); row !== 0; row = orders.nextAtLevel(row)) {
        count++;
        lots += orders.lots.values[row]!;
        expect(
          orders.level.values[row] === level && orders.slot.values[row] === slot,
          'an order is out of place',
        );
        expect(bookSideOf(orders.kind.values[row]!) === bookSide, 'an order is on the wrong side');
        expect(orders.lots.values[row]! > 0, 'an order rests with nothing left');
        expect(orders.find(orders.id.values[row]!) === row, 'an order is not in the index');
      }
      expect(ladder.lots.values[level] === lots, 'a level does not sum up');
      expect(lots > 0 === (seen === level), 'the bitset does not match the levels');
      if (seen === level) seen = ladder.nextBelow(level);
    }
  }
  return count;
}

function isEnded(state: State, slot: number): boolean {
  return state.markets.status.values[slot] !== MarketStatus.ACTIVE;
}

function expect(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(`broken invariant: ${otherwise}`);
}
