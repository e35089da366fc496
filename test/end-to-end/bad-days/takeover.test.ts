/**
 * The built program with a standby, on a real cluster of PostgreSQL. A warm standby takes over from
 * a leader that was killed, from one that was asked to hand over, and from one whose connection was
 * cut when it was unknown whether its last batch was committed. cluster-kill.test.ts pauses a
 * leader. clock.test.ts, candidate.test.ts and the trial cluster-kill set clocks.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLog } from '../../../gateway/observe/log.js';
import { readConfig } from '../../../gateway/start/config.js';
import { startExchange } from '../../../gateway/start/exchange.js';
import { readAddress } from '../../../persistence/replication/postgres/address.js';
import { healthCheck } from '../../gateway/health-check.js';
import { StreamClient } from '../../gateway/stream/support.js';
import { PASSWORD_USER } from '../../support/cluster/postgres.js';
import { eventually } from '../../support/eventually.js';
import { extent } from '../../support/extent.js';
import type { ChildServer } from '../../support/programs.js';
import { type ApiClient, PASSWORD, type Trader } from '../../support/server.js';
import { Random } from '../../support/workload/random.js';
import {
  activeMarket,
  expectAll,
  nextCommand,
  registerTraders,
  type Sent,
  send,
  tradeOn,
} from '../../trials/disk/scenario.js';
import { Machines } from './machines.js';

const COMMANDS = 30;
/** An exchange tries its password every ten seconds. */
const PASSWORD_SEEN_MS = 60_000;
/**
 * The number of planned takeovers, one after the other, while a key lives; each new leader was a
 * standby.
 */
const PLANNED = extent(3, 1);
const OPERATIONS = join(import.meta.dirname, '../../../dist/persistence/tools/operations/main.js');
let machines: Machines;
beforeAll(async () => {
  machines = await Machines.start();
}, 120_000);
beforeEach(() => machines.cluster.dropJournal());
afterEach(() => machines.kill());
afterAll(() => machines?.end());

interface StandbyStatus {
  sequence: number;
  ageMs: number;
}

interface Node {
  server: ChildServer;
  folder: string;
}

function spawn(folder: string, variables: Record<string, string>): Node {
  return { server: machines.spawn({ DATA_FOLDER: folder, ...variables }), folder };
}

const lead = (variables: Record<string, string> = {}) => spawn(machines.newFolder(), variables);

/**
 * Starts a standby on another machine, with the leader's session secret, and waits until it is
 * warm.
 */
async function standBy(leader: Node, variables: Record<string, string> = {}): Promise<Node> {
  const folder = machines.newFolder();
  mkdirSync(folder, { mode: 0o700 });
  copyFileSync(join(leader.folder, 'session-secret'), join(folder, 'session-secret'));
  const standby = spawn(folder, { ROLE: 'standby', ...variables });
  await eventually(() => /the engine is warm/.test(standby.server.stderr));
  return standby;
}

const listening = ({ server }: Node) => machines.listening(server);

const trade = (api: ApiClient, traders: Trader[], name: string) =>
  tradeOn(api, traders, { commands: COMMANDS, keys: name, random: new Random(name) });

async function signedIn(api: ApiClient, username: string): Promise<Trader> {
  const { status, json } = await api.post('/auth/register', { username, password: PASSWORD });
  expect(status).toBe(201);
  return json;
}

/** Rests an order; tries again in the next market if this one ends first. */
async function rest(api: ApiClient, { token }: Trader): Promise<void> {
  const order = { outcome: 'UP', amount: 5, price: 0.1, timeInForce: 'GTC' };
  await eventually(async () => {
    const answer = await api.post(`/markets/15m/${await activeMarket(api)}/buy`, order, token);
    expect([answer.status, answer.json.status]).toEqual([200, 'resting']);
  });
}

/** The address at which a standby listens while it waits. */
function waitingAt({ server }: Node): string {
  const line = server.stderr.split('\n').find((each) => each.includes('a standby: it follows'));
  return `http://127.0.0.1:${JSON.parse(line!).port}/api`;
}

async function takeover(): Promise<{ code: number; text: string }> {
  const args = [OPERATIONS, 'takeover', '--journal', machines.cluster.url];
  return promisify(execFile)(process.execPath, args).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    (error) => ({ code: error.code, text: error.stderr }),
  );
}

