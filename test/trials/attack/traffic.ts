/** The load of the soak, for exchanges that are killed, stopped or starved; the journal judges. */
import { Client, ConnectionLost, PASSWORD } from '../../../bench/http/load/client.js';
import type { ExchangeProcess } from '../../../bench/measure/exchange-process.js';
import type { Random } from '../../../bench/workload/random.js';
import { Floor } from '../soak/floor.js';
import { readAll } from '../soak/http-check.js';
import { checkJournal, type SeenAccount } from '../soak/journal-check.js';
import { Load } from '../soak/load.js';
import { AttemptRecord } from '../soak/record.js';
import { Tally } from '../soak/tally.js';
import { Trader } from '../soak/trader.js';
import { readMarkets } from '../soak/watch.js';
import type { Door } from './methods/client.js';
import { mustHold } from './promises.js';

const USERS = 12;
const CONNECTIONS = 16;

/** Here the exchange may close a connection before it answers: the journal is the judge. */
class PatientTally extends Tally {
  override problem(what: string): void {
    if (!what.startsWith('the exchange closed a connection')) super.problem(what);
  }
}

export interface TrafficOptions {
  door: Door;
  random: Random;
  /** How many times as fast as real time the exchange's goes. */
  speed: number;
}

export class Traffic {
  readonly record = new AttemptRecord();
  private readonly tally = new PatientTally();
  private readonly floor: Floor;
  private readonly traders: Trader[] = [];
  private seen: SeenAccount[] = [];

  private constructor(private readonly options: TrafficOptions) {
    this.floor = new Floor(options.speed);
  }

  static async open(options: TrafficOptions): Promise<Traffic> {
    const traffic = new Traffic(options);
    await traffic.register();
    return traffic;
  }

  get acknowledged(): number {
    return this.record.acknowledged;
  }

  /** Sends requests for so long, then retries under their keys those that were not answered. */
  async run(durationMs: number): Promise<void> {
    const { door, random } = this.options;
    const { traders, record, tally } = this;
    const client = new Client(door);
    // If the exchange has ended already, the load goes on with the markets that it knows.
    await readMarkets(client, this.floor).catch((error: Error) => {
      if (!(error instanceof ConnectionLost)) throw error;
    });
    client.close();
    const options = { port: door.port, connections: CONNECTIONS, traders, record, tally, random };
    const load = new Load(options);
    try {
      await load.closedLoop(durationMs);
    } finally {
      load.close();
    }
  }

  /** The same, while the caller does other work. A failure shows when it is awaited. */
  begin(durationMs: number): Promise<void> {
    const load = this.run(durationMs);
    load.catch(() => {});
    return load;
  }

  /** Notes what the running exchange shows of every account, to compare it with the journal. */
  async look(): Promise<void> {
    const shown = await readAll(this.options.door.port, this.traders);
    this.seen = shown.accounts;
  }

  /**
   * Looks, stops the exchange and reads its journal. @throws BrokenPromise when something
   * acknowledged is missing, duplicated or different there.
   */
  async mustBeInJournal(exchange: ExchangeProcess): Promise<string> {
    await this.look();
    await exchange.stop();
    const users = new Set(this.traders.map(({ userNumber }) => userNumber));
    const journal = await checkJournal(exchange.dataFolder, this.record, users, this.seen);
    const problems = [...this.tally.problemTexts, ...journal.problems];
    mustHold(problems.length === 0, problems.join('; '));
    mustHold(this.acknowledged > 0, 'nothing was acknowledged');
    return `${this.acknowledged} acknowledged changes found once`;
  }

  private async register(): Promise<void> {
    const { door, random } = this.options;
    const { floor, record } = this;
    const client = new Client(door);
    for (let i = 0; i < USERS; i++) {
      const username = `traffic-${i}`;
      const { userId, token } = await client.register(username);
      const account = { username, password: PASSWORD, userId, token };
      this.traders.push(new Trader({ ...account, claims: true, floor, record, random }));
    }
    client.close();
  }
}
