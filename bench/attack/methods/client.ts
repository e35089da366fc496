/**
 * Clients for attacks: one keep-alive connection with one request at a time, and a user who is
 * signed in.
 */

import { HttpConnection } from '../../http/connection.js';
import type { HttpAnswer } from '../../http/messages.js';
import { HOST } from '../../soak/exchange.js';
import { BrokenPromise, eventually, mustHold } from '../promises.js';

export const PASSWORD = 'correct horse battery';

export interface Ask {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** After /api. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a text as it is. */
  body?: object | string;
}

export interface Answer {
  status: number;
  /** Status line and headers. */
  head: string;
  text: string;
  // tests check their form
  // biome-ignore lint/suspicious/noExplicitAny: answers are read field by field; the exchange's
  json: any;
}

/** The connection ended before the answer came in whole. */
export class ConnectionLost extends Error {}

/** An exchange to connect to. */
export interface Door {
  port: number;
}

export function requestText({ method = 'GET', path, headers = {}, body }: Ask): string {
  const content = typeof body === 'object' ? JSON.stringify(body) : body;
  let head = `${method} /api${path} HTTP/1.1\r\nHost: ${HOST}\r\n`;
  for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
  if (content === undefined) return `${head}\r\n`;
  return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(content)}\r\n\r\n${content}`;
}

export class Client {
  private readonly connection: HttpConnection;

  constructor({ port }: Door) {
    this.connection = new HttpConnection(HOST, port);
  }

  /** @throws ConnectionLost */
  async ask(request: Ask): Promise<Answer> {
    const bytes = Buffer.from(requestText(request));
    const answer = await new Promise<HttpAnswer | null>((resolve) =>
      this.connection.send(bytes, resolve),
    );
    if (answer === null)
      throw new ConnectionLost(`no answer to ${request.method ?? 'GET'} ${request.path}`);
    const text = answer.body.toString('utf8');
    const json = text.startsWith('{') ? JSON.parse(text) : undefined;
    return { status: answer.status, head: answer.head, text, json };
  }

  close(): void {
    this.connection.hangUp();
  }
}

/** A user who is signed in. */
export class Trader {
  readonly client: Client;

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
    const client = new Client(door);
    const body = { username, password: PASSWORD };
    const answer = await client.ask({ method: 'POST', path: '/auth/register', headers, body });
    client.close();
    mustHold(answer.status === 201, `a registration was answered ${answer.status}: ${answer.text}`);
    return new Trader(door, username, answer.json.userId, answer.json.token);
  }

  signed(request: Ask): Ask {
    return { ...request, headers: { 'x-user-token': this.token, ...request.headers } };
  }

  send(request: Ask): Promise<Answer> {
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
}

export function stakeOf(amount: number | string, key: string): Ask {
  const body = `{"amount":${amount}}`;
  return { method: 'POST', path: '/vaults/flex/stake', headers: { 'Idempotency-Key': key }, body };
}

export const microsOf = (dollars: number): number => Math.round(dollars * 1_000_000);

/** Sends each request on a connection of its own, all at the same moment. */
export async function allAtOnce(door: Door, requests: readonly Ask[]): Promise<Answer[]> {
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
  for (let attempt = 0; attempt < 100; attempt++) {
    const body = { outcome, amount: 10 };
    const answer = await trader.send({
      method: 'POST',
      path: `/markets/15m/${marketId}/buy`,
      body,
    });
    if (answer.status === 200) return answer.json;
    if (answer.status !== 409) throw new BrokenPromise(`a buy was answered ${answer.text}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new BrokenPromise('nobody sold for five seconds');
}
