/** Authentication over real HTTP: tokens, cookies, sites, passwords, partner keys. */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { afterAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { SECRET_FILE } from '../../../persistence/storage/session-secret.js';
import { RawConnection, requestText } from '../../support/raw-connection.js';
import {
  codeOf,
  MARKET,
  PARTNER_KEY,
  PARTNER_KEYS,
  PASSWORD,
  pathOf,
  TestServer,
  WINDOW_START_MS,
} from '../../support/server.js';

const KEYS = [{ holder: 'other', sha256: randomBytes(32) }, ...PARTNER_KEYS];

const server = await TestServer.withMarket({ partnerKeys: KEYS });
const { api } = server;
const ada = await server.register('ada');
const bob = await server.register('bob');
const secret = Buffer.from(await readFile(join(server.folder, SECRET_FILE), 'utf8'), 'base64url');
afterAll(() => server.stop());

const balanceWith = (headers: Record<string, string>, query = '') =>
  api.send('GET', `/users/${ada.userId}/balance${query}`, undefined, { headers });
const cookie = (token: string) => `theme=dark; service-session=${token}; other=1`;

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
function signed(header: object, payload: object, key: Buffer, hash = 'sha256'): string {
  const text = `${part(header)}.${part(payload)}`;
  return `${text}.${createHmac(hash, key).update(text).digest('base64url')}`;
}
/** A text that differs only in the bits that base64url does not use at the end of 32 bytes. */
function after(last: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return alphabet[alphabet.indexOf(last) + 1]!;
}
const IAT = WINDOW_START_MS / 1_000;
const OURS = { alg: 'HS256', typ: 'JWT' };

describe('tokens', () => {
  test('name the user, the credential version and the time of issue, use HS256 and do not expire', async () => {
    const [header, payload] = ada.token
      .split('.')
      .slice(0, 2)
      .map((text) => JSON.parse(Buffer.from(text, 'base64url').toString()));
    expect(header).toEqual(OURS);
    expect(payload).toEqual({ sub: ada.userId, ver: 1, iat: IAT });
    const same = await new SignJWT({ ver: 1 })
      .setProtectedHeader(OURS)
      .setSubject(ada.userId)
      .setIssuedAt(IAT)
      .sign(secret);
    expect((await balanceWith({ 'x-user-token': same })).status).toBe(200);
  });

  test('are required, and Authorization: Bearer does not count', async () => {
    const sessions = ROUTES.filter((route) => route.access === 'session');
    expect(sessions.length).toBeGreaterThan(10);
    for (const { method, path } of sessions) {
      const url = pathOf({ path }, ada);
      expect(codeOf(await api.send(method, url)), path).toBe('401 missing_token');
      const headers = { authorization: `Bearer ${ada.token}` };
      expect(codeOf(await api.send(method, url, undefined, { headers })), path).toBe(
        '401 missing_token',
      );
      const partner = { headers: { authorization: `Bearer ${PARTNER_KEY}` } };
      expect(codeOf(await api.send(method, url, undefined, partner)), path).toBe(
        '401 missing_token',
      );
    }
  });

  test('are never read from the query string', async () => {
    for (const name of ['token', 'x-user-token', 'service-session', 'access_token']) {
      expect(codeOf(await balanceWith({}, `?${name}=${ada.token}`))).toBe('401 missing_token');
    }
  });

  test('are invalid when this exchange did not sign them, on every route that checks them', async () => {
    const claims = { sub: ada.userId, ver: 1, iat: IAT };
    const [header, payload, signature] = ada.token.split('.') as [string, string, string];
    const bad: Record<string, string> = {
      garbage: 'garbage',
      'three parts of garbage': 'a.b.c',
      'not even base64': '!.?.*',
      empty: '..',
      'without a signature': `${header}.${payload}.`,
      'alg none': `${part({ alg: 'none', typ: 'JWT' })}.${payload}.`,
      'alg none with the signature': `${part({ alg: 'none' })}.${payload}.${signature}`,
      'alg None': `${part({ alg: 'None' })}.${payload}.${signature}`,
      'another key': signed(OURS, claims, randomBytes(32)),
      'an empty key': signed(OURS, claims, Buffer.alloc(0)),
      'another algorithm, right key': signed(
        { alg: 'HS512', typ: 'JWT' },
        claims,
        secret,
        'sha512',
      ),
      'another algorithm named': signed({ alg: 'RS256' }, claims, secret),
      'another user in the payload': `${header}.${part({ ...claims, sub: bob.userId })}.${signature}`,
      'a changed signature': `${header}.${payload}.${signature.slice(0, -2)}AA`,
      'without a subject': signed(OURS, { ver: 1, iat: IAT }, secret),
      'a subject that is not an id': signed(OURS, { ...claims, sub: 'ada' }, secret),
      'a subject that is a number': signed(OURS, { ...claims, sub: 1 }, secret),
      'a user who does not exist': signed(OURS, { ...claims, sub: 'u99' }, secret),
      'without a version': signed(OURS, { sub: ada.userId, iat: IAT }, secret),
      'a version that is a string': signed(OURS, { ...claims, ver: '1' }, secret),
      'without a time': signed(OURS, { sub: ada.userId, ver: 1 }, secret),
      'of an earlier exchange': signed(OURS, { ...claims, iat: IAT - 1 }, secret),
      expired: signed(OURS, { ...claims, exp: 1 }, secret),
      'a header that must be understood': signed({ ...OURS, crit: ['exp'] }, claims, secret),
      'the secret as its text': signed(OURS, claims, Buffer.from(secret.toString('base64url'))),
      'a leading zero': signed(OURS, { ...claims, sub: `u0${ada.userId.slice(1)}` }, secret),
      'another spelling of the signature': `${header}.${payload}.${signature.slice(0, -1)}${after(signature.at(-1)!)}`,
      'base64 that is not base64url': `${header}.${payload}.${Buffer.from(signature, 'base64url').toString('base64')}`,
      'in other case': ada.token.toLowerCase(),
      'four parts': `${ada.token}.${signature}`,
      'without the third part': `${header}.${payload}`,
      'with the word Bearer': `Bearer ${ada.token}`,
      'far too long': `${header}.${payload}.${signature}${'A'.repeat(1_000)}`,
    };
    for (const [what, token] of Object.entries(bad)) {
      expect(codeOf(await balanceWith({ 'x-user-token': token })), what).toBe('401 invalid_token');
      expect(codeOf(await balanceWith({ cookie: cookie(token) })), what).toBe('401 invalid_token');
      expect(codeOf(await api.get('/markets/15m', token)), what).toBe('401 invalid_token');
      const order = await api.post(
        `/markets/15m/${MARKET}/buy`,
        { outcome: 'UP', amount: 1 },
        token,
      );
      expect(codeOf(order), what).toBe('401 invalid_token');
    }
    // The valid token still works, in the header and in the cookie.
    expect((await balanceWith({ 'x-user-token': ada.token })).status).toBe(200);
    expect((await balanceWith({ cookie: cookie(ada.token) })).status).toBe(200);
  });

  test('are revoked when the credential version changes', async () => {
    const other = signed(OURS, { sub: ada.userId, ver: 2, iat: IAT }, secret);
    expect(codeOf(await balanceWith({ 'x-user-token': other }))).toBe('401 token_revoked');
  });

  test('are taken from the header when there is also a cookie', async () => {
    const both = { 'x-user-token': ada.token, cookie: cookie('garbage') };
    expect((await balanceWith(both)).status).toBe(200);
    const wrongHeader = { 'x-user-token': 'garbage', cookie: cookie(ada.token) };
    expect(codeOf(await balanceWith(wrongHeader))).toBe('401 invalid_token');
  });

  test('are signed with a secret that only its owner can read', async () => {
    expect((await stat(join(server.folder, SECRET_FILE))).mode & 0o777).toBe(0o600);
    expect(secret).toHaveLength(32);
  });
});

describe("another user's id", () => {
  test('in the path is a 403 on every route, whether the user exists or not', async () => {
    const scoped = ROUTES.filter((route) => route.userParameter !== undefined);
    expect(scoped.length).toBeGreaterThan(6);
    for (const { method, path } of scoped) {
      for (const id of [bob.userId, 'u999', 'nobody', '%75%32']) {
        const answer = await api.send(method, path.replace(/:(id|userId)/, id), undefined, {
          token: ada.token,
        });
        expect(codeOf(answer), `${method} ${path} ${id}`).toBe('403 user_mismatch');
      }
    }
    // Public routes work without a token, and the user's own id may be percent-encoded.
    expect((await api.get(`/users/${bob.userId}/positions`)).status).toBe(200);
    const own = `%75${ada.userId.slice(1)}`;
    expect((await api.get(`/users/${own}/balance`, ada.token)).status).toBe(200);
  });

  test('in the query is a 403 on every route that checks a token', async () => {
    const checking = ROUTES.filter(
      (route) => route.access === 'public' || route.access === 'session',
    );
    for (const { method, path } of checking) {
      const url = pathOf({ path }, ada);
      for (const query of [
        `?userId=${bob.userId}`,
        `?userId=${ada.userId}&userId=${bob.userId}`,
        '?userId=',
      ]) {
        const answer = await api.send(method, url + query, undefined, { token: ada.token });
        expect(codeOf(answer), `${method} ${url}${query}`).toBe('403 user_mismatch');
      }
    }
    expect((await api.get(`/markets/15m?userId=${ada.userId}`, ada.token)).status).toBe(200);
  });

  test('in the body is a 403 on every route that takes a body, and nothing changes', async () => {
    const before = await server.state();
    const taking = ROUTES.filter((route) => route.access === 'session' && route.body !== undefined);
    expect(taking.length).toBeGreaterThan(8);
    for (const { method, path } of taking) {
      const url = pathOf({ path }, ada);
      const answer = await api.send(
        method,
        url,
        { userId: bob.userId, outcome: 'UP', amount: 1 },
        { token: ada.token },
      );
      expect(codeOf(answer), url).toBe('403 user_mismatch');
    }
    expect(await server.state()).toEqual(before);
  });
});

describe('the cookie', () => {
  test('is set by registering, signing in and a password change, for this site only and not readable by scripts', async () => {
    const answers = [
      await api.post('/auth/register', { username: 'cookie-1', password: PASSWORD }),
      await api.post('/auth/login', { username: 'cookie-1', password: PASSWORD }),
    ];
    const { token } = answers[0]!.json;
    answers.push(
      await api.put(
        '/auth/password',
        { currentPassword: PASSWORD, newPassword: `${PASSWORD}!` },
        token,
      ),
    );
    for (const answer of answers) {
      const value = String(answer.headers['set-cookie']);
      expect(value).toContain(`service-session=${answer.json.token};`);
      for (const attribute of ['Path=/', 'HttpOnly', 'SameSite=Lax'])
        expect(value).toContain(attribute);
      expect(value).not.toContain('Secure');
    }
  });

  test('is Secure when a trusted proxy reports HTTPS', async () => {
    const headers = { 'x-forwarded-proto': 'https' };
    const login = { username: 'ada', password: PASSWORD };
    const untrusted = await api.send('POST', '/auth/login', login, { headers });
    expect(untrusted.headers['set-cookie']).not.toContain('Secure');
    for (const [config, sent, secure] of [
      [{ trustProxy: true }, headers, true],
      [{ trustProxy: true }, {}, false],
    ] as const) {
      const other = await TestServer.start(config);
      try {
        const answer = await other.api.send('POST', '/auth/register', login, { headers: sent });
        expect(String(answer.headers['set-cookie']).includes('; Secure')).toBe(secure);
      } finally {
        await other.stop();
      }
    }
  });

  test('authenticates changes from the same site only', async () => {
    const host = new URL(api.url).host;
    const same: Record<string, string>[] = [
      {},
      { origin: `http://${host}` },
      { origin: `https://${host}` },
      { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'same-origin' },
      { origin: `http://${host}`, 'sec-fetch-site': 'same-site' },
    ];
    const cross: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://${host}.evil.example` },
      { origin: `http://evil.example/${host}` },
      { origin: 'http://127.0.0.1:1' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'Same-Origin' },
      { origin: `http://${host}`, 'sec-fetch-site': 'cross-site' },
    ];
    const path = `/markets/15m/${MARKET}/orders`;
    const cookies = { cookie: cookie(ada.token) };
    for (const headers of same) {
      const answer = await api.send('DELETE', path, undefined, {
        headers: { ...cookies, ...headers },
      });
      expect(answer.status, JSON.stringify(headers)).toBe(200);
    }
    const before = await server.state();
    for (const headers of cross) {
      const answer = await api.send('DELETE', path, undefined, {
        headers: { ...cookies, ...headers },
      });
      expect(codeOf(answer), JSON.stringify(headers)).toBe('403 cross_site_request');
      const logout = await api.send('POST', '/auth/logout', undefined, {
        headers: { ...cookies, ...headers },
      });
      expect(codeOf(logout), JSON.stringify(headers)).toBe('403 cross_site_request');
      // Reads are allowed from anywhere, and other sites cannot send the header.
      expect((await balanceWith({ ...cookies, ...headers })).status).toBe(200);
    }
    expect(await server.state()).toEqual(before);
    for (const headers of cross) {
      const answer = await api.send('DELETE', path, undefined, { token: ada.token, headers });
      expect(answer.status, JSON.stringify(headers)).toBe(200);
    }
  });

  test('sent twice with two values authenticates nobody', async () => {
    const sessions = [`service-session=${ada.token}`, `service-session=${bob.token}`];
    for (const pairs of [sessions, sessions.toReversed(), [sessions[0]!, 'service-session=']]) {
      expect(codeOf(await balanceWith({ cookie: pairs.join('; ') })), pairs.join()).toBe(
        '401 invalid_token',
      );
    }
    expect((await balanceWith({ cookie: `${sessions[0]}; ${sessions[0]}` })).status).toBe(200);
    // The same holds for two Cookie headers.
    for (const [first, second, status] of [
      [...sessions, 401],
      ['theme=dark', sessions[0], 200],
      [sessions[0], 'theme=dark', 200],
    ] as const) {
      const client = new RawConnection(api.url);
      const headers = { cookie: `${first}`, Cookie: `${second}` };
      await client.send(requestText('GET', `/users/${ada.userId}/balance`, headers));
      expect((await client.answers(1))[0]!.status).toBe(status);
      client.leave();
    }
  });

  test('does not prevent signing in when it is stale, and signing out clears it', async () => {
    const headers = { cookie: cookie('stale') };
    const signedIn = await api.send(
      'POST',
      '/auth/login',
      { username: 'ada', password: PASSWORD },
      { headers },
    );
    expect(signedIn.status).toBe(200);
    const out = await api.send('POST', '/auth/logout', undefined, { headers });
    expect(out.status).toBe(204);
    expect(out.headers['set-cookie']).toMatch(/^service-session=; .*Max-Age=0/);
  });
});