test('a standby says what it is, and takes over from one that was killed', async () => {
  const first = lead();
  const api = await listening(first);
  const traders = await registerTraders(api);
  expect(await takeover()).toMatchObject({
    code: 2,
    text: expect.stringContaining('no standby is waiting'),
  });
  const standby = await standBy(first);
  const all = await trade(api, traders, 'killed');
  const base = waitingAt(standby);
  const { sequence } = (await api.get('/status')).json;
  await eventually(async () => {
    const status = (await (await fetch(`${base}/status`)).json()) as StandbyStatus;
    expect(status).toMatchObject({ role: 'standby', journal: 'replicated', epoch: 1 });
    expect(status.sequence).toBeGreaterThanOrEqual(sequence);
  });
  const body = JSON.stringify({ username: 'early', password: 'correct horse battery' });
  for (const [path, options] of [
    ['/ready', {}],
    ['/auth/register', { method: 'POST', body }],
  ] as const) {
    const answer = await fetch(base + path, options);
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('1');
    const details = { executed: false, reason: 'standby' };
    expect(await answer.json()).toMatchObject({ error: { code: 'unavailable', details } });
  }
  // A load balancer skips a standby, but its container is healthy.
  expect(await healthCheck(base)).toBe(0);
  await first.server.stop('SIGKILL');
  const second = await listening(standby);
  // The stopped standby no longer waits, so a planned takeover must not choose it.
  expect(await machines.cluster.query(machines.cluster.primary, 'SELECT id FROM standby')).toEqual(
    [],
  );
  await expectAll(second, all);
  await trade(second, traders, 'after');
  // A standby with another session secret reports the consequences.
  const other = spawn(machines.newFolder(), { ROLE: 'standby' });
  await eventually(() => other.server.stderr.includes('EVERY USER WOULD BE SIGNED OUT'));
  expect(standby.server.stderr).toContain('this one waits');
  expect(standby.server.stderr).not.toContain('SIGNED OUT');
  expect(await other.server.stop()).toBe(0);
  // A standby that is stopped during its takeover exits cleanly.
  const third = await standBy(standby);
  await standby.server.stop('SIGKILL');
  await eventually(() => third.server.stderr.includes('this exchange leads now'));
  expect(await third.server.stop()).toBe(0);
});

test('a planned takeover loses no command of clients that wait for the new leader', async () => {
  let leader = lead();
  const api = await listening(leader);
  const traders = await registerTraders(api);
  let current: ApiClient | null = api;
  const random = new Random('planned');
  const all: Sent[] = [];
  let stopping = false;
  // Sends a command again until a leader has answered it, as a replica does.
  const client = async (name: string) => {
    for (let i = 0; !stopping; i++) {
      const sent = nextCommand(traders, market, `${name}-${i}`, random);
      await eventually(async () => {
        const at = current;
        sent.answer = at === null ? null : await send(at, sent).catch(() => null);
        return sent.answer !== null && sent.answer.status !== 503;
      });
      all.push(sent);
    }
  };
  const market = await activeMarket(api);
  const trading = Promise.all(['a', 'b', 'c'].map(client));
  const quitter = await signedIn(api, 'quitter');
  const stream = await StreamClient.connect(Number(new URL(api.url).port));
  stream.send({ op: 'auth', token: quitter.token, cancelOnDisconnect: true });
  await stream.next('authenticated');
  for (let i = 0; i < PLANNED; i++) {
    const standby = await standBy(leader);
    const before = all.length;
    if (i === 0) await rest(api, quitter);
    const asked = takeover();
    const next = await listening(standby);
    current = next;
    // For a client of the stream, the takeover ends its connection, which was to cancel its orders.
    const orders = await next.get(`/users/${quitter.userId}/orders`, quitter.token);
    expect([orders.status, orders.json.orders]).toEqual([200, []]);
    expect(await stream.closed).toMatchObject({ code: 1001 });
    expect(await asked).toMatchObject({ code: 0 });
    expect(await leader.server.end()).toBe(0);
    expect(leader.server.stdout).toContain('has ended its lease for a standby, as it was asked to');
    leader = standby;
    await eventually(() => all.length > before + 20);
  }
  stopping = true;
  await trading;
  await expectAll(current!, all);
  expect(all.every(({ answer }) => answer!.status < 500)).toBe(true);
});

/** The user whose registration is in the batch that is cut off. */
const USERNAME = 'fate-of-a-commit';
type Moment = 'before it arrives' | 'before its answer';

/** A proxy between an exchange and its primary that cuts the connection at a chosen moment. */
class CuttingProxy {
  private readonly server: Server;
  private readonly sockets: Socket[] = [];
  hasCut = false;

  private constructor(to: number, moment: Moment) {
    this.server = createServer((client) => {
      const node = connect(to, '127.0.0.1');
      this.sockets.push(client, node);
      for (const socket of [client, node]) socket.on('error', () => {});
      let isMoment = false;
      client.on('data', (data) => {
        isMoment ||= data.includes(USERNAME);
        if (isMoment && moment === 'before it arrives') this.end();
        else node.write(data);
      });
      node.on('data', (data) => {
        if (isMoment) this.end();
        else client.write(data);
      });
      client.on('close', () => node.destroy());
      node.on('close', () => client.destroy());
    });
  }

