/**
 * The invariants that hold after every command. `checkTotals` and `checkCollateral` are cheap
 * enough for production. `checkEverything` checks all accounts, markets, positions and orders, for
 * tests and audits. Each throws if an invariant is broken, which is a bug.
 */

import { MarketStatus, Resolution, Side } from '../interface/domain.js';
import { MAX_GRANTED_MICROS, MAX_TOTAL_MICROS, MICROS_PER_SET } from '../interface/limits.js';
import { Pool } from '../state/access/room.js';
import { Pot } from '../state/ledger.js';
import { levelRow } from '../state/levels.js';
import { bookSideOf, outcomeOf, sideOf } from '../state/orders.js';
import type { State } from '../state/state.js';
import { payoutOf } from './markets/settlement.js';

/** Money is conserved: all pots together equal deposits less withdrawals. */
export function checkTotals(state: State): void {
  const { ledger } = state;
  if (ledger.total() !== ledger.of(Pot.netDeposits)) {
    throw new Error(
      `money is not conserved: ${ledger.total()} micros for ${ledger.of(Pot.netDeposits)}`,
    );
  }
}

/** In an unresolved market, collateral is 1,000 micros per complete set. */
export function checkCollateral(state: State, slot: number): void {
  const setLots = state.markets.setLots(slot);
  if (state.markets.collateralMicros(slot) !== setLots * MICROS_PER_SET || setLots < 0) {
    throw new Error(
      `market ${state.markets.id(slot)}'s collateral does not equal the value of its sets`,
    );
  }
}

export function checkEverything(state: State): void {
  checkTotals(state);
  expect(
    state.ledger.of(Pot.netDeposits) <= MAX_TOTAL_MICROS &&
      state.ledger.of(Pot.granted) <= MAX_GRANTED_MICROS,
    'there is more money than the stated maximum',
  );
  checkAccounts(state);
  checkVault(state);
  checkReferrals(state);
  checkRoom(state);
  checkGroups(state);
  let orders = 0;
  let positions = 0;
  let collateral = 0;
  let escrow = 0;
  for (const marketId of state.markets.ids()) {
    const slot = state.markets.find(marketId);
    positions += checkPositions(state, slot);
    if (state.markets.hasBook(slot)) orders += checkBook(state, slot);
    collateral += state.markets.collateralMicros(slot);
    escrow += state.markets.escrowMicros(slot);
  }
  expect(orders === state.orders.used, 'the books do not hold all resting orders');
  expect(positions === state.positions.count, 'the markets do not hold all positions');
  expect(collateral === state.ledger.of(Pot.collateral), 'the total collateral is wrong');
  expect(escrow === state.ledger.of(Pot.escrow), 'the total fee escrow is wrong');
}

/** Totals are sums, nothing is negative, and held money is what resting buys hold. */
function checkAccounts(state: State): void {
  const { accounts, ledger, orders } = state;
  let available = 0;
  let held = 0;
  for (let userId = 1; userId <= state.users.count; userId++) {
    available += ledger.available(userId);
    held += ledger.held(userId);
    let heldByOrders = 0;
    let count = 0;
    for (let row = accounts.firstOrder(userId); row !== 0; row = orders.userAfter(row)) {
      count++;
      if (sideOf(orders.kind(row)) === Side.BUY) {
        heldByOrders += orders.lots(row) * orders.level(row);
      }
    }
    expect(ledger.available(userId) >= 0, `user ${userId} has a negative balance`);
    expect(
      ledger.held(userId) === heldByOrders,
      `user ${userId}'s held money differs from the money that the orders hold`,
    );
    expect(accounts.orderCount(userId) === count, `user ${userId}'s orders are miscounted`);
  }
  expect(available === ledger.of(Pot.available), 'the total available money is wrong');
  expect(held === ledger.of(Pot.held), 'the total held money is wrong');
  expect(
    ledger.of(Pot.staked) >= 0 && ledger.of(Pot.yieldDue) >= 0,
    'the vault owes more than it has',
  );
  expect(ledger.of(Pot.treasury) >= 0, "the treasury's balance is negative");
}

