/** The built program as a process: startup, output, stop, and what it refuses. */

import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, truncateSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hostAndPort } from '../../gateway/http/listen-addresses.js';
import { readConfig, VARIABLE_NAMES } from '../../gateway/start/config.js';
import { misspelt } from '../../gateway/start/misspelt.js';
import { STREAM_LIMITS } from '../../gateway/stream/limits.js';
import { DAY_FILE } from '../data/day-file.js';
import { eventually, NO_MARKET_MS } from '../support/eventually.js';
import { lockJournal } from '../support/journal-fixture.js';
import { MAIN } from '../support/processes/exchange-process.js';
import { freePort } from '../support/processes/free-port.js';
import { type ChildServer, Exchanges } from '../support/programs.js';
import { PASSWORD } from '../support/server.js';

/** A day of real prices; the exchange's time starts with it, inside a window. */
let exchanges: Exchanges;
beforeEach(() => {
  exchanges = new Exchanges({ ASSETS: 'BTC', PRICE_FEED: `file:${DAY_FILE}` });
});
afterEach(() => exchanges.end());

const spawnServer = (variables: Record<string, string> = {}) => exchanges.spawn(variables);
const listening = (server: ChildServer) => exchanges.listening(server);

function run(
  command: string,
  input: string,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(command, [], { stdio: ['pipe', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  child.stdin.end(input);
  return new Promise((done) => child.on('close', (code) => done({ code, stdout, stderr })));
}

const hasCurl = spawnSync('curl', ['--version']).status === 0;
if (!hasCurl) process.stderr.write('There is no curl: the first trade is not tested.\n');

describe('a start', () => {
  test.skipIf(!hasCurl)(
    'prints a first trade that can be pasted into a shell',
    { timeout: NO_MARKET_MS + 60_000 },
    async () => {
      const server = spawnServer();
      await listening(server);
      await eventually(() => /; echo\s+$/.test(server.stdout));
      const pasted = server.stdout.slice(server.stdout.indexOf('  API='));
      const trade = async () => {
        const { stdout, stderr } = await run('bash', pasted);
        expect(stderr).toBe('');
        return stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
      };
      let said: Awaited<ReturnType<typeof trade>> = [];
      // The house quotes while prices come.
      await eventually(async () => {
        said = await trade();
        return said[0].code !== 'insufficient_liquidity';
      }, NO_MARKET_MS);
      const [receipt, balance] = said;
      expect(receipt).toMatchObject({ side: 'BUY', outcome: 'UP', status: 'filled' });
      expect(receipt.spent).toBeGreaterThan(9.99);
      expect(balance.available).toBe(receipt.balance.available);
      expect(balance.available).toBeCloseTo(10_000 - receipt.total, 6);
    },
  );

  test('is refused on data in use and on a damaged journal, and can reuse the port of a killed exchange', async () => {
    const PORT = `${await freePort()}`;
    const first = spawnServer({ PORT });
    const api = await listening(first);
    expect((await api.get('/health')).status).toBe(200);
    const expectRefused = async () => {
      const second = spawnServer();
      expect(await second.end()).toBe(1);
      expect(second.stderr).toContain('The journal was refused');
      expect(second.stderr).not.toMatch(/^\s+at /m);
      expect(second.stdout).toBe('');
    };
    await expectRefused();
    // Its clients are still connected.
    await first.stop('SIGKILL');
    const again = spawnServer({ PORT });
    expect((await (await listening(again)).get('/health')).status).toBe(200);
    expect(await again.stop()).toBe(0);
    await rm(join(exchanges.folder, 'journal.db'));
    await expectRefused();
  });

  test.each([
    ['SESSION_SECRET_FILE', { SESSION_SECRET_FILE: '/no/such/secret' }],
    ['REPLICAS_KEY_FILE', { REPLICAS_KEY_FILE: '/no/such/key', REPLICAS_PORT: '0' }],
  ])(
    'of a standby is refused at once, not at its takeover, without the secret in %s',
    async (name, variables) => {
      // A database that does not exist, for which an exchange would wait.
      const JOURNAL = 'postgres://exchange@127.0.0.1:1/exchange';
      const server = spawnServer({ ROLE: 'standby', JOURNAL, UNREPLICATED: 'on', ...variables });
      expect(await server.end()).toBe(1);
      expect(server.stderr).toContain(`The configuration is not valid:\n${name} cannot be used: `);
    },
  );
});

describe('a stop', () => {
  test('by SIGTERM or SIGINT exits with 0, and the next start continues', async () => {
    const first = spawnServer();
    const api = await listening(first);
    // A new journal is reported in capitals, because a volume may be missing.
    const isNew = `A NEW, EMPTY EXCHANGE: there was no journal in ${exchanges.folder}`;
    expect(first.stderr).toContain(isNew);
    const registered = await api.post('/auth/register', { username: 'ada', password: PASSWORD });
    const { userId, token } = registered.json;
    expect(await first.stop('SIGTERM')).toBe(0);
    const second = spawnServer();
    const again = await listening(second);
    expect(second.stderr).not.toContain(isNew);
    // The token is still valid, because its secret is in the data folder.
    expect((await again.get(`/users/${userId}/balance`, token)).json.available).toBe(10_000);
    const { json } = await again.post('/auth/login', { username: 'ada', password: PASSWORD });
    expect(json.userId).toBe(userId);
    expect(await second.stop('SIGINT')).toBe(0);
  });

  test('answers the request in progress, and refuses waiting and new ones', async () => {
    // Hashes take about 0.2 s each, one at a time: one registration is in progress when the signal
    // comes, and others wait.
    const server = spawnServer({ PASSWORD_COST_LOG2: '16' });
    const api = await listening(server);
    const names = Array.from({ length: 6 }, (_, i) => `trader-${i}`);
    const underWay = names.map((username) =>
      api.post('/auth/register', { username, password: PASSWORD }),
    );
    const connection = new Agent({ connections: 1, pipelining: 1 });
    const readiness = () => request(`${api.url}/api/ready`, { dispatcher: connection });
    expect((await readiness()).statusCode).toBe(200);
    await Promise.race(underWay);
    const end = server.stop();
    await eventually(() => server.stderr.includes('"stopping"'));
    // The open connection stays open; new ones are refused.
    const late = await readiness();
    expect(late.statusCode).toBe(503);
    const body = (await late.body.json()) as { error: object };
    expect(body.error).toMatchObject({ code: 'unavailable', details: { executed: false } });
    const answers = await Promise.all(underWay);
    const registered = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 503);
    expect(registered.length + refused.length).toBe(names.length);
    expect(registered.length).toBeGreaterThan(0);
    for (const { json } of refused) expect(json.error.details).toEqual({ executed: false });
    expect(await end).toBe(0);
    await connection.destroy();
    const again = await listening(spawnServer());
    for (const { json } of registered)
      expect((await again.read(`/users/${json.userId}`)).status).toBe(200);
    // The house also has an account.
    expect((await again.get('/metrics')).text).toMatch(
      new RegExp(`^exchange_users ${registered.length + 1}$`, 'm'),
    );
  });

  test('by a failed commit exits with 1, and nothing that was not durable is answered', async () => {
    const server = spawnServer();
    const api = await listening(server);
    await api.post('/auth/register', { username: 'ada', password: PASSWORD });
    // The lock lasts longer than the exchange waits for it.
    const unlock = await lockJournal(exchanges.folder);
    const answer = await api
      .post('/auth/register', { username: 'bob', password: PASSWORD })
      .catch((error: Error) => error);
    expect(answer).toBeInstanceOf(Error);
    expect(await server.end()).toBe(1);
    expect(server.stderr).toContain('fatal error: the exchange stops');
    await unlock();
    const again = await listening(spawnServer());
    const signIn = (username: string) =>
      again.post('/auth/login', { username, password: PASSWORD });
    expect((await signIn('ada')).status).toBe(200);
    expect((await signIn('bob')).status).toBe(401);
  });
});

test.each([
  ['a', 'continues at its beginning, without NUL bytes'],
  ['w', 'would leave a hole, which the start reports'],
])('a log opened with %s that logrotate copies and truncates %s', async (flag) => {
  const path = join(exchanges.work, 'log');
  const file = openSync(path, flag);
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env['PATH'], PORT: '0', ASSETS: 'BTC', DATA_FOLDER: exchanges.folder },
    stdio: ['ignore', 'pipe', file],
  });
  closeSync(file);
  const log = () => readFileSync(path, 'utf8');
  try {
    await eventually(() => expect(log()).toContain('PLAY MONEY'));
    expect(log().includes('THE LOG CANNOT BE ROTATED')).toBe(flag === 'w');
    truncateSync(path);
    child.kill('SIGHUP');
    await eventually(() => expect(log()).toContain('keys and secrets were read again'));
    expect(log().includes('\0')).toBe(flag === 'w');
  } finally {
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  }
});