  static async start(to: number, moment: Moment): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(to, moment);
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    const { port } = this.server.address() as { port: number };
    return `postgres://postgres@127.0.0.1:${port}/postgres`;
  }

  end(): void {
    this.hasCut = true;
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}

test('a commit that is cut is answered by what the journal has', async () => {
  const { port } = machines.cluster.primary;
  const body = { username: USERNAME, password: PASSWORD };
  const cut = async ({ server }: Node, api: ApiClient, proxy: CuttingProxy) => {
    expect(await api.post('/auth/register', body).catch(() => null)).toBeNull();
    expect(await server.end()).toBe(1);
    expect(proxy.hasCut).toBe(true);
    expect(server.stderr).toMatch(/unknown whether the last batch|connection to the journal/);
  };
  const through = ({ url }: CuttingProxy) => ({ JOURNAL: url });
  const early = await CuttingProxy.start(port, 'before it arrives');
  const first = lead(through(early));
  const api = await listening(first);
  const all = await trade(api, await registerTraders(api), 'cut');
  const late = await CuttingProxy.start(port, 'before its answer');
  const second = await standBy(first, through(late));
  await cut(first, api, early);
  const other = await listening(second);
  await expectAll(other, all);
  const third = await standBy(second);
  // The name must be free: otherwise there would be nothing to commit, and no cut.
  await cut(second, other, late);
  const last = await listening(third);
  expect((await last.post('/auth/register', body)).status).toBe(409);
  expect((await last.post('/auth/login', body)).status).toBe(200);
  await expectAll(last, all);
});

const epochNow = async () => {
  const [row] = await machines.cluster.query(machines.cluster.primary, 'SELECT epoch FROM writer');
  return Number(row!['epoch']);
};

test('a start as leader compares its clock with the journal before it takes the lead', async () => {
  const first = lead();
  const api = await listening(first);
  const aheadMs = async () => (await api.get('/time')).json.nowMs - Date.now();
  await eventually(async () => (await aheadMs()) > 120_000);
  await first.server.stop('SIGKILL');
  const second = lead({ FEED_SPEED: '1' });
  await eventually(() => second.server.stderr.includes('THIS EXCHANGE DOES NOT TAKE THE LEAD'));
  expect(second.server.stderr).toMatch(
    /the clock of the machine .* before the journal's last command/,
  );
  expect(await epochNow()).toBe(1);
});

test('a folder with a journal of its own is refused, also if its beginning is in an archive', async () => {
  for (const name of ['journal.db', 'journal-000002.db']) {
    const folder = machines.newFolder();
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(join(folder, name), '');
    const config = readConfig({ JOURNAL: machines.cluster.url, DATA_FOLDER: folder, PORT: '0' });
    const onFatal = (error: Error) => expect.fail(error.message);
    const starting = startExchange({ config, log: createLog('silent'), onFatal });
    await expect(starting).rejects.toThrow('has a journal of its own');
  }
});

test('a JOURNAL that cannot be used is refused in words', async () => {
  const { server } = lead({ JOURNAL: 'postgres://postgres@127.0.0.1:1/postgres' });
  const refusal = (url: string) => () =>
    readAddress(url, { passwordFile: null, authorityFile: null });
  expect(refusal('postgres://nobody')).toThrow('must look like postgres://user@host:port');
  expect(refusal('postgres://postgres@10.1.2.3/postgres')).toThrow('JOURNAL_CA_FILE');
  const JOURNAL = 'mysql://root@127.0.0.1/exchange';
  expect(() => readConfig({ JOURNAL })).toThrow('must begin with postgres://');
  expect(await server.end()).toBe(1);
  expect(server.stderr).toContain('no node of');
});

/** The trial cluster-kill also drops connections. */
test('a password that ends is told before it stops anything, and replaced without a stop', async () => {
  const { cluster, work } = machines;
  const file = join(work, 'password');
  const write = (password: string) => writeFileSync(file, `${password}\n`, { mode: 0o600 });
  write('first');
  await cluster.addPasswordUser('first');
  const leader = lead({ JOURNAL: cluster.urlWithPassword, JOURNAL_PASSWORD_FILE: file });
  const api = await listening(leader);
  const { server } = leader;
  await cluster.query(cluster.primary, `ALTER ROLE ${PASSWORD_USER} PASSWORD 'second'`);
  const refused = 'NEW CONNECTIONS TO THE JOURNAL ARE REFUSED';
  await eventually(() => server.stderr.includes(refused), PASSWORD_SEEN_MS);
  expect(server.stderr).toMatch(/password authentication failed .* Write the current password to /);
  expect(server.stderr).toContain(`Write the current password to ${file}`);
  // The exchange still leads.
  expect(await registerTraders(api)).not.toEqual([]);
  write('second');
  await eventually(() => server.stderr.includes('are accepted again'), PASSWORD_SEEN_MS);
  expect(server.stderr.split(refused).length).toBe(2);
  expect(await server.stop()).toBe(0);
});
