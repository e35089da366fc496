/**
 * Forged, stolen, outdated and misplaced credentials. Whatever is sent, nobody but the owner of an
 * account acts for it.
 */
import { createHmac, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SECRET_FILE } from '../../../gateway/auth/secret.js';
import type { Attack, AttackClass } from '../attack.js';
import {
  type Answer,
  type Ask,
  Client,
  microsOf,
  PASSWORD,
  stakeOf,
  type Trader,
} from '../methods/client.js';
import { mustHold } from '../promises.js';
import { PARTNER_KEY, type Stage } from '../stage.js';

/**
 * What a forger may have in the hand: everything that is public, and, for some, the secret of the
 * exchange itself.
 */
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

const HASHES: Readonly<Record<string, string>> = {
  HS256: 'sha256',
  HS384: 'sha384',
  HS512: 'sha512',
};
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
/** A token of the exchange's own secret that says something else. */
const claiming = (changes: object) => (m: Material) =>
  signed(HS256, base64({ ...decoded(m.payload), ...changes }), m.secret);
const unsigned = (alg: string) => (m: Material) => `${base64({ alg, typ: 'JWT' })}.${m.payload}.`;
const jwkOf = ({ rsa }: Material) => rsa.publicKey.export({ format: 'jwk' });
const ELSEWHERE = 'http://127.0.0.1:9/keys.json';

/**
 * The last character with the bits that base64url does not use set: a second spelling of the same
 * signature.
 */
function otherSpelling({ header, payload, signature }: Material): string {
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = ALPHABET[ALPHABET.indexOf(signature.at(-1)!) + 1]!;
  return `${header}.${payload}.${signature.slice(0, -1)}${last}`;
}

const FORGERIES: readonly [name: string, make: (material: Material) => string][] = [
  ['alg none', unsigned('none')],
  ['alg None', unsigned('None')],
  [
    'alg NONE, with the good signature',
    (m) => `${base64({ alg: 'NONE' })}.${m.payload}.${m.signature}`,
  ],
  ['no alg', (m) => `${base64({ typ: 'JWT' })}.${m.payload}.${m.signature}`],
  ['HS384 by the true secret', (m) => signed({ alg: 'HS384' }, m.payload, m.secret)],
  ['HS512 by the true secret', (m) => signed({ alg: 'HS512' }, m.payload, m.secret)],
  ['RS256 by a key of the forger', (m) => signedByRsa(m, {})],
  ['jwk: the key is in the header', (m) => signedByRsa(m, { jwk: jwkOf(m) })],
  ['jku: the key is elsewhere', (m) => signedByRsa(m, { jku: ELSEWHERE, kid: '1' })],
  ['x5u: the certificate is elsewhere', (m) => signedByRsa(m, { x5u: ELSEWHERE })],
  ['x5c: the certificate is in the header', (m) => signedByRsa(m, { x5c: ['MIIB'] })],
  [
    'kid: an empty file as the secret',
    (m) => signed({ ...HS256, kid: '/dev/null' }, m.payload, ''),
  ],
  ['kid: SQL', (m) => signed({ ...HS256, kid: "' UNION SELECT 'k" }, m.payload, 'k')],
  ['crit by the true secret', (m) => signed({ ...HS256, crit: ['exp'] }, m.payload, m.secret)],
  ['another secret', (m) => signed(HS256, m.payload, 'secret')],
  ['an empty secret', (m) => signed(HS256, m.payload, '')],
  ['the secret as its text', (m) => signed(HS256, m.payload, m.secret.toString('base64url'))],
  [
    'a changed subject',
    (m) => `${m.header}.${base64({ ...decoded(m.payload), sub: 'u1' })}.${m.signature}`,
  ],
  [
    'a changed version',
    (m) => `${m.header}.${base64({ ...decoded(m.payload), ver: 9 })}.${m.signature}`,
  ],
  ['a later version by the true secret', claiming({ ver: 1_000 })],
  ['a version that is a text, by the true secret', claiming({ ver: '0' })],
  ['a subject that nobody has, by the true secret', claiming({ sub: 'u999999' })],
  [
    'a subject with a leading zero, by the true secret',
    (m) => claiming({ sub: m.userId.replace('u', 'u0') })(m),
  ],
  ['a token from before the account, by the true secret', claiming({ iat: 1 })],
  ['an expiry, by the true secret', claiming({ exp: 9_999_999_999 })],
  [
    'a signature with one other bit',
    (m) => `${m.token.slice(0, -2)}${m.token.at(-2) === 'A' ? 'Q' : 'A'}${m.token.at(-1)}`,
  ],
  ['a second spelling of the signature', otherSpelling],
  ['padding', (m) => `${m.token}=`],
  ['padding of all parts', (m) => `${m.header}=.${m.payload}==.${m.signature}=`],
  [
    'base64 that is not base64url',
    (m) => `${m.header}.${m.payload}.${Buffer.from(m.signature, 'base64url').toString('base64')}`,
  ],
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
    const ways = [{ 'x-user-token': forged }, { Cookie: `service-session=${forged}` }];
    const answers: Answer[] = [];
    for (const headers of ways) {
      for (const request of requestsFor(victim)) {
        answers.push(
          await askOnce(stage, { ...request, headers: { ...request.headers, ...headers } }),
        );
      }
    }
    mustRefuse(answers, ['invalid_token', 'token_revoked', 'missing_token']);
    await mustHaveAll(victim);
    return `${answers.length} refused`;
  },
});

