/**
 * A flood of sign-ins with unknown names, all at once, each on its own connection; and one client
 * that signs in when the first of them has been answered: how many of their hashes it waits for.
 */
import { Agent, request } from 'node:http';
import { PASSWORD } from '../../../bench/http/load/client.js';

export interface Origin {
  /** A loopback address of this machine, such as 127.0.0.2. */
  localAddress?: string;
  /** Behind a proxy that is trusted: X-Forwarded-For, for example. */
  headers?: Record<string, string>;
}

export interface SignInFloodOptions {
  /** Of the exchange, such as http://127.0.0.1:3000. */
  baseUrl: string;
  /** Logins of the flood. Default 500: what one address may ask for at once. */
  logins?: number;
  /** They come from these, in turn. Default 127.0.0.2 alone. */
  flood?: readonly Origin[];
  /** Default 127.0.0.3. */
  client?: Origin;
  /** Whether the client has signed in from there before. Default true. */
  isKnown?: boolean;
}

export interface SignInFloodFigures {
  clientStatus: number;
  clientMs: number;
  /** Passwords of the flood that were checked (401) while the client waited. */
  checkedMeanwhile: number;
  /** Answers to the flood, by status; 0 counts connections that ended without one. */
  floodStatuses: Record<number, number>;
  slowestMs: number;
}

const CHECKED = 401;

interface Answered {
  status: number;
  tookMs: number;
}

/** Registers the client under a new name. Rejects if its login before the flood is refused. */
export async function floodSignIns(options: SignInFloodOptions): Promise<SignInFloodFigures> {
  const { baseUrl, logins = 500, isKnown = true } = options;
  const flood = options.flood ?? [{ localAddress: '127.0.0.2' }];
  const client = options.client ?? { localAddress: '127.0.0.3' };
  const username = `client-${Date.now().toString(36)}`;
  await expectStatus(201, post(baseUrl, '/auth/register', username, client));
  if (isKnown) await expectStatus(200, post(baseUrl, '/auth/login', username, client));

  const statuses: Record<number, number> = {};
  let slowestMs = 0;
  let firstChecked = () => {};
  const begun = new Promise<void>((resolve) => {
    firstChecked = resolve;
  });
  const answers = Array.from({ length: logins }, async (_, i) => {
    const answer = await post(baseUrl, '/auth/login', `nobody-${i}`, flood[i % flood.length]!);
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    slowestMs = Math.max(slowestMs, answer.tookMs);
    if (answer.status === CHECKED) firstChecked();
  });
  const all = Promise.all(answers);
  await Promise.race([begun, all]);
  const before = statuses[CHECKED] ?? 0;
  const { status, tookMs } = await post(baseUrl, '/auth/login', username, client);
  const checkedMeanwhile = (statuses[CHECKED] ?? 0) - before;
  await all;
  const floodStatuses = statuses;
  return { clientStatus: status, clientMs: tookMs, checkedMeanwhile, floodStatuses, slowestMs };
}

async function expectStatus(status: number, answer: Promise<Answered>): Promise<void> {
  const found = (await answer).status;
  if (found !== status) throw new Error(`the client was answered ${found}, not ${status}`);
}

/** Over a new connection. Status 0: it ended without an answer. */
function post(baseUrl: string, path: string, username: string, from: Origin): Promise<Answered> {
  const { localAddress, headers = {} } = from;
  const body = JSON.stringify({ username, password: PASSWORD });
  const sinceMs = performance.now();
  return new Promise((resolve) => {
    const end = (status: number) => resolve({ status, tookMs: performance.now() - sinceMs });
    const options = { method: 'POST', agent: new Agent({ keepAlive: false }), localAddress };
    const length = Buffer.byteLength(body);
    const sent = { 'content-type': 'application/json', 'content-length': length, ...headers };
    const outgoing = request(`${baseUrl}/api${path}`, { ...options, headers: sent }, (response) => {
      response.resume();
      response.on('end', () => end(response.statusCode!));
      response.on('error', () => end(0));
    });
    outgoing.on('error', () => end(0));
    outgoing.end(body);
  });
}
