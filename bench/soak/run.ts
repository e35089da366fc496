/**
 * One soak, from an empty folder to a verdict: registers users, starts stream clients, measures the
 * capacity, runs the load at a share of it, and compares everything that was acknowledged with the
 * journal and the lists.
 */
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ask, HttpConnection } from '../http/connection.js';
import { requestBytes } from '../http/messages.js';
import { Random } from '../workload/random.js';
import { ASSETS, dataFolder, HOST, type RunningExchange, startExchange } from './exchange.js';
import { Floor } from './floor.js';
import { readAll, type Shown } from './http-check.js';
import { checkJournal, type JournalCheck } from './journal-check.js';
import { Load } from './load.js';
import { judgeLevel, type Level } from './memory.js';
import { AttemptRecord } from './record.js';
import { MarketReader, SlowReader, StreamTally, UserReader } from './stream-clients.js';
import { Tally } from './tally.js';
import { Trader } from './trader.js';
import { Watch } from './watch.js';

export interface SoakOptions {
  /** An empty folder. */
  folder: string;
  minutes: number;
  seed: string;
  /** Exchange time as a multiple of real time. */
  speed: number;
  users: number;
  connections: number;
  /** Requests per second; null: a share of the measured capacity. */
  rate: number | null;
  print: (line: string) => void;
}

export interface SoakResult {
  problems: string[];
  rate: number;
  /** null: it was not measured. */
  capacity: number | null;
  tally: Tally;
  streamTally: StreamTally;
  record: AttemptRecord;
  journal: JournalCheck;
  /** null: the run was too short to judge. */
  rss: Level | null;
  heap: Level | null;
  marketsOpened: number;
  totalTrades: number;
}

export const CAPACITY_SHARE = 0.7;
const CAPACITY_WARM_UP_MS = 4_000;
const CAPACITY_MS = 10_000;
/** Shorter runs do not judge memory: the first half must be longer than a day of exchange time. */
export const JUDGED_FROM_MINUTES = 10;
const PRINT_EVERY_MS = 10_000;
const PASSWORD = 'correct horse battery';
const MARKET_READERS = 4;
const SLOW_READERS = 2;
const USERS_PER_READER = 8;
/** The share of users that never claim. */
const LAZY_SHARE = 0.1;
/** The largest allowed share of `unavailable` answers. */
const SHED_SHARE = 0.01;
/** Exchange time after which every open market has ended. */
const MARKETS_END_MS = 1_200_000;
/** Real time on top of it. */
const MARKETS_END_LATER_MS = 2_000;
/** Prices go on for so long after the load. */
const MINUTES_AFTER = 10;
/** How long stream clients may take to receive the last message. */
const LAST_MESSAGES_MS = 25_000;

const run = promisify(execFile);

export async function soak(options: SoakOptions): Promise<SoakResult> {
  mkdirSync(dataFolder(options.folder), { recursive: true });
  const { folder, seed, speed } = options;
  const exchange = await startExchange({
    folder,
    seed,
    speed,
    minutes: options.minutes + MINUTES_AFTER,
  });
  try {
    return await new Soak(options, exchange).run();
  } finally {
    exchange.kill();
  }
}

class Soak {
  private readonly random: Random;
  private readonly tally = new Tally();
  private readonly streamTally = new StreamTally();
  private readonly record = new AttemptRecord();
  private readonly floor: Floor;
  private readonly traders: Trader[] = [];
  private readonly userReaders: UserReader[] = [];
  private readonly otherReaders: (MarketReader | SlowReader)[] = [];
  private readonly startedMs = performance.now();

  constructor(
    private readonly options: SoakOptions,
    private readonly exchange: RunningExchange,
  ) {
    this.random = new Random(options.seed);
    this.floor = new Floor(options.speed);
  }