describe('passwords', () => {
  test('a change revokes every older token at once, on every route and across a restart', async () => {
    const folder = await TestServer.start();
    const first = await folder.register('carol');
    const second = (await folder.api.post('/auth/login', { username: 'carol', password: PASSWORD }))
      .json.token;
    const body = { currentPassword: PASSWORD, newPassword: 'a new password' };
    const changed = await folder.api.put('/auth/password', body, first.token);
    expect(changed.status).toBe(200);
    const check = async (server: TestServer) => {
      for (const token of [first.token, second]) {
        for (const path of ['/auth/session', `/users/${first.userId}`, '/markets', '/vaults']) {
          expect(codeOf(await server.api.get(path, token)), path).toBe('401 token_revoked');
        }
      }
      expect((await server.api.get('/auth/session', changed.json.token)).status).toBe(200);
      const old = await server.api.post('/auth/login', { username: 'carol', password: PASSWORD });
      expect(codeOf(old)).toBe('401 wrong_credentials');
      const renewed = await server.api.post('/auth/login', {
        username: 'carol',
        password: 'a new password',
      });
      expect(renewed.status).toBe(200);
    };
    await check(folder);
    await folder.close();
    const restarted = await TestServer.start({}, folder.folder);
    try {
      await check(restarted);
    } finally {
      await restarted.stop();
    }
  });

  test('the same answer for an unknown name, a wrong password and an account that cannot sign in', async () => {
    const withHouse = await TestServer.start({ houseFundsMicros: 1_000_000_000 });
    try {
      await withHouse.register('dora');
      const texts = new Set<string>();
      for (const username of ['dora', 'nobody', 'house', '']) {
        const answer = await withHouse.api.post('/auth/login', {
          username,
          password: 'not the password',
        });
        expect(codeOf(answer)).toBe('401 wrong_credentials');
        texts.add(answer.text);
      }
      expect(texts.size).toBe(1);
    } finally {
      await withHouse.stop();
    }
  });

  test('the wrong current password changes nothing', async () => {
    const before = await server.state();
    const body = { currentPassword: 'not the password', newPassword: 'something else' };
    expect(codeOf(await api.put('/auth/password', body, bob.token))).toBe('401 wrong_credentials');
    expect(await server.state()).toEqual(before);
    expect((await api.get('/auth/session', bob.token)).status).toBe(200);
  });

  test('of two simultaneous changes, one revokes the session of the other', async () => {
    const eve = await server.register('eve');
    const change = (newPassword: string) =>
      api.put('/auth/password', { currentPassword: PASSWORD, newPassword }, eve.token);
    const answers = await Promise.all([change('first password'), change('second password')]);
    const statuses = answers.map((answer) => answer.status).sort();
    expect(statuses).toEqual([200, 401]);
    const winner = answers.find((answer) => answer.status === 200)!;
    expect((await api.get('/auth/session', winner.json.token)).status).toBe(200);
  });
});