/** The stake is the sum of the open deposits, and the yield due covers what they can claim. */
function checkVault({ users, vault, ledger }: State): void {
  const { deposits } = vault;
  let staked = 0;
  let accrued = 0;
  let live = 0;
  for (let userId = 1; userId <= users.count; userId++) {
    const rows = deposits.owners.rowsOf(userId);
    expect(
      rows.length === deposits.owners.count(userId),
      `user ${userId}'s deposits are miscounted`,
    );
    for (const row of rows) {
      expect(
        deposits.find(deposits.depositId(row)) === row &&
          deposits.userId(row) === userId &&
          deposits.closed(row) === 0,
        'a deposit is not in the index',
      );
      const due = vault.accrued(row);
      expect(due >= 0, 'a deposit was paid more than its accrued yield');
      staked += deposits.amountMicros(row);
      accrued += due;
      live++;
    }
  }
  expect(live === deposits.liveCount, 'the live deposits are miscounted');
  expect(staked === ledger.of(Pot.staked), 'the stake differs from the sum of the deposits');
  expect(accrued <= ledger.of(Pot.yieldDue), 'the vault owes more yield than it has');
}

/** Each pool's use is the sum of its users' uses. */
function checkRoom(state: State): void {
  const { accounts, room, users } = state;
  for (const [name, pool] of Object.entries(Pool)) {
    let used = 0;
    let ofNewcomers = 0;
    const ofFamilies = new Map<number, number>();
    for (let userId = 1; userId <= users.count; userId++) {
      const taken = state.taken(pool, userId);
      used += taken;
      if (!accounts.isEstablished(userId)) ofNewcomers += taken;
      const family = accounts.family(userId);
      if (family !== 0) ofFamilies.set(family, (ofFamilies.get(family) ?? 0) + taken);
    }
    expect(used === room.usedOf(pool), `the use of ${name} is miscounted`);
    expect(ofNewcomers === room.usedByNewcomers(pool), `newcomers' ${name} are miscounted`);
    for (const [family, taken] of ofFamilies)
      expect(taken === room.usedByFamily(family, pool), `a family's ${name} are miscounted`);
  }
}

/** A group lists all its resting orders. A tripped group has no resting orders. */
function checkGroups({ users, accounts, orders, orderDetails, orderGroups }: State): void {
  let groups = 0;
  for (let userId = 1; userId <= users.count; userId++) {
    const rows = orderGroups.owners.rowsOf(userId);
    expect(
      rows.length === orderGroups.owners.count(userId),
      `user ${userId}'s groups are miscounted`,
    );
    groups += rows.length;
    let grouped = 0;
    for (let row = accounts.firstOrder(userId); row !== 0; row = orders.userAfter(row)) {
      if (orders.group(row) === 0) continue;
      grouped++;
      expect(rows.includes(orders.group(row)), `user ${userId} has an order in no group`);
    }
    let listed = 0;
    for (const group of rows) {
      let count = 0;
      let details = orderGroups.firstOrder(group);
      for (; details !== 0; details = orderDetails.groupAfter(details)) {
        count++;
        expect(
          orders.group(orderDetails.order(details)) === group,
          'a group lists an order of a different group',
        );
      }
      expect(orderGroups.userId(group) === userId, 'a group is in the list of a different user');
      expect(orderGroups.orderCount(group) === count, "a group's orders are miscounted");
      expect(count === 0 || orderGroups.hasTripped(group) === 0, 'a tripped group has an order');
      listed += count;
    }
    expect(listed === grouped, `user ${userId} has an order that its group does not list`);
  }
  expect(groups === orderGroups.used, 'a group has no user');
}

/** Pending referral fees are the fees of referred users in markets that are not settled. */
function checkReferrals({ accounts, users, positions, markets }: State): void {
  const pending = new Map<number, number>();
  for (const marketId of markets.ids()) {
    let row = markets.firstPosition(markets.find(marketId));
    for (; row !== 0; row = positions.owners.marketAfter(row)) {
      if (positions.owners.settled(row) === 1) continue;
      const referrer = accounts.referrer(positions.owners.userId(row));
      pending.set(referrer, (pending.get(referrer) ?? 0) + positions.feesMicros(row));
    }
  }
  for (let userId = 1; userId <= users.count; userId++) {
    const fees = users.referralPendingFees(userId);
    expect(fees === (pending.get(userId) ?? 0), `user ${userId}'s pending referral fees are wrong`);
  }
}

