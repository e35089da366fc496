/**
 * The exchange in one process, on a simulated disk, clock and network, with crashes, jumps of the
 * clock, failures of the disk, and clients that repeat unanswered commands. All choices come from
 * the seed. The promises are checked where they could break: before a reply leaves (exchange.ts),
 * at each recovery (exchange.ts), at each answer (client.ts), and at the end, here: the journal
 * alone gives every received answer, no key or number was executed twice, and money is conserved.
 */

import { Engine } from '../../../engine/engine.js';
import { Code } from '../../../engine/interface/codes.js';
import type { Command, UserCommand } from '../../../engine/interface/commands.js';
import { MarketStatus, Resolution } from '../../../engine/interface/domain.js';
import { ResultHead } from '../../../engine/interface/results.js';
import type { MarketView } from '../../../engine/interface/views.js';
import { JournalError } from '../../../persistence/journal/errors.js';
import { JournalFollower } from '../../../persistence/recovery/recovery.js';
import { registration } from '../../support/engine-support.js';
import { withCommand } from '../../support/journal-fixture.js';
import { eachEvent } from '../../support/workload/events.js';
import { Random } from '../../support/workload/random.js';
import { Client, type Deliver } from './client.js';
import { SimulatedDisk } from './disk.js';
import { Broken, SimulatedExchange } from './exchange.js';
import { World } from './world.js';

export interface SimulationResult {
  commands: number;
  answered: number;
  crashes: number;
  diskFailures: number;
  snapshots: number;
  trades: number;
  /** The number of markets that settled at a price. */
  settled: number;
}

const START_MS = 1_763_700_300_000;
/** Less than the hour for which a key is remembered. */
const RUN_MS = 24 * 60_000;
const END_MS = 10 * 60_000;
const CLIENTS = 6;
const GRANT_DOLLARS = 1_000;
const PRICE_EVERY_MS = 2_000;
const FOLLOW_EVERY_MS = 500;
const RESTART_MS = 3_000;
const CRASH_EVERY_MS = 240_000;
const JUMP_EVERY_MS = 300_000;
/** One source at a time is wrong or silent, for at most this long. */
const SOURCES = ['a', 'b', 'c'];
const MISTAKE_MS = 120_000;
const LATE_MS = 5_000;
/** The largest jump of the clock, back or ahead. */
const JUMP_MS = 120_000;

const NOBODY = () => {};

export async function simulate(seed: string): Promise<SimulationResult> {
  const simulation = new Simulation(seed);
  await simulation.run();
  return simulation.result;
}

class Simulation {
  readonly result: SimulationResult = {
    commands: 0,
    answered: 0,
    crashes: 0,
    diskFailures: 0,
    snapshots: 0,
    trades: 0,
    settled: 0,
  };
  private readonly random: Random;
  private readonly world: World;
  private readonly disk: SimulatedDisk;
  private readonly digests = new Map<number, string>();
  private readonly clients: Client[] = [];
  /** null after a crash, until the next start. */
  private exchange: SimulatedExchange | null = null;
  /** The error of the exchange's clock. */
  private offMs = 0;
  private isCalm = false;
  private broken: Error | null = null;
  private priceMicros = 100_000_000_000;
  private lowestMicros = this.priceMicros;
  private highestMicros = this.priceMicros;
  /** The present mistake of a source; with factor 0 the source is silent. */
  private mistake = { source: 'a', factor: 1, untilMs: 0 };

  constructor(seed: string) {
    this.random = new Random(seed);
    this.world = new World(this.random);
    this.disk = new SimulatedDisk(this.world);
  }

  async run(): Promise<void> {
    const { world } = this;
    this.start();
    this.meetClients();
    this.every(PRICE_EVERY_MS, () => this.price());
    this.every(FOLLOW_EVERY_MS, () => this.follow());
    this.every(CRASH_EVERY_MS, () => this.crash());
    this.every(JUMP_EVERY_MS, () => this.jump());
    for (const client of this.clients) client.start();
    await world.run(RUN_MS);
    this.isCalm = true;
    for (const client of this.clients) client.stop();
    await world.run(RUN_MS + END_MS);
    if (this.broken !== null) throw this.broken;
    this.judge();
  }