const CREDENTIALS: readonly Attack[] = [
  {
    name: 'a true token',
    done: 'made as the forgeries are, by the true secret: it alone is accepted, or the forgeries prove nothing',
    run: async (stage) => {
      const victim = await victimOf(stage);
      const token = claiming({})(materialOf(stage, victim));
      const answer = await askOnce(stage, { ...session, headers: { 'x-user-token': token } });
      mustHold(answer.json?.userId === victim.userId, `answered ${answer.status} ${answer.text}`);
      return 'accepted';
    },
  },
  {
    name: 'a version that ended',
    done: 'the old token while the password changes, and after it',
    run: async (stage) => {
      const victim = await stage.register();
      const body = { currentPassword: PASSWORD, newPassword: 'another horse battery' };
      const change = victim.signed({ method: 'PUT', path: '/auth/password', body });
      const during = Array.from({ length: 20 }, () => askOnce(stage, victim.signed(session)));
      const { status } = await askOnce(stage, change);
      mustHold(status === 200, `the password change was answered ${status}`);
      for (const answer of await Promise.all(during)) {
        mustHold(
          [200, 401].includes(answer.status),
          `meanwhile the old token was answered ${answer.text}`,
        );
      }
      const after = requestsFor(victim).map((request) => askOnce(stage, victim.signed(request)));
      mustRefuse(await Promise.all(after), ['token_revoked']);
      victim.client.close();
      return `${during.length} during, ${after.length} after`;
    },
  },
  {
    name: "another user's account",
    done: "a good token with the victim's id in path, query and body",
    run: async (stage) => {
      const [victim, thief] = [await victimOf(stage), await stage.register()];
      const { userId } = victim;
      const requests: Ask[] = [
        { path: `/users/${userId}/balance` },
        { path: `/users/${userId}/points` },
        { path: `/users/${userId}/orders` },
        { path: `/users/${thief.userId}/balance?userId=${userId}` },
        { method: 'PUT', path: `/users/${userId}/referral/code`, body: { code: 'STOLEN' } },
        { method: 'POST', path: '/vaults/flex/stake', body: { userId, amount: 1 } },
        { method: 'POST', path: '/batch', body: { userId, operations: [] } },
      ];
      const answers = await Promise.all(
        requests.map((request) => askOnce(stage, thief.signed(request))),
      );
      mustRefuse(answers, ['user_mismatch']);
      await mustHaveAll(victim);
      thief.client.close();
      return `${answers.length} refused`;
    },
  },
  {
    name: 'in the query',
    done: 'a good token where it must never be read',
    run: async (stage) => {
      const { token, userId } = await victimOf(stage);
      const names = ['token', 'x-user-token', 'service-session', 'access_token'];
      const requests = names.map((name) => ({ path: `/users/${userId}/balance?${name}=${token}` }));
      const answers = await Promise.all(requests.map((request) => askOnce(stage, request)));
      mustRefuse(answers, ['missing_token']);
      return `${answers.length} refused`;
    },
  },
  {
    name: 'header and cookie disagree',
    done: 'a forged header with a good cookie; two users, one in each',
    run: async (stage) => {
      const [victim, other] = [await victimOf(stage), await stage.register()];
      const cookie = { Cookie: `service-session=${victim.token}` };
      const forged = await askOnce(stage, {
        ...session,
        headers: { ...cookie, 'x-user-token': 'a.b.c' },
      });
      mustRefuse([forged], ['invalid_token']);
      const { json } = await askOnce(stage, {
        ...session,
        headers: { ...cookie, 'x-user-token': other.token },
      });
      mustHold(
        json.userId === other.userId,
        `the header's user is ${other.userId}, and ${json.userId} was let in`,
      );
      other.client.close();
      return 'the header counts';
    },
  },
  {
    name: 'a partner key as a user, a user as a partner',
    done: 'each credential where the other belongs',
    run: async (stage) => {
      const victim = await victimOf(stage);
      const balance = { path: `/users/${victim.userId}/balance` };
      const asUser = [
        { 'x-user-token': PARTNER_KEY },
        { Cookie: `service-session=${PARTNER_KEY}` },
        { Authorization: `Bearer ${PARTNER_KEY}` },
        { Authorization: `Bearer ${victim.token}` },
      ];
      const users = await Promise.all(
        asUser.map((headers) => askOnce(stage, { ...balance, headers })),
      );
      mustRefuse(users, ['invalid_token', 'missing_token']);
      const body = { userId: victim.userId, amount: 1, reference: 'forged' };
      const asPartner = [
        { Authorization: `Bearer ${victim.token}` },
        { 'x-user-token': victim.token },
        { Authorization: `Basic ${PARTNER_KEY}` },
        { Authorization: `Bearer ${PARTNER_KEY.slice(0, -1)}` },
        { Authorization: 'Bearer ' },
      ];
      const deposit = { method: 'POST', path: '/partner/deposits', body } as const;
      const partners = await Promise.all(
        asPartner.map((headers) => askOnce(stage, { ...deposit, headers })),
      );
      mustRefuse(partners, ['partner_key_required']);
      await mustHaveAll(victim);
      return `${users.length + partners.length} refused`;
    },
  },
  {
    name: 'a partner and users of others',
    done: 'withdraw from a user who registered alone, and from the house; pay the house; read their balances',
    run: async (stage) => {
      const victim = await victimOf(stage);
      const headers = { Authorization: `Bearer ${PARTNER_KEY}` };
      const transfer = (kind: string, userId: string): Ask => {
        const body = { userId, amount: 1, reference: `${kind}-${userId}` };
        return { method: 'POST', path: `/partner/${kind}`, headers, body };
      };
      const house = await askOnce(stage, { path: `/partner/users/${HOUSE_ID}`, headers });
      mustHold(
        house.json.username === 'house',
        `${HOUSE_ID} is ${house.json.username}, not the house`,
      );
      const answers = await Promise.all(
        [
          transfer('withdrawals', victim.userId),
          transfer('withdrawals', HOUSE_ID),
          transfer('deposits', HOUSE_ID),
        ].map((request) => askOnce(stage, request)),
      );
      for (const { status, text } of answers)
        mustHold(status >= 400 && status < 500, `answered ${status} ${text}`);
      const stranger = await askOnce(stage, { path: `/partner/users/${victim.userId}`, headers });
      for (const { json } of [house, stranger]) {
        mustHold(
          json.available === null && json.total === null,
          `the balance is shown: ${json.available}`,
        );
      }
      await mustHaveAll(victim);
      return `${answers.length} refused, no balance shown`;
    },
  },
  {
    name: 'a cookie from another site',
    done: 'a stake with the cookie and the origin of another page',
    run: async (stage) => {
      const victim = await victimOf(stage);
      const cookie = { Cookie: `service-session=${victim.token}` };
      const origins = [
        { Origin: 'https://evil.example' },
        { Origin: 'null' },
        { 'Sec-Fetch-Site': 'cross-site' },
      ];
      const stakes = origins.map((origin) => ({
        ...stakeOf(1, 'cross-site'),
        headers: { ...cookie, ...origin },
      }));
      const answers = await Promise.all(stakes.map((request) => askOnce(stage, request)));
      mustRefuse(answers, ['cross_site_request']);
      await mustHaveAll(victim);
      return `${answers.length} refused`;
    },
  },
];

