/**
 * Four shards in one process, each a real engine with a journal of its own and the market of one
 * asset, on simulated disks and a bad network. Users trade on all shards and move money between
 * them, while shards crash. All choices come from the seed. persistence/SCALING.md says what for.
 *
 * Always holds after each step, or the simulation fails: the pots of all engines and the money that
 * is on its way add up to what was there at the start; every credit has one debit, of the same
 * money. At the end nothing is on its way, and every transfer that was acknowledged has arrived.
 */

import { Random } from '../../../../bench/workload/random.js';
import type { Command } from '../../../../engine/interface/commands.js';
import { MarketStatus } from '../../../../engine/interface/domain.js';
import { Client } from '../client.js';
import { Broken } from '../exchange.js';
import { World } from '../world.js';
import { Mover } from './mover.js';
import { Shard, type ShardOptions } from './shard.js';
import { PARTNER } from './transfer.js';

export interface ShardsResult {
  commands: number;
  /** Answers to commands other than transfers. */
  answered: number;
  crashes: number;
  diskFailures: number;
  transfers: number;
  /** Those that a late copy executed, after the user was told that they were refused. */
  executedAfterRefusal: number;
  /** Messages with a credit; the first of each transfer included. */
  creditsSent: number;
  mostOnTheWayMicros: number;
  /** Of the engines, at the end. */
  digests: string[];
}

const SHARDS = ['BTC', 'ETH', 'SOL', 'XRP'] as const;
const USERS = 4;
/** On the user's first shard; on the others a user begins with nothing. */
const GRANT_MICROS = 1_000_000_000;
const START_MS = 1_763_700_300_000;
/** Beyond the end of the first market. */
const RUN_MS = 17 * 60_000;
const CALM_MS = 3 * 60_000;
/** Longer than a disk stands still. */
const SETUP_MS = 40_000;
const PRICE_EVERY_MS = 4_000;
const FOLLOW_EVERY_MS = 2_000;
const CRASH_EVERY_MS = 60_000;

/** @throws Broken */
export async function simulateShards(
  seed: string,
  { runMs = RUN_MS, ...mutation }: Mutation & { runMs?: number } = {},
): Promise<ShardsResult> {
  const simulation = new Simulation(seed, runMs, mutation);
  await simulation.run();
  return simulation.result();
}

type Mutation = Pick<ShardOptions, 'creditId' | 'isHasty'>;

class Simulation {
  private readonly random: Random;
  private readonly world: World;
  private readonly shards: Shard[];
  private readonly clients: Client[] = [];
  private readonly movers: Mover[] = [];
  private isCalm = false;
  private broken: Error | null = null;
  private mostOnTheWayMicros = 0;
  private priceMicros = 100_000_000_000;

  constructor(
    seed: string,
    private readonly runMs: number,
    mutation: Mutation,
  ) {
    this.random = new Random(seed);
    this.world = new World(this.random);
    const onBroken = (error: Error) => {
      this.broken ??= error;
    };
    const now = () => START_MS + this.world.nowMs;
    const peer = (index: number) => this.shards[index]!;
    this.shards = SHARDS.map(() => new Shard(this.world, { now, peer, onBroken, ...mutation }));
  }

  async run(): Promise<void> {
    const { world, shards, runMs } = this;
    await this.setUp();
    for (const shard of shards) {
      this.every(PRICE_EVERY_MS, () => this.price(shard));
      this.every(FOLLOW_EVERY_MS, () => shard.follow(this.random.chance(0.02)));
      this.every(CRASH_EVERY_MS, () => {
        if (!this.isCalm) shard.crash();
      });
    }
    for (const client of [...this.clients, ...this.movers]) client.start();
    const check = () => this.check();
    await world.run(runMs, check);
    this.isCalm = true;
    for (const client of [...this.clients, ...this.movers]) client.stop();
    await world.run(runMs + CALM_MS, check);
    this.judge();
  }

  result(): ShardsResult {
    const { shards, clients } = this;
    const sum = (of: (shard: Shard) => number) => shards.reduce((all, each) => all + of(each), 0);
    const answers = clients.flatMap(({ requests }) => requests.filter(({ reply }) => reply));
    return {
      commands: sum(({ engine }) => engine.sequence),
      answered: answers.length,
      crashes: sum(({ crashes }) => crashes),
      diskFailures: sum(({ diskFailures }) => diskFailures),
      transfers: sum(({ debits }) => debits.size),
      executedAfterRefusal: this.movers
        .flatMap(({ asked }) => asked)
        .filter(({ transfer: { id, from }, wasMade }) => !wasMade && shards[from]!.debits.has(id))
        .length,
      creditsSent: sum(({ sent }) => sent),
      mostOnTheWayMicros: this.mostOnTheWayMicros,
      digests: shards.map(({ engine }) => engine.digest()),
    };
  }