  /** Calls `happen` at random intervals with this mean. */
  private every(meanMs: number, happen: () => void): void {
    const again = () => {
      happen();
      this.world.after(this.random.whole(1, 2 * meanMs), again);
    };
    this.world.after(this.random.whole(1, 2 * meanMs), again);
  }

  private start(): void {
    this.exchange = new SimulatedExchange(this.world, this.disk, {
      now: () => START_MS + this.world.nowMs + this.offMs,
      digests: this.digests,
      onFatal: (error) => {
        // An exception in a release also ends the sequencer.
        if (!(error instanceof JournalError)) this.broken ??= error;
        this.result.diskFailures++;
        this.end();
      },
    });
    this.setUp();
  }

  /**
   * Creates the asset and the users that do not exist: a crash can come before they are durable.
   */
  private setUp(): void {
    const { engine } = this.exchange!.sequencer;
    if (engine.assetCount === 0) this.submit({ kind: 'listAsset', symbol: 'BTC' });
    for (let userId = engine.userCount + 1; userId <= CLIENTS; userId++)
      this.submit(registration(`trader-${userId}`, GRANT_DOLLARS));
  }

  private meetClients(): void {
    for (let userId = 1; userId <= CLIENTS; userId++) {
      const markets = () => this.markets();
      const deliver: Deliver = (command, reply) => void this.exchange?.submit(command, reply);
      this.clients.push(
        new Client(this.world, { userId, isNumbered: userId % 2 === 0 }, markets, deliver),
      );
    }
  }

  private submit(command: Command): void {
    this.exchange?.submit(command, NOBODY);
  }

  private markets(): { active: number[]; ended: number[] } {
    const engine = this.exchange?.sequencer.engine;
    const views = engine?.marketIds().map((id) => engine.market(id)!) ?? [];
    const isActive = ({ status }: MarketView) => status === MarketStatus.ACTIVE;
    const idOf = ({ marketId }: MarketView) => marketId;
    return {
      active: views.filter(isActive).map(idOf),
      ended: views.filter((view) => !isActive(view)).map(idOf),
    };
  }

  private price(): void {
    const { random, world } = this;
    this.priceMicros += random.whole(-50_000_000, 50_000_000);
    this.lowestMicros = Math.min(this.lowestMicros, this.priceMicros);
    this.highestMicros = Math.max(this.highestMicros, this.priceMicros);
    if (this.mistake.untilMs < world.nowMs && random.chance(0.02)) {
      const untilMs = world.nowMs + random.whole(1, MISTAKE_MS);
      this.mistake = { source: random.pick(SOURCES), factor: random.pick([0, 0.1, 10]), untilMs };
    }
    for (const source of SOURCES) this.tick(source, START_MS + world.nowMs + this.offMs);
    const { exchange } = this;
    if (exchange === null) return;
    const { engine } = exchange.sequencer;
    if (engine.nextDueMs() <= START_MS + world.nowMs + this.offMs)
      this.submit({ kind: 'advanceTime' });
  }

  /** Delivers a price immediately, late and out of order, or twice. */
  private tick(source: string, observedAtMs: number): void {
    const { mistake, random, world } = this;
    const isWrong = mistake.source === source && mistake.untilMs >= world.nowMs;
    const factor = isWrong ? mistake.factor : 1;
    if (factor === 0) return;
    const priceMicros = Math.floor(this.priceMicros * factor);
    const tell = () => {
      const nowMs = this.exchange?.sequencer.engine.nowMs ?? 0;
      const clampedMs = Math.min(
        observedAtMs,
        Math.max(nowMs, START_MS + world.nowMs + this.offMs),
      );
      const price = { asset: 0, priceMicros, observedAtMs: clampedMs };
      this.submit({ kind: 'observeSourcePrice', ...price, source });
    };
    if (random.chance(0.2)) world.after(random.whole(1, LATE_MS), tell);
    else tell();
    if (random.chance(0.05)) world.after(random.whole(1, LATE_MS), tell);
  }

