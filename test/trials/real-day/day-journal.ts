/**
 * A day's journal, replayed by an engine that knows nothing else, compared with what HTTP reported
 * and with the users' books: every trade, every yield, every micro-dollar.
 */
import { Big } from 'big.js';
import { expect } from 'vitest';
import type { Engine } from '../../../engine/engine.js';
import { decodeEvents } from '../../../engine/interface/events.js';
import { marketIdText } from '../../../engine/interface/notation.js';
import { replayJournal } from '../../support/journal-fixture.js';
import { HOUSE_FUNDS, type RealDay, STARTING_BALANCE } from './day.js';
import { checkBeyond, checkYields, type SharedMarket } from './expected-income.js';
import { expectDecimal } from './user-ledger.js';

/** Of the running exchange at the end of the day. */
export interface Status {
  sequence: number;
  digest: string;
}

/** Returns how many markets settled, and what the vault received and has paid. */
export async function checkJournal(
  day: RealDay,
  folder: string,
  status: Status,
): Promise<{ settled: number; given: Big; paid: Big }> {
  const { engine, settled, resolvedAt } = await replayDay(day, folder, status);
  for (const { userId, ledger } of day.clients) {
    const staked = [...ledger.deposits.values()].filter(
      ({ closedSequence }) => closedSequence === null,
    );
    const { availableMicros, heldMicros } = engine.account(Number(userId.slice(1)))!;
    expectDecimal(availableMicros, ledger.total.times(1_000_000), `micros of ${userId}`);
    expect([heldMicros, engine.vaultDeposits(Number(userId.slice(1))).length]).toEqual([
      0,
      staked.length,
    ]);
    const own = day.incomes.get(userId)!.sort((a, b) => a.endsAtMs - b.endsAtMs);
    checkBeyond(userId, ledger.beyond, own);
  }
  const deposits = day.clients.flatMap(({ ledger }) => [...ledger.deposits.values()]);
  return { settled, ...checkYields(deposits, sharedMarkets(day, resolvedAt)) };
}

/**
 * Compares the journal with what HTTP reported; returns the number of settled markets and where
 * they were resolved.
 */
async function replayDay(day: RealDay, folder: string, status: Status) {
  let settled = 0;
  let digest = '';
  const resolvedAt = new Map<string, number>();
  const trades = new Map<string, Map<string, { price: number; shares: number }>>();
  const engine = await replayJournal(folder, (engine) => {
    if (engine.sequence === status.sequence) digest = engine.digest();
    for (const event of decodeEvents(engine.events)) {
      if (event.type === 'trade') {
        const ticks = event.takerOutcome === 0 ? event.upTicks : 1_000 - event.upTicks;
        const userId = `u${event.takerId}`;
        const fills = trades.get(userId) ?? new Map();
        trades.set(
          userId,
          fills.set(`t${event.tradeId}`, { price: ticks / 1_000, shares: event.sizeLots / 1_000 }),
        );
      } else if (event.type === 'feesShared' || event.type === 'marketResolved') {
        checkMoney(engine);
        if (event.type === 'feesShared') settled++;
        else resolvedAt.set(marketIdText(engine, event.marketId), engine.sequence);
      }
    }
  });
  checkMoney(engine);
  expect(digest).toBe(status.digest);
  const taken = day.clients.filter((client) => client.ledger.taken.size > 0);
  expect([...trades.keys()].sort()).toEqual(taken.map((client) => client.userId).sort());
  for (const { ledger } of taken) expect(ledger.taken).toEqual(trades.get(ledger.userId));
  return { engine, settled, resolvedAt };
}

/** All money adds up to what was paid in. */
function checkMoney(engine: Engine): void {
  engine.checkInvariants();
  let users = 0;
  for (let userId = 1; userId <= engine.userCount; userId++) {
    const { availableMicros, heldMicros } = engine.account(userId)!;
    users += availableMicros + heldMicros;
  }
  const { collateralMicros, feeEscrowMicros, stakedMicros, yieldDueMicros, treasuryMicros } =
    engine.funds();
  const pots = collateralMicros + feeEscrowMicros + stakedMicros + yieldDueMicros + treasuryMicros;
  const hasHouse = engine.findUser('house') === 0 ? 0 : 1;
  const paidIn = hasHouse * HOUSE_FUNDS + (engine.userCount - hasHouse) * STARTING_BALANCE;
  expect(users + pots).toBe(paidIn * 1_000_000);
}

/**
 * Fees of the trades that HTTP reported, the house's included, in the journal's order of
 * resolution.
 */
function sharedMarkets(
  { participants, watch }: RealDay,
  resolvedAt: ReadonlyMap<string, number>,
): SharedMarket[] {
  const fees = new Map<string, Big>();
  for (const { trades } of participants) {
    for (const { marketId, fee } of trades) {
      fees.set(marketId, (fees.get(marketId) ?? new Big(0)).plus(fee));
    }
  }
  return [...watch.resolved.values()].map(({ id, endsAtMs, resolution }) => ({
    id,
    endsAtMs,
    resolution: resolution!,
    sequence: resolvedAt.get(id)!,
    fees: fees.get(id) ?? new Big(0),
  }));
}
