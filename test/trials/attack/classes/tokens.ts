/** Forged, stolen, outdated and misplaced credentials: only its owner can use an account. */
import { createHmac, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PASSWORD } from '../../../../bench/http/load/client.js';
import type { RequestFields } from '../../../../bench/http/load/messages.js';
import { SECRET_FILE } from '../../../../persistence/storage/session-secret.js';
import type { Attack, AttackClass } from '../attack.js';
import { askOnce, microsOf, stakeOf, type Trader } from '../methods/client.js';
import { mustHold } from '../promises.js';
import { PARTNER_KEY, type Stage } from '../stage.js';

/** What a forger may have: everything that is public, and for some the secret of the exchange. */
interface Material {
  /** A good token, as its three parts. */
  header: string;
  payload: string;
  signature: string;
  token: string;
  userId: string;
  secret: Buffer;
  rsa: { privateKey: KeyObject; publicKey: KeyObject };
}

const HASHES: Record<string, string> = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' };
const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());

function signed(
  header: { alg: string; [name: string]: unknown },
  payload: string,
  secret: string | Buffer,
): string {
  const content = `${base64({ typ: 'JWT', ...header })}.${payload}`;
  const hash = createHmac(HASHES[header.alg]!, secret).update(content).digest('base64url');
  return `${content}.${hash}`;
}

function signedByRsa({ payload, rsa }: Material, header: object): string {
  const content = `${base64({ alg: 'RS256', typ: 'JWT', ...header })}.${payload}`;
  return `${content}.${createSign('sha256').update(content).sign(rsa.privateKey).toString('base64url')}`;
}

const HS256 = { alg: 'HS256' };
/** A token with other claims, signed with the true secret. */
const claiming = (changes: object) => (m: Material) =>
  signed(HS256, base64({ ...decoded(m.payload), ...changes }), m.secret);
/** Another header or other claims, under the good signature. */
function keeping(m: Material, { header, claims }: { header?: object; claims?: object }): string {
  const payload = claims && base64({ ...decoded(m.payload), ...claims });
  return `${header ? base64(header) : m.header}.${payload ?? m.payload}.${m.signature}`;
}
const unsigned = (alg: string) => (m: Material) => `${base64({ alg, typ: 'JWT' })}.${m.payload}.`;
const jwkOf = ({ rsa }: Material) => rsa.publicKey.export({ format: 'jwk' });
const ELSEWHERE = 'http://127.0.0.1:9/keys.json';

/** Sets the bits of the last character that base64url does not use: the same signature. */
function otherSpelling({ header, payload, signature }: Material): string {
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = ALPHABET[ALPHABET.indexOf(signature.at(-1)!) + 1]!;
  return `${header}.${payload}.${signature.slice(0, -1)}${last}`;
}

function inBase64({ header, payload, signature }: Material): string {
  return `${header}.${payload}.${Buffer.from(signature, 'base64url').toString('base64')}`;
}

