/** A user for attacks, and what attacks ask for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, Client, PASSWORD } from '../../../../bench/http/load/client.js';
import type { RequestFields } from '../../../../bench/http/load/messages.js';
import { BrokenPromise, eventually, mustHold } from '../promises.js';

export interface Door {
  port: number;
}

export class Trader {
  readonly client: Client;
  /** The balance that {@link mustHaveSpent} compares with. */
  private startMicros = 0;

  private constructor(
    door: Door,
    readonly username: string,
    readonly userId: string,
    readonly token: string,
  ) {
    this.client = new Client(door);
  }

  /** `headers`: those of a partner, if it registers the user. */
  static async register(door: Door, username: string, headers = {}): Promise<Trader> {
    const body = { username, password: PASSWORD };
    const request = { method: 'POST', path: '/auth/register', headers, body } as const;
    const { status, text, json } = await askOnce(door, request);
    mustHold(status === 201, `a registration was answered ${status}: ${text}`);
    const trader = new Trader(door, username, json.userId, json.token);
    await trader.noteBalance();
    return trader;
  }

  signed(request: RequestFields): RequestFields {
    return { ...request, headers: { 'x-user-token': this.token, ...request.headers } };
  }

  send(request: RequestFields): Promise<Answer> {
    return this.client.ask(this.signed(request));
  }

  stake(amount: number, key: string): Promise<Answer> {
    return this.send(stakeOf(amount, key));
  }

  /** Money that is free to use, in micro-dollars. */
  async availableMicros(): Promise<number> {
    const { status, json, text } = await this.send({ path: `/users/${this.userId}/balance` });
    mustHold(status === 200, `the balance was answered ${status}: ${text}`);
    return microsOf(json.available);
  }

  async noteBalance(): Promise<void> {
    this.startMicros = await this.availableMicros();
  }

  /** @throws BrokenPromise unless the balance is less by so much than when it was noted last. */
  async mustHaveSpent(dollars: number): Promise<void> {
    const spent = this.startMicros - (await this.availableMicros());
    mustHold(
      spent === microsOf(dollars),
      `the balance lacks ${spent / 1_000_000} dollars, and should lack ${dollars}`,
    );
  }
}

export function stakeOf(amount: number | string, key: string): RequestFields {
  const body = `{"amount":${amount}}`;
  return { method: 'POST', path: '/vaults/flex/stake', headers: { 'Idempotency-Key': key }, body };
}

export const microsOf = (dollars: number): number => Math.round(dollars * 1_000_000);

/** Asks over a new connection, because a refusal may close it. */
export async function askOnce(door: Door, request: RequestFields): Promise<Answer> {
  const client = new Client(door);
  try {
    return await client.ask(request);
  } finally {
    client.close();
  }
}

/** Sends each request over its own connection, all at the same moment. */
export async function allAtOnce(door: Door, requests: readonly RequestFields[]): Promise<Answer[]> {
  const clients = requests.map(() => new Client(door));
  try {
    await Promise.all(clients.map((client) => client.ask({ path: '/health' })));
    return await Promise.all(clients.map((client, i) => client.ask(requests[i]!)));
  } finally {
    for (const client of clients) client.close();
  }
}

const MARKET_LIMIT_MS = 60_000;

/** An active BTC market of which at least so much exchange time is left. */
export async function openMarket(trader: Trader, leastMs: number): Promise<string> {
  let id = '';
  await eventually('a market is open', MARKET_LIMIT_MS, async () => {
    const { json } = await trader.send({ path: '/markets/15m?asset=BTC' });
    const [market] = json.markets;
    if (market !== undefined && market.endsAtMs - json.serverTimeMs >= leastMs) id = market.id;
    return id !== '';
  });
  return id;
}

/** Tries until the house quotes. Resolves to the receipt. */
export async function buy(
  trader: Trader,
  marketId: string,
  outcome: string,
): Promise<Answer['json']> {
  const body = { outcome, amount: 10 };
  const request = { method: 'POST', path: `/markets/15m/${marketId}/buy`, body } as const;
  for (let attempt = 0; attempt < 100; attempt++) {
    const answer = await trader.send(request);
    if (answer.status === 200) return answer.json;
    mustHold(answer.status === 409, `a buy was answered ${answer.text}`);
    await sleep(50);
  }
  throw new BrokenPromise('nobody sold for five seconds');
}
