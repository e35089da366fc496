/**
 * Where attacks take place: a temporary folder and an exchange in it.
 * Always holds: when a stage is closed, its processes have ended and its folder is gone.
 */

import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ExchangeProcess, type StartOptions } from '../../../bench/measure/exchange-process.js';
import { makeFolder, removeFolder } from '../../../bench/measure/machine.js';
import type { Random } from '../../../bench/workload/random.js';
import { freePort } from '../../support/programs.js';
import { environment } from '../soak/exchange.js';
import { Trader } from './methods/client.js';

/** The exchange's time, as a multiple of real time: a market lasts 15 s. */
export const SPEED = 60;
/** For how long there are prices. */
const PRICES_MINUTES = 20;
export const PARTNER_KEY = 'partner-key-of-the-attacks';
const PARTNER = `attacker:${createHash('sha256').update(PARTNER_KEY).digest('hex')}`;

export interface StageOptions {
  /** Temporary folders are made in here. */
  parent: string;
  random: Random;
  variables?: Readonly<Record<string, string>>;
}

export interface StageStart extends Omit<StartOptions, 'environment' | 'logFile'> {
  dataFolder?: string;
  variables?: Readonly<Record<string, string>>;
}

export class Stage {
  readonly folder: string;
  exchange!: ExchangeProcess;
  readonly random: Random;
  private readonly variables: Readonly<Record<string, string>>;
  private readonly started: ExchangeProcess[] = [];
  private folders = 0;
  private isClosed = false;
  private users = 0;
  private readonly traders: Trader[] = [];

  private constructor(options: StageOptions) {
    this.random = options.random;
    this.folder = makeFolder(options.parent);
    process.once('exit', this.clear);
    const prices = { folder: this.folder, seed: 'attack', speed: SPEED, minutes: PRICES_MINUTES };
    this.variables = { ...environment(prices), PARTNER_KEYS: PARTNER, ...options.variables };
  }

  /** With an exchange that is open. */
  static async open(options: StageOptions): Promise<Stage> {
    const stage = new Stage(options);
    try {
      stage.exchange = await stage.start({ variables: { PORT: `${await freePort()}` } });
      return stage;
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  /** Another exchange, in a new folder unless one is named. */
  async start(options: StageStart): Promise<ExchangeProcess> {
    if (this.isClosed) throw new Error('the stage is closed');
    const { dataFolder = this.newFolder(), variables, ...others } = options;
    const environment = { ...this.variables, ...variables, DATA_FOLDER: dataFolder };
    const logFile = `${dataFolder}.log`;
    const exchange = await ExchangeProcess.start({ ...others, environment, logFile });
    this.started.push(exchange);
    if (this.isClosed) {
      await exchange.kill();
      throw new Error('the stage is closed');
    }
    return exchange;
  }

  /** Starts the attacked exchange again, on the same port and, by default, the same folder. */
  async restart(options: StageStart = {}): Promise<void> {
    const { dataFolder, port } = this.exchange;
    const variables = { ...options.variables, PORT: `${port}` };
    this.exchange = await this.start({ dataFolder, ...options, variables });
  }

  newFolder(): string {
    const folder = join(this.folder, `data-${++this.folders}`);
    mkdirSync(folder, { mode: 0o700 });
    return folder;
  }

  async register(headers = {}): Promise<Trader> {
    const trader = await Trader.register(this.exchange, `attacker-${++this.users}`, headers);
    this.traders.push(trader);
    return trader;
  }

  /** Closes the connections of all users so far. */
  hangUp(): void {
    for (const { client } of this.traders.splice(0)) client.close();
  }

  /** A new user of the partner, who may move the user's money. */
  registerForPartner(): Promise<Trader> {
    return this.register({ Authorization: `Bearer ${PARTNER_KEY}` });
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.hangUp();
    for (const exchange of this.started) await exchange.kill();
    process.off('exit', this.clear);
    this.clear();
  }

  private readonly clear = (): void => {
    removeFolder(this.folder);
  };
}