const paths = ['/partner/deposits', '/partner/withdrawals', '/partner/users/u1'];
test('partners need a configured key, and nothing else is accepted', async () => {
  const before = await server.state();
  const digest = createHash('sha256').update(PARTNER_KEY).digest('hex');
  const wrong: Record<string, string>[] = [
    {},
    { authorization: `Bearer ${ada.token}` },
    { authorization: 'Bearer ' },
    { authorization: `Basic ${PARTNER_KEY}` },
    { authorization: PARTNER_KEY },
    { authorization: `Bearer ${PARTNER_KEY}x` },
    { authorization: `Bearer ${digest}` },
    { authorization: `Bearer ${PARTNER_KEY}\xe9x` },
    { 'x-user-token': ada.token },
    { cookie: cookie(ada.token) },
  ];
  for (const path of paths) {
    const method = path.includes('users') ? 'GET' : 'POST';
    const body = method === 'GET' ? undefined : { userId: ada.userId, amount: 1, reference: 'r' };
    for (const headers of wrong) {
      const answer = await api.send(method, path, body, { headers });
      expect(codeOf(answer), `${path} ${JSON.stringify(headers)}`).toBe('403 partner_key_required');
    }
  }
  expect(await server.state()).toEqual(before);
  const right = { headers: { authorization: `bearer ${PARTNER_KEY}` } };
  expect((await api.send('GET', `/partner/users/${ada.userId}`, undefined, right)).status).toBe(
    200,
  );
});