const FORGERIES: readonly [name: string, make: (material: Material) => string][] = [
  ['alg none', unsigned('none')],
  ['alg None', unsigned('None')],
  ['alg NONE, with the good signature', (m) => keeping(m, { header: { alg: 'NONE' } })],
  ['no alg', (m) => keeping(m, { header: { typ: 'JWT' } })],
  ['HS384 with the true secret', (m) => signed({ alg: 'HS384' }, m.payload, m.secret)],
  ['HS512 with the true secret', (m) => signed({ alg: 'HS512' }, m.payload, m.secret)],
  ['RS256 with a key of the forger', (m) => signedByRsa(m, {})],
  ['jwk: the key is in the header', (m) => signedByRsa(m, { jwk: jwkOf(m) })],
  ['jku: the key is elsewhere', (m) => signedByRsa(m, { jku: ELSEWHERE, kid: '1' })],
  ['x5u: the certificate is elsewhere', (m) => signedByRsa(m, { x5u: ELSEWHERE })],
  ['x5c: the certificate is in the header', (m) => signedByRsa(m, { x5c: ['MIIB'] })],
  ['kid: an empty file', (m) => signed({ ...HS256, kid: '/dev/null' }, m.payload, '')],
  ['kid: SQL', (m) => signed({ ...HS256, kid: "' UNION SELECT 'k" }, m.payload, 'k')],
  ['crit with the true secret', (m) => signed({ ...HS256, crit: ['exp'] }, m.payload, m.secret)],
  ['another secret', (m) => signed(HS256, m.payload, 'secret')],
  ['an empty secret', (m) => signed(HS256, m.payload, '')],
  ['the secret as its text', (m) => signed(HS256, m.payload, m.secret.toString('base64url'))],
  ['a changed subject', (m) => keeping(m, { claims: { sub: 'u1' } })],
  ['a changed version', (m) => keeping(m, { claims: { ver: 9 } })],
  ['a later version with the true secret', claiming({ ver: 1_000 })],
  ['a version that is a text, with the true secret', claiming({ ver: '0' })],
  ['a subject that nobody has, with the true secret', claiming({ sub: 'u999999' })],
  ['a leading zero, with the true secret', (m) => claiming({ sub: `u0${m.userId.slice(1)}` })(m)],
  ['a token from before the account, with the true secret', claiming({ iat: 1 })],
  ['an expiry, with the true secret', claiming({ exp: 9_999_999_999 })],
  [
    'a signature with one other bit',
    (m) => `${m.token.slice(0, -2)}${m.token.at(-2) === 'A' ? 'Q' : 'A'}${m.token.at(-1)}`,
  ],
  ['a second spelling of the signature', otherSpelling],
  ['padding', (m) => `${m.token}=`],
  ['padding of all parts', (m) => `${m.header}=.${m.payload}==.${m.signature}=`],
  ['base64 that is not base64url', inBase64],
  ['a truncated signature', (m) => m.token.slice(0, -1)],
  ['no signature', (m) => `${m.header}.${m.payload}`],
  ['an empty signature', (m) => `${m.header}.${m.payload}.`],
  ['only dots', () => '..'],
  ['four parts', (m) => `${m.token}.${m.signature}`],
  ['the payload twice', (m) => `${m.header}.${m.payload}.${m.payload}.${m.signature}`],
  ['with the word Bearer', (m) => `Bearer ${m.token}`],
  ['in other case', (m) => m.token.toLowerCase()],
  ['percent-encoded', (m) => m.token.replaceAll('.', '%2E')],
  ['2 KiB long', (m) => `${m.token}${'A'.repeat(2_048)}`],
  ['a number', () => '1'],
  ['a user id', (m) => m.userId],
];

const forgery = ([name, make]: (typeof FORGERIES)[number]): Attack => ({
  name,
  done: 'as header and as cookie: read the balance, stake, open a stream',
  run: async (stage) => {
    const victim = await victimOf(stage);
    const forged = make(materialOf(stage, victim));
    const ways = [header(forged), cookie(forged)];
    const requests = ways.flatMap((way) => requestsFor(victim).map((request) => by(request, way)));
    const codes = ['invalid_token', 'token_revoked', 'missing_token'];
    return mustRefuse(stage, requests, codes);
  },
});

const trueToken: Attack = {
  name: 'a true token',
  done: 'made as the forgeries are, with the true secret: it alone is accepted, or the forgeries prove nothing',
  run: async (stage) => {
    const victim = await victimOf(stage);
    const token = claiming({})(materialOf(stage, victim));
    const { status, text, json } = await askOnce(stage.exchange, by(SESSION, header(token)));
    mustHold(json?.userId === victim.userId, `answered ${status} ${text}`);
    return 'accepted';
  },
};

const endedVersion: Attack = {
  name: 'a version that ended',
  done: 'the old token while the password changes, and after it',
  run: async (stage) => {
    const { exchange } = stage;
    const victim = await stage.register();
    const body = { currentPassword: PASSWORD, newPassword: 'another horse battery' };
    const change = victim.signed({ method: 'PUT', path: '/auth/password', body });
    const during = Array.from({ length: 20 }, () => askOnce(exchange, victim.signed(SESSION)));
    const { status } = await askOnce(exchange, change);
    mustHold(status === 200, `the password change was answered ${status}`);
    for (const answer of await Promise.all(during)) {
      const isKnown = [200, 401].includes(answer.status);
      mustHold(isKnown, `meanwhile the old token was answered ${answer.text}`);
    }
    const after = requestsFor(victim).map((request) => victim.signed(request));
    const refused = await askAll(stage, after, ['token_revoked']);
    return `${during.length} during, ${refused} after`;
  },
};