  private follow(): void {
    if (this.exchange === null) return;
    const isSnapshotDue = this.random.chance(0.005);
    this.exchange.follow(isSnapshotDue);
    this.result.snapshots = this.disk.snapshots.length;
  }

  private crash(): void {
    if (this.isCalm || this.exchange === null) return;
    this.result.crashes++;
    this.end();
  }

  private end(): void {
    this.exchange = null;
    this.disk.crash();
    this.world.after(this.random.whole(1, RESTART_MS), () => this.start());
  }

  private jump(): void {
    if (!this.isCalm) this.offMs += this.random.whole(-JUMP_MS, JUMP_MS);
  }

  /** Judges the run by the journal alone, with a fresh engine. */
  private judge(): void {
    const executed = new Map<string, number>();
    const results = new Map<number, string>();
    const engine = new Engine();
    const applied = withCommand((command) => {
      results.set(engine.sequence, String(valuesOf(engine)));
      this.judgeEvents(engine);
      const key = executedKey(engine, command);
      if (key !== null) executed.set(key, (executed.get(key) ?? 0) + 1);
    });
    const follower = new JournalFollower(engine, undefined, { applied });
    for (const batch of this.disk.batches) follower.apply(batch);
    engine.checkInvariants();
    for (const [key, times] of executed)
      if (times > 1) throw new Broken(`the key ${key} was executed ${times} times`);
    for (const client of this.clients) {
      this.judgeClient(client, results);
      judgeNumbers(client, executed);
    }
    this.result.commands = engine.sequence;
  }

  /**
   * Counts trades, and checks that a market settles between the lowest and the highest right price.
   */
  private judgeEvents({ events }: Engine): void {
    eachEvent(events, (name, field) => {
      if (name === 'trade') this.result.trades++;
      if (name !== 'marketResolved' || field('resolution') === Resolution.VOID) return;
      const micros = field('endPriceMicros');
      if (micros < this.lowestMicros || micros > this.highestMicros)
        throw new Broken(`a market settled at ${micros}, which was never right`);
      this.result.settled++;
    });
  }

  private judgeClient(client: Client, results: Map<number, string>): void {
    if (!client.isDone) throw new Broken('a request was never answered, though all was calm');
    for (const { command, reply, executed } of client.requests) {
      if (reply !== null) this.result.answered++;
      for (const answer of [reply, executed])
        if (answer !== null && results.get(answer.sequence) !== String(answer.values))
          throw new Broken(
            `the answer to ${command.idempotencyKey} is not what the journal has at ${answer.sequence}`,
          );
    }
  }
}

function valuesOf(engine: Engine): Float64Array {
  const { values, length } = engine.result;
  return values.subarray(0, length);
}

/** The key or number under which a command was executed now, or null. */
function executedKey(engine: Engine, command: Command): string | null {
  if (!('idempotencyKey' in command) || command.idempotencyKey === null || engine.replayed)
    return null;
  const isRefused = engine.result.values[ResultHead.code] === Code.client_sequence_stale;
  return isRefused ? null : keyOf(command);
}

const keyOf = ({ userId, idempotencyKey }: UserCommand) => `u${userId} ${idempotencyKey}`;

/** A request that got an answer was executed, even if the answer was only "already executed". */
function judgeNumbers({ requests }: Client, executed: ReadonlyMap<string, number>): void {
  for (const { command, reply } of requests)
    if (reply !== null && !executed.has(keyOf(command)))
      throw new Broken(`${command.idempotencyKey} was answered, but never executed`);
}