  async run(): Promise<SoakResult> {
    const { options, tally } = this;
    const { port } = this.exchange;
    const onError = (error: Error) => tally.problem(error.message);
    const watch = new Watch(HOST, port, this.floor, onError);
    await this.registerAll();
    await this.startReaders();
    const load = new Load({
      host: HOST,
      port,
      connections: options.connections,
      traders: this.traders,
      record: this.record,
      tally,
      random: this.random,
    });
    const capacity = options.rate === null ? await this.measureCapacity(load) : null;
    const rate = options.rate ?? CAPACITY_SHARE * capacity!;
    tally.forgetLatencies();
    watch.restart();
    await this.soakAt(rate, load, watch);
    load.close();
    const [rss, heap] = [this.judged(watch.rss), this.judged(watch.heap)];
    const shown = await this.readAtEnd(watch);
    await this.exchange.stop();
    const journal = await this.checkEverything(shown);
    const problems = [...tally.problemTexts, ...journal.problems];
    if (rss?.isLevel === false) problems.push('the resident memory of the exchange grows');
    if (heap?.isLevel === false) problems.push('the heap of the exchange grows');
    const totalTrades = sum([...shown.trades.values()].map(({ all }) => all.count));
    const { record, streamTally, floor } = this;
    const marketsOpened = floor.opened;
    return {
      problems,
      rate,
      capacity,
      tally,
      streamTally,
      record,
      journal,
      rss,
      heap,
      marketsOpened,
      totalTrades,
    };
  }

  private judged(samples: Watch['rss']): Level | null {
    return this.options.minutes < JUDGED_FROM_MINUTES ? null : judgeLevel(samples);
  }

  /** Each user refers the next one of a pair. */
  private async registerAll(): Promise<void> {
    const { port } = this.exchange;
    const { users, print } = this.options;
    const connection = new HttpConnection(HOST, port);
    const host = `${HOST}:${port}`;
    let referralCode: string | null = null;
    for (let i = 0; i < users; i++) {
      const username = `soak-${i}`;
      const body = {
        username,
        password: PASSWORD,
        ...(referralCode === null ? {} : { referralCode }),
      };
      const request = requestBytes({ method: 'POST', path: '/api/auth/register', host, body });
      const account = await ask(connection, request, 201);
      referralCode = i % 2 === 0 ? account.referralCode : null;
      const { floor, record, random } = this;
      const claims = !random.chance(LAZY_SHARE);
      const { userId, token } = account;
      this.traders.push(
        new Trader({
          username,
          password: PASSWORD,
          userId,
          token,
          claims,
          host,
          floor,
          record,
          random,
        }),
      );
    }
    connection.hangUp();
    print(`${users} users`);
  }

  private async startReaders(): Promise<void> {
    const { floor, random, tally, streamTally, traders } = this;
    const url = `ws://${HOST}:${this.exchange.port}/api/stream`;
    const options = { url, floor, random, tally, streamTally };
    for (let i = 0; i < traders.length; i += USERS_PER_READER) {
      const { token, userId } = traders[i]!.options;
      const cancelOnDisconnect = this.userReaders.length % 4 === 3;
      this.userReaders.push(new UserReader(options, userId, { token, cancelOnDisconnect }));
    }
    for (let i = 0; i < MARKET_READERS; i++)
      this.otherReaders.push(new MarketReader(options, i, ASSETS));
    for (let i = 0; i < SLOW_READERS; i++) this.otherReaders.push(new SlowReader(options, i));
    const all = [...this.userReaders, ...this.otherReaders];
    await Promise.all(all.map((reader) => reader.start()));
    // Fills count from now on, so the snapshots must have come.
    while (!this.userReaders.every((reader) => reader.isUpToDate)) await sleep(10);
    this.options.print(`${all.length} stream clients, ${SLOW_READERS} of them slow`);
  }

  private async measureCapacity(load: Load): Promise<number> {
    await load.closedLoop(CAPACITY_WARM_UP_MS);
    const capacity = await load.closedLoop(CAPACITY_MS);
    const { connections, print } = this.options;
    print(
      `capacity: ${Math.round(capacity)} requests/s of the same mix (closed loop, ${connections} connections)`,
    );
    return capacity;
  }

  private async soakAt(rate: number, load: Load, watch: Watch): Promise<void> {
    const { minutes, print } = this.options;
    print(`soak: ${Math.round(rate)} requests/s for ${minutes} minutes`);
    const timer = setInterval(() => print(this.progress(load, watch)), PRINT_EVERY_MS);
    try {
      await load.openLoop(rate, minutes * 60_000);
    } finally {
      clearInterval(timer);
    }
    print(this.progress(load, watch));
  }