  /** About every so often, at random. */
  private every(meanMs: number, happen: () => void): void {
    const again = () => {
      happen();
      this.world.after(this.random.whole(1, 2 * meanMs), again);
    };
    this.world.after(this.random.whole(1, 2 * meanMs), again);
  }

  /** The same users, with the same ids, on all shards; durable when this returns. */
  private async setUp(): Promise<void> {
    const { shards, world } = this;
    const isBare = ({ engine }: Shard) => engine.userCount < USERS;
    // Again, if a disk has failed.
    while (shards.some(isBare)) {
      for (const shard of shards.filter(isBare)) this.open(shard);
      // The sequencers begin their commits now, and not after what happens next.
      await new Promise((resolve) => setImmediate(resolve));
      await world.run(world.nowMs + SETUP_MS);
    }
    for (const shard of shards) {
      const markets = () => marketsOf(shard);
      for (let userId = 1; userId <= USERS; userId++)
        this.clients.push(
          new Client(world, { userId, isNumbered: false }, markets, (command, reply) =>
            shard.receive(command, reply),
          ),
        );
    }
    for (let userId = 1; userId <= USERS; userId++)
      this.movers.push(new Mover(world, userId, shards));
  }

  private open(shard: Shard): void {
    const index = this.shards.indexOf(shard);
    shard.submit({ kind: 'listAsset', symbol: SHARDS[index]! });
    this.price(shard);
    for (let userId = 1; userId <= USERS; userId++)
      shard.submit(registration(userId, (userId - 1) % SHARDS.length === index));
  }

  private price(shard: Shard): void {
    this.priceMicros += this.random.whole(-50_000_000, 50_000_000);
    const { priceMicros } = this;
    const observedAtMs = Math.max(shard.engine.nowMs, START_MS + this.world.nowMs);
    const ignore = () => {};
    shard.receive({ kind: 'observePrice', asset: 0, priceMicros, observedAtMs }, ignore);
    if (shard.engine.nextDueMs() <= observedAtMs) shard.receive({ kind: 'advanceTime' }, ignore);
  }

  private check(): void {
    if (this.broken !== null) throw this.broken;
    const { shards } = this;
    let moneyMicros = 0;
    let onTheWayMicros = 0;
    for (const shard of shards) {
      moneyMicros += shard.moneyMicros;
      for (const { id, to, amountMicros } of shard.debits.values())
        if (!shards[to]!.credits.has(id)) onTheWayMicros += amountMicros;
    }
    const totalMicros = USERS * GRANT_MICROS;
    if (moneyMicros + onTheWayMicros !== totalMicros)
      throw new Broken(`${moneyMicros} and ${onTheWayMicros} on its way is not ${totalMicros}`);
    for (const shard of shards) this.checkCredits(shard);
    this.mostOnTheWayMicros = Math.max(this.mostOnTheWayMicros, onTheWayMicros);
  }

  private checkCredits({ credits }: Shard): void {
    for (const { id, from, userId, amountMicros } of credits.values()) {
      const debit = this.shards[from]!.debits.get(id);
      if (debit === undefined) throw new Broken(`the credit ${id} has no debit`);
      if (debit.userId !== userId || debit.amountMicros !== amountMicros)
        throw new Broken(`the credit ${id} is another than its debit`);
    }
  }

  private judge(): void {
    const { shards } = this;
    for (const [index, shard] of shards.entries()) {
      if (!shard.isSettled)
        throw new Broken(`shard ${index} waits for receipts, though all is calm`);
      shard.engine.checkInvariants();
      if (!shard.isRebuiltByJournal)
        throw new Broken(`the journal of shard ${index} leads to another state`);
    }
    for (const client of [...this.clients, ...this.movers])
      if (!client.isDone) throw new Broken('a request was never answered, though all was calm');
    for (const { transfer, wasMade } of this.movers.flatMap(({ asked }) => asked)) {
      if (wasMade !== true) continue;
      const { id, from, to } = transfer;
      if (!shards[from]!.debits.has(id) || !shards[to]!.credits.has(id))
        throw new Broken(`the transfer ${id} was acknowledged and is missing`);
    }
  }
}

function registration(userId: number, isFirstShard: boolean): Command {
  return {
    kind: 'register',
    username: `trader-${userId}`,
    credential: 'a hash of a password',
    referralCode: '',
    grantMicros: isFirstShard ? GRANT_MICROS : 0,
    partner: PARTNER,
  };
}

function marketsOf({ engine }: Shard): { active: number[]; ended: number[] } {
  const views = engine.marketIds().map((id) => engine.market(id)!);
  const ids = (isActive: boolean) =>
    views
      .filter(({ status }) => (status === MarketStatus.ACTIVE) === isActive)
      .map(({ marketId }) => marketId);
  return { active: ids(true), ended: ids(false) };
}
