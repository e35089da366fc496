/** One soak, from an empty folder to a verdict on everything that was acknowledged. */
import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, PASSWORD } from '../../../bench/http/load/client.js';
import { HOST } from '../../../bench/http/load/messages.js';
import type { ExchangeProcess } from '../../../bench/measure/exchange-process.js';
import { replayProblems } from '../../../bench/measure/replay-tool.js';
import { Random } from '../../../bench/workload/random.js';
import { ASSETS, dataFolder, logLines, startExchange } from './exchange.js';
import { Floor } from './floor.js';
import { readAll, type Shown } from './http-check.js';
import { checkJournal, type JournalCheck } from './journal-check.js';
import { Load } from './load.js';
import { judgeLevel, KINDS, type Kind, type Level } from './memory.js';
import { AttemptRecord, type TradeSum } from './record.js';
import { MarketReader, SlowReader, StreamTally, UserReader } from './stream-clients.js';
import { Tally } from './tally.js';
import { Trader } from './trader.js';
import { Watch } from './watch.js';

export interface SoakOptions {
  folder: string;
  minutes: number;
  seed: string;
  /** Exchange time as a multiple of real time. */
  speed: number;
  users: number;
  connections: number;
  /** Requests per second; without it, a share of the measured capacity. */
  rate?: number;
  print: (line: string) => void;
}

export interface SoakResult {
  problems: string[];
  tally: Tally;
  streamTally: StreamTally;
  record: AttemptRecord;
  journal: JournalCheck;
  /** null: the run was too short to judge. */
  memory: Readonly<Record<Kind, Level | null>>;
  marketsOpened: number;
  totalTrades: number;
}

export const CAPACITY_SHARE = 0.5;
const CAPACITY_WARM_UP_MS = 4_000;
const CAPACITY_MS = 10_000;
/** Shorter runs do not judge memory: the first half must be longer than a day of exchange time. */
export const JUDGED_FROM_MINUTES = 10;
const PRINT_EVERY_MS = 10_000;
const MARKET_READERS = 4;
const SLOW_READERS = 2;
const USERS_PER_READER = 8;
/** The share of users that never claim. */
const LAZY_SHARE = 0.1;
/** The largest allowed share of `unavailable` answers. */
const SHED_SHARE = 0.01;
/** Exchange time after which every open market has ended. */
const MARKETS_END_MS = 1_200_000;
const MARKETS_END_LATER_MS = 2_000;
/** Prices go on for so long after the load. */
const MINUTES_AFTER = 10;
/** How long stream clients may take to receive the last message. */
const LAST_MESSAGES_MS = 25_000;

export async function soak(options: SoakOptions): Promise<SoakResult> {
  mkdirSync(dataFolder(options.folder), { recursive: true });
  const { folder, seed, speed } = options;
  const minutes = options.minutes + MINUTES_AFTER;
  const exchange = await startExchange({ folder, seed, speed, minutes });
  try {
    return await new Soak(options, exchange).run();
  } finally {
    await exchange.kill();
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
    private readonly exchange: ExchangeProcess,
  ) {
    this.random = new Random(options.seed);
    this.floor = new Floor(options.speed);
  }

  async run(): Promise<SoakResult> {
    const { options, tally, traders, record, random, streamTally } = this;
    const { port } = this.exchange;
    const onError = (error: Error) => tally.problem(error.message);
    const watch = new Watch(port, this.floor, onError);
    await this.registerAll();
    await this.startReaders();
    const { connections } = options;
    const load = new Load({ port, connections, traders, record, tally, random });
    const rate = options.rate ?? CAPACITY_SHARE * (await this.measureCapacity(load));
    tally.forgetLatencies();
    watch.restart();
    await this.soakAt(rate, load, watch);
    load.close();
    const memory = {
      resident: this.judged('resident', watch),
      heap: this.judged('heap', watch),
      external: this.judged('external', watch),
    };
    const shown = await this.readAtEnd(watch);
    await this.exchange.stop();
    const journal = await this.checkEverything(shown);
    const problems = [...tally.problemTexts, ...journal.problems];
    for (const kind of KINDS)
      if (memory[kind]?.isLevel === false)
        problems.push(`the memory of the exchange grows: ${kind}`);
    const totalTrades = [...shown.trades.values()].reduce((sum, { all }) => sum + all.count, 0);
    const marketsOpened = this.floor.opened;
    return { problems, tally, streamTally, record, journal, memory, marketsOpened, totalTrades };
  }

  private judged(kind: Kind, { memory }: Watch): Level | null {
    return this.options.minutes < JUDGED_FROM_MINUTES ? null : judgeLevel(kind, memory[kind]);
  }

  /** Each user refers the next one of a pair. */
  private async registerAll(): Promise<void> {
    const { users, print } = this.options;
    const { floor, record, random } = this;
    const client = new Client(this.exchange);
    let referral = {};
    for (let i = 0; i < users; i++) {
      const username = `soak-${i}`;
      const { userId, token, referralCode } = await client.register(username, referral);
      referral = i % 2 === 0 ? { referralCode } : {};
      const claims = !random.chance(LAZY_SHARE);
      const account = { username, password: PASSWORD, userId, token };
      this.traders.push(new Trader({ ...account, claims, floor, record, random }));
    }
    client.close();
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
      `resident ${mib(last?.bytes.resident)} heap ${mib(last?.bytes.heap)} external ${mib(last?.bytes.external)} MiB`,
      `loop p99 ${ms(last?.eventLoopP99Ms)} ms`,
      `follower ${ms(last?.followerLagMs)} ms`,
      `problems ${this.tally.problemCount}`,
    ].join('  ');
  }

  /** Waits until no order rests, and reads accounts, lists and the stream's last messages. */
  private async readAtEnd(watch: Watch): Promise<Shown> {
    await sleep(MARKETS_END_MS / this.options.speed + MARKETS_END_LATER_MS);
    const shown = await readAll(this.exchange.port, this.traders);
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
    const folder = dataFolder(options.folder);
    const users = new Set(this.traders.map(({ userNumber }) => userNumber));
    const journal = await checkJournal(folder, this.record, users, shown.accounts);
    for (const { userId, userNumber, taken } of this.traders) {
      const { all, asTaker } = shown.trades.get(userId)!;
      const compare = (source: string, found: TradeSum, listed: TradeSum) => {
        if (found.equals(listed)) return;
        tally.problem(`${userId}: ${source} ${found}, the list has ${listed}`);
      };
      compare('taken by receipts:', taken.plus(journal.unseen.get(userNumber)!), asTaker);
      compare('the journal has', journal.trades.get(userNumber)!, all);
    }
    this.judgeShed();
    this.readLog();
    const damage = await replayProblems(folder);
    for (const problem of damage) tally.problem(problem);
    if (damage.length === 0) options.print('replay verify and audit: ok');
    return journal;
  }

  /** A rate from the command line may exceed the capacity, so only a measured rate is judged. */
  private judgeShed(): void {
    const { tally, options } = this;
    const shed = tally.errors.get('unavailable') ?? 0;
    if (options.rate === undefined && shed > SHED_SHARE * tally.answers) {
      tally.problem(`${shed} of ${tally.answers} requests were shed`);
    }
  }

  private readLog(): void {
    const warnings = new Map<string, number>();
    for (const { isError, message, text } of logLines(this.exchange.log)) {
      if (isError) this.tally.problem(`the exchange logged: ${text}`);
      else warnings.set(message, (warnings.get(message) ?? 0) + 1);
    }
    for (const [message, count] of warnings)
      this.options.print(`the exchange warned ${count} times: ${message}`);
  }
}