/**
 * UP = DOWN = collateral, and held shares are what resting sells hold. Returns the position count.
 */
function checkPositions(state: State, slot: number): number {
  const { positions, markets } = state;
  const name = `market ${markets.id(slot)}`;
  const lots = [0, 0];
  let payouts = 0;
  let fees = 0;
  let makersDue = 0;
  let count = 0;
  const isResolved = markets.status(slot) === MarketStatus.RESOLVED;
  for (let row = markets.firstPosition(slot); row !== 0; row = positions.owners.marketAfter(row)) {
    count++;
    for (const outcome of [0, 1]) {
      lots[outcome]! += positions.lots(row, outcome);
      checkHeldLots(state, row, outcome);
    }
    expect(
      positions.find(positions.owners.userId(row), slot) === row,
      `${name} has a position not in the index`,
    );
    fees += positions.feesMicros(row);
    makersDue += positions.makerShares.micros(row);
    if (isResolved) payouts += payoutOf(state, slot, row);
  }
  expect(makersDue === markets.makersDueMicros(slot), `${name}'s makers' earnings are miscounted`);
  const collateral = state.markets.collateralMicros(slot);
  if (isResolved) {
    expect(payouts === collateral, `${name}'s collateral does not equal the payouts`);
    const isVoid = markets.resolution(slot) === Resolution.VOID;
    if (isVoid)
      expect(
        fees === state.markets.escrowMicros(slot),
        `${name}'s fee escrow does not equal the fees to refund`,
      );
    return count;
  }
  expect(lots[0] === lots[1], `${name} has a different number of UP and DOWN shares`);
  expect(lots[0] === markets.setLots(slot), `${name}'s shares do not equal its complete sets`);
  expect(
    lots[0]! * MICROS_PER_SET === collateral,
    `${name}'s collateral does not equal the value of its shares`,
  );
  expect(
    fees === state.markets.escrowMicros(slot),
    `${name}'s fee escrow does not equal the fees paid`,
  );
  return count;
}

function checkHeldLots(state: State, row: number, outcome: number): void {
  const { positions, orders } = state;
  const slot = positions.owners.slot(row);
  let held = 0;
  let order = state.accounts.firstOrder(positions.owners.userId(row));
  for (; order !== 0; order = orders.userAfter(order)) {
    const kind = orders.kind(order);
    if (orders.slot(order) !== slot || sideOf(kind) !== Side.SELL || outcomeOf(kind) !== outcome)
      continue;
    held += orders.lots(order);
  }
  expect(
    positions.heldLots(row, outcome) === held,
    'held shares differ from the shares that orders hold',
  );
  expect(held <= positions.lots(row, outcome), 'more shares are held than owned');
}

/** The book is not crossed; its levels and bitset match its orders. Returns the order count. */
function checkBook(state: State, slot: number): number {
  const { levels, markets, orders } = state;
  const crossed =
    levels.best(markets.ladder(slot, 0)) + levels.best(markets.ladder(slot, 1)) >= MICROS_PER_SET;
  expect(!crossed, 'the book is crossed');
  let count = 0;
  for (const bookSide of [0, 1] as const) {
    const ladder = markets.ladder(slot, bookSide);
    let seen = levels.best(ladder);
    for (let level = MICROS_PER_SET - 1; level >= 1; level--) {
      let lots = 0;
      const at = levelRow(ladder, level);
      for (let row = levels.first(at); row !== 0; row = orders.after(row)) {
        count++;
        lots += orders.lots(row);
        const isInPlace = orders.levelRow(row) === at && orders.slot(row) === slot;
        expect(isInPlace, 'an order is out of place');
        expect(bookSideOf(orders.kind(row)) === bookSide, 'an order is on the wrong side');
        expect(orders.lots(row) > 0, 'a resting order has no lots left');
        expect(orders.find(orders.id(row)) === row, 'an order is not in the index');
      }
      expect(levels.lots(at) === lots, "a level's size differs from the sum of its orders");
      expect(lots > 0 === (seen === level), 'the bitset does not match the levels');
      if (seen === level) seen = levels.nextBelow(ladder, level);
    }
  }
  return count;
}

function expect(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(`broken invariant: ${otherwise}`);
}
