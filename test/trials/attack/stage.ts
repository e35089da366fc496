/**
 * The stage of an attack: an exchange in a folder of its own, on which others trade during the
 * attack.
 *
 * Invariant: after the attack, the process runs and is ready, no other client waited for longer
 * than {@link LONGEST_WAIT_MS}, the journal contains their answers, and `verify` and `audit` find
 * no fault. At the end, all processes and the folder are gone.
 */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { eventually, NO_MARKET_MS } from '../../support/eventually.js';
import { SEED } from '../../support/extent.js';
import { HOST } from '../../support/http/messages.js';
import { replayJournal } from '../../support/journal-fixture.js';
import { Executions, judge, NO_PROBLEM } from '../../support/load/judge.js';
import { Load } from '../../support/load/load.js';
import { inFolder } from '../../support/processes/machine.js';
import { replayProblems } from '../../support/processes/replay-tool.js';
import { type Answer, ApiClient, PASSWORD } from '../../support/server.js';
import { Random } from '../../support/workload/random.js';
import { startExchange, type TrialExchange } from '../exchange.js';

/** The exchange's time, as a multiple of real time: a market lasts 15 s. */
const SPEED = 60;
/** Client, attackers and exchange may share two cores. */
const LONGEST_WAIT_MS = 5_000;
/** The unit of memory in /proc. */
const PAGE_BYTES = 4_096;
/** How much the exchange's memory may grow during an attack. */
const ALLOWED_BYTES = 256 * 2 ** 20;

export interface User {
  userId: string;
  username: string;
  token: string;
}

export class Stage {
  readonly api: ApiClient;
  readonly port: number;
  readonly pid: number;
  readonly random = new Random(SEED);
  private users = 0;

  constructor({ process }: TrialExchange) {
    this.api = new ApiClient(`http://${HOST}:${process.port}`);
    this.port = process.port;
    this.pid = process.pid;
  }

  async register(): Promise<User> {
    const body = { username: `attacker-${++this.users}`, password: PASSWORD };
    const { status, json, text } = await this.api.post('/auth/register', body);
    expect(status, text).toBe(201);
    return { ...body, userId: json.userId, token: json.token };
  }

  async availableOf({ userId, token }: User): Promise<number> {
    return (await this.api.get(`/users/${userId}/balance`, token)).json.available;
  }

  /** Waits for an active BTC market with at least `leastMs` of real time left. */
  async openMarket(leastMs: number): Promise<string> {
    let id = '';
    await eventually(async () => {
      // An address also has a limit of reads.
      await sleep(100);
      const { markets, serverTimeMs } = (await this.api.get('/markets/15m?asset=BTC')).json;
      const left = markets.length === 0 ? 0 : markets[0].endsAtMs - serverTimeMs;
      if (left >= leastMs * SPEED) id = markets[0].id;
      return id !== '';
    }, NO_MARKET_MS);
    return id;
  }

  order({ token }: User, marketId: string, side: 'buy' | 'sell', body: object): Promise<Answer> {
    return this.api.post(`/markets/15m/${marketId}/${side}`, body, token);
  }

  /** Read from /proc: /metrics would cost the trading thread more than the probe does. */
  residentBytes(): number {
    const pages = readFileSync(`/proc/${this.pid}/statm`, 'utf8').split(' ')[1];
    return Number(pages) * PAGE_BYTES;
  }
}

/** `attack` returns a line for the report. `clients`: the number of other clients. */
export function onStage(
  { variables = {}, clients }: { variables?: Record<string, string>; clients: number },
  attack: (stage: Stage) => Promise<string>,
): Promise<string> {
  return inFolder(tmpdir(), async (folder) => {
    const exchange = await startExchange(folder, SPEED, variables);
    try {
      const { process, data, url } = exchange;
      const stage = new Stage(exchange);
      const options = { urls: () => [url], random: new Random(`${SEED}:others`) };
      const others = new Load({ ...options, clients, pauseMs: 100, name: 'other' });
      await others.start();
      const beforeBytes = stage.residentBytes();
      const told = await attack(stage);
      expect(process.isRunning, process.log).toBe(true);
      await eventually(async () => (await stage.api.get('/ready')).status === 200);
      const grownBytes = stage.residentBytes() - beforeBytes;
      await others.stop();
      await stage.api.close();
      await process.mustStop();
      expect(grownBytes).toBeLessThan(ALLOWED_BYTES);
      expect(others.longestMs).toBeLessThan(LONGEST_WAIT_MS);
      const executions = new Executions();
      await replayJournal(data, (engine, command) => executions.take(engine, command));
      for (const name of executions.keys()) if (!others.sent.has(name)) executions.delete(name);
      expect(judge(executions, others)).toEqual(NO_PROBLEM);
      expect(await replayProblems(data)).toEqual([]);
      const grown = `${Math.round(grownBytes / 2 ** 20)} MiB more memory`;
      return `${told}; others waited ${others.longestMs.toFixed(0)} ms at most; ${grown}`;
    } finally {
      await exchange.process.stop('SIGKILL');
    }
  });
}
