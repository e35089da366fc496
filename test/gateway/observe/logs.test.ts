/**
 * The log: JSON lines with the id of their request, and never a secret, whatever a client sends and
 * in whatever place. Every route is used, at the most verbose level.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { bounded, createLog } from '../../../gateway/observe/log.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { readConfig } from '../../../gateway/start/config.js';
import { startExchange } from '../../../gateway/start/exchange.js';
import { ManualClock } from '../../support/clock.js';
import { eventually } from '../../support/eventually.js';
import { RawConnection, requestText } from '../../support/raw-connection.js';
import { ApiClient, ManualFeed, pathOf, WINDOW_START_MS } from '../../support/server.js';

const PASSWORD = 'my-first-secret-passphrase';
const NEXT_PASSWORD = 'my-second-secret-passphrase';
const WRONG_PASSWORD = 'my-wrong-secret-passphrase';
const PARTNER_KEY = 'my-secret-partner-key';
const SECRET_WORD = 'hush-hush-hush';

const lines: string[] = [];
const secrets = new Set([PASSWORD, NEXT_PASSWORD, WRONG_PASSWORD, PARTNER_KEY, SECRET_WORD]);

const folder = await mkdtemp(join(tmpdir(), 'exchange-'));
const sha256 = createHash('sha256').update(PARTNER_KEY).digest();
const config = {
  ...readConfig({
    PORT: '0',
    ASSETS: 'BTC',
    PASSWORD_COST_LOG2: '10',
    SIGN_INS_PER_USER: '0.001/100',
  }),
  dataFolder: folder,
  partnerKeys: [{ holder: 'acme', sha256 }],
};
const clock = new ManualClock(WINDOW_START_MS);
const feed = new ManualFeed(clock);
const log = createLog('trace', { write: (line) => lines.push(line) });
const onFatal = (error: Error) => {
  throw error;
};
const exchange = await startExchange({ config, log, onFatal, inputs: { clock, feed, venues: [] } });
feed.deliver('BTC', 100_000);
const api = new ApiClient(exchange.address);
const { json } = await api.post('/auth/register', { username: 'ada', password: PASSWORD });
const userId = json.userId;
let token = json.token;
secrets.add(token);
afterAll(async () => {
  await api.close();
  await exchange.stop();
  await rm(folder, { recursive: true });
});

/** One object per line. */
const entries = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);

describe('secrets', () => {
  test('are sent to every route, in the right places and in wrong ones', async () => {
    const before = lines.length;
    const places: Record<string, string>[] = [
      { 'x-user-token': token },
      { cookie: `service-session=${token}`, origin: exchange.address },
      { cookie: `service-session=${token}`, origin: `https://${SECRET_WORD}.example` },
      { authorization: `Bearer ${PARTNER_KEY}` },
      { authorization: `Bearer ${token}` },
      { 'x-user-token': `${SECRET_WORD}.${SECRET_WORD}.${SECRET_WORD}` },
      { 'x-request-id': token, 'x-user-token': token, 'idempotency-key': `${SECRET_WORD} ` },
    ];
    const bodies: object[] = [
      { username: 'ada', password: WRONG_PASSWORD, token, partnerKey: PARTNER_KEY },
      { currentPassword: WRONG_PASSWORD, newPassword: NEXT_PASSWORD },
      {
        userId: SECRET_WORD,
        amount: SECRET_WORD,
        outcome: SECRET_WORD,
        operations: [{ op: SECRET_WORD }],
      },
      {},
    ];
    let sent = 0;
    for (const route of ROUTES.filter(({ path }) => path !== '/auth/login')) {
      for (const headers of places) {
        for (const body of route.body === undefined ? [undefined] : bodies) {
          await api.send(
            route.method,
            `${pathOf(route, { userId })}?token=${token}&key=${SECRET_WORD}`,
            body,
            { headers },
          );
          sent++;
        }
      }
    }
    for (const password of [WRONG_PASSWORD, PASSWORD]) {
      const { json } = await api.post('/auth/login', { username: 'ada', password });
      if (json.token !== undefined) secrets.add(json.token);
    }
    const raw = `{"username":"ada","password":"${PASSWORD}"`;
    await api.send('POST', '/auth/login', undefined, {
      raw,
      headers: { 'content-type': 'application/json' },
    });
    // Each request was logged, so the search has something to search.
    await eventually(() => lines.length >= before + sent + 3);
    expect(sent).toBeGreaterThan(300);
  });

  test('are sent in new tokens and passwords, on a stream, and in aborted requests', async () => {
    const before = lines.length;
    const named = await api.post('/auth/tokens', { name: 'bot', scope: 'trade' }, token);
    expect(named.status).toBe(201);
    secrets.add(named.json.token);
    await streamWith(named.json.token);
    expect((await api.get('/auth/session', named.json.token)).status).toBe(200);
    const change = { currentPassword: PASSWORD, newPassword: NEXT_PASSWORD };
    const { status, json } = await api.put('/auth/password', change, token);
    expect(status).toBe(200);
    secrets.add(json.token);
    await streamWith(json.token);
    await streamWith(SECRET_WORD);
    const client = new RawConnection(exchange.address);
    const credentials = {
      'x-user-token': json.token,
      cookie: SECRET_WORD,
      'content-length': '1000',
    };
    await client.send(requestText('POST', '/auth/login', credentials));
    await client.send(`{"password":"${PASSWORD}"`);
    await eventually(async () => {
      const { text } = await api.get('/metrics');
      return /^exchange_calls_under_way 2$/m.test(text);
    });
    client.leave();
    await eventually(() =>
      entries().some(({ msg }) => msg === 'the client left before the answer'),
    );
    expect(lines.length).toBeGreaterThan(before + 2);
    // The old token is revoked.
    expect((await api.get('/auth/session', token)).status).toBe(401);
    token = json.token;
  });

  /** Signs in on a stream with a valid or invalid token, then leaves. */
  async function streamWith(credential: string): Promise<void> {
    const stream = new WebSocket(`${exchange.address.replace('http', 'ws')}/api/stream`);
    await new Promise((resolve) => stream.on('open', resolve));
    const answered = new Promise((resolve) => stream.on('message', resolve));
    stream.send(JSON.stringify({ op: 'auth', token: credential }));
    await answered;
    const closed = new Promise((resolve) => stream.on('close', resolve));
    stream.close();
    await closed;
  }

  test('are not in the log', () => {
    expect(secrets.size).toBeGreaterThan(6);
    expect(lines.length).toBeGreaterThan(300);
    const whole = lines.join('');
    for (const secret of secrets) expect(whole.includes(secret), secret).toBe(false);
    // Usable parts of a token and password hashes are absent as well.
    for (const secret of secrets) {
      for (const part of secret.split('.').filter((part) => part.length > 30)) {
        expect(whole.includes(part)).toBe(false);
      }
    }
    expect(whole).not.toContain('scrypt$');
  });

  test('are cut out of log lines by their form', () => {
    const written: string[] = [];
    const log = createLog('trace', { write: (line) => written.push(line) });
    const headers = {
      cookie: SECRET_WORD,
      authorization: SECRET_WORD,
      'x-user-token': SECRET_WORD,
    };
    log.info(
      { password: SECRET_WORD, token: SECRET_WORD, body: { newPassword: SECRET_WORD }, headers },
      'hello',
    );
    expect(written).toHaveLength(1);
    expect(written[0]).toContain('hello');
    expect(written[0]).toContain('[secret]');
    expect(written[0]).not.toContain(SECRET_WORD);
  });
});

