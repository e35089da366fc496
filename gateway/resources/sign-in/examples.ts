/** The examples of signing in. A test gets each of them from the exchange. */
import type { RouteExample } from '../../http/route.js';

const TOKEN =
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1MiIsInZlciI6MSwiaWF0IjoxNzYzNzAwMzAwfQ.c2lnbmF0dXJl';

const SIGNED_IN = {
  userId: 'u2',
  username: 'ada',
  token: TOKEN,
  referralCode: 'Q000002',
  sequence: 5,
};

export const register: RouteExample = {
  request: { username: 'ada', password: 'correct horse battery staple', referralCode: 'Q000001' },
  response: SIGNED_IN,
};

export const login: RouteExample = {
  request: { username: 'ada', password: 'correct horse battery staple' },
  response: SIGNED_IN,
};

export const logout: RouteExample = {};

export const password: RouteExample = {
  request: {
    currentPassword: 'correct horse battery staple',
    newPassword: 'a better password than that',
  },
  response: { token: TOKEN, sequence: 6 },
};

export const session: RouteExample = { response: { userId: 'u2', username: 'ada', sequence: 5 } };

const BOT = {
  tokenId: 'k1',
  name: 'market maker',
  scope: 'trade',
  createdAtMs: 1763701202000,
  expiresAtMs: 1766292300000,
  allowedAddresses: ['192.0.2.0/24', '2001:db8::1'],
};

export const createToken: RouteExample = {
  request: {
    name: 'market maker',
    scope: 'trade',
    expiresAtMs: 1766292300000,
    allowedAddresses: ['192.0.2.0/24', '2001:db8::1'],
  },
  response: {
    tokenId: 'k1',
    name: 'market maker',
    scope: 'trade',
    token: TOKEN,
    createdAtMs: 1763701202000,
    expiresAtMs: 1766292300000,
    allowedAddresses: BOT.allowedAddresses,
    sequence: 53,
  },
};

export const tokens: RouteExample = {
  response: {
    tokens: [
      {
        tokenId: BOT.tokenId,
        name: BOT.name,
        scope: BOT.scope,
        createdAtMs: BOT.createdAtMs,
        expiresAtMs: BOT.expiresAtMs,
        lastUsedAtMs: null,
        allowedAddresses: BOT.allowedAddresses,
      },
    ],
    sequence: 53,
  },
};

export const revokeToken: RouteExample = {};
