/**
 * The mixed load of the soak, for exchanges that are killed, stopped or starved under it. Every
 * change that was acknowledged is looked for in the journal afterwards: it must be there once, with
 * the bytes of the answer.
 */

import { HOST } from '../soak/exchange.js';
import { Floor } from '../soak/floor.js';
import { readAll } from '../soak/http-check.js';
import { checkJournal, type SeenAccount } from '../soak/journal-check.js';
import { Load } from '../soak/load.js';
import { AttemptRecord } from '../soak/record.js';
import { Tally } from '../soak/tally.js';
import { Trader as MixedTrader } from '../soak/trader.js';
import type { Random } from '../workload/random.js';
import { Client, ConnectionLost, type Door, PASSWORD, Trader } from './methods/client.js';
import { mustHold } from './promises.js';

const USERS = 12;
const CONNECTIONS = 16;

/**
 * Here the exchange may close a connection before it answers. What became of the request is judged
 * by the journal.
 */
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
  private readonly traders: MixedTrader[] = [];
  private seen: SeenAccount[] = [];

  private constructor(private readonly options: TrafficOptions) {
    this.floor = new Floor(options.speed);
  }

  /** Registers its users. */
  static async open(options: TrafficOptions): Promise<Traffic> {
    const traffic = new Traffic(options);
    for (let i = 0; i < USERS; i++) await traffic.register(`traffic-${i}`);
    return traffic;
  }

  /** Changes that were answered. */
  get acknowledged(): number {
    return this.record.acknowledged;
  }

  /** Sends as much as is answered for so long, and then retries under their keys what was not. */
  async run(durationMs: number): Promise<void> {
    const { door, random } = this.options;
    const { traders, record, tally } = this;
    await this.lookAtMarkets();
    const load = new Load({
      host: HOST,
      port: door.port,
      connections: CONNECTIONS,
      traders,
      record,
      tally,
      random,
    });
    try {
      await load.closedLoop(durationMs);
    } finally {
      load.close();
    }
  }

  /** The same beside other work. If it fails, that is told when it is awaited. */
  begin(durationMs: number): Promise<void> {
    const load = this.run(durationMs);
    load.catch(() => {});
    return load;
  }

  /** Notes what the running exchange shows of every account, to be held against the journal. */
  async look(): Promise<void> {
    const shown = await readAll(HOST, this.options.door.port, this.traders);
    this.seen = shown.accounts;
  }

  /**
   * @throws BrokenPromise when something acknowledged is missing, doubled or different in the
   * journal of a stopped exchange.
   */
  async judge(dataFolder: string): Promise<void> {
    const users = new Set(this.traders.map(({ userId }) => Number(userId.slice(1))));
    const journal = await checkJournal(dataFolder, this.record, users, this.seen);
    const problems = [...this.tally.problemTexts, ...journal.problems];
    mustHold(problems.length === 0, problems.join('; '));
    mustHold(this.acknowledged > 0, 'nothing was acknowledged');
  }

  private async register(username: string): Promise<void> {
    const { door, random } = this.options;
    const { floor, record } = this;
    const { userId, token, client } = await Trader.register(door, username);
    client.close();
    const host = `${HOST}:${door.port}`;
    this.traders.push(
      new MixedTrader({
        username,
        password: PASSWORD,
        userId,
        token,
        claims: true,
        host,
        floor,
        record,
        random,
      }),
    );
  }

  private async lookAtMarkets(): Promise<void> {
    const client = new Client(this.options.door);
    const answer = await client.ask({ path: '/markets/15m' }).catch(nullIfLost);
    client.close();
    // The exchange has ended already: the load goes on with the markets that it knows.
    if (answer === null) return;
    const { json } = answer;
    const ids = json.markets.map(({ id }: { id: string }) => id);
    this.floor.update(ids, performance.now());
  }
}

function nullIfLost(error: Error): null {
  if (error instanceof ConnectionLost) return null;
  throw error;
}