const otherAccount: Attack = {
  name: "another user's account",
  done: "a good token with the victim's id in path, query and body",
  run: async (stage) => {
    const [{ userId }, thief] = [await victimOf(stage), await stage.register()];
    const requests: RequestFields[] = [
      { path: `/users/${userId}/balance` },
      { path: `/users/${userId}/points` },
      { path: `/users/${userId}/orders` },
      { path: `/users/${thief.userId}/balance?userId=${userId}` },
      { method: 'PUT', path: `/users/${userId}/referral/code`, body: { code: 'STOLEN' } },
      { method: 'POST', path: '/vaults/flex/stake', body: { userId, amount: 1 } },
      { method: 'POST', path: '/batch', body: { userId, operations: [] } },
    ];
    const signed = requests.map((request) => thief.signed(request));
    return mustRefuse(stage, signed, ['user_mismatch']);
  },
};

const inQuery: Attack = {
  name: 'in the query',
  done: 'a good token where it must never be read',
  run: async (stage) => {
    const { token, userId } = await victimOf(stage);
    const names = ['token', 'x-user-token', 'service-session', 'access_token'];
    const requests = names.map((name) => ({ path: `/users/${userId}/balance?${name}=${token}` }));
    return mustRefuse(stage, requests, ['missing_token']);
  },
};

const disagreement: Attack = {
  name: 'header and cookie disagree',
  done: 'a forged header with a good cookie; two users, one in each',
  run: async (stage) => {
    const [victim, other] = [await victimOf(stage), await stage.register()];
    const withCookie = by(SESSION, cookie(victim.token));
    await mustRefuse(stage, [by(withCookie, header('a.b.c'))], ['invalid_token']);
    const { json } = await askOnce(stage.exchange, by(withCookie, header(other.token)));
    const { userId } = json;
    mustHold(userId === other.userId, `${userId} was signed in, not the user of the header`);
    return 'the header counts';
  },
};

const wrongPlace: Attack = {
  name: 'a partner key as a user, a user as a partner',
  done: 'each credential where the other belongs',
  run: async (stage) => {
    const { userId, token } = await victimOf(stage);
    const balance = { path: `/users/${userId}/balance` };
    const asUser = [header(PARTNER_KEY), cookie(PARTNER_KEY), partner(), partner(token)];
    const users = asUser.map((headers) => by(balance, headers));
    const userCodes = ['invalid_token', 'missing_token'];
    const deposit = transfer('deposits', userId, 'forged');
    const asPartner = [
      partner(token),
      header(token),
      { Authorization: `Basic ${PARTNER_KEY}` },
      partner(PARTNER_KEY.slice(0, -1)),
      partner(''),
    ];
    const partners = asPartner.map((headers) => ({ ...deposit, headers }));
    const refused = await askAll(stage, users, userCodes);
    return `${refused} users and ${await mustRefuse(stage, partners, ['partner_key_required'])}`;
  },
};

const othersUsers: Attack = {
  name: 'a partner and users of others',
  done: 'withdraw from a user who registered alone, and from the house; pay the house; read their balances',
  run: async (stage) => {
    const victim = await victimOf(stage);
    const read = (userId: string) =>
      askOnce(stage.exchange, by({ path: `/partner/users/${userId}` }, partner()));
    const [house, stranger] = [await read(HOUSE_ID), await read(victim.userId)];
    const { username } = house.json;
    mustHold(username === 'house', `${HOUSE_ID} is ${username}, not the house`);
    for (const { json } of [house, stranger]) {
      const isHidden = json.available === null && json.total === null;
      mustHold(isHidden, `the balance is shown: ${json.available}`);
    }
    const requests = [
      transfer('withdrawals', victim.userId, `withdrawals-${victim.userId}`),
      transfer('withdrawals', HOUSE_ID, `withdrawals-${HOUSE_ID}`),
      transfer('deposits', HOUSE_ID, `deposits-${HOUSE_ID}`),
    ];
    for (const request of requests) {
      const { status, text } = await askOnce(stage.exchange, request);
      mustHold(status >= 400 && status < 500, `answered ${status} ${text}`);
    }
    await mustHaveAll(victim);
    return `${requests.length} refused, no balance shown`;
  },
};

