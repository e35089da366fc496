/**
 * For the worked examples of the rules, in dollars and shares as a trader would check them by hand.
 * They run on both engines, the fast one and the naive one. Every example starts with one BTC
 * market and four users who have 1,000 dollars each: Alice, Bob, Carol, and Dave, whom Carol
 * referred. The house has as much. Orders of any size may rest.
 */
import { expect } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { CODES, Code } from '../../../engine/interface/codes.js';
import type { Buy, Command, Sell } from '../../../engine/interface/commands.js';
import { marketIdOf, Outcome, TimeInForce } from '../../../engine/interface/domain.js';
import { decodeEvents, type EventRecord } from '../../../engine/interface/events.js';
import { MAX_ORDER_LOTS, MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { ANY_SIZE_RESTS } from '../../support/engine-support.js';
import { NaiveEngine } from '../../support/naive-engine/naive-engine.js';

export const START_MS = 1_763_700_300_000;
export const MARKET = marketIdOf(0, START_MS);
export const [ALICE, BOB, CAROL, DAVE, HOUSE] = [1, 2, 3, 4, 5] as const;
export const { UP, DOWN } = Outcome;

/** By name. The house is the exchange's own account, so nobody can sign in to it. */
export const PEOPLE = {
  alice: { partner: 'bank', credential: 'c', referralCode: '' },
  bob: { partner: null, credential: 'c', referralCode: '' },
  carol: { partner: 'card', credential: 'c', referralCode: '' },
  dave: { partner: 'bank', credential: 'c', referralCode: 'Q000003' },
  house: { partner: null, credential: '', referralCode: '' },
};

/** What the examples need from an engine. */
interface Exchange {
  apply(command: Command, atMs: number): void;
  result(): number[];
  events(): EventRecord[];
  money(userId: number): { available: number; held: number };
  shares(userId: number): { up: number; down: number };
  openInterest(): number;
}

type AnyEngine = Pick<Engine, 'apply' | 'account' | 'position' | 'market' | 'checkInvariants'>;

function exchangeOn(engine: AnyEngine, answers: Pick<Exchange, 'result' | 'events'>): Exchange {
  return {
    apply(command, atMs) {
      engine.apply(command, atMs);
      engine.checkInvariants();
    },
    ...answers,
    money(userId) {
      const { availableMicros, heldMicros } = engine.account(userId)!;
      return { available: availableMicros / 1e6, held: heldMicros / 1e6 };
    },
    shares(userId) {
      const position = engine.position(userId, MARKET);
      return { up: (position?.upLots ?? 0) / 1000, down: (position?.downLots ?? 0) / 1000 };
    },
    openInterest: () => engine.market(MARKET)!.openInterestLots / 1000,
  };
}

type Start = () => Exchange;

export const EXCHANGES: Record<string, Start> = {
  'the engine': () => {
    const engine = new Engine();
    return exchangeOn(engine, {
      result: () => Array.from(engine.result.values.subarray(0, engine.result.length)),
      events: () => decodeEvents(engine.events),
    });
  },
  'the naive engine': () => {
    const engine = new NaiveEngine();
    return exchangeOn(engine, { result: () => engine.result, events: () => engine.events });
  },
};

const terms = {
  idempotencyKey: null,
  marketId: MARKET,
  timeInForce: TimeInForce.IOC,
  postOnly: false,
  validUntilMs: MAX_TIME_MS,
};

/** Buys for an amount in dollars at any price. */
export function buyFor(userId: number, outcome: Outcome, amount: number): Buy {
  const bounds = {
    budgetMicros: Math.round(amount * 1e6),
    sizeLots: MAX_ORDER_LOTS,
    priceTicks: 999,
  };
  return { ...terms, kind: 'buy', userId, outcome, ...bounds };
}

/** A limit buy at a price in dollars, which rests. */
export function bid(userId: number, outcome: Outcome, shares: number, price: number): Buy {
  const [sizeLots, priceTicks] = [Math.round(shares * 1000), Math.round(price * 1000)];
  const bounds = { budgetMicros: sizeLots * priceTicks, sizeLots, priceTicks };
  return { ...terms, kind: 'buy', userId, outcome, ...bounds, timeInForce: TimeInForce.GTC };
}

/** A limit sell at a price in dollars, which rests. */
export function ask(userId: number, outcome: Outcome, shares: number, price: number): Sell {
  const bounds = { sizeLots: Math.round(shares * 1000), priceTicks: Math.round(price * 1000) };
  return { ...terms, kind: 'sell', userId, outcome, ...bounds, timeInForce: TimeInForce.GTC };
}

export function sellAtAnyPrice(userId: number, outcome: Outcome, shares: number): Sell {
  return { ...ask(userId, outcome, shares, 0.001), timeInForce: TimeInForce.IOC };
}

export function price(dollars: number, observedAtMs: number): Command {
  return { kind: 'observePrice', asset: 0, priceMicros: dollars * 1e6, observedAtMs };
}

/** Alice holds 10 UP that cost 4 dollars, Bob 10 DOWN that cost 6; Alice paid a fee of 0.02. */
export const PAIR = [bid(BOB, DOWN, 10, 0.6), buyFor(ALICE, UP, 4)];

/** An exchange after the commands, 10 ms apart, each of which succeeded. */
export function exchangeAfter(
  start: Start,
  given: Command[],
): { exchange: Exchange; atMs: number } {
  const exchange = start();
  const users = Object.entries(PEOPLE).map(
    ([username, { partner, credential, referralCode }]): Command => {
      const grantMicros = 1_000_000_000;
      return { kind: 'register', username, credential, referralCode, grantMicros, partner };
    },
  );
  const opening: Command[] = [
    { kind: 'listAsset', symbol: 'BTC' },
    price(90_000, START_MS),
    ANY_SIZE_RESTS,
    ...users,
  ];
  let atMs = START_MS;
  for (const command of [...opening, ...given]) {
    atMs += 10;
    exchange.apply(command, atMs);
    expect(exchange.result()[1], `${command.kind}: ${CODES[exchange.result()[1]!]}`).toBe(Code.ok);
  }
  return { exchange, atMs: atMs + 10 };
}
