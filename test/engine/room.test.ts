/**
 * Attackers take all the room that they get in one pool, for an hour, and the others are always
 * served. The pools are small, so that few attackers fill them.
 */
import { describe, expect, test, vi } from 'vitest';
import { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { Outcome, TimeInForce, TokenScope } from '../../engine/interface/domain.js';
import { Limit, MAX_TIME_MS, MAX_TRANSFERS } from '../../engine/interface/limits.js';
import { ResultHead } from '../../engine/interface/results.js';
import type { PoolSizes } from '../../engine/state/access/room.js';
import { Transfers } from '../../engine/state/transfers.js';
import { at, buy, DOLLAR, price, registration } from '../support/engine-support.js';

const SMALL = { size: 16_000, most: 1_000, assured: 60 };
const SIZES: PoolSizes = {
  orders: SMALL,
  positions: { size: 160, most: 100, assured: 2 },
  vaultDeposits: SMALL,
  tokens: SMALL,
  referralCodes: SMALL,
  clientOrderIds: SMALL,
  keys: SMALL,
  orderGroups: SMALL,
  subAccounts: { size: 1_600, most: 32, assured: 6 },
};
/** The number of newcomers that have their assured room when the newcomers' half is full. */
const FEW_ATTACKERS = 30;
const MANY_ATTACKERS = 400;
const MINUTE_MS = 60_000;

/** The house, a user who has paid a dollar of fees, and a newcomer. */
const [HOUSE, REGULAR, NEWCOMER, FIRST_ATTACKER] = [1, 2, 3, 4];

class World {
  readonly engine = new Engine(SIZES);
  readonly attackers: number[] = [];
  private serial = 0;

  constructor(attackers: number) {
    const { engine } = this;
    engine.apply({ kind: 'listAsset', symbol: 'BTC' }, at(0));
    this.passTo(at(0));
    const house = { username: 'house', credential: '', referralCode: '', partner: null };
    engine.apply({ kind: 'register', ...house, grantMicros: 100_000_000 * DOLLAR }, at(0));
    for (let i = 0; i < attackers + 2; i++) engine.apply(registration(`user${i}`, 10_000), at(0));
    for (let i = 0; i < attackers; i++) this.attackers.push(FIRST_ATTACKER + i);
    this.openHouse();
    const order = buy({ userId: REGULAR, marketId: this.marketId, budgetMicros: 300 * DOLLAR });
    expect(this.ask(order)).toBe(Code.ok);
    for (let minute = 1; minute <= 16; minute++) this.passTo(at(minute * MINUTE_MS));
    expect(engine.account(REGULAR)!.microPoints).toBeGreaterThan(100_000_000);
  }

  get marketId(): number {
    return this.engine.activeMarket(0);
  }

  /** A new text. */
  next(): string {
    this.serial++;
    return `text-${this.serial}`;
  }

  ask(command: Command): number {
    this.engine.apply(command, this.engine.nowMs);
    return this.engine.result.values[ResultHead.code]!;
  }

  /** The price rises, so UP wins. */
  passTo(atMs: number): void {
    this.engine.apply(price(100_000 + Math.floor((atMs - at(0)) / 1_000), atMs), atMs);
  }

  /** The house buys DOWN, so that everybody can buy UP. */
  openHouse(): void {
    const fields = { outcome: Outcome.DOWN, priceTicks: 500, timeInForce: TimeInForce.GTC };
    const order = buy({ userId: HOUSE, marketId: this.marketId, sizeLots: 2_000_000, ...fields });
    expect(this.ask(order)).toBe(Code.ok);
  }
}

interface Attack {
  name: keyof PoolSizes;
  /** A command that takes a place of the pool. */
  take(world: World, userId: number): Command;
  /** Frees the user's last place, as a user with little use does. */
  free?(world: World, userId: number): Command;
  /** Attempts of each attacker in a minute. */
  tries: number;
}

const RESTING = { priceTicks: 100, sizeLots: 10_000, timeInForce: TimeInForce.GTC };
const keyed = (world: World, userId: number): Command => ({
  kind: 'claim',
  userId,
  marketId: 1,
  idempotencyKey: world.next(),
});

const ATTACKS: Attack[] = [
  {
    name: 'orders',
    take: ({ marketId }, userId) => buy({ userId, marketId, ...RESTING }),
    free: ({ marketId }, userId) => ({ kind: 'cancelAll', userId, marketId, idempotencyKey: null }),
    tries: 300,
  },
  {
    name: 'positions',
    take: ({ marketId }, userId) => buy({ userId, marketId, sizeLots: 2_000, priceTicks: 500 }),
    tries: 1,
  },
  {
    name: 'vaultDeposits',
    take: (_, userId) => ({ kind: 'stake', userId, amountMicros: DOLLAR, idempotencyKey: null }),
    free: ({ engine }, userId) => ({
      kind: 'unstake',
      userId,
      depositId: engine.vaultDeposits(userId).at(-1)?.depositId ?? 0,
      idempotencyKey: null,
    }),
    tries: 300,
  },
  {
    name: 'tokens',
    take: (world, userId) => ({
      kind: 'createToken',
      userId,
      name: world.next(),
      scope: TokenScope.READ,
      expiresAtMs: MAX_TIME_MS,
      allowedAddresses: '',
    }),
    free: ({ engine }, userId) => ({
      kind: 'revokeToken',
      userId,
      tokenId: engine.tokens(userId).at(-1)?.tokenId ?? 0,
    }),
    tries: 300,
  },
  {
    name: 'referralCodes',
    take: (world, userId) => ({
      kind: 'setReferralCode',
      userId,
      code: world.next(),
      idempotencyKey: null,
    }),
    tries: 300,
  },
  { name: 'keys', take: keyed, tries: 300 },
];

const FULL: readonly number[] = [Code.limit_reached, Code.idempotency_full];

function attack(world: World, { take, tries }: Attack): void {
  for (const userId of world.attackers) {
    for (let i = 0; i < tries; i++) if (FULL.includes(world.ask(take(world, userId)))) break;
  }
}

describe('for an hour, attackers take all that they get of', () => {
  test.each(ATTACKS)('$name: everybody else is served every minute', (pool) => {
    const world = new World(FEW_ATTACKERS);
    for (let minute = 17; minute < 77; minute++) {
      world.passTo(at(minute * MINUTE_MS));
      if (minute % 15 === 2) world.openHouse();
      attack(world, pool);
      for (const userId of [HOUSE, REGULAR, NEWCOMER]) {
        if (pool.free !== undefined) world.ask(pool.free(world, userId));
        expect(FULL).not.toContain(world.ask(pool.take(world, userId)));
        for (const { marketId } of world.engine.positions(userId))
          world.ask({ kind: 'claim', userId, marketId, idempotencyKey: null });
      }
    }
    world.engine.checkInvariants();
  });
});

describe('so many newcomers that their half is full, of', () => {
  test.each(ATTACKS)(
    '$name: who pays fees is served, and the house; so are registrations and cancels',
    (pool) => {
      const world = new World(MANY_ATTACKERS);
      world.passTo(at(17 * MINUTE_MS));
      world.openHouse();
      attack(world, pool);
      expect(FULL).toContain(world.ask(pool.take(world, world.attackers.at(-1)!)));
      expect(FULL).toContain(world.ask(pool.take(world, NEWCOMER)));
      for (let i = 0; i < 100; i++) {
        expect(FULL).not.toContain(world.ask(pool.take(world, REGULAR)));
        expect(FULL).not.toContain(world.ask(pool.take(world, HOUSE)));
      }
      expect(world.ask(registration('late', 0))).toBe(Code.ok);
      const all = { userId: NEWCOMER, marketId: world.marketId, idempotencyKey: world.next() };
      expect(world.ask({ kind: 'cancelAll', ...all })).toBe(Code.ok);
      world.engine.checkInvariants();
    },
  );
});

test('ids of others are remembered, however many ids attackers use', () => {
  const world = new World(FEW_ATTACKERS);
  world.passTo(at(17 * MINUTE_MS));
  const named = (userId: number, clientOrderId: string): Command =>
    buy({ userId, marketId: world.marketId, ...RESTING, clientOrderId });
  for (const userId of [REGULAR, NEWCOMER]) {
    expect(world.ask(named(userId, 'mine'))).toBe(Code.ok);
    world.ask({ kind: 'cancelEverywhere', userId, idempotencyKey: null });
  }
  const codes = new Set<number>();
  for (const userId of world.attackers) {
    for (let i = 0; i < 2_000; i++) {
      codes.add(world.ask(named(userId, `id-${i}`)));
      if (i % 500 === 499) world.ask({ kind: 'cancelEverywhere', userId, idempotencyKey: null });
    }
  }
  expect([...codes]).toEqual([Code.ok]);
  for (const userId of [REGULAR, NEWCOMER])
    expect(world.ask(named(userId, 'mine'))).toBe(Code.client_order_id_reused);
  world.engine.checkInvariants();
});

test('without room for transfers a deposit is refused, and a withdrawal is not', () => {
  const engine = new Engine();
  const transfer = { userId: 1, amountMicros: 1, partner: 'bank' };
  const ask = (kind: 'deposit' | 'withdraw', reference: string) => {
    engine.apply({ ...transfer, kind, reference }, at(0));
    return [...engine.result.values.subarray(ResultHead.code, engine.result.length)];
  };
  engine.apply(registration('ada', 0, '', 'bank'), at(0));
  expect(ask('deposit', 'first')[0]).toBe(Code.ok);
  vi.spyOn(Transfers.prototype, 'count', 'get').mockReturnValue(MAX_TRANSFERS);
  expect(ask('deposit', 'second')).toEqual(
    expect.arrayContaining([Code.limit_reached, Limit.transfers]),
  );
  expect(ask('withdraw', 'third')[0]).toBe(Code.ok);
  vi.restoreAllMocks();
});
