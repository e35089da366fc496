/**
 * A flood of sign-ins with unknown names, all at once, each on its own connection; and one client
 * that signs in when the first of them has been answered: how many of their hashes it waits for.
 */
import { Agent, request } from 'node:http';
import { PASSWORD } from '../../../bench/http/load/client.js';

export interface SignInFloodOptions {
  /** Of the exchange, such as http://127.0.0.1:3000. It trusts its proxy. */
  baseUrl: string;
  /** Logins of the flood. */
  logins: number;
  /** The addresses that they come from, in turn. */
  flood: readonly string[];
  client: string;
  /** Whether the client has signed in from there before. */
  isKnown: boolean;
}

export interface SignInFloodFigures {
  clientStatus: number;
  /** Passwords of the flood that were checked (401) while the client waited. */
  checkedMeanwhile: number;
  /** Answers to the flood, by status; 0 counts connections that ended without one. */
  floodStatuses: Record<number, number>;
}

const CHECKED = 401;

/** Registers the client under a new name. Rejects if its login before the flood is refused. */
export async function floodSignIns(options: SignInFloodOptions): Promise<SignInFloodFigures> {
  const { baseUrl, logins, flood, client, isKnown } = options;
  const username = `client-${Date.now().toString(36)}`;
  await expectStatus(201, post(baseUrl, '/auth/register', username, client));
  if (isKnown) await expectStatus(200, post(baseUrl, '/auth/login', username, client));

  const floodStatuses: Record<number, number> = {};
  let firstChecked = () => {};
  const begun = new Promise<void>((resolve) => {
    firstChecked = resolve;
  });
  const answers = Array.from({ length: logins }, async (_, i) => {
    const from = flood[i % flood.length]!;
    const status = await post(baseUrl, '/auth/login', `nobody-${i}`, from);
    floodStatuses[status] = (floodStatuses[status] ?? 0) + 1;
    if (status === CHECKED) firstChecked();
  });
  const all = Promise.all(answers);
  await Promise.race([begun, all]);
  const before = floodStatuses[CHECKED] ?? 0;
  const clientStatus = await post(baseUrl, '/auth/login', username, client);
  const checkedMeanwhile = (floodStatuses[CHECKED] ?? 0) - before;
  await all;
  return { clientStatus, checkedMeanwhile, floodStatuses };
}

async function expectStatus(status: number, answer: Promise<number>): Promise<void> {
  const found = await answer;
  if (found !== status) throw new Error(`the client was answered ${found}, not ${status}`);
}

/** Over a new connection; the status of the answer. 0: it ended without one. */
function post(baseUrl: string, path: string, username: string, from: string): Promise<number> {
  const body = JSON.stringify({ username, password: PASSWORD });
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-forwarded-for': from,
  };
  const options = { method: 'POST', agent: new Agent({ keepAlive: false }), headers };
  return new Promise((resolve) => {
    const outgoing = request(`${baseUrl}/api${path}`, options, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode!));
      response.on('error', () => resolve(0));
    });
    outgoing.on('error', () => resolve(0));
    outgoing.end(body);
  });
}