  private progress(load: Load, watch: Watch): string {
    const interval = this.tally.takeInterval();
    const { last } = watch;
    const mib = (bytes = Number.NaN) => `${Math.round(bytes / 2 ** 20)}`;
    const ms = (value = Number.NaN) => value.toFixed(1);
    const seconds = Math.round((performance.now() - this.startedMs) / 1_000);
    return [
      `${seconds} s`.padStart(6),
      `${Math.round((interval.count / PRINT_EVERY_MS) * 1_000)}/s`,
      `p50 ${ms(interval.percentile(0.5))} p99 ${ms(interval.percentile(0.99))} max ${ms(interval.max())} ms`,
      `behind ${ms(load.behindMs)} ms`,
      `rss ${mib(last?.rssBytes)} heap ${mib(last?.heapBytes)} external ${mib(last?.externalBytes)} MiB`,
      `loop p99 ${ms(last?.eventLoopP99Ms)} ms`,
      `follower ${ms(last?.followerLagMs)} ms`,
      `problems ${this.tally.problemCount}`,
    ].join('  ');
  }

  /**
   * Waits until no order rests, and reads all accounts, lists and the last messages of the stream.
   */
  private async readAtEnd(watch: Watch): Promise<Shown> {
    await sleep(MARKETS_END_MS / this.options.speed + MARKETS_END_LATER_MS);
    const shown = await readAll(HOST, this.exchange.port, this.traders);
    await this.lastMessages(shown);
    for (const reader of [...this.userReaders, ...this.otherReaders]) reader.close();
    await watch.stop();
    return shown;
  }

  /** The stream's fills must equal the user's list of trades. Some clients may be reconnecting. */
  private async lastMessages({ trades }: Shown): Promise<void> {
    const differing = () =>
      this.userReaders.filter(
        ({ isComplete, fills, userId }) => isComplete && !fills.equals(trades.get(userId)!.all),
      );
    const deadlineMs = performance.now() + LAST_MESSAGES_MS;
    while (differing().length > 0 && performance.now() < deadlineMs) await sleep(100);
    for (const { userId, fills } of differing()) {
      this.tally.problem(
        `${userId}: the stream sent ${fills}, the list has ${trades.get(userId)!.all}`,
      );
    }
  }

  private async checkEverything(shown: Shown): Promise<JournalCheck> {
    const { options, tally } = this;
    const users = new Set(this.traders.map(({ userId }) => Number(userId.slice(1))));
    const journal = await checkJournal(
      dataFolder(options.folder),
      this.record,
      users,
      shown.accounts,
    );
    for (const { userId, taken } of this.traders) {
      const number = Number(userId.slice(1));
      const { all, asTaker } = shown.trades.get(userId)!;
      const acknowledged = taken.plus(journal.unseen.get(number)!);
      if (!acknowledged.equals(asTaker)) {
        tally.problem(
          `${userId}: the receipts have ${acknowledged} as taker, the list has ${asTaker}`,
        );
      }
      const inJournal = journal.trades.get(number)!;
      if (!inJournal.equals(all))
        tally.problem(`${userId}: the journal has ${inJournal}, the list has ${all}`);
    }
    this.judgeShed();
    this.readLog();
    for (const command of ['verify', 'audit']) await this.replay(command);
    return journal;
  }

  /** A rate from the command line may exceed the capacity, so only a measured rate is judged. */
  private judgeShed(): void {
    const { tally, options } = this;
    const shed = tally.errors.get('unavailable') ?? 0;
    if (options.rate === null && shed > SHED_SHARE * tally.answers) {
      tally.problem(`${shed} of ${tally.answers} requests were shed`);
    }
  }

  private readLog(): void {
    const warnings = new Map<string, number>();
    for (const { isError, message, text } of this.exchange.logged()) {
      if (isError) this.tally.problem(`the exchange logged: ${text}`);
      else warnings.set(message, (warnings.get(message) ?? 0) + 1);
    }
    for (const [message, count] of warnings)
      this.options.print(`the exchange warned ${count} times: ${message}`);
  }

  /** Runs the replay tool on the data folder. */
  private async replay(command: string): Promise<void> {
    const tool = fileURLToPath(new URL('../../persistence/replay/main.js', import.meta.url));
    const data = dataFolder(this.options.folder);
    try {
      await run(process.execPath, [tool, '--data', data, command, '--json'], {
        maxBuffer: 2 ** 28,
      });
      this.options.print(`replay ${command}: ok`);
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string };
      this.tally.problem(`replay ${command}: ${(stderr ?? message).slice(-500)}`);
    }
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