const otherSite: Attack = {
  name: 'a cookie from another site',
  done: 'a stake with the cookie and the origin of another page',
  run: async (stage) => {
    const { token } = await victimOf(stage);
    const stake = { ...stakeOf(1, 'cross-site'), headers: cookie(token) };
    const stakes = [
      by(stake, { Origin: 'https://evil.example' }),
      by(stake, { Origin: 'null' }),
      by(stake, { 'Sec-Fetch-Site': 'cross-site' }),
    ];
    return mustRefuse(stage, stakes, ['cross_site_request']);
  },
};

const SESSION: RequestFields = { path: '/auth/session' };
/** The house registers first. */
const HOUSE_ID = 'u1';

/** What only the owner of the account may do: read, change, and open a stream. */
function requestsFor({ userId }: Trader): RequestFields[] {
  const headers = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  return [{ path: `/users/${userId}/balance` }, stakeOf(1, 'forged'), { path: '/stream', headers }];
}

type Headers = Readonly<Record<string, string>>;
const header = (token: string): Headers => ({ 'x-user-token': token });
const cookie = (token: string): Headers => ({ Cookie: `service-session=${token}` });
const partner = (key = PARTNER_KEY): Headers => ({ Authorization: `Bearer ${key}` });
const by = (request: RequestFields, headers: Headers): RequestFields => ({
  ...request,
  headers: { ...request.headers, ...headers },
});

function transfer(kind: string, userId: string, reference: string): RequestFields {
  const body = { userId, amount: 1, reference };
  return { method: 'POST', path: `/partner/${kind}`, headers: partner(), body };
}

/** Each must be refused with one of the codes. Returns how many were. */
async function askAll(
  stage: Stage,
  requests: readonly RequestFields[],
  codes: readonly string[],
): Promise<number> {
  const answers = requests.map((request) => askOnce(stage.exchange, request));
  for (const { status, text, json } of await Promise.all(answers)) {
    mustHold(codes.includes(json?.error?.code), `answered ${status} ${text.slice(0, 200)}`);
    mustHold([401, 403].includes(status), `${json.error.code} came with status ${status}`);
  }
  return answers.length;
}

/** The same, and the victim has lost nothing. */
async function mustRefuse(
  stage: Stage,
  requests: readonly RequestFields[],
  codes: readonly string[],
): Promise<string> {
  const refused = await askAll(stage, requests, codes);
  await mustHaveAll(await victimOf(stage));
  return `${refused} refused`;
}

const victims = new WeakMap<Stage, Promise<Trader>>();

function victimOf(stage: Stage): Promise<Trader> {
  const victim = victims.get(stage) ?? stage.register();
  victims.set(stage, victim);
  return victim;
}

async function mustHaveAll(victim: Trader): Promise<void> {
  const { json } = await victim.send({ path: `/users/${victim.userId}/balance` });
  mustHold(microsOf(json.available) === microsOf(json.total), 'money of the victim is held');
  const { json: vaults } = await victim.send({ path: `/users/${victim.userId}/vaults` });
  mustHold(vaults.deposits.length === 0, 'money of the victim was staked');
}

const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });

function materialOf(stage: Stage, { token, userId }: Trader): Material {
  const [header, payload, signature] = token.split('.') as [string, string, string];
  const text = readFileSync(join(stage.exchange.dataFolder, SECRET_FILE), 'utf8').trim();
  const secret = Buffer.from(text, 'base64url');
  return { header, payload, signature, token, userId, secret, rsa: keys };
}

export const tokens: AttackClass = {
  name: 'tokens',
  attacks: [
    ...FORGERIES.map(forgery),
    trueToken,
    endedVersion,
    otherAccount,
    inQuery,
    disagreement,
    wrongPlace,
    othersUsers,
    otherSite,
  ],
};