describe('the configuration', () => {
  const KEY = 'ab'.repeat(32);

  test('names each variable that is invalid', () => {
    const wrong = () => readConfig({ PORT: '99999', HOUSE: 'maybe' });
    expect(wrong).toThrow('PORT must be between 0 and 65535');
    expect(wrong).toThrow('HOUSE must be on or off');
  });

  test('reads every variable', async () => {
    const file = join(exchanges.work, 'keys');
    await writeFile(file, `acme:${KEY}\nother-1:${KEY.toUpperCase()}\n`);
    const config = readConfig({
      ASSETS: 'BTC, DOGE',
      PRICE_FEED: 'file:/prices.csv',
      FEED_SPEED: '60.5',
      STARTING_BALANCE: '0.000001',
      HOUSE: 'off',
      PARTNER_KEYS: `file:${file}`,
      SITE_ORIGINS: 'https://a.example,https://b.example:8443',
    });
    expect(config).toMatchObject({
      assets: ['BTC', 'DOGE'],
      feed: { kind: 'file', path: '/prices.csv', speed: 60.5 },
      startingBalanceMicros: 1,
      houseFundsMicros: 0,
      siteOrigins: ['https://a.example', 'https://b.example:8443'],
    });
    expect(
      config.partnerKeys.map(({ holder, sha256 }) => [holder, sha256.toString('hex')]),
    ).toEqual([
      ['acme', KEY],
      ['other-1', KEY],
    ]);
    const keys = { PARTNER_KEYS: `acme:${KEY}` };
    const none = { startingBalanceMicros: 0, startAgain: false };
    const once = { startingBalanceMicros: 10_000_000_000, startAgain: false };
    expect(readConfig(keys)).toMatchObject(none);
    expect(readConfig({ ...keys, STARTING_BALANCE: '10000' })).toMatchObject(once);
    expect(readConfig({})).toMatchObject({ ...once, startAgain: true });
    expect(readConfig({ START_AGAIN: 'off' })).toMatchObject(once);
    expect(readConfig({ STARTING_BALANCE: '0' })).toMatchObject(none);
    // Operators see every variable that is not at its default; for keys, only the names.
    const set = { ...keys, PORT: '3000', HOUSE: 'off', ASSETS: 'BTC' };
    expect(readConfig(set).settings).toEqual({ PARTNER_KEYS: 'acme', HOUSE: 'off', ASSETS: 'BTC' });
    const limited = readConfig({
      ORDERS_PER_USER: '0.5/100',
      READS_PER_ADDRESS: '0',
      TRUST_PROXY: 'on',
    });
    expect(limited.fairUse.orders.user).toEqual({ perSecond: 0.5, burst: 100 });
    expect(limited.fairUse.reads.address).toBe(null);
    // Behind a proxy, all connections have the proxy's address.
    expect(limited.connections.perAddress).toBe(0);
    const stream = readConfig({ STREAM_CONNECTIONS: '7' }).stream;
    expect(stream).toEqual({ ...STREAM_LIMITS, connections: 7 });
    const unsent = readConfig({ UNSENT_BYTES: '4000000' }).unsent;
    expect(unsent).toMatchObject({ bytes: 4_000_000, bytesPerAddress: 1_000_000 });
    const limits = Object.values(readConfig({ FAIR_USE: 'off' }).fairUse).flatMap(Object.values);
    expect(limits).toEqual(Array.from({ length: 8 }, () => null));
    const both = readConfig({ PRICE_FEED: 'kraken,coinbase', KRAKEN_URL: 'ws://k' }).feed;
    const coinbase = { name: 'coinbase', url: 'wss://ws-feed.exchange.coinbase.com' };
    expect(both).toEqual({ kind: 'live', venues: [{ name: 'kraken', url: 'ws://k' }, coinbase] });
  });

  const WRONG: Readonly<Record<string, string[]>> = {
    HOST: [''],
    PORT: ['-1', '80.5', '3000x', ''],
    DATA_FOLDER: [''],
    ASSETS: ['', 'btc', 'BTC,', 'BTC,BTC'],
    JOURNAL: ['mysql://root@127.0.0.1/exchange'],
    JOURNAL_PASSWORD_FILE: ['/etc/password'],
    ROLE: ['follower'],
    REPLICA_AGE_SECONDS: ['-1', '1.5', '5'],
    REPLICAS_HOST: [''],
    REPLICAS_PORT: ['-1'],
    ADVERTISE_ADDRESS: ['leader'],
    REPLICAS_KEY_FILE: ['/etc/replicas'],
    SESSION_SECRET_FILE: ['/etc/secret'],
    JOURNAL_CA_FILE: ['/etc/ca.pem'],
    UNREPLICATED: ['yes'],
    OPERATIONS_HOST: [''],
    OPERATIONS_PORT: ['-1'],
    EDGE_THREADS: ['-1', '65'],
    OPERATOR_KEYS: ['olga:short'],
    PRICE_FEED: ['binance', 'file:', 'coinbase,simulated', 'coinbase,coinbase'],
    FEED_SPEED: ['0', 'fast'],
    FEED_SEED: ['1.5'],
    COINBASE_URL: ['http://x'],
    KRAKEN_URL: ['http://x'],
    STARTING_BALANCE: ['-1', '1.0000001', '10,000'],
    START_AGAIN: ['yes'],
    HOUSE: ['true'],
    HOUSE_FUNDS: ['NaN'],
    PARTNER_KEYS: ['acme:abc', KEY, 'file:/no/such/file'],
    TLS_CERT_FILE: ['/etc/certificate.pem'],
    TLS_KEY_FILE: ['/etc/key.pem'],
    TRUST_PROXY: ['yes'],
    SITE_ORIGINS: ['example.com', 'https://example.com/'],
    PASSWORD_COST_LOG2: ['9'],
    ACCEPT_MISSING_MARK: ['yes'],
    ACCEPT_CLOCK: ['1'],
    ACCEPT_DEMO: ['1'],
    REQUIRE_JOURNAL: ['yes'],
    KEY_RESULTS_MEGABYTES: ['-1', '2049', ''],
    SNAPSHOT_EVERY_COMMANDS: ['0'],
    SNAPSHOT_EVERY_SECONDS: ['9'],
    SEGMENT_MEGABYTES: ['0'],
    DAY_FILES: ['-1'],
    HISTORY_DAYS: ['-1'],
    FAIR_USE: ['yes'],
    ORDERS_PER_USER: ['100', '0/100', '100/99'],
    ORDERS_PER_ADDRESS: ['100/50'],
    CANCELS_PER_USER: ['100/99'],
    CANCELS_PER_ADDRESS: ['-1/100'],
    READS_PER_USER: ['1/0', '10/199'],
    READS_PER_ADDRESS: ['-1/10'],
    SIGN_INS_PER_USER: ['1/x'],
    SIGN_INS_PER_ADDRESS: ['1/10/100'],
    OVERLOAD_COMMANDS: ['0'],
    CONNECTIONS: ['0'],
    CONNECTIONS_PER_ADDRESS: ['-1'],
    UNSENT_BYTES: ['1000'],
    STREAM_CONNECTIONS: ['-1'],
    LOG_LEVEL: ['loud'],
  };
  test.each(Object.entries(WRONG))('%s=%j are errors that name the variable', (name, values) => {
    for (const value of values) expect(() => readConfig({ [name]: value }), value).toThrow(name);
  });

  const IDLE: [string, string, string][] = [
    ['OPERATIONS_HOST', '10.0.0.1', 'OPERATIONS_PORT'],
    ['OPERATOR_KEYS', `olga:${'0'.repeat(64)}`, 'OPERATIONS_PORT'],
    ['REPLICAS_HOST', '10.0.0.1', 'REPLICAS_PORT'],
    ['ADVERTISE_ADDRESS', '10.0.0.1:4000', 'REPLICAS_PORT'],
    ['SESSION_SECRET_FILE', '/etc/secret', 'JOURNAL'],
    ['UNREPLICATED', 'on', 'JOURNAL'],
    ['TLS_CERT_FILE', '/nowhere', 'TLS_KEY_FILE'],
    ['TLS_KEY_FILE', '/nowhere', 'TLS_CERT_FILE'],
  ];
  test.each(IDLE)('%s=%s is an error without %s', (name, value, needed) => {
    expect(() => readConfig({ [name]: value })).toThrow(`${name} is set, but ${needed} is not`);
  });

  test('refuses a speed for prices that come in real time', () => {
    const live = { PRICE_FEED: 'coinbase', FEED_SPEED: '60' };
    expect(() => readConfig(live)).toThrow('FEED_SPEED is set');
    expect(readConfig({ ...live, FEED_SPEED: '1' }).feed.kind).toBe('live');
  });

  test('names what replicas can reach', () => {
    const replicated = { REPLICAS_PORT: '4000', REPLICAS_KEY_FILE: '/etc/replicas' };
    for (const REPLICAS_HOST of ['0.0.0.0', '::'])
      expect(() => readConfig({ ...replicated, REPLICAS_HOST })).toThrow('ADVERTISE_ADDRESS');
    const reachable = { REPLICAS_HOST: '0.0.0.0', ADVERTISE_ADDRESS: '10.0.0.1:4000' };
    const { replicas: listens, advertiseAddress } = readConfig({ ...replicated, ...reachable });
    expect([listens, advertiseAddress]).toEqual([
      { host: '0.0.0.0', port: 4_000 },
      '10.0.0.1:4000',
    ]);
    expect([hostAndPort('::1', 4_000), hostAndPort('10.0.0.1', 4_000)]).toEqual([
      '[::1]:4000',
      '10.0.0.1:4000',
    ]);
  });

  test('matches CONFIGURATION.md in every variable and default', async () => {
    const text = await readFile(new URL('../../gateway/CONFIGURATION.md', import.meta.url), 'utf8');
    const rows = text.matchAll(/^\| ((?:`[A-Z_0-9]+`(?:, )?)+) \|([^|]*)\|/gm);
    const told = new Map<string, string>();
    for (const [, names, standards] of rows) {
      const each = standards!.trim().split(', ');
      const list = names!.split(', ').map((name) => name.slice(1, -1));
      for (const [i, name] of list.entries())
        told.set(name, list.length === 1 ? standards!.trim() : each[i]!);
    }
    expect([...told.keys()].sort()).toEqual([...VARIABLE_NAMES].sort());
    // The documented default has the same effect as leaving the variable out.
    const given = [...told].filter(([, standard]) => standard !== '');
    expect(readConfig(Object.fromEntries(given))).toEqual(readConfig({}));
  });

  test('names unknown variables that look like one, and none of other programs', () => {
    const like = (name: string) => misspelt({ [name]: '5' })[0]?.[1];
    expect(like('SNAPSHOT_EVERY')).toBe('SNAPSHOT_EVERY_COMMANDS');
    expect(like('PARTNER_KEY')).toBe('PARTNER_KEYS');
    expect(like('DATA_FODLER')).toBe('DATA_FOLDER');
    const others =
      'PATH HOME USER HOSTNAME LOGNAME NODE_ENV NODE_OPTIONS LANG TERM SHELL PGHOST PGPORT TMPDIR ' +
      'SESSION_MANAGER JOURNAL_STREAM PASSWORD_STORE_DIR LOG_FILE SITE_URL COOKIE_SECRET ' +
      'npm_config_loglevel npm_package_json npm_lifecycle_event UWS_HTTP_MAX_HEADERS_SIZE ' +
      VARIABLE_NAMES.join(' ');
    const all = Object.fromEntries(others.split(' ').map((name) => [name, '1']));
    expect(misspelt({ ...process.env, ...all })).toEqual([]);
  });

  test('has a case above for every variable', () => {
    expect(Object.keys(WRONG).sort()).toEqual([...VARIABLE_NAMES].sort());
  });
});