describe('lines', () => {
  test.skipIf(process.platform !== 'linux')(
    'that are lost on a full disk are counted',
    async () => {
      const output = bounded('/dev/full', 1_000);
      const log = createLog('info', output);
      for (let i = 0; i < 50; i++) log.info({ i }, 'written to a full disk');
      const path = join(folder, 'log.ndjson');
      output.reopen(path);
      log.info('there is room again');
      const written = async () =>
        (await readFile(path, 'utf8'))
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
      await eventually(async () => (await written()).some(({ lines }) => lines > 0));
      const messages = await written();
      const lost = messages.findIndex(({ lines }) => lines > 0);
      const kept = messages.filter(({ i }) => i !== undefined);
      expect(messages[lost]).toMatchObject({ level: 'error', lines: 50 - kept.length });
      expect(messages[lost - 1].msg).toBe('there is room again');
      log.info('later');
      await eventually(async () => (await written()).at(-1).msg === 'later');
      expect((await written()).filter(({ lines }) => lines > 0)).toHaveLength(1);
    },
  );

  test('are objects with a time in UTC, the name of a level, and a message', () => {
    for (const entry of entries()) {
      expect(entry).toMatchObject({
        level: expect.stringMatching(/^(trace|debug|info|warn|error|fatal)$/),
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        msg: expect.any(String),
      });
    }
  });

  test('say the reason of an error once', () => {
    const written: string[] = [];
    const log = createLog('info', { write: (line) => written.push(line) });
    const cause = new Error('the disk is full');
    log.error({ err: new Error('not written: the disk is full', { cause }) }, 'fatal error');
    const { err } = JSON.parse(written[0]!);
    expect([err.message, err.cause.message]).toEqual([
      'not written: the disk is full',
      'the disk is full',
    ]);
  });

  test('have the request id of the answer', async () => {
    const own = await api.send('GET', '/vaults', undefined, {
      token,
      headers: { 'x-request-id': 'my-request-1' },
    });
    expect(own.headers['x-request-id']).toBe('my-request-1');
    const made = await api.get('/no/such/route');
    const find = (id: unknown) => entries().find(({ request }) => request === id);
    expect(find('my-request-1')).toMatchObject({
      method: 'get',
      route: '/vaults',
      user: Number(userId.slice(1)),
      status: 200,
      tookMs: expect.any(Number),
    });
    expect(find(made.headers['x-request-id'])).toMatchObject({
      method: 'get',
      user: 0,
      status: 404,
    });
  });
});