const session: Ask = { path: '/auth/session' };
/** The house registers first. */
const HOUSE_ID = 'u1';

/** What only the owner of the account may do: read, change, and open a stream. */
function requestsFor({ userId }: Trader): Ask[] {
  const headers = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  return [{ path: `/users/${userId}/balance` }, stakeOf(1, 'forged'), { path: '/stream', headers }];
}

/** On a connection of its own: what is refused may also be hung up on. */
async function askOnce(stage: Stage, request: Ask): Promise<Answer> {
  const client = new Client(stage.exchange);
  try {
    return await client.ask(request);
  } finally {
    client.close();
  }
}

function mustRefuse(answers: readonly Answer[], codes: readonly string[]): void {
  for (const { status, text, json } of answers) {
    mustHold(codes.includes(json?.error?.code), `answered ${status} ${text.slice(0, 200)}`);
    mustHold([401, 403].includes(status), `${json.error.code} came with status ${status}`);
  }
}

const victims = new WeakMap<Stage, Promise<{ trader: Trader; micros: number }>>();

/** One user for all forgeries of a stage. */
async function victimOf(stage: Stage): Promise<Trader> {
  const make = async () => {
    const trader = await stage.register();
    return { trader, micros: await trader.availableMicros() };
  };
  if (!victims.has(stage)) victims.set(stage, make());
  return (await victims.get(stage)!).trader;
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
  return {
    header,
    payload,
    signature,
    token,
    userId,
    secret: Buffer.from(text, 'base64url'),
    rsa: keys,
  };
}

export const tokens: AttackClass = {
  name: 'tokens',
  attacks: [...FORGERIES.map(forgery), ...CREDENTIALS],
};
