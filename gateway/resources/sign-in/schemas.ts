/** The bodies of requests and responses of registration, signing in, passwords and tokens. */
import { z } from 'zod';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { ALLOWED_ADDRESSES_MAX, isAddressRule } from '../../access/allowed-addresses.js';
import { bodyObject, responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import { state, timeMs, tokenId, userId, username } from '../../json/response-fields.js';

/** The longest IPv6 address, with an IPv4 part, and a length. */
const ADDRESS_LENGTH_MAX = 49;

export const RegisterBody = bodyObject('RegisterBody', 'A new account', {
  username: request.username,
  password: request.password.describe('The password'),
  referralCode: request.referralCode
    .optional()
    .describe('A code that identifies the user who referred another'),
});
export const LoginBody = bodyObject('LoginBody', 'The credentials of a user', {
  username,
  password: request.triedPassword.describe('The password'),
});
export const PasswordBody = bodyObject('PasswordBody', 'A change of password', {
  ...request.own,
  currentPassword: request.triedPassword.describe('The password until now'),
  newPassword: request.password.describe('The password from now on; all tokens end'),
});

const token = z.string().describe('The session token, for the header `x-user-token`');

export const SignedIn = responseObject('SignedIn', 'A signed-in user and the token', {
  userId,
  username,
  token,
  referralCode: z.string().describe('A code that identifies the user who referred another'),
  ...state,
});
export const NewToken = responseObject('NewToken', 'A token that replaces older ones', {
  token,
  ...state,
});
export const SessionOwner = responseObject('SessionOwner', 'Who is signed in', {
  userId,
  username,
  ...state,
});

const scope = z
  .enum(['read', 'trade'])
  .describe('`read`: changes nothing. `trade`: everything but credentials: no password, no tokens');
/** Characters that every terminal prints, in one UTF-16 code unit each. */
const tokenName = z
  .string()
  .regex(/^[ -~\u00a0-\ud7ff]{1,64}$/, 'must be 1 to 64 printable characters (no emoji)')
  .describe('What the token is for');
const allowedAddress = z
  .string()
  .max(ADDRESS_LENGTH_MAX, 'is too long')
  .refine(isAddressRule, 'must be an IP address or a CIDR range, such as 192.0.2.0/24');

export const TokenBody = bodyObject('TokenBody', 'A token for a program', {
  ...request.own,
  name: tokenName,
  scope,
  expiresAtMs: z
    .int('must be a whole number')
    .min(1, 'must be in the future')
    .max(MAX_TIME_MS - 1, `must be less than ${MAX_TIME_MS}`)
    .optional()
    .describe('When the token expires; without it, never'),
  allowedAddresses: z
    .array(allowedAddress)
    .min(1, 'must name an address')
    .max(ALLOWED_ADDRESSES_MAX, `must name at most ${ALLOWED_ADDRESSES_MAX} addresses`)
    .optional()
    .describe('IP addresses and CIDR ranges from which the token may be used; without it, any'),
});

const tokenFields = {
  tokenId,
  name: z.string().describe('The name'),
  scope,
};
const tokenTimes = {
  createdAtMs: timeMs,
  expiresAtMs: timeMs.nullable().describe('When the token expires; null: never'),
};
const tokenAddresses = {
  allowedAddresses: z
    .array(z.string())
    .nullable()
    .describe('From which addresses the token may be used; null: any'),
};
export const CreatedToken = responseObject('CreatedToken', 'A new named token', {
  ...tokenFields,
  token: z.string().describe('The token; shown only in this answer'),
  ...tokenTimes,
  ...tokenAddresses,
  ...state,
});
export const Tokens = responseObject('Tokens', 'The named tokens of a user', {
  tokens: z
    .array(
      responseObject('Token', 'A named token', {
        ...tokenFields,
        ...tokenTimes,
        lastUsedAtMs: timeMs
          .nullable()
          .describe('When the token was last used since the exchange started; null: not since'),
        ...tokenAddresses,
      }),
    )
    .describe('The tokens'),
  ...state,
});
